/**
 * Transitions of refunds that we ask for. The right to give back is taken in the payment's own record before the rail is
 * called: what is open, what was made and what the rail sent back by itself together never exceed what was settled, however
 * many ask at once. A refund that was made is money that came back: it stays in `spent`, noted in `reversed`, once, also
 * where the rail told of it first. A person puts it to use again, or the operator's policy that no person has to.
 */
import { eventReason, eventWord } from '../core/events.ts'
import type { Commands, Refused } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { type Minor, minor, plus, ZERO } from '../core/money.ts'
import { type PaymentRecord, type RefundRecord, reversedOf } from '../core/records.ts'
import type { Refund, RefundEnd, RefundMade } from '../core/refund.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { regainAs } from './reversals.ts'
import { isOpen, refused } from './rules.ts'

/** The rail may have been called, and its word is awaited. */
export const isOpenRefund = ({ state }: Pick<RefundRecord, 'state'>): boolean =>
  state === 'pending' || state === 'unknown'

export function* refund(input: Refund, draft: Draft): Steps<Commands['refund']['result']> {
  const { id, amount, by, nonce, nowMs, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const { refunds = [] } = payment
  const known = refunds.find((each) => each.id === id)
  if (known !== undefined) {
    if (known.amount !== amount) return refused('conflict')
    return { ok: true, payment, refund: known, created: known.nonce === nonce }
  }
  const refusal = judge(payment, input)
  if (refusal) return refusal
  yield [keys.account(payment.node)]
  const asked: RefundRecord = {
    id,
    amount,
    state: 'pending',
    by,
    atSeconds: now,
    nonce,
    submittedAtMs: nowMs,
  }
  const after = withRefunds(payment, [...refunds, asked])
  draft.put(keys.payment(payment.id), after)
  draft.append(payment.node, 'refund_asked', {
    payment: payment.id,
    refund: id,
    amount,
    by: eventWord(by),
  })
  return { ok: true, payment: after, refund: asked, created: true }
}

function judge(payment: PaymentRecord, { amount }: Refund): Refused | undefined {
  const { state, refunds = [] } = payment
  if (state !== 'settled' || amount < 1) return refused('conflict')
  const isMore = amount > leftToRefund(payment)
  return isMore || refunds.length >= LIMITS.refunds ? refused('insufficient') : undefined
}

function withRefunds(payment: PaymentRecord, refunds: readonly RefundRecord[]): PaymentRecord {
  const { refunding: _before, ...rest } = payment
  return { ...rest, refunds, ...(refunds.some(isOpenRefund) ? { refunding: true } : {}) }
}

const replaced = (payment: PaymentRecord, after: RefundRecord): PaymentRecord =>
  withRefunds(
    payment,
    (payment.refunds ?? []).map((each) => (each.id === after.id ? after : each)),
  )

export function* refunded(input: RefundMade, draft: Draft): Steps<Commands['refunded']['result']> {
  const { amount, railReference, budget, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  const found = payment?.refunds?.find(({ id }) => id === input.refund)
  if (payment === undefined || found === undefined) return refused('not_found')
  if (found.state === 'made') {
    const isSame = found.railReference === railReference && found.amount === amount
    return isSame ? { ok: true, payment } : refused('conflict')
  }
  if (!isOpenRefund(found) || found.amount !== amount) return refused('conflict')
  const { reversals = [], settledAmount = ZERO } = payment
  const told = reversals.find(({ id }) => id === railReference)
  const isAnothers = payment.refunds?.some((each) => each.railReference === railReference)
  if (isAnothers || (told !== undefined && told.amount !== amount)) return refused('conflict')
  if (told === undefined && reversedOf(payment) + amount > settledAmount) {
    return refused('insufficient')
  }
  yield [keys.account(payment.node)]
  const made = replaced(payment, { ...found, state: 'made', railReference })
  const back = { id: railReference, kind: 'refunded', amount, atSeconds: now } as const
  const after = told === undefined ? { ...made, reversals: [...reversals, back] } : made
  const { reversed } = draft.need(keys.account(payment.node))
  if (told === undefined) draft.move(payment.node, { reversed: plus(reversed, amount) })
  draft.put(keys.payment(payment.id), after)
  draft.append(payment.node, 'refunded', {
    payment: payment.id,
    refund: found.id,
    amount,
    reference: eventWord(railReference),
  })
  const isReturned = budget === 'return' && (yield* mayReturn(draft, after, amount))
  if (!isReturned) return { ok: true, payment: after }
  const evidence = { evidence: `refund ${found.id}`, by: 'policy', salt: found.nonce, now }
  return { ok: true, payment: yield* regainAs(draft, after, { part: amount, ...evidence }) }
}

/** What a person has not put to use already, where nothing was revoked or is closing: a leaf that has ended passes it on. */
function* mayReturn(draft: Draft, payment: PaymentRecord, amount: Minor): Steps<boolean> {
  const isThere = reversedOf(payment) - (payment.regained?.amount ?? ZERO) >= amount
  if (!isThere) return false
  yield [keys.node(payment.node), keys.run(payment.run)]
  const { path } = draft.need(keys.node(payment.node))
  const { root, state, halted } = draft.need(keys.run(payment.run))
  yield path.map(keys.standing)
  const states = path.map((id) => draft.standing(id).state)
  const isStopped = states.includes('revoked') || states.includes('closing')
  return state === 'running' && halted === undefined && !isStopped && isOpen(draft.standing(root))
}

/** What of a payment can still be asked back: what is open or has come back by whichever way is no more there. */
export function leftToRefund(payment: PaymentRecord): Minor {
  const { state, refunds = [], settledAmount = ZERO } = payment
  if (state !== 'settled') return ZERO
  const open = refunds.filter(isOpenRefund).reduce((sum, each) => sum + each.amount, 0)
  return minor(Math.max(ZERO, settledAmount - reversedOf(payment) - open))
}

export const refundFailed = (input: RefundEnd, draft: Draft) => end(input, draft, 'failed')

export const refundUnknown = (input: RefundEnd, draft: Draft) => end(input, draft, 'unknown')

/** Neither moves money: what failed frees the right that it had taken, what is unknown keeps it. */
function* end(
  input: RefundEnd,
  draft: Draft,
  state: 'failed' | 'unknown',
): Steps<Commands['refundFailed']['result']> {
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  const found = payment?.refunds?.find(({ id }) => id === input.refund)
  if (payment === undefined || found === undefined) return refused('not_found')
  if (found.state === state) return { ok: true, payment }
  if (!isOpenRefund(found)) return refused('conflict')
  yield [keys.account(payment.node)]
  const reason = eventReason(input.reason)
  const after = replaced(payment, { ...found, state, reason })
  draft.put(keys.payment(payment.id), after)
  draft.append(payment.node, state === 'failed' ? 'refund_failed' : 'refund_unknown', {
    payment: payment.id,
    refund: found.id,
    reason,
  })
  return { ok: true, payment: after }
}
