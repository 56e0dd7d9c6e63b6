/** The stand-in refuses what PayPal refuses: PayPal's own status, name and issue for each. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type PaypalStandIn, startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { askStandIn } from './paypal-support.ts'

let standIn: PaypalStandIn
let n = 0
const key = () => {
  n += 1
  return `key-${n}`
}
beforeAll(async () => {
  standIn = await startPaypalStandIn()
})
afterAll(() => standIn.close())

const answerSchema = z.looseObject({
  id: z.string().default(''),
  name: z.string().default(''),
  status: z.string().default(''),
  details: z.array(z.looseObject({ issue: z.string() })).default([]),
})

async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) {
  const { status, json } = await askStandIn(standIn, method, path, {
    ...(body === undefined ? {} : { body }),
    headers,
  })
  const read = answerSchema.parse(json ?? {})
  return { ...read, code: status, issue: read.details[0]?.issue, json }
}

const WHOLE = { prefer: 'return=representation' }
const ORDERS = '/v2/checkout/orders'
const amount = (value: string, currency_code = 'USD') => ({ currency_code, value })
const unit = (change: Record<string, unknown> = {}) => ({ amount: amount('10.00'), ...change })
const order = (change: Record<string, unknown> = {}) => ({
  intent: 'CAPTURE',
  purchase_units: [unit(change)],
})
const withInstrument = () => ({
  payment_source: { paypal: { vault_id: standIn.instrument } },
})
const payout = (change: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => ({
  sender_batch_header: { sender_batch_id: key(), ...header },
  items: [
    {
      recipient_type: 'EMAIL',
      receiver: 'a@example.com',
      amount: { currency: 'USD', value: '10.00' },
      ...change,
    },
  ],
})

async function authorised(value = '100.00'): Promise<string> {
  const made = await ask('POST', ORDERS, {
    intent: 'AUTHORIZE',
    purchase_units: [unit({ amount: amount(value) })],
  })
  const headers = { ...WHOLE, 'paypal-request-id': key() }
  const { json } = await ask('POST', `${ORDERS}/${made.id}/authorize`, withInstrument(), headers)
  const [first] = z
    .object({
      purchase_units: z.array(
        z.object({ payments: z.object({ authorizations: z.array(z.object({ id: z.string() })) }) }),
      ),
    })
    .parse(json).purchase_units
  return first?.payments.authorizations[0]?.id ?? ''
}

describe('orders', () => {
  it.each([
    ['three decimals', amount('1.001'), 422, 'DECIMAL_PRECISION'],
    ['decimals of JPY', amount('10.00', 'JPY'), 422, 'DECIMALS_NOT_SUPPORTED'],
    ['decimals of HUF', amount('10.00', 'HUF'), 422, 'DECIMALS_NOT_SUPPORTED'],
    ['decimals of TWD', amount('10.50', 'TWD'), 422, 'DECIMALS_NOT_SUPPORTED'],
    ['INR from abroad', amount('10.00', 'INR'), 422, 'DOMESTIC_TRANSACTION_REQUIRED'],
    ['KWD', amount('10.000', 'KWD'), 422, 'INVALID_CURRENCY_CODE'],
    ['nothing', amount('0.00'), 422, 'CANNOT_BE_ZERO_OR_NEGATIVE'],
    ['less than nothing', amount('-1.00'), 422, 'CANNOT_BE_ZERO_OR_NEGATIVE'],
    ['an exponent', amount('1e3'), 400, 'INVALID_PARAMETER_SYNTAX'],
    ['a number', { currency_code: 'USD', value: 10 }, 400, 'MISSING_REQUIRED_PARAMETER'],
  ])('are refused for %s', async (_what, of, code, issue) => {
    expect(await ask('POST', ORDERS, order({ amount: of }))).toMatchObject({
      code,
      name: code === 422 ? 'UNPROCESSABLE_ENTITY' : 'INVALID_REQUEST',
      issue,
    })
  })

  it.each([
    ['a custom id of 128 characters', { custom_id: 'x'.repeat(128) }, 'INVALID_STRING_LENGTH'],
    ['a description of 128', { description: 'x'.repeat(128) }, 'INVALID_STRING_LENGTH'],
    ['a merchant id that is none', { payee: { merchant_id: 'x' } }, 'INVALID_PARAMETER_SYNTAX'],
    [
      'items without their total',
      { items: [{ name: 'a', quantity: '1', unit_amount: amount('10.00') }] },
      'ITEM_TOTAL_REQUIRED',
    ],
    [
      'items that do not add up',
      {
        amount: { ...amount('10.00'), breakdown: { item_total: amount('10.00') } },
        items: [{ name: 'a', quantity: '2', unit_amount: amount('10.00') }],
      },
      'ITEM_TOTAL_MISMATCH',
    ],
  ])('are refused for %s', async (_what, change, issue) => {
    expect(await ask('POST', ORDERS, order(change))).toMatchObject({ issue })
  })

  it('are refused with an instrument and no request id', async () => {
    expect(await ask('POST', ORDERS, { ...order(), ...withInstrument() })).toMatchObject({
      code: 400,
      issue: 'PAYPAL_REQUEST_ID_REQUIRED',
    })
  })

  it('answer a request id again with 200 for six hours, and then make another', async () => {
    const headers = { 'paypal-request-id': key() }
    const first = await ask('POST', ORDERS, order(), headers)
    const again = await ask('POST', ORDERS, order({ amount: amount('99.00') }), headers)
    expect([first.code, again.code, again.id]).toEqual([201, 200, first.id])
    standIn.advance(6 * 3600)
    expect(await ask('POST', ORDERS, order(), headers)).toMatchObject({
      code: 201,
      id: expect.not.stringMatching(first.id),
    })
    const long = { 'paypal-request-id': 'x'.repeat(109) }
    expect(await ask('POST', ORDERS, order(), long)).toMatchObject({ code: 400 })
  })

  it('say little unless the whole is asked for', async () => {
    const minimal = await ask('POST', ORDERS, order())
    expect(Object.keys(minimal.json ?? {}).sort()).toEqual(['id', 'links', 'status'])
    const whole = await ask('POST', ORDERS, order(), WHOLE)
    expect(whole.json).toMatchObject({ purchase_units: [{ amount: amount('10.00') }] })
  })

  it('are captured once, when agreed to, by what they are for', async () => {
    const { id } = await ask('POST', ORDERS, order())
    const capture = () => ask('POST', `${ORDERS}/${id}/capture`, {})
    expect(await capture()).toMatchObject({ code: 422, issue: 'ORDER_NOT_APPROVED' })
    expect(await ask('POST', `${ORDERS}/${id}/authorize`, {})).toMatchObject({
      issue: 'ACTION_DOES_NOT_MATCH_INTENT',
    })
    standIn.approve(id)
    expect(await capture()).toMatchObject({ code: 201, status: 'COMPLETED' })
    expect(await capture()).toMatchObject({ code: 422, issue: 'ORDER_ALREADY_CAPTURED' })
    expect(await ask('PATCH', `${ORDERS}/${id}`, [])).toMatchObject({
      issue: 'ORDER_ALREADY_COMPLETED',
    })
  })

  it('refuse an invoice id that was captured, an instrument they do not know, and what is mocked', async () => {
    const invoiced = order({ invoice_id: key() })
    const take = async (source: unknown, headers: Record<string, string> = {}) => {
      const { id } = await ask('POST', ORDERS, invoiced)
      return ask('POST', `${ORDERS}/${id}/capture`, source, headers)
    }
    const mocked = { 'paypal-mock-response': '{"mock_application_codes":"INSTRUMENT_DECLINED"}' }
    expect(await take(withInstrument(), mocked)).toMatchObject({ issue: 'INSTRUMENT_DECLINED' })
    const strange = { payment_source: { paypal: { vault_id: 'nobodys' } } }
    expect(await take(strange)).toMatchObject({ issue: 'TOKEN_ID_NOT_FOUND' })
    expect(await take(withInstrument())).toMatchObject({ code: 201 })
    expect(await take(withInstrument())).toMatchObject({ issue: 'DUPLICATE_INVOICE_ID' })
  })

  it('complete while their capture is pending', async () => {
    const { id } = await ask('POST', ORDERS, order())
    standIn.script({ on: 'capture', fault: 'pending' })
    const taken = await ask('POST', `${ORDERS}/${id}/capture`, withInstrument(), WHOLE)
    expect(taken.json).toMatchObject({
      status: 'COMPLETED',
      purchase_units: [{ payments: { captures: [{ status: 'PENDING' }] } }],
    })
  })
})

describe('authorisations, captures and refunds', () => {
  it('let themselves be captured up to 115 %, and no further', async () => {
    const id = await authorised()
    const draw = (value: string) =>
      ask('POST', `/v2/payments/authorizations/${id}/capture`, { amount: amount(value) }, WHOLE)
    expect(await draw('60.00')).toMatchObject({ code: 201, status: 'COMPLETED' })
    expect(await draw('55.01')).toMatchObject({ code: 422, issue: 'MAX_CAPTURE_AMOUNT_EXCEEDED' })
    expect(await draw('55.00')).toMatchObject({ code: 201 })
    expect(await draw('1.00')).toMatchObject({ issue: 'AUTHORIZATION_ALREADY_CAPTURED' })
    expect(await ask('POST', `/v2/payments/authorizations/${id}/void`)).toMatchObject({
      code: 422,
      issue: 'PREVIOUSLY_CAPTURED',
    })
  })

  it('take a missing amount for all of it', async () => {
    const id = await authorised()
    const all = await ask('POST', `/v2/payments/authorizations/${id}/capture`, {}, WHOLE)
    expect(all.json).toMatchObject({ amount: amount('100.00'), final_capture: false })
    const back = await ask('POST', `/v2/payments/captures/${all.id}/refund`, {}, WHOLE)
    expect(back.json).toMatchObject({ amount: amount('100.00') })
    const more = await ask('POST', `/v2/payments/captures/${all.id}/refund`, {})
    expect(more).toMatchObject({ code: 422, issue: 'CAPTURE_FULLY_REFUNDED' })
  })

  it('are voided once, and not captured afterwards', async () => {
    const id = await authorised()
    expect(await ask('POST', `/v2/payments/authorizations/${id}/void`)).toMatchObject({ code: 204 })
    expect(await ask('POST', `/v2/payments/authorizations/${id}/void`)).toMatchObject({
      code: 422,
      issue: 'PREVIOUSLY_VOIDED',
    })
    const draw = await ask('POST', `/v2/payments/authorizations/${id}/capture`, {})
    expect(draw).toMatchObject({ issue: 'AUTHORIZATION_VOIDED' })
  })

  it('refuse another currency, more than is left, and what is pending', async () => {
    const id = await authorised()
    const path = `/v2/payments/authorizations/${id}/capture`
    expect(await ask('POST', path, { amount: amount('1.00', 'EUR') })).toMatchObject({
      issue: 'AUTH_CAPTURE_CURRENCY_MISMATCH',
    })
    const { id: capture } = await ask('POST', path, { amount: amount('50.00') })
    const refund = (of: unknown) => ask('POST', `/v2/payments/captures/${capture}/refund`, of)
    expect(await refund({ amount: amount('1.00', 'EUR') })).toMatchObject({
      issue: 'REFUND_CAPTURE_CURRENCY_MISMATCH',
    })
    expect(await refund({ amount: amount('50.01') })).toMatchObject({
      issue: 'REFUND_AMOUNT_EXCEEDED',
    })
    standIn.script({ on: 'capture', fault: 'pending' })
    const { id: pending } = await ask('POST', path, { amount: amount('10.00') })
    expect(await ask('POST', `/v2/payments/captures/${pending}/refund`, {})).toMatchObject({
      issue: 'PENDING_CAPTURE',
    })
    standIn.advance(1)
    standIn.advance(181 * 24 * 3600)
    expect(await refund({ amount: amount('1.00') })).toMatchObject({
      issue: 'REFUND_TIME_LIMIT_EXCEEDED',
    })
  })

  it('remember a request id for 45 days', async () => {
    const id = await authorised()
    const headers = { 'paypal-request-id': key() }
    const path = `/v2/payments/authorizations/${id}/capture`
    const first = await ask('POST', path, { amount: amount('10.00') }, headers)
    standIn.advance(20 * 24 * 3600)
    const again = await ask('POST', path, { amount: amount('10.00') }, headers)
    expect([first.code, again.code, again.id]).toEqual([201, 200, first.id])
  })
})

describe('payouts', () => {
  it.each([
    ['no batch id', payout({}, { sender_batch_id: '' }), 400, 'VALIDATION_ERROR'],
    ['an address that is none', payout({ receiver: 'nobody' }), 400, 'VALIDATION_ERROR'],
    ['a sender item id of 64', payout({ sender_item_id: 'x'.repeat(64) }), 400, 'INVALID_REQUEST'],
    [
      'three decimals',
      payout({ amount: { currency: 'USD', value: '1.001' } }),
      400,
      'VALIDATION_ERROR',
    ],
    ['the note that stands for it', payout({ note: 'ERRPYO002' }), 403, 'SENDER_EMAIL_UNCONFIRMED'],
  ])('are refused for %s', async (_what, body, code, name) => {
    expect(await ask('POST', '/v1/payments/payouts', body)).toMatchObject({ code, name })
  })

  it('refuse a batch id again for thirty days, request id or not, with a link to the first', async () => {
    const body = payout()
    const send = () =>
      ask('POST', '/v1/payments/payouts', body, { 'paypal-request-id': 'the-same-each-time' })
    const first = await send()
    const { batch_header } = z
      .object({ batch_header: z.object({ payout_batch_id: z.string() }) })
      .parse(first.json)
    const again = await send()
    expect(again).toMatchObject({ code: 400, name: 'USER_BUSINESS_ERROR' })
    expect(again.json).toMatchObject({
      links: [{ href: `${standIn.url}/v1/payments/payouts/${batch_header.payout_batch_id}` }],
    })
    standIn.advance(30 * 24 * 3600)
    expect(await send()).toMatchObject({ code: 201 })
  })
})

describe('everything', () => {
  it('is refused without a token, to a body that is no JSON, and where there is nothing', async () => {
    const bare = await fetch(`${standIn.url}${ORDERS}/X`)
    expect(bare.status).toBe(401)
    expect(await ask('POST', ORDERS, '{"intent":')).toMatchObject({
      issue: 'MALFORMED_REQUEST_JSON',
    })
    expect(await ask('GET', '/v1/payments/sale/1')).toMatchObject({ code: 404 })
    expect(await ask('GET', `${ORDERS}/NONE`)).toMatchObject({
      code: 404,
      issue: 'INVALID_RESOURCE_ID',
    })
    const unnamed = { payment_source: { paypal: {} } }
    expect(await ask('POST', '/v3/vault/setup-tokens', unnamed)).toMatchObject({ code: 400 })
  })

  it.each([
    ['32 days', '2026-01-01T00:00:00Z', '2026-02-02T00:00:00Z'],
    ['days without a time', '2026-01-01', '2026-01-02'],
    ['an end before its start', '2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z'],
  ])('does not search %s', async (_what, start_date, end_date) => {
    const query = new URLSearchParams({ start_date, end_date })
    expect(await ask('GET', `/v1/reporting/transactions?${query}`)).toMatchObject({ code: 400 })
  })
})

describe('its control by HTTP', () => {
  beforeEach(() => standIn.messages())
  const post = (path: string, body: unknown) =>
    fetch(`${standIn.url}/_control/${path}`, { method: 'POST', body: JSON.stringify(body) })

  it('does what it does in process', async () => {
    const before = standIn.book().totals.EUR ?? 0
    const stray = await post('stray', { direction: 'out', amount: 300, currency: 'EUR' })
    expect(stray.status).toBe(200)
    const book = await (await fetch(`${standIn.url}/_control/book`)).json()
    expect(book).toMatchObject({ totals: { EUR: before + 300 } })
    const now = standIn.nowMs()
    expect((await post('advance', { seconds: 3600 })).status).toBe(204)
    expect(standIn.nowMs() - now).toBeGreaterThanOrEqual(3_600_000)
    expect((await post('script', { on: 'order.create', fault: 'rateLimit' })).status).toBe(204)
    expect(await ask('POST', ORDERS, order())).toMatchObject({
      code: 429,
      name: 'RATE_LIMIT_REACHED',
    })
    const { id } = await ask('POST', ORDERS, order())
    expect((await post('approve', { reference: id })).status).toBe(204)
    const messages = await (await fetch(`${standIn.url}/_control/messages`)).json()
    expect(messages).toMatchObject([{ body: expect.stringContaining('CHECKOUT.ORDER.APPROVED') }])
    for (const [path, body] of [
      ['approve', { reference: 'NONE' }],
      ['come-back', { key: 'none' }],
      ['script', { on: 'x', fault: 'none' }],
      ['else', {}],
    ] as const) {
      expect((await post(path, body)).status).toBeGreaterThanOrEqual(400)
    }
  })
})

describe('it as a program', () => {
  it('says in one line where it is and what a client needs, and ends when it is told to', async () => {
    const file = join(import.meta.dirname, '../support/paypal-stand-in.ts')
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    try {
      const line = await new Promise<string>((resolve) => {
        child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8')))
      })
      const said = z
        .object({ url: z.string(), pid: z.number(), env: z.record(z.string(), z.string()) })
        .parse(JSON.parse(line))
      expect(said.pid).toBe(child.pid)
      expect(Object.keys(said.env)).toContain('PAYPAL_WEBHOOK_ID')
      const book = await fetch(`${said.url}/_control/book`)
      expect(await book.json()).toEqual({ totals: {}, payments: 0, refunds: 0 })
    } finally {
      child.kill('SIGTERM')
    }
    expect(await ended).toEqual([0, null])
  })

  it('delivers its messages until they are taken', async () => {
    const ids: string[] = []
    const webhook = createServer((request, response) => {
      ids.push(String(request.headers['paypal-transmission-id']))
      response.writeHead(ids.length === 1 ? 500 : 200).end()
    })
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
    const address = z.object({ port: z.number() }).parse(webhook.address())
    const deliverTo = `http://127.0.0.1:${address.port}/webhooks/paypal`
    const delivering = await startPaypalStandIn({ deliverTo })
    const { status } = await askStandIn(delivering, 'POST', '/v1/payments/payouts', {
      body: payout({ receiver: 'denied@example.com' }),
    })
    expect(status).toBe(201)
    await expect.poll(() => ids.length).toBeGreaterThan(1)
    expect(new Set(ids).size).toBe(1)
    await delivering.close()
    webhook.closeAllConnections()
    webhook.close()
  })
})
