/**
 * The transition by which people say what became of a payment that the rail has no word on. One proposes, another says
 * exactly the same, and then the money moves once; the rail's own word, whenever it comes first, stands.
 */
import { eventWord } from '../core/events.ts'
import type { Resolve } from '../core/late.ts'
import type { Commands, Refused } from '../core/ledger.ts'
import type { PaymentRecord, Resolution } from '../core/records.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { releaseAs, settleAs } from './outcomes.ts'
import { evidenceDigest, refused } from './rules.ts'

export function* resolve(input: Resolve, draft: Draft): Steps<Commands['resolve']['result']> {
  yield [keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const { resolution: first } = payment
  const isRecorded = first?.salt === input.attempt || first?.confirmed?.attempt === input.attempt
  if (isRecorded) return { ok: true, payment }
  const refusal = judge(payment, input)
  if (refusal) return refusal
  yield [keys.account(payment.node)]
  if (first === undefined || !saysTheSame(first, input)) {
    return { ok: true, payment: propose(draft, payment, input) }
  }
  if (first.by === input.by) return refused('same_operator')
  return { ok: true, payment: yield* carryOut(draft, payment, first, input) }
}

const saysTheSame = (first: Resolution, { outcome, amount, evidence }: Resolve): boolean =>
  first.outcome === outcome && first.amount === amount && first.evidence === evidence

function judge(payment: PaymentRecord, { outcome, amount }: Resolve): Refused | undefined {
  if (payment.state === 'settled' || payment.state === 'released') return refused('stale')
  if (payment.state !== 'unknown') return refused('conflict')
  if (amount < 1 || amount > payment.amount) return refused('insufficient')
  return outcome === 'released' && amount !== payment.amount ? refused('conflict') : undefined
}

/** Another word than the one that stood there needs a second of its own. */
function propose(draft: Draft, payment: PaymentRecord, input: Resolve): PaymentRecord {
  const { outcome, amount, evidence, by, attempt: salt, now } = input
  const resolution: Resolution = { outcome, amount, evidence, salt, by, atSeconds: now }
  const proposed: PaymentRecord = { ...payment, resolution }
  draft.put(keys.payment(payment.id), proposed)
  draft.append(payment.node, 'proposed', eventOf(payment, resolution, by))
  return proposed
}

const eventOf = ({ id }: PaymentRecord, resolution: Resolution, by: string) => ({
  payment: id,
  outcome: resolution.outcome,
  amount: resolution.amount,
  evidence: evidenceDigest(resolution),
  by: eventWord(by),
})

function* carryOut(
  draft: Draft,
  payment: PaymentRecord,
  first: Resolution,
  { by, attempt, now }: Resolve,
): Steps<PaymentRecord> {
  const evidence = evidenceDigest(first)
  const resolution: Resolution = { ...first, confirmed: { by, atSeconds: now, attempt } }
  const resolved: PaymentRecord = { ...payment, resolution }
  draft.append(payment.node, 'resolved', eventOf(payment, first, by))
  if (first.outcome === 'released') {
    return yield* releaseAs(draft, resolved, { reason: 'resolved', now, evidence })
  }
  const railReference = `resolution:${evidence}`
  return yield* settleAs(draft, resolved, { amount: first.amount, railReference, now, evidence })
}
