/**
 * Orders and payment links: money that a payer agrees to give. Neither has an idempotency header, so our key is their receipt
 * or reference, and before anything is made Razorpay is asked whether it is there. An order is captured by us, exactly and
 * once; a link is captured by Razorpay. An order cannot be called back there: until somebody pays, it stays pending.
 */
import {
  type RailKnown,
  type RailLookup,
  type RailOrder,
  type RailOutcome,
  type RailPending,
  railStatusOf,
} from '../../core/rail.ts'
import { nowSeconds, type Seconds } from '../../core/time.ts'
import { declined, notSent, unknown } from '../words.ts'
import type { Ask } from './client.ts'
import { fetchPayment, paymentsOfOrder, settledBy } from './payments.ts'
import type { Desk } from './payouts.ts'
import {
  CAPTURE_MINUTES,
  KINDS,
  type Kind,
  LINK_SECONDS,
  type Request,
  type RequestKind,
} from './request-kinds.ts'
import { type NoWord, type Payment, paymentSchema, type Said, saidIn } from './wire.ts'

type Found = Said<Request> | { readonly kind: 'absent' }

async function find({ ask }: Desk, kind: Kind, key: string, reference?: string): Promise<Found> {
  if (reference !== undefined && kind.id.test(reference)) {
    return kind.made(await ask((sdk) => kind.fetch(sdk, reference)))
  }
  const said = kind.found(await ask((sdk) => kind.find(sdk, key)))
  if (said.kind !== 'said') return said
  const [request, ...more] = said.value
  if (request === undefined) return { kind: 'absent' }
  return more.length === 0 ? { kind: 'said', value: request } : unknown('more_than_one')
}

/** Makes it, unless it is there. */
export async function request(
  desk: Desk,
  name: RequestKind,
  order: RailOrder,
): Promise<RailOutcome> {
  const kind = KINDS[name]
  const earlier = await find(desk, kind, order.key)
  // Nothing of the payment has been sent.
  if (earlier.kind === 'refused') return notSent('lookup_refused')
  if (earlier.kind === 'said') return judge(desk, earlier.value, order)
  if (earlier.kind !== 'absent') return notSent(earlier.reason)
  const said = kind.made(await desk.ask((sdk) => kind.make(sdk, order, desk.clock)))
  if (said.kind === 'said') {
    // Just made, nobody can have paid it.
    const isNew = said.value.status === 'created'
    return isNew ? standing(desk, said.value, [], order) : judge(desk, said.value, order)
  }
  if (said.kind !== 'refused') return said
  const found = await find(desk, kind, order.key)
  if (found.kind === 'absent' && said.status === 400) {
    return declined('refused_by_rail')
  }
  return found.kind === 'said' ? judge(desk, found.value, order) : unknown('key_in_use')
}

/** By its id where that is known, else by the key. */
export async function lookUpRequest(
  desk: Desk,
  name: RequestKind,
  key: string,
  known: RailKnown | undefined,
): Promise<RailLookup> {
  const found = await find(desk, KINDS[name], key, known?.reference)
  if (found.kind === 'refused') return unknown('lookup_refused')
  if (found.kind !== 'said') return found
  if (found.value.key !== key) return unknown('answer_differs')
  return judge(desk, found.value, known?.order)
}

type Asked = Pick<RailOrder, 'key' | 'amount' | 'currency'>

/** What stands of it, measured at what was asked where that is known. */
async function judge(desk: Desk, request: Request, order: Asked | undefined): Promise<RailOutcome> {
  // Another's names nothing to ask about later.
  if (order !== undefined && request.key !== order.key) return unknown('answer_differs')
  const paid = await paymentsOf(desk.ask, request)
  if (paid.kind !== 'said') return noWordOn(paid, request)
  return standing(desk, request, paid.value, order)
}

const of = ({ id, status }: Request) => ({ reference: id, status: railStatusOf(status) })

const noWordOn = (said: NoWord | { readonly kind: 'refused' }, request: Request): RailOutcome =>
  unknown(said.kind === 'refused' ? 'lookup_refused' : said.reason, of(request))

async function standing(
  { ask, clock }: Pick<Desk, 'ask' | 'clock'>,
  request: Request,
  payments: readonly Payment[],
  order: Asked | undefined,
): Promise<RailOutcome> {
  if (order !== undefined && request.key !== order.key) return unknown('answer_differs')
  const [payment, ...more] = payments.filter((each) => each.captured)
  if (more.length > 0) return unknown('more_than_one_payment', of(request))
  if (payment !== undefined) return settledBy(ask, payment)
  const { amount, currency } = request
  const isOther = order !== undefined && (amount !== order.amount || currency !== order.currency)
  if (isOther) return unknown('amount_differs', of(request))
  return unpaid(request, payments, nowSeconds(clock))
}

