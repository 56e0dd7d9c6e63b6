/**
 * What a token is, explained: pure functions from a verdict, and from what a gateway says of its run, to plain data. It
 * may not decide anything, and it holds no word of a token that the verifier has not accepted: a refused one is a code
 * and two numbers. The order of reasons is the order of the gateway's checks.
 */
import { widenedClaim } from '../client/claims.ts'
import { readEnvelope, tokenBytes } from '../client/envelope.ts'
import type { BlockClaims } from '../core/block.ts'
import { CODES, type DenialCode } from '../core/codes.ts'
import type { TokenVerdict, VerifiedToken } from '../core/engine.ts'
import { chainDigest } from '../core/ids.ts'
import type { PublishedRootKeys } from '../core/keys.ts'
import { LIMITS } from '../core/limits.ts'
import { type Seconds, seconds } from '../core/time.ts'
import type { NodeView, RunDetail } from '../core/wire.ts'

/** One block, with what it narrows of the block above it. */
export interface InspectedBlock extends BlockClaims {
  readonly signedBy: string
  /** The claim by which it says more than the block above it. */
  readonly widened?: keyof BlockClaims
}

/** What a gateway said of the run; `why` it said nothing otherwise. */
export type Asked =
  | { readonly asked: true; readonly detail: RunDetail | undefined }
  | { readonly asked: false; readonly why: string }

/** How the gateway has recorded the nodes of the chain, the root first; nodes that it does not know are not in it. */
export interface RecordedNow {
  readonly run: RunDetail['run']
  readonly nodes: readonly NodeView[]
  readonly chain: 'the recorded one' | 'another one' | 'not recorded' | 'not compared'
  readonly isGatewayFrozen: boolean
}

export interface Refusal {
  readonly code: DenialCode
  readonly because: string
}

export interface Inspection {
  readonly verifies: boolean
  readonly characters: number
  /** Read without a signature that vouches for them: numbers, never texts. */
  readonly unproved: { readonly blocks?: number; readonly rootKeyId?: number }
  readonly sealed?: boolean
  /** The key that its first block verified under; `retiresAt` (UTC seconds) where another signs new runs. */
  readonly rootKey?: { readonly id: number; readonly retiresAt?: Seconds }
  readonly blocks: readonly InspectedBlock[]
  readonly now?: RecordedNow
  /**
   * `repeat` where the leaf's payment was made: whoever asks again is told its outcome, and nothing moves. `unopposed`
   * where everything in `lookedUp` holds; to accept it is the gateway's alone, which also judges what is in `notLookedUp`.
   */
  readonly would: 'refuse' | 'unopposed' | 'repeat' | 'unknown'
  readonly refusal?: Refusal
  readonly lookedUp: readonly string[]
  readonly notLookedUp: readonly string[]
}

interface ToInspect {
  readonly token: string
  readonly verdict: TokenVerdict
  readonly ring: PublishedRootKeys
  readonly asked: Asked
  readonly now: Seconds
}

/** Explains a token of which `verdict` is the verifier's word. */
export function inspect({ token, verdict, ring, asked, now }: ToInspect): Inspection {
  const unproved = numbersOf(token)
  const common = { verifies: verdict.ok, characters: token.length, unproved }
  if (!verdict.ok) {
    const refusal = refuse(verdict.code, detailOf(verdict.code, ring, unproved.rootKeyId, now))
    return { ...common, blocks: [], would: 'refuse', refusal, lookedUp: [], notLookedUp: [] }
  }
  const verified = verdict.token
  const recorded = asked.asked && asked.detail ? recordedNow(verified, asked.detail) : undefined
  const refusal = refusalOf(verified, asked, recorded, now)
  const isTold = recorded !== undefined && isAnswered(recorded)
  const isRecorded = recorded?.chain === 'the recorded one'
  return {
    ...common,
    sealed: verified.sealed,
    rootKey: rootKeyOf(verified, ring),
    blocks: explained(verified),
    ...(recorded && { now: recorded }),
    // An answered payment is told again whatever has been stopped since; only another chain is not.
    ...(isTold && isRecorded
      ? { would: 'repeat' }
      : refusal
        ? { would: 'refuse', refusal }
        : { would: isRecorded ? 'unopposed' : 'unknown' }),
    lookedUp: lookedUp(verified, recorded),
    notLookedUp: missing(verified, asked, recorded),
  }
}

