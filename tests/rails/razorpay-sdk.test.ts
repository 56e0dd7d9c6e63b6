/** What the `razorpay` package does to whoever trusts it, each held against what the adapter does instead. */
import Razorpay from 'razorpay'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import { type ExchangeRequest, exchange } from '../../runtime/rails/exchange.ts'
import { createClient } from '../../runtime/rails/razorpay/client.ts'
import { credentialsOf, impatientFor, knownOf, orderOf, railOf } from '../support/razorpay/rail.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

let standIn: RazorpayStandIn
let went: ExchangeRequest[]
beforeEach(async () => {
  standIn = await startRazorpayStandIn()
  went = []
})
afterEach(() => standIn.close())

/** Sees every request on its way. */
const watched = (asked: ExchangeRequest) => {
  went.push(asked)
  return exchange(asked)
}

const railHere = () => railOf(standIn, { transport: watched })

const payoutOf = () => orderOf({ account: standIn.accounts[0] ?? '' })

const clientHere = (timeoutMs = 5_000) =>
  createClient({
    mode: 'test',
    ...credentialsOf(standIn),
    url: standIn.url,
    transport: watched,
    timeoutMs,
  })

/** The package alone, at the stand-in. */
function bare() {
  const { keyId: key_id, keySecret: key_secret } = credentialsOf(standIn)
  const sdk = new Razorpay({ key_id, key_secret })
  const { rq } = sdk.api as unknown as { rq: { defaults: { baseURL: string } } }
  rq.defaults.baseURL = standIn.url
  return sdk
}

