/** What operators and principals do to runs, nodes and holds. Each act is a ledger command with the actor's name on it. */
import { z } from 'zod'
import { Rejected } from '../core/errors.ts'
import {
  freshId,
  type HoldId,
  identifierSchema,
  type NodeId,
  type RunId,
  runIdSchema,
} from '../core/ids.ts'
import type { Acknowledge } from '../core/inbox.ts'
import { parseJws } from '../core/jws.ts'
import type { Regain, Resolve } from '../core/late.ts'
import type { Commands, DecideHold, Result } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { HoldRecord, NodeRecord, RunRecord, StandingState } from '../core/records.ts'
import { later, nowSeconds, secondsSchema } from '../core/time.ts'
import { closeSubtree } from '../ledger/closing.ts'
import { type ErasedRun, eraseRun } from '../ledger/erasing.ts'
import { asksAbout, type Card } from './cards.ts'
import { cancelRun, finishIfClosed } from './finish.ts'
import type { Gate } from './gate.ts'
import { verifySigner } from './mandates.ts'

export type StandingResult = Commands['setStanding']['result']

/** Freezes, resumes or revokes a node and so everything below it; `gateway` stops or resumes everything. */
export function setStanding(
  gate: Gate,
  node: NodeId | 'gateway',
  state: 'live' | 'frozen' | 'revoked',
  by: string,
): Promise<StandingResult> {
  return gate.ledger.execute('setStanding', { node, state, by, now: nowSeconds(gate.clock) })
}

export type ClosedNode = Result<{
  readonly standing: StandingState
  /** Nodes at or below that wait for the rail's word on a payment. */
  readonly waiting: readonly NodeId[]
}>

/** Closes a node with everything below it; what is free goes back to its parent at once. */
export async function closeByOperator(gate: Gate, node: NodeId, by: string): Promise<ClosedNode> {
  const closed = await closeSubtree(gate.ledger, node, by, gate.clock)
  if (!closed.ok) return closed
  const record = await gate.ledger.node(node)
  if (record !== undefined && record.parent === undefined) await finishIfClosed(gate, record.run)
  return { ok: true, standing: closed.standing.state, waiting: closed.waiting }
}

export type CancelledRun = Result<{
  readonly run: RunRecord
  readonly waiting: readonly NodeId[]
}>

const cancelSchema = z.strictObject({
  iss: identifierSchema,
  aud: identifierSchema,
  run: runIdSchema,
  iat: secondsSchema,
})

/** Cancels on the principal's own signature (`cancel+jwt`). Throws Rejected with the claim that was not accepted. */
export async function cancelSigned(gate: Gate, id: RunId, text: string): Promise<CancelledRun> {
  const reject = (claim: string, message: string) => new Rejected('cancel_rejected', message, claim)
  const jws = parseJws(text, 'cancel+jwt')
  if (jws === undefined) throw reject('cancel', 'expected a compact JWS of type cancel+jwt')
  const unsigned = verifySigner(jws, gate.trust)
  if (unsigned !== undefined) throw reject(unsigned.claim, unsigned.message)
  const claims = cancelSchema.safeParse(jws.claims)
  if (!claims.success) {
    const name = claims.error.issues[0]?.path[0]
    throw reject(typeof name === 'string' ? name : 'cancel', 'expected iss, aud, run and iat')
  }
  const { iss, aud, run, iat } = claims.data
  if (aud !== gate.facts.gatewayId) throw reject('aud', 'expected the id of this gateway')
  if (run !== id) throw reject('run', 'expected the run of this address')
  if (iat > later(nowSeconds(gate.clock), LIMITS.skewSeconds)) {
    throw reject('iat', 'expected a time in the past')
  }
  const record = await gate.ledger.run(id)
  if (record === undefined) return { ok: false, code: 'not_found' }
  if (record.principal !== iss) throw reject('iss', 'expected the principal of this run')
  return cancelRun(gate, id, iss)
}

export type DecidedHold = Result<{ readonly hold: HoldRecord }>

/**
 * A person's answer. `digest` is of the card that the person saw; a yes is only taken while that is still the card
 * that would be shown now, otherwise the answer is `stale`.
 */
export async function decideHold(
  gate: Gate,
  answer: Omit<DecideHold, 'now'>,
): Promise<DecidedHold> {
  const now = nowSeconds(gate.clock)
  const hold = await gate.ledger.hold(answer.hold)
  if (hold === undefined) return { ok: false, code: 'not_found' }
  if (answer.decision === 'approved' && hold.state === 'open' && now < hold.expiresAtSeconds) {
    const card = await cardAsStored(gate, hold)
    if (card === undefined || !asksAbout(hold, card, now)) return { ok: false, code: 'stale' }
  }
  return gate.ledger.execute('decideHold', { ...answer, now })
}

export type ResolutionWord = Omit<Resolve, 'now' | 'attempt'>
export type ResolvedPayment = Commands['resolve']['result']

/** The rail's word is not asked for here: whichever comes first, a second operator's or the rail's, stands. */
export function resolvePayment(gate: Gate, word: ResolutionWord): Promise<ResolvedPayment> {
  const { ledger, clock } = gate
  return ledger.execute('resolve', { ...word, attempt: freshId(), now: nowSeconds(clock) })
}

export type RegainWord = Omit<Regain, 'now' | 'attempt'>
export type RegainedPayment = Commands['regain']['result']

export function regainPayment(gate: Gate, word: RegainWord): Promise<RegainedPayment> {
  const { ledger, clock } = gate
  return ledger.execute('regain', { ...word, attempt: freshId(), now: nowSeconds(clock) })
}

export type AcknowledgeWord = Omit<Acknowledge, 'now' | 'attempt'>
export type AcknowledgedOutside = Commands['acknowledge']['result']

/** A person knows of what moved without us. */
export function acknowledgeOutside(
  { ledger, clock }: Gate,
  word: AcknowledgeWord,
): Promise<AcknowledgedOutside> {
  return ledger.execute('acknowledge', { ...word, attempt: freshId(), now: nowSeconds(clock) })
}

/** Erases the clear values of a run that has ended; see `runtime/ledger/erasing.ts` for what goes and what stays. */
export function eraseOf(gate: Gate, run: RunId, by: string): Promise<ErasedRun> {
  return eraseRun(gate.ledger, { run, by }, gate.clock)
}

export type HoldDecision = Pick<DecideHold, 'digest' | 'by'> & { readonly hold: HoldId }

/** The card as records and configuration have it now; undefined where something of it is gone. */
async function cardAsStored(gate: Gate, hold: HoldRecord): Promise<Card | undefined> {
  const binding = gate.bindings.get(hold.payee)
  const leaf = await gate.ledger.node(hold.node)
  if (leaf?.quote === undefined || binding === undefined) return undefined
  const nodes = await Promise.all(leaf.path.map((id) => gate.ledger.node(id)))
  const path = nodes.filter((node): node is NodeRecord => node !== undefined)
  const { payment, payee, merchant, amount, currency, lines, provenance } = hold
  return {
    ...(leaf.salt === undefined ? {} : { salt: leaf.salt }),
    payment,
    payee,
    payeeName: binding.name,
    account: binding.digest(path[0]?.salt),
    merchant,
    amount,
    currency,
    lines,
    ...(provenance === undefined ? {} : { provenance }),
    path: path.map(({ id, label }) => ({ id, label })),
    quote: leaf.quote,
    policy: gate.policy.version,
  }
}
