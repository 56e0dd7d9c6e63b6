/**
 * A leaf at the gateway: it presents its one quote and does what the answer advises, until the payment has ended or
 * cannot be made. Every call is the same payment, so however often it is sent, money moves at most once. Whoever waits
 * for a person or the rail leaves its place among the purchases under way to another.
 */
import { z } from 'zod'
import { ClientError } from '../client/errors.ts'
import { paymentIdOf } from '../core/ids.ts'
import type { NodeRecord, PaymentRecord } from '../core/records.ts'
import type { PaymentAnswer } from '../core/wire.ts'
import { BranchEnded, type Walk } from './context.ts'
import { connectAs, waitWhileFrozen } from './nodes.ts'
import { backOff } from './steps.ts'

export const leafEndSchema = z.discriminatedUnion('kind', [
  /** `receipt` is the gateway's compact JWS; absent if it was settled and yet would not be given. */
  z.strictObject({ kind: z.literal('settled'), receipt: z.string().exactOptional() }),
  /** This quote cannot be paid; a fresh one might. */
  z.strictObject({ kind: z.literal('requote') }),
  z.strictObject({ kind: z.literal('refused'), code: z.string().max(80) }),
])
export type LeafEnd = z.output<typeof leafEndSchema>

/** Holds that one payment may run into, one after another, before it counts as refused. */
const MOST_HOLDS = 5

/** Released because the rail never saw the payment, not because it said no: a fresh quote is worth a try. */
const NEVER_MOVED: ReadonlySet<string> = new Set(['not_sent', 'absent_at_rail', 'never_submitted'])

export const paymentOf = (walk: Walk, leaf: NodeRecord): Promise<PaymentRecord | undefined> =>
  walk.ledger.payment(paymentIdOf(leaf.id, leaf.quote ?? ''))

/** Pays. Throws BranchEnded `outcome_unknown` when the rail's word does not come in time. */
export async function payLeaf(walk: Walk, leaf: NodeRecord, quote: string): Promise<LeafEnd> {
  const client = await connectAs(walk, leaf.id)
  const untilMs = walk.clock.nowMs() + walk.bounds.outcomeMs
  let holds = 0
  for (let tried = 1; ; ) {
    walk.signal.throwIfAborted()
    const answer = await send(() => client.pay(quote))
    if (answer instanceof ClientError) {
      const isOurs = answer.status === 0 || answer.status >= 500 || answer.status === 429
      // A proof may be stale by the time it arrives; a second one that is refused is no accident.
      const isOver = tried >= (isOurs ? Number.POSITIVE_INFINITY : 2)
      if (isOver) return { kind: 'refused', code: answer.code }
      await backOff(walk, tried)
      tried += 1
      if (isOurs) await stillWorthIt(walk, leaf)
      continue
    }
    if (answer.verdict === 'allow') {
      const end = await outcomeOf(walk, leaf, answer, untilMs)
      if (end.kind !== 'settled' || end.receipt !== undefined) return end
      if (tried >= walk.bounds.tries) return end
      await backOff(walk, tried)
      tried += 1
      continue
    }
    if (answer.verdict === 'hold') {
      holds += 1
      const decided = holds > MOST_HOLDS ? 'hold_limit' : await waitForPerson(walk, answer)
      if (decided !== 'approved') return { kind: 'refused', code: decided }
      continue
    }
    const end = denied(answer)
    if (end !== 'wait') return end
    await waitWhileFrozen(walk, leaf)
  }
}

async function send(call: () => Promise<PaymentAnswer>): Promise<PaymentAnswer | ClientError> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof ClientError) return error
    throw error
  }
}

/** While the gateway is at fault a leaf keeps trying, as long as it could still be paid or already is. */
async function stillWorthIt(walk: Walk, leaf: NodeRecord): Promise<void> {
  const payment = await paymentOf(walk, leaf)
  if (payment?.nonce === undefined) await waitWhileFrozen(walk, leaf)
}

function denied({ reason }: PaymentAnswer): LeafEnd | 'wait' {
  const code = reason?.code ?? 'policy'
  if (code === 'frozen') return 'wait'
  // A leaf ends with its quote; its planner can ask for another.
  if (reason?.advice === 'requote' || code === 'expired') return { kind: 'requote' }
  return { kind: 'refused', code }
}

/** What the rail's word is; settled without a receipt means that the gateway is to be asked for it once more. */
async function outcomeOf(
  walk: Walk,
  leaf: NodeRecord,
  { paymentId, state, receipt }: PaymentAnswer,
  untilMs: number,
): Promise<LeafEnd> {
  if (state === 'settled' && receipt !== undefined) return { kind: 'settled', receipt }
  for (;;) {
    walk.signal.throwIfAborted()
    const payment = await walk.ledger.payment(paymentId)
    if (payment?.state === 'settled') return { kind: 'settled' }
    if (payment?.state === 'released') {
      const code = payment.reason ?? 'declined'
      return NEVER_MOVED.has(code) ? { kind: 'requote' } : { kind: 'refused', code }
    }
    // A payer is a person, and has as long as the leaf has: a leaf that is closed ends what the payer has not agreed to.
    const isWithPayer = payment?.awaits === 'payer' || payment?.awaits === 'capture'
    const lastMs = isWithPayer ? Math.max(untilMs, leaf.expiresAtSeconds * 1000) : untilMs
    if (walk.clock.nowMs() >= lastMs) throw new BranchEnded('outcome_unknown')
    await walk.change(walk.bounds.pauseMs)
  }
}

/** Waits until a person has decided; what is neither yes nor no in time is a no. */
async function waitForPerson(walk: Walk, { holdId }: PaymentAnswer): Promise<string> {
  for (;;) {
    walk.signal.throwIfAborted()
    const hold = holdId === undefined ? undefined : await walk.ledger.hold(holdId)
    const isOver = hold === undefined || walk.clock.nowMs() >= hold.expiresAtSeconds * 1000
    if (hold?.state === 'approved' || hold?.state === 'consumed') return 'approved'
    if (hold?.state === 'refused') return 'hold_refused'
    if (isOver || hold?.state === 'expired') return 'hold_expired'
    await waitIfLive(walk, hold.node)
  }
}

async function waitIfLive(walk: Walk, node: NodeRecord['id']): Promise<void> {
  const { state } = await walk.ledger.standing(node)
  if (state === 'closing' || state === 'closed') throw new BranchEnded('run_closed')
  if (state === 'revoked') throw new BranchEnded('revoked')
  await walk.change(walk.bounds.pauseMs)
}