describe('the razorpay package', () => {
  it('1: knows one host, and the adapter pins its own whatever the package is told', async () => {
    const ask = clientHere().begin()
    for (const path of [
      'https://example.com/v1/orders',
      '//example.com/v1/orders',
      '/v1/orders@x',
    ]) {
      expect(await ask(({ rq }) => rq.get(path))).toEqual({
        kind: 'notSent',
        reason: 'request_not_formed',
      })
    }
    expect(went).toEqual([])
    await ask(({ rq }) => {
      Object.assign(rq.defaults, { baseURL: 'https://example.com', proxy: { host: 'example.com' } })
      return rq.get('/v1/orders')
    })
    expect(went.map(({ url }) => url.origin)).toEqual([standIn.url])
  })

  it('2: waits forever, and the adapter for one deadline over all that it asks', async () => {
    standIn.script({ on: 'payout.create', fault: 'hang' })
    const impatient = impatientFor(({ method }) => method === 'POST')
    const transport = (asked: ExchangeRequest) => {
      went.push(asked)
      return impatient(asked)
    }
    const rail = railOf(standIn, { timeoutMs: 20_000, transport })
    expect(await rail.pay(payoutOf())).toEqual({ kind: 'unknown', reason: 'deadline' })
    const [first, second, ...more] = went.map(({ timeoutMs }) => timeoutMs)
    expect(more).toEqual([])
    expect(first).toBeLessThanOrEqual(20_000)
    expect(second).toBeLessThan(Number(first))
  })

  it('3: throws what is no error, and the adapter believes only what came', async () => {
    const thrown = await bare()
      .orders.fetch('order_00000000000000')
      .catch((error: unknown) => error)
    expect(thrown).not.toBeInstanceOf(Error)
    const ask = clientHere().begin()
    const strange = [
      () => Promise.reject('a bare string'),
      () => Promise.reject({ statusCode: 400, error: undefined }),
      () => {
        throw new Error('at once')
      },
    ]
    for (const use of strange) {
      expect(await ask(use)).toEqual({ kind: 'notSent', reason: 'request_not_formed' })
    }
  })

  it('4: calls a lost connection and what was never sent by one name, and the adapter by two', async () => {
    standIn.script({ on: 'order.fetch', fault: 'resetBefore' })
    await expect(bare().orders.fetch('order_00000000000000')).rejects.toThrow(TypeError)
    await expect(
      bare().orders.create({ amount: 1n as unknown as number, currency: 'INR' }),
    ).rejects.toThrow(TypeError)
    const ask = clientHere().begin()
    expect(await ask(({ rq }) => rq.post('/v1/orders', { amount: 1n }))).toMatchObject({
      kind: 'notSent',
    })
    standIn.script({ on: 'order.create', fault: 'resetBefore' })
    expect(await ask(({ rq }) => rq.post('/v1/orders', {}))).toMatchObject({ kind: 'lost' })
    await standIn.close()
    expect(await ask(({ rq }) => rq.post('/v1/orders', {}))).toMatchObject({ kind: 'notSent' })
  })

  it('5: takes a web page for a success, and the adapter takes nothing but a whole answer', async () => {
    standIn.script({ on: 'order.create', fault: 'html200After' })
    expect(await bare().orders.create({ amount: 100, currency: 'INR' })).toContain(
      '<!doctype html>',
    )
    standIn.script({ on: 'payout.create', fault: 'html200After' })
    const order = payoutOf()
    expect(await railHere().pay(order)).toEqual({ kind: 'unknown', reason: 'answer_malformed' })
    expect(standIn.book().payments).toBe(1)
  })

  it('6: follows a redirect with body and keys, and the adapter follows none', async () => {
    standIn.script({ on: 'order.create', fault: 'redirect307' })
    await bare()
      .orders.create({ amount: 100, currency: 'INR' })
      .catch(() => undefined)
    expect(standIn.elsewhere()).toBe(1)
    standIn.script({ on: 'payout.create', fault: 'redirect307' })
    expect(await railHere().pay(payoutOf())).toEqual({ kind: 'unknown', reason: 'status_307' })
    expect(standIn.elsewhere()).toBe(1)
  })

  it('7: drops idempotency headers, and the adapter’s arrive', async () => {
    const { keyId: key_id, keySecret: key_secret } = credentialsOf(standIn)
    const headers = { 'X-Payout-Idempotency': 'a-key-of-ours' } as object
    const sdk = new Razorpay({ key_id, key_secret, headers })
    const { rq } = sdk.api as unknown as { rq: { defaults: { baseURL: string } } }
    rq.defaults.baseURL = standIn.url
    await sdk.orders.create({ amount: 100, currency: 'INR' })
    expect(standIn.seen.at(-1)?.headers['x-payout-idempotency']).toBeUndefined()
    const order = payoutOf()
    await railHere().pay(order)
    expect(standIn.seen.at(-1)?.headers['x-payout-idempotency']).toBe(order.key)
  })

  it('8: writes ids into paths as they come, and the adapter none that is not one', async () => {
    await bare()
      .payments.refund('pay_1/capture#', { amount: 100 })
      .catch(() => undefined)
    expect(standIn.seen.at(-1)?.path).toBe('/v1/payments/pay_1/capture')
    const before = standIn.seen.length
    const ask = clientHere().begin()
    for (const id of [
      'pay_1/capture#',
      '../orders',
      'pay_00000000000000/../x',
      '%2e%2e',
      'pay_x?y=1',
    ]) {
      expect(await ask(({ api }) => api.payments.fetch(id))).toMatchObject({ kind: 'notSent' })
      expect(await ask(({ api }) => api.payments.refund(id, { amount: 100 }))).toMatchObject({
        kind: 'notSent',
      })
    }
    expect(standIn.seen).toHaveLength(before)
  })

  it('9: garbles what is asked for beside, and the adapter sends plain values or nothing', async () => {
    const ask = clientHere().begin()
    const id = 'pay_00000000000000'
    expect(await ask(({ api }) => api.payments.fetch(id, { 'expand[]': 'card' }))).toMatchObject({
      kind: 'notSent',
    })
    await ask(({ api }) => api.orders.all({ receipt: 'a b&count=1' }))
    expect(went.map(({ url }) => url.search)).toEqual(['?count=10&skip=0&receipt=a+b%26count%3D1'])
  })

  it('10: fills in rupees, and a whole refund, and the adapter leaves nothing to fill in', async () => {
    await bare().orders.create({ amount: 100 } as { amount: number; currency: string })
    expect(standIn.seen.at(-1)?.body).toEqual({ amount: 100, currency: 'INR' })
    const rail = railHere()
    const order = orderOf({ account: 'order', currency: 'JPY', amount: minor(500) })
    const known = knownOf(order, await rail.pay(order))
    const payment = standIn.approve(order.key)
    await rail.complete?.(known)
    const { key: paymentKey, account: paymentAccount, amount, currency } = order
    const back = { paymentKey, paymentAccount, paymentReference: payment, amount, currency }
    await rail.refunds?.make({ payment: order.payment, key: 'hg-refund-of-it', ...back })
    const bodies = standIn.seen.filter(({ method }) => method === 'POST').slice(1)
    expect(bodies.map(({ operation }) => operation)).toEqual(['order.create', 'capture', 'refund'])
    for (const { body } of bodies) expect(body).toMatchObject({ amount: 500 })
    for (const { body } of bodies.slice(0, 2)) expect(body).toMatchObject({ currency: 'JPY' })
  })

  it('11: believes a signature by an empty secret, and the adapter is not made with one', () => {
    const forged = '73ba1c04bfc1ad32fafe29b2c9f2a4a4f2ef1bb3eba65e2f3df5b5f1b8c5b6d7'
    expect(Razorpay.validateWebhookSignature('{}', forged, 'x')).toBe(false)
    expect(() => railOf(standIn, { webhookSecrets: [''] })).toThrow(/webhook secret/)
    expect(() => railOf(standIn, { webhookSecrets: ['good-enough', ''] })).toThrow(/webhook secret/)
  })

  it('12: has calls that answer nobody and types that lack its own client, and the adapter uses none', async () => {
    const ask = clientHere().begin()
    const used = await ask(({ api }) =>
      api.orders.editFulfillment('order_00000000000000', {} as never),
    )
    expect(used).toEqual({ kind: 'notSent', reason: 'request_not_formed' })
  })

  it('13: hides a low balance in a bad request, and the adapter calls it declined and asks once', async () => {
    await standIn.close()
    standIn = await startRazorpayStandIn({ balance: 1_000 })
    const order = payoutOf()
    expect(await railHere().pay(order)).toEqual({ kind: 'declined', reason: 'refused_by_rail' })
    expect(went.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  it('14: fails where a payment was captured before, and the adapter finds that it was', async () => {
    const rail = railHere()
    const order = orderOf({ account: 'order' })
    const known = knownOf(order, await rail.pay(order))
    const payment = standIn.approve(order.key)
    // Captured by somebody else between our look and our call.
    const racing = railOf(standIn, {
      transport: (asked) => {
        if (asked.url.pathname.endsWith('/capture')) standIn.capture(order.key)
        return exchange(asked)
      },
    })
    expect(await racing.complete?.(known)).toMatchObject({ kind: 'settled', reference: payment })
    await expect(bare().payments.capture(payment, 125_000, 'INR')).rejects.toMatchObject({
      statusCode: 400,
    })
  })

  it('sends one request for one question, also when the package would send two', async () => {
    const ask = clientHere().begin()
    await ask(async ({ rq }) => {
      await rq.get('/v1/orders')
      return rq.get('/v1/payments')
    })
    expect(went.map(({ url }) => url.pathname)).toEqual(['/v1/orders'])
  })

  it('is lost with a transport that throws, because something may have been sent', async () => {
    const broken = createClient({
      mode: 'test',
      ...credentialsOf(standIn),
      url: standIn.url,
      transport: () => Promise.reject(new Error('broken')),
      timeoutMs: 1_000,
    })
    expect(await broken.begin()(({ rq }) => rq.get('/v1/orders'))).toEqual({
      kind: 'lost',
      reason: 'transport_failed',
    })
  })
})