const refuse = (code: DenialCode, detail?: string): Refusal => ({
  code,
  because: detail === undefined ? CODES[code].message : `${CODES[code].message}; ${detail}`,
})

function numbersOf(token: string): Inspection['unproved'] {
  if (token.length > LIMITS.tokenChars) return {}
  const bytes = tokenBytes(token)
  const envelope = bytes === undefined ? 'malformed' : readEnvelope(bytes)
  if (typeof envelope === 'string') return {}
  const { blocks, rootKeyId } = envelope
  return { blocks: blocks.length, ...(rootKeyId !== undefined && { rootKeyId }) }
}

/** What a person can do with a code of the verifier, beside the sentence that agents are given. */
function detailOf(
  code: DenialCode,
  ring: PublishedRootKeys,
  rootKeyId: number | undefined,
  now: Seconds,
): string {
  switch (code) {
    case 'root_unknown':
      return rootDetail(ring, rootKeyId, now)
    case 'token_invalid':
      return 'it was cut off, changed, or signed by somebody else than it says'
    case 'grammar':
      return 'its signatures hold, so a holder in it wrote what Headgate never writes'
    case 'signer':
      return 'somebody who is not in the chain has added to it'
    case 'too_large':
      return `expected at most ${LIMITS.tokenChars} characters and ${LIMITS.tokenBlocks} blocks`
    default:
      return 'it does not verify'
  }
}

function rootDetail(ring: PublishedRootKeys, id: number | undefined, now: Seconds): string {
  const isInForce = ({ retiresAt }: { retiresAt?: number | undefined }) =>
    retiresAt === undefined || now < retiresAt
  const inForce = ring.keys.filter(isInForce).map((key) => key.id)
  const listed = `in force here: ${inForce.join(', ')}`
  if (id === undefined) return `it names none; ${listed}`
  const isRetired = ring.keys.some((key) => key.id === id)
  return `it names ${id}, which ${isRetired ? 'is retired' : 'is not one of these'}; ${listed}`
}

function rootKeyOf({ rootKeyId: id }: VerifiedToken, ring: PublishedRootKeys) {
  const retiresAt = ring.keys.find((key) => key.id === id)?.retiresAt
  return { id, ...(retiresAt === undefined ? {} : { retiresAt: seconds(retiresAt) }) }
}

function explained({ blocks, rootKeyId, widenedAt }: VerifiedToken): InspectedBlock[] {
  return blocks.map((block, i) => {
    const parent = blocks[i - 1]
    const widened =
      parent !== undefined && widenedAt !== undefined && i >= widenedAt
        ? widenedClaim(parent, block)
        : undefined
    return {
      ...block,
      signedBy: parent === undefined ? `root key ${rootKeyId}` : `the holder of ${parent.node}`,
      ...(widened !== undefined && { widened }),
    }
  })
}

function recordedNow({ blocks, revocationIds }: VerifiedToken, detail: RunDetail): RecordedNow {
  const nodes = blocks.flatMap(({ node }) => detail.nodes.find(({ id }) => id === node) ?? [])
  const isKnown = nodes.length === blocks.length
  const recorded = nodes.at(-1)?.chain
  const isSame = recorded === chainDigest(revocationIds)
  return {
    run: detail.run,
    nodes,
    chain: !isKnown
      ? 'not recorded'
      : recorded === undefined
        ? 'not compared'
        : isSame
          ? 'the recorded one'
          : 'another one',
    // A run is shown frozen for its nodes' sake or for the gateway's.
    isGatewayFrozen: detail.run.frozen && !detail.nodes.some((node) => node.standing === 'frozen'),
  }
}

