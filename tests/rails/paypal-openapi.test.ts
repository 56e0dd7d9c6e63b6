import { describe, expect, it } from 'vitest'
import { controlsOf } from '../support/paypal-controls.ts'
import {
  type ComposedRequest,
  hasPaypalDocuments,
  loadPaypalDocuments,
  NO_DOCUMENTS,
} from '../support/paypal-openapi.ts'

if (!hasPaypalDocuments) process.stdout.write(`skipped: ${NO_DOCUMENTS}\n`)

const headers = {
  authorization: 'Bearer abc',
  'content-type': 'application/json',
  'paypal-request-id': 'hg-1',
  prefer: 'return=representation',
}
const { authorization } = headers
const { 'paypal-request-id': _key, ...unkeyed } = headers
const usd = { currency_code: 'USD', value: '12.50' }
const unit = { amount: usd, payee: { merchant_id: 'ABCDEFGHJKLMN' }, custom_id: 'hg-1' }

const get = (path: string): ComposedRequest => ({ method: 'GET', path, headers: { authorization } })
const post = (
  path: string,
  body?: unknown,
  given: ComposedRequest['headers'] = headers,
): ComposedRequest => ({
  method: 'POST',
  path,
  headers: given,
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
})

/** One request of each operation that a rail needs, as the documents describe it. */
const SOUND: { readonly [operation: string]: ComposedRequest } = {
  'orders.create': post('/v2/checkout/orders', { intent: 'CAPTURE', purchase_units: [unit] }),
  'orders.get': get('/v2/checkout/orders/5O190127TN364715T'),
  'orders.capture': post('/v2/checkout/orders/5O190127TN364715T/capture'),
  'orders.authorize': post('/v2/checkout/orders/5O190127TN364715T/authorize', {}),
  'authorizations.get': get('/v2/payments/authorizations/0VF52814937998046'),
  'authorizations.capture': post('/v2/payments/authorizations/0VF52814937998046/capture', {
    amount: usd,
    final_capture: false,
  }),
  'authorizations.void': post(
    '/v2/payments/authorizations/0VF52814937998046/void',
    undefined,
    unkeyed,
  ),
  'captures.get': get('/v2/payments/captures/2GG279541U471931P'),
  'captures.refund': post('/v2/payments/captures/2GG279541U471931P/refund', { amount: usd }),
  'refunds.get': get('/v2/payments/refunds/1JU08902781691411'),
  'payouts.post': post(
    '/v1/payments/payouts',
    {
      sender_batch_header: { sender_batch_id: 'hg-1', recipient_type: 'EMAIL' },
      items: [{ amount: { currency: 'USD', value: '12.50' }, receiver: 'a@example.com' }],
    },
    { authorization, 'content-type': 'application/json' },
  ),
  'payouts.get': get('/v1/payments/payouts/FYXMPQTX4JC9N?page_size=10'),
  'payouts-item.get': get('/v1/payments/payouts-item/8AELMXH8UB2P8'),
  'payouts-item.cancel': post('/v1/payments/payouts-item/8AELMXH8UB2P8/cancel', undefined, {
    authorization,
  }),
  'search.get': get(
    '/v1/reporting/transactions?start_date=2027-01-01T00:00:00Z&end_date=2027-01-31T00:00:00Z&page_size=500',
  ),
  'verify-webhook-signature.post': post(
    '/v1/notifications/verify-webhook-signature',
    {
      auth_algo: 'SHA256withRSA',
      cert_url: 'https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-7a8a1f8b',
      transmission_id: '69cd13f0-d67a-11e5-baa3-778b53f4ae55',
      transmission_sig: 'lmI95Jx3Y9nhR5SJWlHVIWpg4AgFk7n9',
      transmission_time: '2027-02-18T20:01:35Z',
      webhook_id: '1JE4291016473214C',
      webhook_event: { id: 'WH-1', event_type: 'PAYMENT.CAPTURE.COMPLETED', resource: { id: 'X' } },
    },
    { authorization, 'content-type': 'application/json' },
  ),
}

describe.skipIf(!hasPaypalDocuments)('PayPal’s own documents', () => {
  const documents = hasPaypalDocuments ? loadPaypalDocuments() : undefined
  const judge = (request: ComposedRequest) => documents?.judge(request)

  it.each(Object.keys(SOUND))('take a sound %s and refuse what is wrong with it', (operation) => {
    const request = SOUND[operation] ?? get('/')
    expect(judge(request)).toEqual({ kind: 'valid', operation })
    const controls = controlsOf(operation) ?? []
    expect(controls.length).toBeGreaterThan(5)
    const taken = controls.filter(({ change }) => judge(change(request))?.kind !== 'invalid')
    expect(taken.map(({ what }) => what)).toEqual([])
  })

  it('say where something is wrong', () => {
    const request = SOUND['payouts.post'] ?? get('/')
    const body = request.body?.replace('"currency"', '"currency_code"') ?? ''
    expect(judge({ ...request, body })).toEqual({
      kind: 'invalid',
      operation: 'payouts.post',
      why: [
        "body/items/0/amount: must have required property 'currency'",
        'body/items/0/amount: must NOT have unevaluated properties currency_code',
      ],
    })
  })

  it('know nothing of another address', () => {
    expect(judge(get('/v1/payments/payouts/A/B'))).toMatchObject({ kind: 'invalid' })
    expect(judge(get('/v2/checkout/orders'))).toMatchObject({ kind: 'invalid' })
  })

  it('still have the words of every rule that no schema of theirs states', () => {
    expect(documents?.missingWords()).toEqual([])
  })

  it('need a request id where an order names how it is paid', () => {
    const payment_source = { paypal: { vault_id: 'nkq2y9g' } }
    const body = { intent: 'CAPTURE', purchase_units: [unit], payment_source }
    expect(judge(post('/v2/checkout/orders', body))).toMatchObject({ kind: 'valid' })
    expect(judge(post('/v2/checkout/orders', body, unkeyed))).toMatchObject({ kind: 'invalid' })
  })
})
