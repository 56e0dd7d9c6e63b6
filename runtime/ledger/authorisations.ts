/**
 * Transitions of authorisations: money that a rail holds of a payer for one payee of a run. No balance moves by them, since
 * budgets are what payments reserve. What they keep is the sum: one document for a run and payee, and each draw judged on it
 * in the transaction that records it, so that together never more is drawn than was authorised, though a rail may allow it.
 * Siblings that pay one payee meet here, and nowhere else.
 */
import type {
  AskAuthorisation,
  AuthorisationRecord,
  Authorised,
  DrawFrom,
  MoveAuthorisation,
} from '../core/authorisation.ts'
import { eventReason, eventWord } from '../core/events.ts'
import { authorisationIdOf } from '../core/ids.ts'
import type { Commands } from '../core/ledger.ts'
import { minus, plus, ZERO } from '../core/money.ts'
import type { PaymentRecord } from '../core/records.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { refused } from './rules.ts'

/** Nothing of it is held at the rail any more, or nothing ever was. */
export const isOverAuthorisation = ({ state }: Pick<AuthorisationRecord, 'state'>): boolean =>
  state === 'voided' || state === 'failed'

export function* askAuthorisation(
  input: AskAuthorisation,
  draft: Draft,
): Steps<Commands['askAuthorisation']['result']> {
  const { authorisation: id, amount, key, nonce, nowMs, now } = input
  yield [keys.authorisation(id), keys.payment(input.payment)]
  const known = draft.get(keys.authorisation(id))
  if (known !== undefined) {
    return { ok: true, authorisation: known, created: known.nonce === nonce }
  }
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  const isIts = authorisationIdOf(payment.run, payment.payee) === id
  if (!isIts || payment.state !== 'submitted' || payment.nonce !== nonce) return refused('conflict')
  yield [keys.run(payment.run), keys.account(payment.node)]
  if (amount < payment.amount || amount > draft.need(keys.run(payment.run)).ceiling) {
    return refused('insufficient')
  }
  const { run, payee, node, rail, account, currency } = payment
  const asked: AuthorisationRecord = {
    ...{ id, run, payee, payment: payment.id, node, rail, account, key, currency, amount },
    drawn: ZERO,
    state: 'placing',
    nonce,
    submittedAtMs: nowMs,
    createdAtSeconds: now,
  }
  draft.put(keys.authorisation(id), asked)
  const of = { authorisation: id, payment: payment.id, payee, amount }
  draft.append(node, 'authorisation_asked', of)
  return { ok: true, authorisation: asked, created: true }
}

export function* authorised(
  input: Authorised,
  draft: Draft,
): Steps<Commands['authorised']['result']> {
  const { authorisation: id, amount, reference, untilSeconds } = input
  yield [keys.authorisation(id)]
  const found = draft.get(keys.authorisation(id))
  if (found === undefined) return refused('not_found')
  if (found.state === 'open' && found.reference === reference && found.amount === amount) {
    return { ok: true, authorisation: found }
  }
  if (found.state !== 'placing') return refused('conflict')
  if (amount < 1 || amount > found.amount) return refused('insufficient')
  yield [keys.account(found.node)]
  const open: AuthorisationRecord = { ...found, state: 'open', amount, reference, untilSeconds }
  draft.put(keys.authorisation(id), open)
  draft.append(found.node, 'authorised', {
    authorisation: id,
    amount,
    reference: eventWord(reference),
    until: untilSeconds,
  })
  return { ok: true, authorisation: open }
}

export function* draw(input: DrawFrom, draft: Draft): Steps<Commands['draw']['result']> {
  const { authorisation: id, nonce, now } = input
  yield [keys.authorisation(id), keys.payment(input.payment)]
  const payment = draft.get(keys.payment(input.payment))
  const found = draft.get(keys.authorisation(id))
  if (payment === undefined || found === undefined) return refused('not_found')
  if (payment.drawn?.authorisation === id) return { ok: true, payment }
  const isIts =
    authorisationIdOf(payment.run, payment.payee) === id &&
    payment.account === found.account &&
    payment.rail === found.rail &&
    payment.currency === found.currency
  const isSubmitted = payment.state === 'submitted' && payment.nonce === nonce
  if (!isIts || !isSubmitted || payment.drawn !== undefined) return refused('conflict')
  const { reference, untilSeconds } = found
  if (found.state !== 'open' || reference === undefined || untilSeconds === undefined) {
    return refused('conflict')
  }
  if (untilSeconds <= now) return refused('expired')
  if (found.drawn + payment.amount > found.amount) return refused('insufficient')
  yield [keys.account(payment.node)]
  const total = plus(found.drawn, payment.amount)
  const drawn: PaymentRecord = { ...payment, drawn: { authorisation: id, reference } }
  draft.put(keys.authorisation(id), { ...found, drawn: total })
  draft.put(keys.payment(payment.id), drawn)
  const of = { payment: payment.id, authorisation: id, amount: payment.amount, total }
  draft.append(payment.node, 'drawn', of)
  return { ok: true, payment: drawn }
}

/** A draw that the rail has not made can be made again by another payment. */
export function* undraw(draft: Draft, { drawn, amount }: PaymentRecord): Steps<void> {
  if (drawn === undefined) return
  const of = keys.authorisation(drawn.authorisation)
  yield [of]
  const found = draft.need(of)
  draft.put(of, { ...found, drawn: minus(found.drawn, amount) })
}

const EVENTS = {
  voiding: 'authorisation_voiding',
  voided: 'authorisation_voided',
  failed: 'authorisation_failed',
} as const

const FROM: { readonly [to in MoveAuthorisation['to']]: readonly AuthorisationRecord['state'][] } =
  {
    placing: ['placing'],
    voiding: ['placing', 'open'],
    voided: ['voiding'],
    failed: ['placing'],
  }

export function* moveAuthorisation(
  input: MoveAuthorisation,
  draft: Draft,
): Steps<Commands['moveAuthorisation']['result']> {
  const { authorisation: id, to, reference, now } = input
  yield [keys.authorisation(id)]
  const found = draft.get(keys.authorisation(id))
  if (found === undefined) return refused('not_found')
  if (found.state === to && (to !== 'placing' || found.reference === reference)) {
    return { ok: true, authorisation: found }
  }
  if (!FROM[to].includes(found.state)) return refused('conflict')
  const reason = eventReason(input.reason)
  const moved: AuthorisationRecord = {
    ...found,
    state: to,
    ...(reference === undefined ? {} : { reference }),
    ...(to === 'placing' ? {} : { reason }),
    ...(to === 'voiding' ? { voidingAtSeconds: now } : {}),
  }
  draft.put(keys.authorisation(id), moved)
  if (to === 'placing') return { ok: true, authorisation: moved }
  yield [keys.account(found.node)]
  const word = moved.reference === undefined ? {} : { reference: eventWord(moved.reference) }
  draft.append(found.node, EVENTS[to], { authorisation: id, reason, ...word })
  return { ok: true, authorisation: moved }
}
