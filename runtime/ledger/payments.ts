/**
 * Transitions of a payment up to the rail: reserve and submit. They write the leaf's account alone and read the
 * standings of its path, so that siblings never meet except on a counter that a mandate or rule asks for.
 */
import { type Digest, type NodeId, sha256 } from '../core/ids.ts'
import type { Commands, CounterUse, Refused, Reserve, Submit } from '../core/ledger.ts'
import { minor, minus, plus } from '../core/money.ts'
import { digestAt, linesText } from '../core/personal.ts'
import type { Counter, NodeRecord, PaymentRecord } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import {
  assertNotHalted,
  consumeProof,
  isOwnProof,
  judgeStanding,
  pathKeys,
  proofKeys,
  refused,
  sameList,
  standingVersions,
  statuses,
  trailOf,
} from './rules.ts'

export function* reserve(input: Reserve, draft: Draft): Steps<Commands['reserve']['result']> {
  const { path, proof, approval, now } = input
  const payment = asReserved(input)
  const { id, node: leaf } = payment
  yield [
    keys.payment(id),
    keys.run(payment.run),
    keys.node(leaf),
    keys.account(leaf),
    keys.attempt(leaf),
    ...pathKeys(path),
    keys.claim(payment.merchant, payment.quoteJti),
    ...proofKeys(proof, now),
    ...payment.counters.map(keys.counter),
    ...(approval ? [keys.hold(approval.hold)] : []),
  ]
  const existing = draft.get(keys.payment(id))
  const answered = existing && recordedAnswer(draft, existing, input)
  if (answered) return answered
  assertNotHalted(draft, payment.run)
  const isInFlight = existing?.state === 'reserved'
  const refusal =
    judgeLeaf(draft.get(keys.node(leaf)), payment, path) ??
    judgeStanding(draft, path) ??
    judgeExpiry(draft, leaf, input) ??
    consumeProof(draft, proof) ??
    (isInFlight ? undefined : takeMoney(draft, payment, input))
  if (refusal) return refusal
  const reserved = isInFlight ? judgedAgain(existing, payment) : payment
  draft.put(keys.payment(id), reserved)
  noteAttempt(draft, reserved)
  const final = input.submit ? recordSubmit(draft, reserved, path, input.submit) : reserved
  return { ok: true, payment: final, account: draft.need(keys.account(leaf)) }
}

/** What is in flight keeps its money; what it was judged by is this attempt's. */
function judgedAgain(
  { policy: _before, ...existing }: PaymentRecord,
  { checks, policy }: PaymentRecord,
): PaymentRecord {
  return { ...existing, checks, ...(policy === undefined ? {} : { policy }) }
}

/** The record as it begins: nothing of a later step is taken from the caller. */
function asReserved({ payment, counters }: Reserve): PaymentRecord {
  const { id, run, node, payee, merchant, quote, quoteJti, lines, currency, amount } = payment
  const { rail, account, railKey, checks, createdAtSeconds, policy, provenance } = payment
  const what = { id, run, node, payee, merchant, quote, quoteJti, lines, currency, amount }
  const how = {
    ...{ rail, account, railKey, checks, createdAtSeconds },
    ...(policy === undefined ? {} : { policy }),
    ...(provenance === undefined ? {} : { provenance }),
  }
  const counted = new Set([...payment.counters, ...counters.map((use) => use.key)])
  return { ...what, ...how, state: 'reserved', counters: [...counted] }
}

/**
 * A payment that exists answers for itself. Only one that is reserved, or was released before it was ever
 * submitted, may be tried again by another attempt.
 */
function recordedAnswer(
  draft: Draft,
  existing: PaymentRecord,
  { payment, proof, submit }: Reserve,
): Commands['reserve']['result'] | undefined {
  const isSame =
    existing.node === payment.node &&
    existing.quote === payment.quote &&
    existing.currency === payment.currency &&
    existing.amount === payment.amount
  if (!isSame) return refused('conflict')
  const isOwn =
    existing.nonce === undefined
      ? submit === undefined && isOwnProof(draft, proof)
      : existing.nonce === submit?.nonce || (submit === undefined && isOwnProof(draft, proof))
  if (isOwn) {
    return { ok: true, payment: existing, account: draft.need(keys.account(existing.node)) }
  }
  const isOpenToTry = existing.nonce === undefined && existing.state !== 'settled'
  return isOpenToTry ? undefined : refused('conflict')
}

function judgeLeaf(
  node: NodeRecord | undefined,
  payment: PaymentRecord,
  path: readonly NodeId[],
): Refused | undefined {
  if (node === undefined) return refused('not_found')
  const isItsLeaf =
    node.kind === 'leaf' &&
    node.run === payment.run &&
    node.currency === payment.currency &&
    node.quote === payment.quote &&
    node.payees.includes(payment.payee) &&
    sameList(node.path, path)
  return isItsLeaf ? undefined : refused('conflict')
}

function judgeExpiry(
  draft: Draft,
  leaf: NodeId,
  { expiresAtSeconds, now }: { expiresAtSeconds: Seconds; now: Seconds },
): Refused | undefined {
  const ends = Math.min(expiresAtSeconds, draft.need(keys.node(leaf)).expiresAtSeconds)
  return ends <= now ? refused('expired') : undefined
}

