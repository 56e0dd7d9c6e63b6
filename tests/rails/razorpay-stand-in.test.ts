/** The stand-in refuses what Razorpay refuses, in its shape: an adapter that was only tested against a kind one proves nothing. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

const LAKH = 100_000 * 100
const DAY = 24 * 3600

let standIn: RazorpayStandIn
beforeEach(async () => {
  standIn = await startRazorpayStandIn({ balance: 50 * LAKH })
})
afterEach(() => standIn.close())

const basic = (user = standIn.env.RAZORPAY_KEY_ID, secret = standIn.env.RAZORPAY_KEY_SECRET) =>
  Buffer.from(`${user}:${secret}`).toString('base64')

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown> & {
    readonly error?: {
      readonly code: string
      readonly description: string
      readonly field?: string
    }
  }
}

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(new URL(path, standIn.url), {
    method,
    headers: {
      authorization: `Basic ${basic()}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

const refused = (description: RegExp, status = 400) => ({
  status,
  body: {
    error: {
      code: 'BAD_REQUEST_ERROR',
      description: expect.stringMatching(description),
      source: expect.any(String),
      step: expect.any(String),
      reason: expect.any(String),
      metadata: {},
    },
  },
})

let keys = 0
const payout = (change: Record<string, unknown> = {}, key: string | undefined = `key-${++keys}`) =>
  send(
    'POST',
    '/v1/payouts',
    {
      account_number: standIn.accountNumber,
      fund_account_id: standIn.accounts[0],
      amount: 1_000,
      currency: 'INR',
      mode: 'IMPS',
      purpose: 'payout',
      ...change,
    },
    key === '' ? {} : { 'x-payout-idempotency': key },
  )

const order = (change: Record<string, unknown> = {}) =>
  send('POST', '/v1/orders', { amount: 1_000, currency: 'INR', ...change })

const link = (change: Record<string, unknown> = {}) =>
  send('POST', '/v1/payment_links', { amount: 1_000, currency: 'INR', ...change })

async function payment(change: Record<string, unknown> = {}): Promise<string> {
  const made = await order({ payment: { capture: 'manual' }, ...change })
  return standIn.approve(String(made.body.id))
}

const capture = (id: string, amount: unknown = 1_000, currency = 'INR') =>
  send('POST', `/v1/payments/${id}/capture`, { amount, currency })

const refund = (id: string, body: unknown, key?: string) =>
  send(
    'POST',
    `/v1/payments/${id}/refund`,
    body,
    key === undefined ? {} : { 'x-refund-idempotency': key },
  )

describe('the stand-in lets in', () => {
  it.each([
    ['no credentials', () => ''],
    ['another scheme', () => `Bearer ${basic()}`],
    ['the scheme in another case', () => `basic ${basic()}`],
    ['another secret', () => `Basic ${basic(undefined, 'x')}`],
  ])('nobody with %s', async (_what, authorization) => {
    expect(await send('GET', '/v1/orders', undefined, { authorization: authorization() })).toEqual(
      refused(/Authentication failed/, 401),
    )
  })

  it('no unknown address, field or form', async () => {
    expect(await send('GET', '/v1/nowhere')).toEqual(refused(/URL was not found/))
    expect(await order({ colour: 'red', size: 1 })).toEqual(
      refused(/^colour, size is\/are not required and should not be sent$/),
    )
    expect(await payout({ colour: 'red' })).toMatchObject(refused(/^colour is\/are/))
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    expect(await send('POST', '/v1/orders', { amount: 1_000, currency: 'INR' }, form)).toEqual(
      refused(/JSON/),
    )
  })
})

describe('the stand-in refuses an order or link', () => {
  it.each([
    ['of a fraction', { amount: 100.75 }, /must be an integer/],
    ['of a text', { amount: '1000' }, /must be an integer/],
    ['of less than a rupee', { amount: 99 }, /at least/],
    ['of a currency that it has not', { currency: 'inr' }, /currency/],
    [
      'of a last digit that three decimals have not',
      { currency: 'KWD', amount: 1_001 },
      /last digit/,
    ],
    ['with too long a note', { notes: { a: 'x'.repeat(257) } }, /notes/],
  ])('%s', async (_what, change, description) => {
    expect((await order(change)).body.error?.description).toMatch(description)
    expect((await link(change)).body.error?.description).toMatch(description)
    expect((await order()).status).toBe(200)
  })

  it('with a receipt of more than forty characters, or one that was used, if it is told to', async () => {
    expect((await order({ receipt: 'r'.repeat(40) })).status).toBe(200)
    expect((await order({ receipt: 'r'.repeat(41) })).body.error?.field).toBe('receipt')
    expect((await order({ receipt: 'r'.repeat(40) })).body.error?.field).toBe('receipt')
    await standIn.close()
    standIn = await startRazorpayStandIn({ uniqueReceipts: false })
    const twice = [await order({ receipt: 'r' }), await order({ receipt: 'r' })]
    expect(twice.map(({ status }) => status)).toEqual([200, 200])
  })

  it('with a reference that was used, an end too near or too far, or for UPI in test mode', async () => {
    const now = Math.floor(Date.now() / 1000)
    expect((await link({ reference_id: 'r' })).status).toBe(200)
    expect(await link({ reference_id: 'r' })).toEqual(refused(/already exists/))
    expect(await link({ reference_id: 'r'.repeat(41) })).toMatchObject({ status: 400 })
    expect((await link({ expire_by: now + 16 * 60 })).status).toBe(200)
    expect(await link({ expire_by: now + 14 * 60 })).toMatchObject({ status: 400 })
    expect(await link({ expire_by: now + 190 * DAY })).toMatchObject({ status: 400 })
    expect(await link({ upi_link: true })).toEqual(refused(/Test Mode/))
  })
})

describe('the stand-in refuses a capture', () => {
  it('of another amount or currency, of what is not authorised, and of what was captured', async () => {
    const id = await payment()
    expect(await capture(id, 999)).toEqual(refused(/must be equal to the amount authorized/))
    expect(await capture(id, 1_000, 'USD')).toEqual(refused(/must be equal/))
    expect(await capture(id, 1_000.5)).toMatchObject(refused(/integer/))
    expect(await send('POST', `/v1/payments/${id}/capture`, { amount: 1_000 })).toMatchObject(
      refused(/currency field is required/),
    )
    expect(await capture(id)).toMatchObject({ status: 200, body: { status: 'captured' } })
    expect(await capture(id)).toEqual(refused(/already been captured/))
    const made = await order({ payment: { capture: 'manual' } })
    const failed = standIn.attempt(String(made.body.id), { ends: 'failed' })
    expect(await capture(failed)).toEqual(refused(/Only payments which have been authorized/))
    expect(await capture('pay_00000000000000')).toEqual(refused(/does not exist/))
  })

  it('once the time for it is over, and the payer has the money back', async () => {
    const id = await payment({
      payment: { capture: 'manual', capture_options: { manual_expiry_period: 12 } },
    })
    standIn.advance(12 * 60)
    expect(await capture(id)).toMatchObject({ status: 400 })
    expect((await send('GET', `/v1/payments/${id}`)).body).toMatchObject({
      status: 'refunded',
      captured: false,
      amount_refunded: 1_000,
    })
  })
})

describe('the stand-in refuses a refund', () => {
  it('of more than is left, of what is all gone, and of what was not captured', async () => {
    const id = await payment()
    expect(await refund(id, { amount: 500 })).toEqual(refused(/should be captured/))
    await capture(id)
    expect(await refund(id, { amount: 1_001 })).toEqual(refused(/greater than/))
    expect(await refund(id, { amount: 99 })).toMatchObject(refused(/at least/))
    expect((await refund(id, { amount: 400 })).status).toBe(200)
    expect(await refund(id, { amount: 601 })).toEqual(refused(/greater than/))
    // What Razorpay takes a missing amount for.
    expect((await refund(id, {})).body).toMatchObject({ amount: 600 })
    expect(await refund(id, {})).toEqual(refused(/fully refunded/))
  })

  it.each([
    ['truncate', 200],
    ['refuse', 400],
  ] as const)('of a fraction, or cuts it off, as it is told: %s', async (refundFloats, status) => {
    await standIn.close()
    standIn = await startRazorpayStandIn({ refundFloats })
    const id = await payment()
    await capture(id)
    const answer = await refund(id, { amount: 100.75 })
    expect(answer.status).toBe(status)
    if (status === 200) expect(answer.body.amount).toBe(100)
  })

  it('with a key that another request has, or that is none; and answers the same one the same', async () => {
    const id = await payment()
    await capture(id)
    expect(await refund(id, { amount: 100 }, 'short')).toMatchObject({ status: 400 })
    expect(await refund(id, { amount: 100 }, 'not a key at all')).toMatchObject({ status: 400 })
    const first = await refund(id, { amount: 100 }, 'key-of-a-refund')
    expect(await refund(id, { amount: 100 }, 'key-of-a-refund')).toEqual(first)
    expect(await refund(id, { amount: 200 }, 'key-of-a-refund')).toEqual(
      refused(/^Different request with the same idempotency key/, 409),
    )
    expect(standIn.book().refunds).toBe(1)
  })

  it('with a receipt that was used', async () => {
    const id = await payment()
    await capture(id)
    expect((await refund(id, { amount: 100, receipt: 'r' })).status).toBe(200)
    expect(await refund(id, { amount: 200, receipt: 'r' })).toMatchObject(refused(/receipt/))
  })
})

describe('the stand-in refuses a payout', () => {
  it.each([
    ['without a key', {}, '', /mandatory/],
    ['with a key that is too short', {}, 'abc', /4 to 36/],
    ['with a key that is too long', {}, 'k'.repeat(37), /4 to 36/],
    ['with a key of other characters', {}, 'key.1', /4 to 36/],
    ['from another account', { account_number: '1' }, undefined, /account number/],
    ['to nobody', { fund_account_id: 'fa_00000000000000' }, undefined, /does not exist/],
    ['of a fraction', { amount: 100.5 }, undefined, /integer/],
    ['of less than a rupee', { amount: 99 }, undefined, /at least/],
    ['of another currency', { currency: 'USD' }, undefined, /INR/],
    ['by a mode in another case', { mode: 'imps' }, undefined, /mode is invalid/],
    ['by a mode that the account has not', { mode: 'UPI' }, undefined, /not supported/],
    ['for a purpose in another case', { purpose: 'Payout' }, undefined, /purpose/],
    ['with a narration of other characters', { narration: 'a-b' }, undefined, /narration/],
    ['with a narration too long', { narration: 'a'.repeat(31) }, undefined, /narration/],
    ['with a reference too long', { reference_id: 'r'.repeat(41) }, undefined, /reference_id/],
    ['by IMPS above five lakh', { amount: 5 * LAKH + 1 }, undefined, /limits of IMPS/],
    ['by RTGS below two lakh', { mode: 'RTGS', amount: 2 * LAKH - 1 }, undefined, /limits of RTGS/],
    ['above the balance', { mode: 'NEFT', amount: 51 * LAKH }, undefined, /^invalid request sent$/],
  ] as const)('%s', async (_what, change, key, description) => {
    const answer = await payout(change, key)
    expect(answer.status).toBe(400)
    expect(answer.body.error?.description).toMatch(description)
    expect(standIn.book().payments).toBe(0)
  })

  it('above one lakh by UPI, and takes what stands at each limit', async () => {
    const upi = { fund_account_id: standIn.upi, mode: 'UPI' }
    expect(await payout({ ...upi, amount: LAKH + 1 })).toMatchObject(refused(/limits of UPI/))
    expect((await payout({ ...upi, amount: LAKH })).status).toBe(200)
    expect((await payout({ amount: 5 * LAKH })).status).toBe(200)
    expect((await payout({ mode: 'RTGS', amount: 2 * LAKH })).status).toBe(200)
    expect((await payout({ narration: 'a'.repeat(30) }, 'k'.repeat(36))).status).toBe(200)
    expect((await payout({ amount: 100 }, 'k 1_')).status).toBe(200)
  })

  it('whose key has another body, and answers the same body with how it stands now', async () => {
    const first = await payout({ amount: 1_000 }, 'key-once')
    expect(first.body).toMatchObject({ status: 'processing' })
    expect(await payout({ amount: 1_001 }, 'key-once')).toEqual(
      refused(/^Different request body sent for the same Idempotency Header$/),
    )
    const again = await payout({ amount: 1_000 }, 'key-once')
    expect(again.body).toMatchObject({ id: first.body.id, status: 'processed' })
    standIn.advance(7 * DAY)
    expect((await payout({ amount: 1_000 }, 'key-once')).body.id).not.toBe(first.body.id)
  })

  it('above the balance, unless it was told to queue it; a queued one can be cancelled, no other', async () => {
    const big = { mode: 'NEFT', amount: 51 * LAKH, queue_if_low_balance: true }
    const queued = await payout(big)
    expect(queued.body).toMatchObject({
      status: 'queued',
      status_details: { reason: 'low_balance' },
    })
    const cancel = (id: unknown) => send('POST', `/v1/payouts/${id}/cancel`)
    expect((await cancel(queued.body.id)).body).toMatchObject({ status: 'cancelled' })
    expect(await cancel(queued.body.id)).toEqual(refused(/not in queued state/))
  })
})

describe('the stand-in’s contacts and fund accounts', () => {
  it('are the same again for the same details, and of the shape that Razorpay asks for', async () => {
    const contact = (body: unknown) => send('POST', '/v1/contacts', body)
    const first = await contact({ name: 'Desk Bazaar', type: 'vendor' })
    expect(await contact({ name: 'Desk Bazaar', type: 'vendor' })).toEqual(first)
    expect((await contact({ name: 'Desk Bazaar', type: 'Vendor' })).body.id).not.toBe(first.body.id)
    expect(await contact({ name: 'ab' })).toMatchObject({ status: 400 })
    expect(await contact({ name: 'Desk & Bazaar' })).toMatchObject({ status: 400 })
    const account = (vpa: unknown) =>
      send('POST', '/v1/fund_accounts', {
        contact_id: first.body.id,
        account_type: 'vpa',
        vpa: { address: vpa },
      })
    const made = await account('desk@upi')
    expect(made.body).toMatchObject({ entity: 'fund_account', active: true })
    expect(await account('desk@upi')).toEqual(made)
    expect(await account('desk')).toMatchObject({ status: 400 })
  })
})

describe('the stand-in’s messages', () => {
  it('are delivered to a gateway, and again when it did not take them', async () => {
    const { createServer } = await import('node:http')
    const taken: string[] = []
    let refusals = 1
    const gateway = createServer((request, response) => {
      request.resume().on('end', () => {
        if (refusals > 0) {
          refusals -= 1
          response.writeHead(503).end()
          return
        }
        taken.push(String(request.headers['x-razorpay-event-id']))
        response.writeHead(200).end()
      })
    })
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
    const address = gateway.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await standIn.close()
    standIn = await startRazorpayStandIn({
      deliverTo: `http://127.0.0.1:${port}/webhooks/razorpay`,
    })
    await payout()
    await expect.poll(() => taken.length, { timeout: 20_000 }).toBe(2)
    expect(new Set(taken).size).toBe(2)
    gateway.closeAllConnections()
    await new Promise((resolve) => gateway.close(resolve))
  })
})
