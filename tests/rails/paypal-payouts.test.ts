import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailKnown, RailOrder, RailOutcome } from '../../runtime/core/rail.ts'
import { exchange } from '../../runtime/rails/exchange.ts'
import { createPaypalRail } from '../../runtime/rails/paypal.ts'
import { type PaypalStandIn, startPaypalStandIn } from '../support/paypal-stand-in.ts'
import {
  merchantOrder,
  openPaypal,
  optionsOf,
  repeating,
  rewriting,
  usdOrder,
} from './paypal-support.ts'

let standIn: PaypalStandIn
let rail: Rail
beforeEach(async () => {
  standIn = await startPaypalStandIn()
  rail = openPaypal(standIn)
})
afterEach(() => standIn.close())

const known = (order: RailOrder, outcome?: RailOutcome): RailKnown => {
  const reference = outcome !== undefined && 'reference' in outcome ? outcome.reference : undefined
  return {
    order,
    submittedAtSeconds: Math.floor(standIn.nowMs() / 1000),
    ...(reference === undefined ? {} : { reference }),
  }
}

const HOURS = 3600

describe('a payout', () => {
  it('carries the key, the note and the amount as a text, in JPY without decimals', async () => {
    const bodies: string[] = []
    const watching = openPaypal(standIn, {
      transport: (asked) => {
        if (asked.url.pathname.endsWith('/payouts')) bodies.push(asked.body ?? '')
        return exchange(asked)
      },
    })
    const order = usdOrder({ amount: minor(5), note: ' two\r\nchairs\u0000 ' })
    const yen = usdOrder({ amount: minor(5_000), currency: 'JPY', account: 'id:STANDNPAYEE23' })
    expect(await watching.pay(order)).toMatchObject({ kind: 'settled', amount: 5 })
    expect(await watching.pay(yen)).toMatchObject({ kind: 'settled', amount: 5_000 })
    expect(bodies.map((body) => JSON.parse(body))).toMatchObject([
      {
        sender_batch_header: { sender_batch_id: order.key },
        items: [
          {
            sender_item_id: order.key,
            note: 'two chairs',
            amount: { currency: 'USD', value: '0.05' },
          },
        ],
      },
      { items: [{ recipient_type: 'PAYPAL_ID', amount: { currency: 'JPY', value: '5000' } }] },
    ])
    expect(standIn.book().totals).toEqual({ USD: 5, JPY: 5_000 })
  })

  it.each([1, 10, 99, 100, 12_345_678_901, Number.MAX_SAFE_INTEGER])(
    'of %i cents is paid and read to the cent',
    async (cents) => {
      const order = usdOrder({ amount: minor(cents) })
      const paid = await rail.pay(order)
      expect(paid).toMatchObject({ kind: 'settled', amount: cents })
      expect(standIn.book().totals).toEqual({ USD: cents })
    },
  )

  it.each([
    ['resetBefore', 'unknown', 0],
    ['resetAfter', 'unknown', 125_000],
    ['hang', 'unknown', 125_000],
    ['html502Before', 'unknown', 0],
    ['html502After', 'unknown', 125_000],
    ['html200After', 'unknown', 125_000],
    ['empty500After', 'unknown', 125_000],
    ['redirect307', 'unknown', 0],
    ['rateLimit', 'declined', 0],
    ['decline', 'declined', 0],
    ['wrongAmount', 'unknown', 62_500],
    ['leakSecret', 'unknown', 0],
  ] as const)(
    'that meets %s is %s, and then the list says the truth',
    async (fault, kind, moved) => {
      const quick = openPaypal(standIn, { timeoutMs: fault === 'hang' ? 1_000 : 10_000 })
      standIn.script({ on: 'payout.create', fault })
      const order = usdOrder()
      const asked = known(order)
      expect((await quick.pay(order)).kind).toBe(kind)
      expect(standIn.book().totals).toEqual(moved === 0 ? {} : { USD: moved })
      expect(await rail.lookup(order.key, asked)).toMatchObject({ kind: 'unknown' })
      standIn.advance(7 * HOURS)
      expect(await rail.lookup(order.key, asked)).toMatchObject(
        moved === 0 ? { kind: 'absent' } : { kind: 'settled', amount: moved },
      )
    },
  )

  it.each([
    'resetBefore',
    'hang',
    'html502Before',
    'html200After',
    'empty500After',
    'redirect307',
    'rateLimit',
    'leakSecret',
  ] as const)('that was taken stays pending when the look at it ends in %s', async (fault) => {
    const quick = openPaypal(standIn, { timeoutMs: fault === 'hang' ? 1_000 : 10_000 })
    standIn.script({ on: 'payout.get', fault })
    const order = usdOrder()
    const outcome = await quick.pay(order)
    expect(outcome).toMatchObject({ kind: 'pending', awaits: 'rail', status: 'PENDING' })
    expect(await rail.lookup(order.key, known(order, outcome))).toMatchObject({ kind: 'settled' })
  })

  it('is pending while PayPal processes it, and then what its item says', async () => {
    standIn.script({ on: 'payout.create', fault: 'pending' })
    const order = usdOrder()
    const outcome = await rail.pay(order)
    expect(outcome).toMatchObject({ kind: 'pending', awaits: 'rail' })
    expect(await rail.lookup(order.key, known(order, outcome))).toMatchObject({ kind: 'pending' })
    expect(standIn.book().totals).toEqual({})
    standIn.advance(60)
    const paid = await rail.lookup(order.key, known(order, outcome))
    expect(paid).toMatchObject({ kind: 'settled', status: 'SUCCESS' })
    expect(await rail.pay(order)).toEqual(paid)
  })

  it.each([
    ['blocked@example.com', 'declined', 'BLOCKED'],
    ['failed@example.com', 'declined', 'FAILED'],
    ['denied@example.com', 'declined', 'DENIED'],
    ['unclaimed@example.com', 'pending', 'UNCLAIMED'],
    ['onhold@example.com', 'pending', 'ONHOLD'],
  ])('to %s is %s in the item’s own word', async (account, kind, status) => {
    expect(await rail.pay(usdOrder({ account }))).toMatchObject({ kind, status })
    expect(standIn.book().totals).toEqual({})
  })

  it('that nobody claims within thirty days has not been paid', async () => {
    const order = usdOrder({ account: 'unclaimed@example.com' })
    const outcome = await rail.pay(order)
    standIn.advance(29 * 24 * HOURS)
    expect(await rail.lookup(order.key, known(order, outcome))).toMatchObject({ kind: 'pending' })
    standIn.advance(24 * HOURS)
    expect(await rail.lookup(order.key, known(order, outcome))).toEqual({
      kind: 'declined',
      reason: 'returned',
      status: 'RETURNED',
    })
  })

  it('can be called back while it is unclaimed, and not afterwards', async () => {
    const order = usdOrder({ account: 'unclaimed@example.com' })
    const outcome = await rail.pay(order)
    expect(await rail.cancel?.(known(order, outcome))).toMatchObject({
      kind: 'declined',
      status: 'RETURNED',
    })
    standIn.script({ on: 'payout.create', fault: 'pending' })
    const other = usdOrder()
    const open = await rail.pay(other)
    expect(await rail.cancel?.(known(other, open))).toMatchObject({ kind: 'pending' })
    standIn.advance(60)
    expect(await rail.cancel?.(known(other, open))).toMatchObject({ kind: 'settled' })
    expect(await rail.complete?.(known(other, open))).toMatchObject({ kind: 'unknown' })
  })

  it('that came back after it was settled is settled and returned, found by either reference', async () => {
    const order = usdOrder()
    const paid = await rail.pay(order)
    standIn.comeBack(order.key)
    expect(standIn.book().totals).toEqual({})
    expect(await rail.lookup(order.key, known(order, paid))).toMatchObject({
      kind: 'settled',
      returned: true,
      status: 'RETURNED',
    })
    const lost = usdOrder()
    const submitted = known(lost)
    standIn.script({ on: 'payout.create', fault: 'resetAfter' })
    await rail.pay(lost)
    standIn.advance(7 * HOURS)
    const found = await rail.lookup(lost.key, submitted)
    const by = { ...submitted, ...known(lost, found.kind === 'settled' ? found : undefined) }
    const again = { ...by, submittedAtSeconds: submitted.submittedAtSeconds }
    expect(await rail.lookup(lost.key, again)).toEqual(found)
    standIn.comeBack(lost.key)
    expect(await rail.lookup(lost.key, again)).toMatchObject({ kind: 'settled', returned: true })
  })

  it('is not taken for another’s, whatever PayPal’s answer names', async () => {
    const cases: readonly (readonly [RegExp, string, string])[] = [
      [/"receiver":"desks@/g, '"receiver":"chairs@', 'answer_differs'],
      [/"sender_item_id":"[^"]*"/g, '"sender_item_id":"another"', 'answer_differs'],
      [/"sender_batch_id":"[^"]*"/g, '"sender_batch_id":"another"', 'answer_differs'],
      [/"value":"1250.00"/g, '"value":"1250.01"', 'amount_differs'],
      [/"value":"1250.00"/g, '"value":"1250.005"', 'amount_differs'],
      [/"currency":"USD"/g, '"currency":"EUR"', 'amount_differs'],
      [/"transaction_status":"SUCCESS"/g, '"transaction_status":"SUCCES"', 'status_unexpected'],
    ]
    for (const [what, instead, reason] of cases) {
      const odd = openPaypal(standIn, { transport: rewriting(what, instead) })
      expect(await odd.pay(usdOrder())).toMatchObject({ kind: 'unknown', reason })
    }
  })

  it('is not pending by a word about another batch', async () => {
    standIn.script({ on: 'payout.get', fault: 'resetBefore' })
    const transport = rewriting(/"sender_batch_id":"[^"]*"/g, '"sender_batch_id":"another"')
    expect(await openPaypal(standIn, { transport }).pay(usdOrder())).toMatchObject({
      kind: 'unknown',
      reason: 'answer_differs',
    })
  })

  it('is not absent while the list cannot be read, or is not fresh, or is another’s', async () => {
    const order = usdOrder()
    const asked = known(order)
    standIn.advance(5 * HOURS)
    expect(await rail.lookup(order.key, asked)).toMatchObject({ reason: 'search_not_fresh' })
    standIn.advance(2 * HOURS)
    for (const fault of ['html200After', 'empty500After', 'rateLimit', 'resetBefore'] as const) {
      standIn.script({ on: 'search', fault })
      expect(await rail.lookup(order.key, asked)).toMatchObject({ kind: 'unknown' })
    }
    expect(await rail.lookup(order.key)).toMatchObject({ kind: 'unknown' })
    const others = { ...asked, order: usdOrder() }
    expect(await rail.lookup(order.key, others)).toMatchObject({ kind: 'unknown' })
    const gone = { ...asked, reference: 'ABCDEFGHJKLMN' }
    expect(await rail.lookup(order.key, gone)).toMatchObject({ reason: 'reference_not_found' })
    expect(await rail.lookup(order.key, asked)).toEqual({ kind: 'absent' })
  })
})

describe('what PayPal can be told', () => {
  it.each([
    ['desks@example.com', 'USD', 1, undefined],
    ['desks@example.com', 'JPY', 1, undefined],
    ['desks@example.com', 'USD', Number.MAX_SAFE_INTEGER, undefined],
    ['desks@example.com', 'USD', 0, 'amount'],
    ['desks@example.com', 'INR', 100, 'currency'],
    ['desks@example.com', 'KWD', 1_000, 'currency'],
    ['id:STANDNPAYEE23', 'USD', 1, undefined],
    ['id:short', 'USD', 1, 'account'],
    ['merchant:DESKSHPQ23456', 'USD', 1, undefined],
    ['merchant:deskshpq23456', 'USD', 1, 'account'],
    ['fa_00000000000001', 'USD', 1, 'account'],
    ['desks@example.com\n', 'USD', 1, 'account'],
    ['a@b', 'USD', 1, 'account'],
  ] as const)('%s, %s %i: %s', async (account, currency, amount, refused) => {
    const order = usdOrder({ account, currency, amount: minor(amount) })
    expect(rail.expressible?.(order)).toBe(refused)
    if (refused !== undefined) expect(await rail.pay(order)).toMatchObject({ kind: 'notSent' })
    expect(standIn.tokenRequests()).toBe(0)
  })
})

describe('the account’s token', () => {
  it('is asked for once, however many wait for it', async () => {
    await Promise.all(Array.from({ length: 10 }, () => rail.pay(usdOrder())))
    expect(standIn.tokenRequests()).toBe(1)
  })

  it('is renewed before it ends, and once for all after it was refused', async () => {
    await rail.pay(usdOrder())
    standIn.advance(9 * HOURS - 299)
    await rail.pay(usdOrder())
    expect(standIn.tokenRequests()).toBe(2)
    standIn.revokeTokens()
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => rail.pay(usdOrder())))
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill('settled'))
    expect(standIn.tokenRequests()).toBe(3)
    expect(standIn.book().payments).toBe(7)
  })

  it.each([
    'resetBefore',
    'hang',
    'html502Before',
    'html200After',
    'rateLimit',
    'leakSecret',
  ] as const)('that cannot be had, by %s, means that nothing was sent', async (fault) => {
    const quick = openPaypal(standIn, { timeoutMs: fault === 'hang' ? 1_000 : 10_000 })
    standIn.script({ on: 'token', fault })
    expect(await quick.pay(usdOrder())).toMatchObject({
      kind: 'notSent',
      reason: expect.stringMatching(/^token_/),
    })
    expect(standIn.book().payments).toBe(0)
    expect(await quick.pay(usdOrder())).toMatchObject({ kind: 'settled' })
  })

  it('and the credentials, the instrument and the texts of errors are in no outcome', async () => {
    const { PAYPAL_CLIENT_ID: id = '', PAYPAL_CLIENT_SECRET: secret = '' } = standIn.env
    const seen: string[] = []
    let token = 'not seen'
    const keen = openPaypal(standIn, {
      instrument: standIn.instrument,
      transport: (asked) => {
        token = asked.headers.authorization?.split(' ')[1] ?? token
        return exchange(asked)
      },
    })
    const operations = ['payout.create', 'order.create', 'capture', 'authorize', 'void', 'search']
    for (const on of operations) {
      standIn.script({ on, fault: 'leakSecret' })
      const order = on === 'payout.create' || on === 'search' ? usdOrder() : merchantOrder()
      const { key, account, amount, currency } = order
      const outcome = on === 'authorize' ? undefined : await keen.pay(order)
      seen.push(JSON.stringify([outcome, await keen.lookup(order.key, known(order, outcome))]))
      seen.push(
        JSON.stringify(await keen.authorisations?.place({ key, account, amount, currency })),
      )
      seen.push(JSON.stringify(await keen.authorisations?.void('ABCDEFGHJKLMNPQRS')))
    }
    const all = seen.join('\n')
    for (const word of [id, secret, token, standIn.instrument, 'Bearer', 'purchase_units']) {
      expect(all).not.toContain(word)
    }
  })
})

