/**
 * Payouts of RazorpayX to a registered fund account. The key is the idempotency header and the reference both, so that a
 * lost answer is found again; a refusal is believed only after Razorpay knew no payout of that reference. Razorpay's fees
 * come on top, from the operator's own account, and count against no ceiling.
 */
import { currencySchema } from '../../core/money.ts'
import {
  type RailKnown,
  type RailLookup,
  type RailOrder,
  type RailOutcome,
  railStatusOf,
} from '../../core/rail.ts'
import type { Clock } from '../../core/time.ts'
import { declined, notSent, unknown } from '../words.ts'
import type { Ask } from './client.ts'
import { modeOf } from './currencies.ts'
import { collectionOf, fundAccountSchema, IDS, type Payout, payoutSchema, saidIn } from './wire.ts'

/** What one call works with. */
export interface Desk {
  readonly ask: Ask
  readonly clock: Clock
  readonly accountNumber: string
}

const NARRATION_CHARS = 30

/** Sends it once; a refusal is `declined` only where Razorpay has nothing under the key. */
export async function payOut(desk: Desk, order: RailOrder): Promise<RailOutcome> {
  const { ask, accountNumber } = desk
  const { account, amount, currency, key } = order
  const way = await wayTo(ask, order)
  if ('reason' in way) return notSent(way.reason)
  const narration = narrationOf(order.note)
  const body = {
    account_number: accountNumber,
    fund_account_id: account,
    amount,
    currency,
    mode: way.mode,
    purpose: 'payout',
    queue_if_low_balance: false,
    reference_id: key,
    ...(narration === '' ? {} : { narration }),
  }
  const headers = { 'X-Payout-Idempotency': key }
  const said = saidIn(
    payoutSchema,
    await ask(({ rq }) => rq.post('/v1/payouts', body, { headers })),
  )
  if (said.kind === 'said') return judge(said.value, order)
  if (said.kind !== 'refused') return said
  // Refused, unless it is there all the same: the key may be another order's, or an earlier request's.
  const found = await findPayout(desk, key)
  if (found.kind === 'absent' && said.status === 400) {
    return declined('refused_by_rail')
  }
  if (found.kind === 'said') return judge(found.value, order)
  return unknown('key_in_use')
}

/** No byte of the payment has left where this has no way. */
async function wayTo(
  ask: Ask,
  { account, amount }: RailOrder,
): Promise<{ mode: string } | { reason: string }> {
  const got = await ask(({ rq }) => rq.get(`/v1/fund_accounts/${account}`))
  const said = saidIn(fundAccountSchema, got)
  if (said.kind === 'refused') return { reason: 'account_unknown' }
  if (said.kind !== 'said') return { reason: said.reason }
  const { id, active, account_type: type } = said.value
  if (id !== account) return { reason: 'account_differs' }
  if (!active) return { reason: 'account_inactive' }
  const mode = modeOf(type, amount)
  return mode === undefined ? { reason: 'account_takes_no_such_amount' } : { mode }
}

/** What the payee's bank shows: letters, digits and spaces. */
const narrationOf = (note: string): string =>
  note
    .replace(/[^a-zA-Z0-9]+/g, ' ')
    .trim()
    .slice(0, NARRATION_CHARS)
    .trim()

/** What Razorpay says of exactly what was asked; more, less or to somebody else is no answer. */
function judge(payout: Payout, order: RailOrder): RailOutcome {
  const { id: reference, reference_id: key, fund_account_id: account } = payout
  if (key !== order.key || account !== order.account) return unknown('answer_differs')
  if (payout.amount !== order.amount || payout.currency !== order.currency) {
    return unknown('amount_differs', { reference, status: railStatusOf(payout.status) })
  }
  return outcomeOf(payout)
}

