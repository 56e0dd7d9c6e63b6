/**
 * What the rail moved, held against what we know: a payment of ours, a refund of one, or neither. Whoever tells of it, a
 * message or the rail's own list, is believed only in that it happened; what became of a payment is asked of the rail by
 * its key, as the reconciler does. Nothing goes back: settled stays settled, and what we had released and the rail settled
 * after all is money from outside, with an alarm. What nobody here can judge yet is left for later, never dropped.
 */
import { outsideIdOf, refundKeyOf } from '../core/ids.ts'
import type { Hearing, MessageKey, OutsideRecord } from '../core/inbox.ts'
import type { CommandName, Commands, Ledger } from '../core/ledger.ts'
import type { RailLookup, RailObject } from '../core/rail.ts'
import { type PaymentRecord, type RefundRecord, reversedOf } from '../core/records.ts'
import { nowSeconds, seconds } from '../core/time.ts'
import { isOpenRefund } from '../ledger/refunds.ts'
import { isAwaited } from '../ledger/rules.ts'
import { recordOutcome } from './outcome.ts'
import { askAboutRefunds, type RefundRound } from './refunds.ts'
import { newReversals, noteReversals } from './reversals.ts'
import { unexpected } from './unexpected.ts'

export interface ObjectDeps extends Omit<RefundRound, 'refunding'> {
  /** One question, with its deadline. */
  readonly lookup: (payment: PaymentRecord) => Promise<RailLookup>
}

/** `later`: nothing is known yet that could be written down. */
export type Judged =
  | { readonly kind: 'later' }
  | { readonly kind: 'done'; readonly outside?: OutsideRecord }

const LATER: Judged = { kind: 'later' }

/** Whose this is: by a key of ours that it carries, by its own id, or by the id of what it takes back. */
export async function paymentOf(
  { ledger, rail }: Pick<ObjectDeps, 'ledger' | 'rail'>,
  { key, id, of }: RailObject,
): Promise<PaymentRecord | undefined> {
  const names = [
    ...(key === undefined ? [] : [{ key }]),
    { reference: id },
    ...(of === undefined ? [] : [{ reference: of }]),
  ]
  for (const name of names) {
    const payment = await ledger.paymentNamed(name)
    if (payment?.rail === rail.name) return payment
  }
  return undefined
}

/** Writes down what follows from it, and ends the message that told of it in the same transaction. */
export async function judgeObject(
  deps: ObjectDeps,
  object: RailObject,
  heard?: MessageKey,
): Promise<Judged> {
  const payment = await paymentOf(deps, object)
  if (payment === undefined) {
    return object.moved ? recordOutside(deps, object, { heard }) : end(deps, heard)
  }
  const refund = payment.refunds?.find(({ id }) => refundKeyOf(id) === object.key)
  if (refund !== undefined && isOpenRefund(refund)) {
    return judgeRefund(deps, payment, refund, heard)
  }
  return judgePayment(deps, payment, object, heard)
}

/** Commands that say nothing of what the rail did. */
const ASIDE: ReadonlySet<CommandName> = new Set(['lease', 'markOverdue'])
const UNDECIDED: ReadonlySet<CommandName> = new Set([...ASIDE, 'refundUnknown'])

/** The same ledger, where every command that writes the rail's word ends the message as well. */
function hearing(ledger: Ledger, heard: MessageKey | undefined, aside = ASIDE): Ledger {
  if (heard === undefined) return ledger
  const execute = <K extends CommandName>(name: K, input: Commands[K]['input'] & Hearing) =>
    ledger.execute(name, aside.has(name) ? input : { ...input, heard })
  return { ...ledger, execute }
}

async function end({ ledger, clock }: ObjectDeps, heard?: MessageKey): Promise<Judged> {
  if (heard === undefined) return { kind: 'done' }
  const ended = await ledger.execute('heard', { heard, now: nowSeconds(clock) })
  if (!ended.ok) throw unexpected('heard', ended.code)
  return { kind: 'done' }
}