describe('a rail that cannot be', () => {
  const fault = (message: string) =>
    expect.objectContaining({
      code: 'rail_unconfigured',
      message: expect.stringContaining(message),
    })

  it.each([
    ['a client id of spaces', { clientId: ' '.repeat(20) }, 'PAYPAL_CLIENT_ID'],
    ['a short secret', { clientSecret: 'x' }, 'PAYPAL_CLIENT_SECRET'],
    ['an event for a webhook', { webhookId: 'a b' }, 'PAYPAL_WEBHOOK_ID'],
    ['an instrument that is a path', { instrument: '../x' }, 'payment token'],
    ['another host', { url: 'https://api-m.paypal.com' }, '127.0.0.1'],
    ['a host that begins like this one', { url: 'http://127.0.0.1.example.com' }, '127.0.0.1'],
    ['a path', { url: 'http://127.0.0.1:1/x' }, '127.0.0.1'],
  ])('is refused for %s, without what it was', (_what, change, message) => {
    expect(() => createPaypalRail({ ...optionsOf(standIn), ...change })).toThrow(fault(message))
  })

  it('asks PayPal’s own two hosts and no other, by its mode', async () => {
    const hosts: string[] = []
    const { url: _standIn, ...options } = optionsOf(standIn)
    for (const mode of ['sandbox', 'live'] as const) {
      const rail = createPaypalRail({
        ...options,
        mode,
        transport: async ({ url }) => {
          hosts.push(url.origin)
          return { kind: 'notSent', reason: 'test' }
        },
      })
      await rail.pay(usdOrder())
    }
    expect(hosts).toEqual(['https://api-m.sandbox.paypal.com', 'https://api-m.paypal.com'])
  })

  it('says in a sentence what the account cannot do', async () => {
    const poor = await startPaypalStandIn({
      scopes: ['https://uri.paypal.com/services/payments/.*', 'openid'],
    })
    const message = /^the paypal account cannot make payouts, or search its transactions: /
    await expect(openPaypal(poor).ready()).rejects.toMatchObject({
      code: 'rail_limited',
      retryable: false,
      message: expect.stringMatching(message),
    })
    await poor.close()
    const wrong = openPaypal(standIn, { clientSecret: 'x'.repeat(80) })
    await expect(wrong.ready()).rejects.toMatchObject({
      message: 'paypal does not accept the client id and secret',
    })
    await expect(rail.ready()).resolves.toBeUndefined()
  })

  it('does not throw when the clock cannot be trusted', async () => {
    const unsure = openPaypal(standIn, {
      clock: {
        nowMs: () => {
          throw new Error('no time')
        },
      },
    })
    expect(await unsure.pay(usdOrder())).toEqual({ kind: 'unknown', reason: 'internal' })
  })
})

describe('an answer that is mixed up', () => {
  it('with another payout’s does not lead a look-up to that one', async () => {
    const mixed = openPaypal(standIn, { transport: repeating(/^GET .*\/payouts\//) })
    await mixed.pay(usdOrder())
    const order = usdOrder()
    const lost = await mixed.pay(order)
    expect(lost).toMatchObject({ kind: 'unknown', reason: 'answer_differs' })
    expect(await rail.lookup(order.key, known(order, lost))).toMatchObject({ kind: 'settled' })
  })

  it('about a batch that is over, with an item that was paid, ends nothing', async () => {
    const transport = rewriting(/"batch_status":"SUCCESS"/, '"batch_status":"DENIED"')
    const order = usdOrder()
    const word = await openPaypal(standIn, { transport }).pay(order)
    expect(word).toMatchObject({ kind: 'unknown', reason: 'answer_contradicts' })
    expect(await rail.lookup(order.key, known(order, word))).toMatchObject({ kind: 'settled' })
  })
})
