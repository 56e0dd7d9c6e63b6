/** Every request that moves, asks back or looks for money at PayPal, composed in this one place. */
import type { RailOrder } from '../../core/rail.ts'
import type { PaypalAccount } from './accounts.ts'
import type { PaypalRequest } from './client.ts'

type Payout = Extract<PaypalAccount, { kind: 'payout' }>

/** PayPal shows a note on one line: what steers a terminal or a header is a space in it. */
export const noteOf = (note: string, chars: number): string =>
  note
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, chars)
    .toWellFormed()

/** One item for each batch: the batch's id is what PayPal keeps from being paid twice, for 30 days. */
export function payoutRequest(order: RailOrder, to: Payout, value: string): PaypalRequest {
  const { key, currency } = order
  const note = noteOf(order.note, 1_000)
  const item = {
    recipient_type: to.type,
    receiver: to.receiver,
    amount: { currency, value },
    sender_item_id: key,
    ...(note === '' ? {} : { note }),
  }
  const body = JSON.stringify({
    sender_batch_header: { sender_batch_id: key, recipient_type: to.type },
    items: [item],
  })
  return { method: 'POST', path: '/v1/payments/payouts', body, requestId: key }
}

export const batchRequest = (id: string): PaypalRequest => ({
  method: 'GET',
  path: `/v1/payments/payouts/${id}?total_required=true`,
})

export const itemRequest = (id: string): PaypalRequest => ({
  method: 'GET',
  path: `/v1/payments/payouts-item/${id}`,
})

export const cancelItemRequest = (id: string): PaypalRequest => ({
  method: 'POST',
  path: `/v1/payments/payouts-item/${id}/cancel`,
})

/**
 * An order with one purchase unit, whose payee is pinned and whose two free fields carry our key. It names no instrument,
 * so that making it moves nothing: what does is a step of its own, made once the order's id is known.
 */
export function orderRequest(
  intent: 'CAPTURE' | 'AUTHORIZE',
  of: {
    readonly key: string
    readonly merchant: string
    readonly currency: string
    readonly value: string
    readonly note: string
  },
): PaypalRequest {
  const description = noteOf(of.note, 127)
  const body = JSON.stringify({
    intent,
    purchase_units: [
      {
        amount: { currency_code: of.currency, value: of.value },
        payee: { merchant_id: of.merchant },
        custom_id: of.key,
        invoice_id: of.key,
        ...(description === '' ? {} : { description }),
      },
    ],
  })
  return { method: 'POST', path: '/v2/checkout/orders', body, requestId: of.key, whole: true }
}

export const getOrderRequest = (id: string): PaypalRequest => ({
  method: 'GET',
  path: `/v2/checkout/orders/${id}`,
  // With a hundred draws and what was refunded of each.
  maxBytes: 1024 * 1024,
})

/** Without an instrument: what the payer has agreed to. */
export const takeOrderRequest = (
  step: 'capture' | 'authorize',
  of: { readonly id: string; readonly key: string; readonly instrument?: string | undefined },
): PaypalRequest => ({
  method: 'POST',
  path: `/v2/checkout/orders/${of.id}/${step}`,
  body:
    of.instrument === undefined
      ? '{}'
      : JSON.stringify({ payment_source: { paypal: { vault_id: of.instrument } } }),
  requestId: `${of.key}-${step === 'capture' ? 'cap' : 'auth'}`,
  whole: true,
})

export const getAuthorizationRequest = (id: string): PaypalRequest => ({
  method: 'GET',
  path: `/v2/payments/authorizations/${id}`,
})

/** Always a part and never the last one, unless it is all: what is left is given back by a void. */
export function drawRequest(
  authorization: string,
  of: {
    readonly key: string
    readonly currency: string
    readonly value: string
    readonly note: string
  },
): PaypalRequest {
  const note = noteOf(of.note, 255)
  const body = JSON.stringify({
    amount: { currency_code: of.currency, value: of.value },
    invoice_id: of.key,
    final_capture: false,
    ...(note === '' ? {} : { note_to_payer: note }),
  })
  const path = `/v2/payments/authorizations/${authorization}/capture`
  return { method: 'POST', path, body, requestId: `${of.key}-cap`, whole: true }
}

/** Has no request id at PayPal; a second one is refused in words that say so. */
export const voidRequest = (authorization: string): PaypalRequest => ({
  method: 'POST',
  path: `/v2/payments/authorizations/${authorization}/void`,
  whole: true,
})

export const getCaptureRequest = (id: string): PaypalRequest => ({
  method: 'GET',
  path: `/v2/payments/captures/${id}`,
})

/** The amount always: without one PayPal gives everything back. */
export function refundRequest(
  capture: string,
  of: { readonly key: string; readonly currency: string; readonly value: string },
): PaypalRequest {
  const body = JSON.stringify({
    amount: { currency_code: of.currency, value: of.value },
    invoice_id: of.key,
    custom_id: of.key,
  })
  const path = `/v2/payments/captures/${capture}/refund`
  return { method: 'POST', path, body, requestId: of.key, whole: true }
}

export const getRefundRequest = (id: string): PaypalRequest => ({
  method: 'GET',
  path: `/v2/payments/refunds/${id}`,
})

/** `event` is the message's own text, put in as it came: its signature is over its bytes. */
export function verifyRequest(
  webhookId: string,
  of: {
    readonly algorithm: string
    readonly certUrl: string
    readonly id: string
    readonly signature: string
    readonly time: string
  },
  event: string,
): PaypalRequest {
  const head = JSON.stringify({
    auth_algo: of.algorithm,
    cert_url: of.certUrl,
    transmission_id: of.id,
    transmission_sig: of.signature,
    transmission_time: of.time,
    webhook_id: webhookId,
  })
  const body = `${head.slice(0, -1)},"webhook_event":${event}}`
  return { method: 'POST', path: '/v1/notifications/verify-webhook-signature', body }
}

export function setupTokenRequest(of: {
  readonly key: string
  readonly returnUrl: string
  readonly cancelUrl: string
}): PaypalRequest {
  const body = JSON.stringify({
    payment_source: {
      paypal: {
        usage_type: 'MERCHANT',
        experience_context: { return_url: of.returnUrl, cancel_url: of.cancelUrl },
      },
    },
  })
  return { method: 'POST', path: '/v3/vault/setup-tokens', body, requestId: of.key }
}

/** PayPal's guides name the type `SETUP_TOKEN`; the list in its OpenAPI document of 2024 lacks it. */
export const paymentTokenRequest = (of: {
  readonly key: string
  readonly setupToken: string
}): PaypalRequest => ({
  method: 'POST',
  path: '/v3/vault/payment-tokens',
  body: JSON.stringify({ payment_source: { token: { id: of.setupToken, type: 'SETUP_TOKEN' } } }),
  requestId: of.key,
})

export const deletePaymentTokenRequest = (id: string): PaypalRequest => ({
  method: 'DELETE',
  path: `/v3/vault/payment-tokens/${id}`,
})

/** Times as `2026-01-31T00:00:00Z`, 31 days apart at most. */
export function searchRequest(of: {
  readonly from: string
  readonly to: string
  readonly page: number
  readonly pageSize: number
}): PaypalRequest {
  const query = new URLSearchParams({
    start_date: of.from,
    end_date: of.to,
    fields: 'transaction_info',
    page_size: String(of.pageSize),
    page: String(of.page),
  })
  return {
    method: 'GET',
    path: `/v1/reporting/transactions?${query}`,
    // 500 lines of some 900 bytes, four times over.
    maxBytes: 2 * 1024 * 1024,
  }
}
