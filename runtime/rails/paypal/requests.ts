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
