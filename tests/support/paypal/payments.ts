/** Payments v2. An authorisation lets itself be captured up to 115 % of its amount; who wants less must see to it. */
import {
  authorizationOf,
  type Capture,
  type Checkout,
  captureOf,
  PAYMENT_KEYS_MS,
  preferred,
  refundedOf,
  refundOf,
  textOf,
} from './checkout.ts'
import { type Reply, refusal } from './refusals.ts'
import type { Ask, Route } from './routes.ts'
import { at, half, type Money, moneyOf, textAt } from './world.ts'

const REFUNDABLE_MS = 180 * 24 * 3600 * 1000

export const paymentRoutes = (checkout: Checkout): readonly Route[] => {
  const { world } = checkout
  const show = (json: unknown): Reply => ({ status: 200, json })
  return [
    {
      on: 'authorization.get',
      method: 'GET',
      path: '/v2/payments/authorizations/:id',
      act: ({ id }) => show(authorizationOf(world, found(checkout.authorizations(), id))),
    },
    {
      on: 'capture',
      method: 'POST',
      path: '/v2/payments/authorizations/:id/capture',
      act: (ask) => draw(checkout, ask),
    },
    {
      on: 'void',
      method: 'POST',
      path: '/v2/payments/authorizations/:id/void',
      act: (ask) => voided(checkout, ask),
    },
    {
      on: 'capture.get',
      method: 'GET',
      path: '/v2/payments/captures/:id',
      act: ({ id }) => show(captureOf(world, found(checkout.captures(), id))),
    },
    {
      on: 'refund',
      method: 'POST',
      path: '/v2/payments/captures/:id/refund',
      act: (ask) => refund(checkout, ask),
    },
    {
      on: 'refund.get',
      method: 'GET',
      path: '/v2/payments/refunds/:id',
      act: ({ id }) => show(refundOf(world, found(checkout.refunds(), id))),
    },
  ]
}

function found<T extends { readonly id: string }>(all: readonly T[], id: string): T {
  const one = all.find((candidate) => candidate.id === id)
  if (!one) throw refusal('INVALID_RESOURCE_ID')
  return one
}

const amountIn = (json: unknown, otherwise: Money): Money =>
  at(json, 'amount') === undefined
    ? otherwise
    : moneyOf(at(json, 'amount', 'value'), at(json, 'amount', 'currency_code'), '/amount')

const sumOf = (captures: readonly Capture[]) =>
  captures.reduce((sum, { money }) => sum + money.minor, 0)

function draw(checkout: Checkout, ask: Ask): Reply {
  const { json, fault, id } = ask
  return checkout.once(ask, `authorizations/${id}/capture`, PAYMENT_KEYS_MS, () => {
    const held = found(checkout.authorizations(), id)
    if (held.status === 'VOIDED') throw refusal('AUTHORIZATION_VOIDED')
    if (held.status === 'EXPIRED') throw refusal('AUTHORIZATION_EXPIRED')
    if (held.status === 'CAPTURED') throw refusal('AUTHORIZATION_ALREADY_CAPTURED')
    if (held.captures.length >= 10) throw refusal('MAX_CAPTURE_COUNT_EXCEEDED')
    const invoiceId = textAt(json, 127, 'invoice_id')
    textAt(json, 255, 'note_to_payer')
    textAt(json, 22, 'soft_descriptor')
    const asked = amountIn(json, held.money)
    if (asked.currency !== held.money.currency) throw refusal('AUTH_CAPTURE_CURRENCY_MISMATCH')
    const isUsed = checkout.captures().some((one) => invoiceId && one.invoiceId === invoiceId)
    if (isUsed) throw refusal('DUPLICATE_INVOICE_ID')
    const most = Math.min(Math.floor(held.money.minor * 1.15), held.money.minor + 7_500)
    if (sumOf(held.captures) + asked.minor > most) throw refusal('MAX_CAPTURE_AMOUNT_EXCEEDED')
    const isFinal = at(json, 'final_capture') === true
    const money = fault === 'wrongAmount' ? half(asked) : asked
    const customId = textOf(held.order.unit.custom_id)
    const capture = checkout.capture(held.order, { money, invoiceId, customId, isFinal }, fault)
    held.captures.push(capture)
    const isDone = isFinal || sumOf(held.captures) >= held.money.minor
    held.status = isDone ? 'CAPTURED' : 'PARTIALLY_CAPTURED'
    return () => preferred(ask, () => captureOf(checkout.world, capture))
  })
}

function voided(checkout: Checkout, ask: Ask): Reply {
  const held = found(checkout.authorizations(), ask.id)
  if (held.status === 'VOIDED') throw refusal('PREVIOUSLY_VOIDED')
  if (held.status === 'CAPTURED') throw refusal('PREVIOUSLY_CAPTURED')
  if (held.status === 'EXPIRED' || ask.fault === 'decline') throw refusal('CANNOT_BE_VOIDED')
  held.status = 'VOIDED'
  checkout.world.tell(
    'PAYMENT.AUTHORIZATION.VOIDED',
    'authorization',
    authorizationOf(checkout.world, held),
  )
  if (ask.headers.prefer !== 'return=representation') return { status: 204 }
  return { status: 200, json: authorizationOf(checkout.world, held) }
}

function refund(checkout: Checkout, ask: Ask): Reply {
  const { json, fault, id } = ask
  return checkout.once(ask, `captures/${id}/refund`, PAYMENT_KEYS_MS, () => {
    const capture = found(checkout.captures(), id)
    if (capture.status === 'PENDING') throw refusal('PENDING_CAPTURE')
    const left = capture.money.minor - refundedOf(capture)
    if (left <= 0) throw refusal('CAPTURE_FULLY_REFUNDED')
    if (checkout.world.nowMs() - capture.atMs > REFUNDABLE_MS) {
      throw refusal('REFUND_TIME_LIMIT_EXCEEDED')
    }
    const invoiceId = textAt(json, 127, 'invoice_id')
    const customId = textAt(json, 127, 'custom_id')
    textAt(json, 255, 'note_to_payer')
    const asked = amountIn(json, { ...capture.money, minor: left })
    if (asked.currency !== capture.money.currency) throw refusal('REFUND_CAPTURE_CURRENCY_MISMATCH')
    if (asked.minor > left) throw refusal('REFUND_AMOUNT_EXCEEDED')
    if (fault === 'decline') throw refusal('REFUND_FAILED_INSUFFICIENT_FUNDS')
    const money = fault === 'wrongAmount' ? half(asked) : asked
    const made = checkout.refund(capture, { money, invoiceId, customId }, fault === 'pending')
    return () => preferred(ask, () => refundOf(checkout.world, made))
  })
}