async function judgePayment(
  deps: ObjectDeps,
  { id }: PaymentRecord,
  object: RailObject,
  heard?: MessageKey,
): Promise<Judged> {
  const { ledger, clock, patienceMs } = deps
  const before = await ledger.payment(id)
  if (before === undefined || before.state === 'reserved') return LATER
  const { state, submittedAtMs = 0 } = before
  const isEarly = state === 'submitted' && clock.nowMs() - submittedAtMs <= patienceMs
  if (isEarly || !(await deps.isLeased(before))) return LATER
  const payment = (await ledger.payment(id)) ?? before
  const found = await deps.lookup(payment)
  if (isAwaited(payment)) return judgeAwaited(deps, payment, found, heard)
  if (payment.state === 'settled') return judgeSettled(deps, { payment, object, found }, heard)
  if (found.kind === 'settled') return recordOutside(deps, object, { payment, heard })
  // It was released, and so it is at the rail. What has moved and cannot be found is asked about again.
  const isSame = found.kind === 'declined' || (found.kind === 'absent' && !object.moved)
  return isSame ? end(deps, heard) : LATER
}

async function judgeAwaited(
  deps: ObjectDeps,
  payment: PaymentRecord,
  found: RailLookup,
  heard?: MessageKey,
): Promise<Judged> {
  const now = nowSeconds(deps.clock)
  const ending = { ...deps, ledger: hearing(deps.ledger, heard) }
  if (found.kind === 'declined' || found.kind === 'pending') {
    const after = await recordOutcome(ending, payment, found, now)
    return after.state === 'settled' ? LATER : end(deps, heard)
  }
  if (found.kind !== 'settled') return LATER
  // What comes back in the same breath is written after it, and only the last of both ends the message.
  const isAll = newReversals(payment, found).length === 0
  const after = await recordOutcome(isAll ? ending : deps, payment, found, now)
  if (after.state === 'released') return LATER
  await noteReversals(deps, after, found, now, ending.ledger)
  return end(deps, heard)
}

interface SettledObject {
  readonly payment: PaymentRecord
  readonly object: RailObject
  readonly found: RailLookup
}

async function judgeSettled(
  deps: ObjectDeps,
  { payment, object, found }: SettledObject,
  heard?: MessageKey,
): Promise<Judged> {
  if (found.kind === 'declined') {
    deps.onAlarm?.({ kind: 'missing_at_rail', payment: payment.id })
    return end(deps, heard)
  }
  if (found.kind !== 'settled') return LATER
  const ending = hearing(deps.ledger, heard)
  await noteReversals(deps, payment, found, nowSeconds(deps.clock), ending)
  const after = (await deps.ledger.payment(payment.id)) ?? payment
  // It says that money came back, and the look-up does not say so yet.
  const isBack = object.direction === 'in' && object.moved
  return isBack && reversedOf(after) === 0 ? LATER : end(deps, heard)
}

async function judgeRefund(
  deps: ObjectDeps,
  payment: PaymentRecord,
  refund: RefundRecord,
  heard?: MessageKey,
): Promise<Judged> {
  // Refunds that are not asked about yet are left alone there.
  const ledger = hearing(deps.ledger, heard, UNDECIDED)
  const only = { ...payment, refunds: [refund] }
  await askAboutRefunds({ ...deps, ledger, refunding: async () => [only] })
  const after = await deps.ledger.payment(payment.id)
  const now = after?.refunds?.find(({ id }) => id === refund.id)
  return now === undefined || isOpenRefund(now) ? LATER : end(deps, heard)
}

async function recordOutside(
  { ledger, clock, rail, onAlarm }: ObjectDeps,
  object: RailObject,
  of: { readonly payment?: PaymentRecord; readonly heard: MessageKey | undefined },
): Promise<Judged> {
  const { id, type, direction, amount, currency, status, atSeconds } = object
  const { payment, heard } = of
  const now = nowSeconds(clock)
  const outside: OutsideRecord = {
    id: outsideIdOf(rail.name, id),
    rail: rail.name,
    object: id,
    type,
    direction,
    amount,
    currency,
    status,
    atSeconds: seconds(Math.floor(atSeconds)),
    heardAtSeconds: now,
    ...(payment === undefined ? {} : { payment: payment.id }),
  }
  const input = { outside, now, ...(heard === undefined ? {} : { heard }) }
  const written = await ledger.execute('outside', input)
  if (!written.ok) throw unexpected('outside', written.code)
  if (written.noted) {
    if (payment === undefined) onAlarm?.({ kind: 'outside', outside: outside.id })
    else onAlarm?.({ kind: 'late_settlement', payment: payment.id })
  }
  return { kind: 'done', outside: written.outside }
}
