/**
 * Checks 1 and 2: who is calling. The proof is judged first, by itself, so that a bad one costs no worker; then the
 * token, whose own checks are run only if its last holder made that proof. Nothing is read from the store before the
 * holder has signed this very request, and a chain that was never recorded is nobody's.
 */
import type { BlockClaims, Operation, RequestFacts } from '../core/block.ts'
import type { DenialCode } from '../core/codes.ts'
import type { VerifiedToken } from '../core/engine.ts'
import { Fault } from '../core/errors.ts'
import { freshId } from '../core/ids.ts'
import type { ProofUse, Snapshot, SnapshotRequest } from '../core/ledger.ts'
import { nowSeconds, type Seconds } from '../core/time.ts'
import { checkProof } from '../tokens/proof.ts'
import { type Answer, UNAUTHENTICATED } from './answers.ts'
import type { AgentRequest, Attempt, Parsed } from './attempt.ts'
import type { Facts } from './facts.ts'
import type { Gate } from './gate.ts'
import { readMandate } from './mandates.ts'
import { Trial } from './pipeline.ts'

/** A caller that has proved whose token it holds, and what the later checks will read. */
export interface Caller<Body> {
  readonly attempt: Attempt
  readonly trial: Trial
  readonly request: AgentRequest<Body>
  readonly token: VerifiedToken
  /** The caller's own block, the last of its chain. */
  readonly node: BlockClaims
  readonly snapshot: Snapshot
  readonly facts: Facts
  /** To be consumed by the transaction that records the verdict. */
  readonly proof: ProofUse
}

export type Identified<Body> =
  | { readonly ok: true; readonly caller: Caller<Body> }
  | { readonly ok: false; readonly code: DenialCode }

interface ToIdentify<Body> {
  readonly operation: Operation
  readonly parsed: Parsed<Body>
  /** What the token's own checks are asked to permit, where it can be stated before the token is read. */
  readonly request?: (body: Body, now: Seconds) => RequestFacts | undefined
  /** What else to read as of the same instant. */
  readonly also?: (
    body: Body,
    node: BlockClaims,
    root: BlockClaims,
    now: Seconds,
  ) => Omit<SnapshotRequest, 'node'>
}

/** Judges checks 1 and 2; a caller that passes comes with all that the later ones read as of one instant. Throws Fault. */
export async function identify<Body>(
  gate: Gate,
  { operation, parsed, request: asked, also }: ToIdentify<Body>,
): Promise<Identified<Body>> {
  const now = nowSeconds(gate.clock)
  const attempt: Attempt = { operation, parsed, now }
  const trial = new Trial(gate.checks, gate.clock)
  const misshapen = trial.judge('shape', attempt, {})
  if (misshapen) return { ok: false, code: misshapen.code }
  if (!parsed.ok) return { ok: false, code: parsed.code }

  const { request } = parsed
  const possession = checkProof({ ...request, now, signatures: gate.signatures })
  const token = possession.ok
    ? await gate.engine.verify(request.token, asked?.(request.body, now), possession.holder)
    : undefined
  const [root] = token?.ok ? token.token.blocks : []
  const node = token?.ok ? token.token.blocks.at(-1) : undefined
  const snapshot =
    root && node
      ? await gate.ledger.snapshot({ node: node.node, ...also?.(request.body, node, root, now) })
      : undefined

  const facts = factsOf(gate, {
    proofHolds: possession.ok,
    ...(token && { token }),
    ...(snapshot && { snapshot }),
  })
  const unproved = trial.judge('authenticity', attempt, facts)
  if (unproved) return { ok: false, code: unproved.code }
  if (!possession.ok) return { ok: false, code: 'proof_invalid' }
  if (!token?.ok || !node || !snapshot) return { ok: false, code: 'token_invalid' }

  gate.engine.recognise(possession.holder)
  await assertNoMoreThanToken(gate, snapshot, { node, now })
  const { ok: _ok, ...used } = possession
  const proof = { ...used, attempt: freshId() }
  return {
    ok: true,
    caller: { attempt, trial, request, token: token.token, node, snapshot, facts, proof },
  }
}

/** Before the caller is known every refusal looks the same, and is counted, not stored. */
export function unauthenticated(gate: Gate, code: DenialCode): Answer {
  gate.counts.add(code)
  return UNAUTHENTICATED
}

function factsOf(gate: Gate, known: Pick<Facts, 'token' | 'proofHolds' | 'snapshot'>): Facts {
  const { token, snapshot } = known
  if (snapshot === undefined || !token?.ok) return { ...known, chainRecorded: false }
  const reading = readMandate(snapshot.run.mandate, gate.trust)
  return {
    ...known,
    chainRecorded: isRecorded(snapshot, token.token),
    ...(reading.ok && reading.digest === snapshot.run.mandateDigest
      ? { mandate: reading.mandate }
      : {}),
  }
}

/**
 * Revocation ids alone are no identity: whoever holds a parent's token can append a signed block again under a new
 * id. So the whole presented chain must be the one that was recorded when the node was split off, in its own run.
 */
function isRecorded({ run, path }: Snapshot, { blocks, revocationIds }: VerifiedToken): boolean {
  const record = path.at(-1)
  return (
    record !== undefined &&
    record.revocationIds.length === revocationIds.length &&
    record.revocationIds.every((id, i) => id === revocationIds[i]) &&
    path.length === blocks.length &&
    path.every((node, i) => node.id === blocks[i]?.node && node.holder === blocks[i]?.holder) &&
    blocks[0]?.run === run.id
  )
}

/** An account may fall below its token's ceiling and never rise above it; a store that says so was edited: the run stops. */
async function assertNoMoreThanToken(
  { ledger }: Gate,
  { account, run }: Snapshot,
  { node, now }: { node: BlockClaims; now: Seconds },
): Promise<void> {
  if (account.ceiling <= node.ceiling) return
  await ledger.execute('haltRun', { run: run.id, stream: account.node, now })
  throw new Fault('ledger_corrupt', 'an account has more than its token', { retryable: false })
}
