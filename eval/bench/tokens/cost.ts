/**
 * What one verification and one minting cost beside the library alone, in the process that asks: each in a fresh one,
 * through `cost-probe.ts`, because the library's leaks would slow down whatever comes next.
 */

import { encodeBlock } from '../../../runtime/client/encode.ts'
import { readEnvelope } from '../../../runtime/client/envelope.ts'
import { mintChild } from '../../../runtime/client/mint.ts'
import { systemClock } from '../../../runtime/core/clock.ts'
import type { TokenVerdict } from '../../../runtime/core/engine.ts'
import type { HolderKey } from '../../../runtime/core/ids.ts'
import { createTokenEngine } from '../../../runtime/tokens/pool.ts'
import { checkProof, type ProofToCheck } from '../../../runtime/tokens/proof.ts'
import { verifyToken } from '../../../runtime/tokens/verify.ts'
import { blockText } from '../../attacks/forge/datalog.ts'
import { compare, type Rounds } from '../timing.ts'
import {
  keyOf,
  leafAt,
  leafClaims,
  plannerAt,
  proofAt,
  REQUEST,
  RING,
  ROOT_KEYS,
} from './chains.ts'
import { type LibraryAlone, loadLibraryAlone } from './library-side.ts'

export type CostOrder =
  | { readonly kind: 'verify' | 'pool'; readonly depth: number; readonly rounds: Rounds }
  | { readonly kind: 'mint'; readonly rounds: Rounds }

/** Milliseconds a call, in the order in which the kind of order lists them. */
export type Costs = readonly number[]

export function measureCosts(order: CostOrder): Promise<Costs> {
  switch (order.kind) {
    case 'verify':
      return verifyCosts(order.depth, order.rounds)
    case 'pool':
      return poolCosts(order.depth, order.rounds)
    case 'mint':
      return mintCosts(order.rounds)
  }
}

function mustHold(proof: ProofToCheck): HolderKey {
  const checked = checkProof(proof)
  if (!checked.ok) throw new Error('expected the proof to hold')
  return checked.holder
}

function mustPermit(verdict: TokenVerdict): void {
  const authorised = verdict.ok && verdict.token.authorised
  if (authorised !== true) throw new Error('expected the token to permit the payment')
}

/** Our whole judgement of a payment's token and proof, then the library's parse, then its parse and authorisation. */
async function verifyCosts(depth: number, rounds: Rounds): Promise<Costs> {
  const library = await loadLibraryAlone()
  const { biscuit, refill } = library
  const token = leafAt(depth)
  const proof = proofAt(depth, token)
  const ours = () => mustPermit(verifyToken(biscuit, RING, token, REQUEST, mustHold(proof)))
  return compare(
    [
      { run: ours, between: refill },
      { run: () => library.parse(token), between: refill },
      { run: () => library.authorise(token), between: refill },
    ],
    rounds,
  )
}

/** The same through the pool, one call after another, then the library's parse in this thread. */
async function poolCosts(depth: number, rounds: Rounds): Promise<Costs> {
  const library = await loadLibraryAlone()
  const engine = await createTokenEngine({ rootKeys: ROOT_KEYS, clock: systemClock() })
  try {
    const token = leafAt(depth)
    const proof = proofAt(depth, token)
    const ours = async () => mustPermit(await engine.verify(token, REQUEST, mustHold(proof)))
    return await compare(
      [{ run: ours }, { run: () => library.parse(token), between: library.refill }],
      rounds,
    )
  } finally {
    await engine.close()
  }
}

const PARENT_DEPTH = 3

/**
 * Our minting of a leaf, from text to text. Then the library's: of a parent that it has parsed already, with the block built from
 * its Datalog; the same of a parent that it has yet to parse and verify, as text; and the first with the block built already.
 */
async function mintCosts(rounds: Rounds): Promise<Costs> {
  const library = await loadLibraryAlone()
  const [parent, holder] = [plannerAt(PARENT_DEPTH), keyOf(PARENT_DEPTH + 1)]
  const claims = leafClaims(PARENT_DEPTH + 1)
  const theirs = libraryMinting(library, parent)
  assertSameBlock(theirs.whole())
  assertSameBlock(mintChild(parent, holder, claims).token)
  const between = library.refill
  return compare(
    [
      { run: () => mintChild(parent, holder, claims) },
      { run: theirs.parsed, between },
      { run: theirs.whole, between },
      { run: theirs.built, between },
    ],
    rounds,
  )
}

function libraryMinting({ biscuit, root }: LibraryAlone, parent: string) {
  const { Biscuit, PrivateKey, PublicKey, SignatureAlgorithm } = biscuit
  const key = keyOf(PARENT_DEPTH + 1)
  const { d = '', x = '' } = key.export({ format: 'jwk' })
  const secret = PrivateKey.fromBytes(Buffer.from(d, 'base64url'), SignatureAlgorithm.Ed25519)
  const signer = PublicKey.fromBytes(Buffer.from(x, 'base64url'), SignatureAlgorithm.Ed25519)
  const source = blockText(leafClaims(PARENT_DEPTH + 1))
  const build = () => {
    const block = Biscuit.block_builder()
    block.addCode(source)
    return block
  }
  type Block = ReturnType<typeof build>
  type Token = ReturnType<typeof Biscuit.fromBase64>
  const append = (token: Token, block: Block): string => {
    using signed = token.getThirdPartyRequest().createBlock(secret, block)
    using open = token.appendThirdPartyBlock(signer, signed)
    using sealed = open.sealToken()
    return sealed.toBase64()
  }
  const known = Biscuit.fromBase64(parent, root)
  const ready = build()
  return {
    parsed: () => {
      using block = build()
      return append(known, block)
    },
    whole: () => {
      using token = Biscuit.fromBase64(parent, root)
      using block = build()
      return append(token, block)
    },
    built: () => append(known, ready),
  }
}

/** Both sides write the very same block, or they are not compared. */
function assertSameBlock(token: string): void {
  const envelope = readEnvelope(Buffer.from(token, 'base64url'))
  const payload = typeof envelope === 'string' ? undefined : envelope.blocks.at(-1)?.payload
  const index = PARENT_DEPTH + 1
  if (payload === undefined || !encodeBlock(leafClaims(index), index).equals(payload)) {
    throw new Error('expected the same block on both sides')
  }
}
