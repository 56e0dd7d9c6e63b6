/**
 * Writing down what the rail said of a payment. Only the rail's own definite word settles or releases; less than was
 * asked returns the rest, more or another currency is never clipped but kept as unknown, with an alarm.
 */
import { eventReason } from '../core/events.ts'
import type { PaymentId } from '../core/ids.ts'
import type { Commands, Ledger, LedgerRefusal } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { type RailOutcome, type RailOutcomeOf, railStatusOf } from '../core/rail.ts'
import type { PaymentRecord, RailSaid } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import type { Alarm, PaymentAlarm } from './gate.ts'
import { unexpected } from './unexpected.ts'

export interface OutcomeDeps {
  readonly ledger: Ledger
  readonly onAlarm?: (alarm: Alarm) => void
}

/** The payment as it stands afterwards; if somebody else ended it first, theirs stands. */
export async function recordOutcome(
  deps: OutcomeDeps,
  payment: PaymentRecord,
  outcome: RailOutcome,
  now: Seconds,
): Promise<PaymentRecord> {
  const { ledger } = deps
  const { id } = payment
  switch (outcome.kind) {
    case 'settled': {
      const odd = oddity(payment, outcome)
      if (odd !== undefined) {
        if (payment.state !== 'unknown') deps.onAlarm?.({ kind: odd, payment: id })
        const said = { ...statusIn(outcome), railReference: outcome.reference }
        return written(ledger, 'markUnknown', { payment: id, reason: odd, said, now })
      }
      const { amount, reference: railReference } = outcome
      const end = { payment: id, amount, railReference, now }
      return written(ledger, 'settle', { ...end, ...statusIn(outcome) })
    }
    case 'declined':
    case 'notSent': {
      const end = { payment: id, from: 'submitted', reason: reasonOf(outcome), now } as const
      return written(ledger, 'release', { ...end, ...statusIn(outcome) })
    }
    case 'pending': {
      const reason = `awaits_${outcome.awaits}`
      return written(ledger, 'markUnknown', { payment: id, reason, said: saidIn(outcome), now })
    }
    case 'unknown': {
      const reason = reasonOf(outcome)
      // An adapter that sees other money than was asked calls it unknown; a person must see that too, once.
      const isOdd = reason === 'amount_differs' && payment.state !== 'unknown'
      if (isOdd) deps.onAlarm?.({ kind: 'rail_amount', payment: id })
      return written(ledger, 'markUnknown', { payment: id, reason, said: saidIn(outcome), now })
    }
  }
}

/** Nothing that a rail writes is believed to be a status unless it looks like one, whatever its adapter let through. */
const statusIn = (outcome: RailOutcome): Pick<RailSaid, 'railStatus'> =>
  'status' in outcome && outcome.status !== undefined
    ? { railStatus: railStatusOf(outcome.status) }
    : {}

function saidIn(outcome: RailOutcomeOf<'pending' | 'unknown'>): RailSaid {
  const { reference } = outcome
  const said = {
    ...statusIn(outcome),
    ...(reference === undefined ? {} : { railReference: reference }),
  }
  if (outcome.kind === 'unknown') return said
  const { awaits, approveUrl } = outcome
  const isShown = awaits === 'payer' && approveUrl !== undefined && isShowable(approveUrl)
  return { ...said, awaits, ...(isShown ? { approveUrl } : {}) }
}

/** https; or http of a stand-in on this machine. */
function isShowable(text: string): boolean {
  const url = URL.parse(text)
  const isHere = url?.protocol === 'http:' && ['127.0.0.1', '[::1]'].includes(url.hostname)
  return text.length <= LIMITS.approveUrlChars && (url?.protocol === 'https:' || isHere)
}

const NO_REASON = { declined: 'declined', notSent: 'not_sent', unknown: 'unknown' } as const

/** Why nothing moved, or may have, as an event can hold it. */
export const reasonOf = ({ kind, reason }: Extract<RailOutcome, { reason: string }>): string =>
  eventReason(reason, NO_REASON[kind])

function oddity(
  payment: PaymentRecord,
  { amount, currency }: RailOutcomeOf<'settled'>,
): PaymentAlarm['kind'] | undefined {
  if (currency !== payment.currency) return 'rail_currency'
  const isPossible = Number.isSafeInteger(amount) && amount >= 1 && amount <= payment.amount
  return isPossible ? undefined : 'rail_amount'
}

type Ending = 'settle' | 'release' | 'markUnknown' | 'refundFailed' | 'refundUnknown'

/** The payment as the command left it, or as somebody else did who was first. Throws Fault. */
export async function written<K extends Ending>(
  ledger: Ledger,
  command: K,
  input: Commands[K]['input'],
): Promise<PaymentRecord> {
  const result = await ledger.execute(command, input)
  return result.ok ? result.payment : asItStands(ledger, input.payment, command, result.code)
}

/** The payment where a command was refused because another had ended it. Throws Fault for any other refusal. */
export async function asItStands(
  ledger: Ledger,
  payment: PaymentId,
  command: Ending | 'refunded',
  code: LedgerRefusal,
): Promise<PaymentRecord> {
  const now = await ledger.payment(payment)
  if (code === 'conflict' && now !== undefined) return now
  throw unexpected(command, code)
}