function unpaid(request: Request, payments: readonly Payment[], now: Seconds): RailOutcome {
  const pending = (awaits: RailPending['awaits']): RailPending => ({
    kind: 'pending',
    awaits,
    ...of(request),
  })
  if (payments.some(({ status }) => status === 'authorized')) return pending('capture')
  const { approveUrl, status } = request
  switch (status) {
    case 'created':
    case 'attempted':
      return { ...pending('payer'), ...(approveUrl === undefined ? {} : { approveUrl }) }
    case 'cancelled':
    case 'expired':
      return mayYetMove(request, payments, now)
        ? pending('rail')
        : declined(status, railStatusOf(status))
    default:
      return unknown('status_unexpected', of(request))
  }
}

const LATE_SECONDS = CAPTURE_MINUTES * 60

/** What Razorpay lists of an order where it is not told how many. */
const SHORT_PAGE = 10

/** What failed may be authorised for days, so until then nothing is over; nor while not every attempt is known. */
function mayYetMove(request: Request, payments: readonly Payment[], now: Seconds): boolean {
  const isEvery = request.order !== undefined && payments.length < SHORT_PAGE
  if (!isEvery && now - request.atSeconds < LINK_SECONDS + LATE_SECONDS) return true
  return payments.some(
    ({ status, created_at: at }) =>
      (status === 'created' || status === 'failed') && now - at < LATE_SECONDS,
  )
}

async function paymentsOf(
  ask: Ask,
  { order, payments }: Request,
): Promise<Said<readonly Payment[]>> {
  if (order !== undefined) return paymentsOfOrder(ask, order)
  const found: Payment[] = []
  for (const id of payments.slice(0, SHORT_PAGE)) {
    const said = await fetchPayment(ask, id)
    if (said.kind !== 'said') return said
    found.push(said.value)
  }
  return { kind: 'said', value: found }
}

/** Captures what is authorised: all of it, once; that it had been captured before is a success. */
export async function completeRequest(
  desk: Desk,
  name: RequestKind,
  known: RailKnown,
): Promise<RailOutcome> {
  const { order } = known
  const found = await find(desk, KINDS[name], order.key, known.reference)
  if (found.kind === 'absent') return unknown('absent_at_rail')
  if (found.kind === 'refused') return unknown('lookup_refused')
  if (found.kind !== 'said') return unknown(found.reason)
  const paid = await paymentsOf(desk.ask, found.value)
  if (paid.kind !== 'said') return noWordOn(paid, found.value)
  const stands = await standing(desk, found.value, paid.value, order)
  const payment = paid.value.find(({ status }) => status === 'authorized')
  const isOurs = stands.kind === 'pending' && stands.awaits === 'capture'
  if (!isOurs || payment === undefined) return stands
  const { amount, currency } = order
  if (payment.amount !== amount || payment.currency !== currency) {
    return unknown('amount_differs', of(found.value))
  }
  const got = await desk.ask(({ api }) => api.payments.capture(payment.id, amount, currency))
  const said = saidIn(paymentSchema, got)
  if (said.kind === 'notSent') return stands
  if (said.kind === 'refused') return lookedUp(desk, name, known)
  if (said.kind !== 'said') return unknown(said.reason, of(found.value))
  const { value } = said
  if (value.id !== payment.id || !value.captured) {
    return unknown('answer_differs', of(found.value))
  }
  if (value.amount !== amount || value.currency !== currency) {
    return unknown('amount_differs', of(found.value))
  }
  return settledBy(desk.ask, value)
}

async function lookedUp(desk: Desk, name: RequestKind, known: RailKnown): Promise<RailOutcome> {
  const found = await lookUpRequest(desk, name, known.order.key, known)
  return found.kind === 'absent' ? unknown('absent_at_rail') : found
}

/** A link that nobody has paid is cancelled; what cannot be called back is told as it stands. */
export async function cancelRequest(
  desk: Desk,
  name: RequestKind,
  known: RailKnown,
): Promise<RailOutcome> {
  const stands = await lookedUp(desk, name, known)
  if (name === 'order' || stands.kind !== 'pending' || stands.awaits !== 'payer') return stands
  const { reference } = stands
  await desk.ask(({ api }) => api.paymentLink.cancel(reference))
  // Its answer says nothing that asking again does not say better.
  return lookedUp(desk, name, known)
}