/** Claim, approval, counters, then money: all of it or a refusal. */
function takeMoney(draft: Draft, payment: PaymentRecord, input: Reserve): Refused | undefined {
  const claim = keys.claim(payment.merchant, payment.quoteJti)
  if ((draft.get(claim) ?? payment.id) !== payment.id) return refused('quote_spent')
  const refusal = consumeApproval(draft, payment, input) ?? count(draft, payment, input)
  if (refusal) return refusal
  const { available, reserved } = draft.need(keys.account(payment.node))
  if (available < payment.amount) return refused('insufficient')
  draft.put(claim, payment.id)
  draft.move(payment.node, {
    available: minus(available, payment.amount),
    reserved: plus(reserved, payment.amount),
  })
  draft.append(payment.node, 'reserved', {
    payment: payment.id,
    amount: payment.amount,
    payee: payment.payee,
    quote: payment.quote,
    standings: standingVersions(draft, input.path),
    ...(input.approval ? { hold: input.approval.hold } : {}),
    ...personalOf(draft, payment),
    ...trailOf(payment.provenance),
  })
  return undefined
}

function personalOf(draft: Draft, payment: PaymentRecord) {
  const leaf = draft.need(keys.node(payment.node))
  const account = digestAt(leaf, 'account', payment.account)
  const lines = digestAt(leaf, 'lines', linesText(payment))
  return account === undefined || lines === undefined ? {} : { account, lines }
}

function consumeApproval(
  draft: Draft,
  payment: PaymentRecord,
  { approval, now }: Reserve,
): Refused | undefined {
  if (approval === undefined) return undefined
  const of = keys.hold(approval.hold)
  const hold = draft.get(of)
  const answers =
    hold?.state === 'approved' &&
    hold.payment === payment.id &&
    hold.amount === payment.amount &&
    hold.digest === approval.digest &&
    hold.expiresAtSeconds > now
  if (!answers) return refused('stale')
  draft.put(of, { ...hold, state: 'consumed' })
  return undefined
}

function count(draft: Draft, payment: PaymentRecord, input: Reserve): Refused | undefined {
  for (const key of payment.counters) {
    const before = counterOf(draft, key)
    if (input.counters.some((use) => isAtBound(before, use, payment.amount))) {
      return refused('counter', key)
    }
    const amount = minor(before.amount + payment.amount)
    draft.put(keys.counter(key), { key, count: before.count + 1, amount })
  }
  return undefined
}

/** Whether one more of this amount would pass a bound of that very counter. */
export const isAtBound = (
  { key, count, amount: sum }: Counter,
  use: CounterUse,
  amount: number,
): boolean =>
  use.key === key &&
  ((use.maxCount !== undefined && count + 1 > use.maxCount) ||
    (use.maxAmount !== undefined && sum + amount > use.maxAmount))

export const counterOf = (draft: Draft, key: string): Counter =>
  draft.get(keys.counter(key)) ?? { key, count: 0, amount: minor(0) }

/** From here on a crash means that the rail may have been called. */
function recordSubmit(
  draft: Draft,
  payment: PaymentRecord,
  path: readonly NodeId[],
  { nonce, nowMs }: { nonce: string; nowMs: number },
): PaymentRecord {
  const submitted: PaymentRecord = { ...payment, state: 'submitted', nonce, submittedAtMs: nowMs }
  const digest: Digest = sha256(nonce)
  draft.put(keys.payment(payment.id), submitted)
  draft.append(payment.node, 'submitted', {
    payment: payment.id,
    nonce: digest,
    standings: standingVersions(draft, path),
    checks: statuses(payment.checks),
    ...(payment.policy === undefined ? {} : { policy: payment.policy }),
  })
  return submitted
}

export function* submit(input: Submit, draft: Draft): Steps<Commands['submit']['result']> {
  const { path, nonce, checks } = input
  const leaf = path.at(-1)
  if (leaf === undefined) return refused('conflict')
  yield [
    keys.payment(input.payment),
    keys.node(leaf),
    keys.account(leaf),
    keys.attempt(leaf),
    ...pathKeys(path),
  ]
  const payment = draft.get(keys.payment(input.payment))
  if (payment === undefined) return refused('not_found')
  if (payment.nonce === nonce) return { ok: true, payment }
  if (payment.state !== 'reserved' || payment.node !== leaf) return refused('conflict')
  const refusal =
    judgeLeaf(draft.get(keys.node(leaf)), payment, path) ??
    judgeStanding(draft, path) ??
    judgeExpiry(draft, leaf, input)
  if (refusal) return refusal
  yield [keys.run(payment.run)]
  assertNotHalted(draft, payment.run)
  const { monitor } = input
  const judged = { ...payment, checks, ...(monitor === undefined ? {} : { monitor }) }
  noteAttempt(draft, judged)
  return { ok: true, payment: recordSubmit(draft, judged, path, input) }
}

/** A payment says itself how it was judged: a record beside it is changed only where a refusal has left one. */
function noteAttempt(draft: Draft, { node, checks }: PaymentRecord): void {
  if (draft.get(keys.attempt(node)) !== undefined) draft.put(keys.attempt(node), { checks })
}