function outcomeOf(payout: Payout): RailOutcome {
  const { id: reference, amount, currency: code } = payout
  const status = railStatusOf(payout.status)
  const currency = currencySchema.safeParse(code)
  if (!currency.success) return unknown('amount_differs', { reference, status })
  const settled = { kind: 'settled', reference, amount, currency: currency.data, status } as const
  switch (payout.status) {
    case 'processed':
      return settled
    case 'queued':
    case 'pending':
    case 'scheduled':
    case 'processing':
      return { kind: 'pending', awaits: 'rail', reference, status }
    case 'rejected':
    case 'cancelled':
    case 'failed':
      return declined(reasonOf(payout), status)
    case 'reversed':
      // A bank's own number of the transfer: it had gone through, and came back.
      if (!payout.utr) return declined(reasonOf(payout), status)
      return {
        ...settled,
        returned: true,
        back: [{ id: reversalOf(reference), kind: 'reversed', amount }],
      }
    default:
      return unknown('status_unexpected', { reference, status })
  }
}

/** Razorpay has no id for it in a payout, which comes back once and whole. */
export const reversalOf = (payout: string): string => `${payout}.reversal`

const REASONS = new Set([
  'low_balance',
  'beneficiary_bank_confirmation_pending',
  'bank_account_invalid',
  'bank_account_closed',
  'bank_account_frozen',
  'imps_not_allowed',
  'invalid_ifsc_code',
  'beneficiary_vpa_invalid',
  'insufficient_funds',
  'gateway_timeout',
  'gateway_down',
  'server_error',
  'transaction_limit_exceeded',
  'amount_limit_exhausted',
])

/** One of the reasons that Razorpay documents, or the state. */
function reasonOf({ status, status_details: details }: Payout): string {
  const reason = details?.reason ?? ''
  return REASONS.has(reason) ? reason : status
}

type Found = ReturnType<typeof saidIn<Payout>> | { readonly kind: 'absent' }

/** Absent only by a whole list that has none. */
async function findPayout({ ask, accountNumber }: Desk, key: string): Promise<Found> {
  const params = { account_number: accountNumber, reference_id: key, count: 10 }
  const said = saidIn(
    collectionOf(payoutSchema),
    await ask(({ rq }) => rq.get('/v1/payouts', { params })),
  )
  if (said.kind !== 'said') return said
  const [payout, ...more] = said.value
  if (payout === undefined) return { kind: 'absent' }
  if (more.length > 0) return unknown('more_than_one')
  if (payout.reference_id !== key) return unknown('answer_differs')
  return { kind: 'said', value: payout }
}

/** By its id where that is known, else by the key. */
export async function lookUpPayout(
  desk: Desk,
  key: string,
  known: RailKnown | undefined,
): Promise<RailLookup> {
  const found = await fetchOrFind(desk, key, known?.reference)
  if (found.kind === 'refused') return unknown('lookup_refused')
  if (found.kind !== 'said') return found
  const payout = found.value
  if (payout.reference_id !== key) return unknown('answer_differs')
  if (known !== undefined && payout.fund_account_id !== known.order.account) {
    return unknown('answer_differs')
  }
  const outcome = outcomeOf(payout)
  // Once settled, the sum is in the answer; until then nobody else would see that it is another.
  const isOdd = known !== undefined && payout.amount !== known.order.amount
  return outcome.kind === 'pending' && isOdd
    ? unknown('amount_differs', { reference: payout.id, status: railStatusOf(payout.status) })
    : outcome
}

async function fetchOrFind(desk: Desk, key: string, reference: string | undefined): Promise<Found> {
  const isId = reference !== undefined && IDS.payout.test(reference)
  return isId ? fetchPayout(desk.ask, reference) : findPayout(desk, key)
}

export const fetchPayout = async (ask: Ask, id: string) =>
  saidIn(payoutSchema, await ask(({ rq }) => rq.get(`/v1/payouts/${id}`)))

/** Only one that waits for the account's balance can be called back. */
export async function cancelPayout(desk: Desk, known: RailKnown): Promise<RailOutcome> {
  const { key } = known.order
  const stands = await lookUpPayout(desk, key, known)
  if (stands.kind === 'absent') return unknown('absent_at_rail')
  if (stands.kind !== 'pending' || stands.status !== 'QUEUED') return stands
  const path = `/v1/payouts/${stands.reference}/cancel`
  const said = saidIn(payoutSchema, await desk.ask(({ rq }) => rq.post(path, {})))
  if (said.kind === 'said') return judge(said.value, known.order)
  const after = await lookUpPayout(desk, key, known)
  return after.kind === 'absent' ? unknown('absent_at_rail') : after
}
