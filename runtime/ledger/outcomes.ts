/**
 * Transitions after the rail: settled, released, unknown. Each happens once; what comes free at a node that is
 * closing climbs to the nearest open ancestor. A full settlement touches the leaf and its payment, nothing else.
 */

import type { MarkUnknown, Release, Settle } from '../core/ending.ts'
import { eventReason, eventWord } from '../core/events.ts'
import { type Digest, receiptIdOf } from '../core/ids.ts'
import type { Commands } from '../core/ledger.ts'
import { type Minor, minor, minus, plus, ZERO } from '../core/money.ts'
import { digestAt } from '../core/personal.ts'
import type { PaymentRecord, RailSaid } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import { undraw } from './authorisations.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { counterOf } from './payments.ts'
import { climb, isAwaited, isOpen, refused } from './rules.ts'

export function* settle(input: Settle, draft: Draft): Steps<Commands['settle']['result']> {
  const { amount, railReference, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  if (payment.state === 'settled') {
    const isSame = payment.settledAmount === amount && payment.railReference === railReference
    if (!isSame) return refused('conflict')
    return { ok: true, payment: yield* hear(draft, payment, statusOnly(input)) }
  }
  const isPossible = isAwaited(payment) && amount > 0 && amount <= payment.amount
  if (!isPossible) return refused('conflict')
  const end = { amount, railReference, now, ...statusOnly(input) }
  const settled = yield* settleAs(draft, payment, end)
  return { ok: true, payment: settled }
}

/** Of an end that two operators have decided: the salted digest of their evidence. */
type ByPeople = { readonly evidence?: Digest }

type Status = Pick<RailSaid, 'railStatus'>

const statusOnly = ({ railStatus }: Status): Status =>
  railStatus === undefined ? {} : { railStatus }

const inEvent = ({ railStatus }: Status): { status?: string } =>
  railStatus === undefined ? {} : { status: railStatus }

/** Whose turn it was is over. */
function ended(payment: PaymentRecord): PaymentRecord {
  const { awaits: _awaits, approveUrl: _url, completing: _standings, ...others } = payment
  const { completingAtSeconds: _at, ...rest } = others
  return rest
}

/** Moves the money of a payment whose word is awaited; whoever calls this has judged whose word it is. */
export function* settleAs(
  draft: Draft,
  payment: PaymentRecord,
  end: { amount: Minor; railReference: string; now: Seconds } & ByPeople & Status,
): Steps<PaymentRecord> {
  const { amount, railReference, now, evidence } = end
  const rest = minus(payment.amount, amount)
  yield [keys.account(payment.node), ...(rest > 0 ? payment.counters.map(keys.counter) : [])]
  const { available, reserved, spent } = draft.need(keys.account(payment.node))
  draft.move(payment.node, {
    reserved: minus(reserved, payment.amount),
    spent: plus(spent, amount),
    available: plus(available, rest),
  })
  const endHead = draft.append(payment.node, 'settled', {
    payment: payment.id,
    amount,
    reference: eventWord(railReference),
    receipt: receiptIdOf(payment.id),
    ...inEvent(end),
    ...(evidence === undefined ? {} : { evidence }),
  })
  if (rest > 0) uncount(draft, payment, { count: 0, amount: rest })
  const settled: PaymentRecord = {
    ...ended(payment),
    ...statusOnly(end),
    state: 'settled',
    settledAmount: amount,
    railReference,
    endHead,
    endedAtSeconds: now,
  }
  draft.put(keys.payment(payment.id), settled)
  if (rest > 0) yield* passOn(draft, payment)
  return settled
}

export function* release(input: Release, draft: Draft): Steps<Commands['release']['result']> {
  const { from, reason, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const isFrom = (payment.nonce === undefined) === (from === 'reserved')
  if (!isFrom) return refused('conflict')
  if (payment.state === 'released') return { ok: true, payment }
  if (payment.state === 'settled') return refused('conflict')
  const { monitor } = input
  const end = {
    reason,
    now,
    ...statusOnly(input),
    ...(monitor === undefined ? {} : { monitor }),
  }
  return { ok: true, payment: yield* releaseAs(draft, payment, end) }
}

/** Gives the money and the quote back; whoever calls this has judged whose word it is. */
export function* releaseAs(
  draft: Draft,
  payment: PaymentRecord,
  end: { reason: string; now: Seconds } & ByPeople & Status & Pick<Release, 'monitor'>,
): Steps<PaymentRecord> {
  const { id, node, amount } = payment
  const { reason, now, evidence, monitor } = end
  const claim = keys.claim(payment.merchant, payment.quoteJti)
  yield [keys.account(node), claim, ...payment.counters.map(keys.counter)]
  const { available, reserved } = draft.need(keys.account(node))
  draft.move(node, { reserved: minus(reserved, amount), available: plus(available, amount) })
  const endHead = draft.append(node, 'released', {
    payment: id,
    amount,
    reason: eventReason(reason),
    ...inEvent(end),
    ...(evidence === undefined ? {} : { evidence }),
  })
  if (draft.get(claim) === id) draft.remove(claim)
  uncount(draft, payment, { count: 1, amount })
  // What people decide the rail may yet take: its sum is the rail's own word alone.
  if (evidence === undefined) yield* undraw(draft, payment)
  const released: PaymentRecord = {
    ...ended(payment),
    ...statusOnly(end),
    ...(monitor === undefined ? {} : { monitor }),
    state: 'released',
    reason,
    endHead,
    endedAtSeconds: now,
  }
  draft.put(keys.payment(id), released)
  yield* passOn(draft, payment)
  return released
}

/** In the periods where it was counted, whatever period it is now. */
function uncount(
  draft: Draft,
  payment: PaymentRecord,
  less: { readonly count: number; readonly amount: Minor },
): void {
  for (const key of payment.counters) {
    const { count, amount } = counterOf(draft, key)
    draft.put(keys.counter(key), {
      key,
      count: Math.max(0, count - less.count),
      amount: minor(Math.max(ZERO, amount - less.amount)),
    })
  }
}

/** Sends what came free at a node that is closing or closed up to the nearest open ancestor. */
export function* passOn(draft: Draft, payment: PaymentRecord): Steps<void> {
  yield [keys.standing(payment.node)]
  if (isOpen(draft.standing(payment.node))) return
  yield [keys.node(payment.node)]
  yield* climb(draft, draft.need(keys.node(payment.node)))
}

export function* markUnknown(
  input: MarkUnknown,
  draft: Draft,
): Steps<Commands['markUnknown']['result']> {
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  if (!isAwaited(payment)) return refused('conflict')
  if (payment.state === 'submitted') {
    yield [keys.account(payment.node)]
    draft.put(keys.payment(payment.id), { ...payment, state: 'unknown' })
    draft.append(payment.node, 'unknown', {
      payment: payment.id,
      reason: eventReason(input.reason),
    })
  }
  const unknown = draft.need(keys.payment(payment.id))
  return { ok: true, payment: yield* hear(draft, unknown, input.said ?? {}) }
}

/** Writes down what the rail says of a payment that it has, once: the same again changes and appends nothing. */
function* hear(draft: Draft, payment: PaymentRecord, said: RailSaid): Steps<PaymentRecord> {
  const { awaits = payment.awaits } = said
  // Where the payer agrees is of use only while it is the payer's turn.
  const { approveUrl: url = payment.approveUrl, ...rest } = said
  const { approveUrl: _before, ...without } = payment
  const heard: PaymentRecord = {
    ...without,
    ...rest,
    ...(awaits === 'payer' && url !== undefined ? { approveUrl: url } : {}),
  }
  const isSame = HEARD.every((field) => heard[field] === payment[field])
  if (isSame) return payment
  yield [keys.account(payment.node), keys.node(payment.node)]
  draft.put(keys.payment(payment.id), heard)
  const { railReference, railStatus, approveUrl } = heard
  const leaf = draft.need(keys.node(payment.node))
  const approve = approveUrl && digestAt(leaf, 'approve', approveUrl)
  draft.append(payment.node, 'rail_word', {
    payment: payment.id,
    ...(railStatus === undefined ? {} : { status: railStatus }),
    ...(heard.awaits === undefined ? {} : { awaits: heard.awaits }),
    ...(railReference === undefined ? {} : { reference: eventWord(railReference) }),
    ...(approve ? { approve } : {}),
  })
  return heard
}

const HEARD = ['railReference', 'railStatus', 'awaits', 'approveUrl'] as const