const isAnswered = ({ nodes }: RecordedNow): boolean =>
  ['submitted', 'settled', 'unknown'].includes(nodes.at(-1)?.payment?.state ?? '')

/** The first reason that is known, in the order of the gateway's checks 2, 3, 4 and 8. */
function refusalOf(
  { blocks, widenedAt }: VerifiedToken,
  asked: Asked,
  recorded: RecordedNow | undefined,
  now: Seconds,
): Refusal | undefined {
  if (asked.asked && recorded === undefined) {
    return refuse('token_invalid', 'the gateway has no such run')
  }
  if (recorded?.chain === 'not recorded') {
    return refuse('token_invalid', 'its planner has not registered this node with the gateway')
  }
  if (recorded?.chain === 'another one') {
    return refuse('token_invalid', 'the gateway recorded another chain for this node')
  }
  const over = blocks
    .filter(({ expiresAtSeconds }) => now >= expiresAtSeconds)
    .sort((a, b) => a.expiresAtSeconds - b.expiresAtSeconds)[0]
  if (over !== undefined) return refuse('expired', `first of all ${over.node}`)
  const stopped = recorded && stoppedBy(recorded)
  if (stopped) return stopped
  if (widenedAt !== undefined) return refuse('widened', `first of all block ${widenedAt}`)
  const node = recorded?.nodes.at(-1)
  // A planner with nothing left may still make lookers.
  const isEmpty = node?.kind === 'leaf' && node.available === 0 && node.reserved === 0
  return isEmpty ? refuse('insufficient', 'nothing is left of it') : undefined
}

function stoppedBy({ run, nodes, isGatewayFrozen }: RecordedNow): Refusal | undefined {
  const first = (...states: readonly string[]) =>
    nodes.find(({ standing }) => states.includes(standing))
  const revoked = first('revoked')
  if (revoked) return refuse('revoked', `it was ${revoked.id}`)
  if (isGatewayFrozen) return refuse('frozen', 'it is the gateway')
  const frozen = first('frozen')
  if (frozen) return refuse('frozen', `it is ${frozen.id}`)
  if (run.state !== 'running') return refuse('run_closed', `the run is ${run.state}`)
  const closed = first('closing', 'closed')
  return closed && refuse('run_closed', `${closed.id} is ${closed.standing}`)
}

/** What was judged here, with the number of the gateway's check that judges it again. */
function lookedUp({ blocks }: VerifiedToken, recorded: RecordedNow | undefined): string[] {
  const always = [
    'signatures, signers and grammar of every block, under a root key in force (check 2)',
    'whether a node has expired, by the clock of this machine (check 3)',
    'whether a block claims more than the one above it (check 4)',
  ]
  if (recorded === undefined) return always
  return [
    ...always,
    ...(recorded.chain === 'not compared'
      ? []
      : ['whether its chain is the recorded one (check 2)']),
    'whether its nodes, the run or the gateway were stopped (check 3)',
    ...(isLeaf(blocks) ? ['what is left of it (check 8)'] : []),
  ]
}

const isLeaf = (blocks: readonly BlockClaims[]): boolean => blocks.at(-1)?.kind === 'leaf'

/** What only the gateway judges, and what could not be asked. */
function missing(
  { blocks }: VerifiedToken,
  asked: Asked,
  recorded: RecordedNow | undefined,
): string[] {
  return [
    ...(asked.asked
      ? []
      : [
          `what is left of it, whether it was stopped, and whether its chain is recorded (${asked.why})`,
        ]),
    ...(recorded?.chain === 'not compared'
      ? ['whether its chain is the recorded one (check 2)']
      : []),
    'the proof by its holder (check 2)',
    'whether the mandate still verifies, and the clock of the gateway (check 3)',
    'the depth that the mandate allows (check 4)',
    'what its own checks say of a request (check 5)',
    ...(isLeaf(blocks)
      ? ['its quote, the rules, the mandate’s limits and the monitor (checks 6 to 9)']
      : []),
  ]
}
