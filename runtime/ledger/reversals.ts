/**
 * Transitions of money that comes back after it has settled. The rail's word only notes it: it stays spent, so that a
 * tree never spends more than its ceiling on the strength of a reversal. A person's word puts it to use again, once, and
 * it goes where late money goes: to the nearest open ancestor, and nowhere once the run is closing.
 */
import { eventWord } from '../core/events.ts'
import type { Regain, Reverse } from '../core/late.ts'
import type { Commands, Refused } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { type Minor, minus, plus, ZERO } from '../core/money.ts'
import { type PaymentRecord, type Regained, reversedOf } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { passOn } from './outcomes.ts'
import { assertNotHalted, evidenceDigest, isOpen, refused } from './rules.ts'
import { TERMINAL } from './runs.ts'

export function* reverse(input: Reverse, draft: Draft): Steps<Commands['reverse']['result']> {
  const { id, kind, amount, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const { reversals = [], settledAmount = ZERO } = payment
  const known = reversals.find((each) => each.id === id)
  if (known !== undefined) {
    const isSame = known.amount === amount && known.kind === kind
    return isSame ? { ok: true, payment, noted: false } : refused('conflict')
  }
  if (payment.state !== 'settled' || amount < 1) return refused('conflict')
  const isMore = reversedOf(payment) + amount > settledAmount
  if (isMore || reversals.length >= LIMITS.reversals) return refused('insufficient')
  yield [keys.account(payment.node)]
  const { reversed } = draft.need(keys.account(payment.node))
  draft.move(payment.node, { reversed: plus(reversed, amount) })
  const noted: PaymentRecord = {
    ...payment,
    reversals: [...reversals, { id, kind, amount, atSeconds: now }],
  }
  draft.put(keys.payment(payment.id), noted)
  draft.append(payment.node, 'reversed', {
    payment: payment.id,
    reversal: eventWord(id),
    kind,
    amount,
  })
  return { ok: true, payment: noted, noted: true }
}

export function* regain(input: Regain, draft: Draft): Steps<Commands['regain']['result']> {
  const { evidence, by, attempt: salt, now } = input
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  if (payment.regained?.salt === salt) return { ok: true, payment }
  const total = reversedOf(payment)
  const amount = minus(total, payment.regained?.amount ?? ZERO)
  if (input.reversedAmount !== total) return refused('stale')
  if (amount === ZERO) return refused('conflict')
  const closed = yield* judgeRun(payment, draft)
  if (closed) return closed
  const word = { part: amount, evidence, salt, by, now }
  return { ok: true, payment: yield* regainAs(draft, payment, word) }
}

/** Puts a part of what came back to use again; whoever calls this has judged that it is there, and who says so. */
export function* regainAs(
  draft: Draft,
  payment: PaymentRecord,
  word: Pick<Regained, 'evidence' | 'salt' | 'by'> & { part: Minor; now: Seconds },
): Steps<PaymentRecord> {
  const { part, evidence, salt, by, now } = word
  yield [keys.account(payment.node)]
  const amount = plus(payment.regained?.amount ?? ZERO, part)
  const regained = { amount, evidence, salt, by, atSeconds: now }
  const after: PaymentRecord = { ...payment, regained }
  draft.put(keys.payment(payment.id), after)
  putToUse(draft, payment, part)
  draft.append(payment.node, 'regained', {
    payment: payment.id,
    amount: part,
    evidence: evidenceDigest(regained),
    by: eventWord(by),
  })
  yield* passOn(draft, payment)
  return after
}

function putToUse(draft: Draft, { node }: PaymentRecord, amount: Minor): void {
  const { available, spent, reversed } = draft.need(keys.account(node))
  draft.move(node, {
    available: plus(available, amount),
    spent: minus(spent, amount),
    reversed: minus(reversed, amount),
  })
}

/** A seal says what a run has spent: from the closing of its root on nothing changes that. */
function* judgeRun(payment: PaymentRecord, draft: Draft): Steps<Refused | undefined> {
  yield [keys.run(payment.run)]
  const { root, state } = draft.need(keys.run(payment.run))
  yield [keys.standing(root)]
  assertNotHalted(draft, payment.run)
  return TERMINAL.has(state) || !isOpen(draft.standing(root)) ? refused('run_closed') : undefined
}
