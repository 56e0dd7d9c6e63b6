/**
 * A leaf at the gateway: it presents its one quote and does what the answer advises, until the payment has ended or
 * cannot be made. Every call is the same payment, so however often it is sent, money moves at most once.
 */

import { ClientError } from '../client/errors.ts'
import { paymentIdOf } from '../core/ids.ts'
import type { NodeRecord, PaymentRecord } from '../core/records.ts'
import type { PaymentAnswer } from '../core/wire.ts'
import { BranchEnded, type Walk } from './context.ts'
import { connectAs, waitWhileFrozen } from './nodes.ts'
import { backOff } from './steps.ts'

export type LeafEnd =
  | { readonly kind: 'settled'; readonly payment: PaymentRecord; readonly receipt: string }
  /** This quote cannot be paid; a fresh one might. */
  | { readonly kind: 'requote' }
  | { readonly kind: 'refused'; readonly code: string }

/** Holds that one payment may run into, one after another, before it counts as refused. */
const MOST_HOLDS = 5

/** Released because the rail never saw the payment, not because it said no: a fresh quote is worth a try. */
const NEVER_MOVED: ReadonlySet<string> = new Set(['not_sent', 'absent_at_rail', 'never_submitted'])

export async function payLeaf(walk: Walk, leaf: NodeRecord, quote: string): Promise<LeafEnd> {
  const client = await connectAs(walk, leaf.id)
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
    if (answer.verdict === 'allow') return ended(walk, answer)
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
  const payments = await walk.ledger.payment(paymentIdOf(leaf.id, leaf.quote ?? ''))
  if (payments?.nonce === undefined) await waitWhileFrozen(walk, leaf)
}

function denied({ reason }: PaymentAnswer): LeafEnd | 'wait' {
  const code = reason?.code ?? 'policy'
  switch (reason?.advice) {
    case 'requote':
      return { kind: 'requote' }
    case 'wait_for_person':
      return 'wait'
    case 'ask_parent':
      // A leaf ends with its quote; its planner can ask for another.
      return code === 'expired' ? { kind: 'requote' } : { kind: 'refused', code }
    case 'retry':
    case 'stop':
    case undefined:
      return { kind: 'refused', code }
  }
}

/** Let through: settled now, or on its way and told by the record once the rail has spoken. */
async function ended(walk: Walk, answer: PaymentAnswer): Promise<LeafEnd> {
  const untilMs = walk.clock.nowMs() + walk.bounds.outcomeMs
  for (;;) {
    walk.signal.throwIfAborted()
    const payment = await walk.ledger.payment(answer.paymentId)
    if (payment?.state === 'settled') {
      return { kind: 'settled', payment, receipt: answer.receipt ?? '' }
    }
    if (payment?.state === 'released') {
      const code = payment.reason ?? 'declined'
      return NEVER_MOVED.has(code) ? { kind: 'requote' } : { kind: 'refused', code }
    }
    if (walk.clock.nowMs() >= untilMs) throw new BranchEnded('outcome_unknown')
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
