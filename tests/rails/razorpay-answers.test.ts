/** Answers that are well formed and not true, or nearly well formed: changed on their way from the stand-in. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailRefund } from '../../runtime/core/rail.ts'
import { exchange } from '../../runtime/rails/exchange.ts'
import { knownOf, orderOf, railOf } from '../support/razorpay/rail.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

type Body = Record<string, unknown>

const DAY = 24 * 3600

let standIn: RazorpayStandIn
let rail: Rail
/** What becomes of the answer to a request of this method and path, which is otherwise as it was. */
let changed: { is: RegExp; change: (body: Body) => unknown } | undefined
beforeEach(async () => {
  standIn = await startRazorpayStandIn()
  changed = undefined
  rail = railOf(standIn, {
    transport: async (asked) => {
      const got = await exchange(asked)
      const name = `${asked.method} ${asked.url.pathname}`
      if (got.kind !== 'answer' || changed?.is.test(name) !== true) return got
      const said = changed.change(JSON.parse(got.body.toString('utf8')) as Body)
      return { ...got, body: Buffer.from(JSON.stringify(said)) }
    },
  })
})
afterEach(() => standIn.close())

const set = (is: RegExp, change: Body) => {
  changed = { is, change: (body) => ({ ...body, ...change }) }
}

const setEach = (is: RegExp, change: Body) => {
  changed = {
    is,
    change: (body) => ({
      ...body,
      items: (body.items as Body[]).map((item) => ({ ...item, ...change })),
    }),
  }
}

describe('a payout is not settled, pending or declined', () => {
  it.each([
    ['of another key', { reference_id: 'hg-another' }, 'answer_differs'],
    ['without a key', { reference_id: null }, 'answer_differs'],
    ['to another account', { fund_account_id: `fa_${'A'.repeat(14)}` }, 'answer_differs'],
    ['of less', { amount: 124_999 }, 'amount_differs'],
    ['of another currency', { currency: 'USD' }, 'amount_differs'],
    ['of a fraction', { amount: 125_000.5 }, 'answer_malformed'],
    ['of a text', { amount: '125000' }, 'answer_malformed'],
    ['in a state that nobody knows', { status: 'teleported' }, 'status_unexpected'],
    ['without a state', { status: null }, 'answer_malformed'],
    ['by an id of another kind', { id: 'pout_1/cancel' }, 'answer_malformed'],
    ['by another entity', { entity: 'payout_link' }, 'answer_malformed'],
  ])('%s', async (_what, change, reason) => {
    set(/^POST \/v1\/payouts$/, change)
    const order = orderOf({ account: standIn.accounts[0] ?? '' })
    expect(await rail.pay(order)).toMatchObject({ kind: 'unknown', reason })
    changed = undefined
    expect(await rail.lookup(order.key)).toMatchObject({ kind: 'settled' })
  })

  it('of another amount while it is under way, at a look-up either', async () => {
    standIn.script({ on: 'payout.create', fault: 'pending' })
    const order = orderOf({ account: standIn.accounts[0] ?? '' })
    const known = knownOf(order, await rail.pay(order))
    set(/^GET \/v1\/payouts\/pout_/, { amount: 1_250_000 })
    expect(await rail.lookup(order.key, known)).toMatchObject({
      kind: 'unknown',
      reason: 'amount_differs',
    })
  })

  it('where the account that was asked about is another', async () => {
    set(/^GET \/v1\/fund_accounts/, { id: `fa_${'A'.repeat(14)}` })
    const order = orderOf({ account: standIn.accounts[0] ?? '' })
    expect(await rail.pay(order)).toEqual({ kind: 'notSent', reason: 'account_differs' })
    expect(standIn.book().payments).toBe(0)
  })

  it.each([
    ['reversed before a bank had it', { status: 'reversed', utr: null }, 'declined', 'reversed'],
    ['rejected by a person', { status: 'rejected', utr: null }, 'declined', 'rejected'],
    ['for a reason of its own making', { status: 'failed', utr: null }, 'declined', 'failed'],
  ])('but as it says: %s', async (_what, change, kind, reason) => {
    const order = orderOf({ account: standIn.accounts[0] ?? '' })
    await rail.pay(order)
    setEach(/^GET \/v1\/payouts$/, { ...change, status_details: { reason: 'Ask Bob at +91' } })
    expect(await rail.lookup(order.key)).toMatchObject({ kind, reason })
  })
})

describe('a list proves nothing', () => {
  const lists = /^GET \/v1\/(payouts|orders|payment_links)$/

  it.each([
    ['that is shorter than it says', { count: 1 }],
    ['that is no collection', { entity: 'list' }],
    ['that has no items', { items: null, payment_links: null }],
  ])('%s', async (_what, change) => {
    set(lists, change)
    for (const account of [standIn.accounts[0] ?? '', 'order']) {
      const order = orderOf({ account })
      expect(await rail.lookup(order.key, knownOf(order))).toEqual({
        kind: 'unknown',
        reason: 'answer_malformed',
      })
    }
  })

  it('that holds what was not asked for', async () => {
    for (const account of [standIn.accounts[0] ?? '', 'order', 'link']) {
      changed = undefined
      await rail.pay(orderOf({ account }))
      const order = orderOf({ account })
      const list = await fetchAll(account)
      changed = { is: lists, change: () => list }
      expect(await rail.lookup(order.key, knownOf(order))).toMatchObject({
        kind: 'unknown',
        reason: 'answer_differs',
      })
    }
  })

  async function fetchAll(account: string): Promise<Body> {
    const { RAZORPAY_KEY_ID: id, RAZORPAY_KEY_SECRET: secret } = standIn.env
    const names: Record<string, string> = { order: 'orders', link: 'payment_links' }
    const path = names[account] ?? `payouts?account_number=${standIn.accountNumber}`
    const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
    const got = await fetch(`${standIn.url}/v1/${path}`, { headers: { authorization } })
    return (await got.json()) as Body
  }

  it('that holds two', async () => {
    const order = orderOf({ account: standIn.accounts[0] ?? '' })
    await rail.pay(order)
    changed = {
      is: lists,
      change: (body) => ({ ...body, count: 2, items: [body.items, body.items].flat() }),
    }
    expect(await rail.lookup(order.key)).toMatchObject({
      kind: 'unknown',
      reason: 'more_than_one',
    })
  })
})

describe('an order or link', () => {
  it.each(['order', 'link'])('%s of another key is not this one', async (account) => {
    set(/^POST /, { receipt: 'hg-another', reference_id: 'hg-another' })
    expect(await rail.pay(orderOf({ account }))).toMatchObject({
      kind: 'unknown',
      reason: 'answer_differs',
    })
  })

  it('that says it was paid, and has no payment that was captured, is not settled', async () => {
    for (const account of ['order', 'link']) {
      const order = orderOf({ account })
      const known = knownOf(order, await rail.pay(order))
      set(/^GET \/v1\/(orders|payment_links)\/\w+$/, { status: 'paid' })
      expect(await rail.lookup(order.key, known)).toMatchObject({
        kind: 'unknown',
        reason: 'status_unexpected',
      })
    }
  })

  it('is not settled by a payment of another order', async () => {
    const order = orderOf({ account: 'order' })
    const known = knownOf(order, await rail.pay(order))
    standIn.approve(order.key)
    await rail.complete?.(known)
    setEach(/\/payments$/, { order_id: `order_${'A'.repeat(14)}` })
    expect(await rail.lookup(order.key, known)).toMatchObject({
      kind: 'unknown',
      reason: 'answer_differs',
    })
  })

  it('is not captured by an answer about another payment, or of one that is not captured', async () => {
    for (const change of [{ id: `pay_${'A'.repeat(14)}` }, { captured: false }]) {
      const order = orderOf({ account: 'order' })
      const known = knownOf(order, await rail.pay(order))
      standIn.approve(order.key)
      set(/\/capture$/, change)
      expect(await rail.complete?.(known)).toMatchObject({
        kind: 'unknown',
        reason: 'answer_differs',
      })
    }
  })

  it('that is a link without its order is settled by its own list of payments', async () => {
    const order = orderOf({ account: 'link' })
    const known = knownOf(order, await rail.pay(order))
    const payment = standIn.approve(order.key)
    set(/^GET \/v1\/payment_links\/\w+$/, { order_id: null })
    expect(await rail.lookup(order.key, known)).toMatchObject({
      kind: 'settled',
      reference: payment,
    })
  })

  it('that is a link without its order is not settled by another payment in an answer', async () => {
    const other = orderOf({ account: 'link' })
    await rail.pay(other)
    const order = orderOf({ account: 'link' })
    const known = knownOf(order, await rail.pay(order))
    const paid = standIn.approve(other.key)
    const payment = standIn.approve(order.key)
    const mixed = railOf(standIn, {
      transport: async (asked) => {
        const path = asked.url.pathname.replace(payment, paid)
        const got = await exchange({ ...asked, url: new URL(path, asked.url) })
        if (got.kind !== 'answer' || !asked.url.pathname.includes('plink_')) return got
        const body = { ...(JSON.parse(got.body.toString('utf8')) as Body), order_id: null }
        return { ...got, body: Buffer.from(JSON.stringify(body)) }
      },
    })
    expect(await mixed.lookup(order.key, known)).toMatchObject({
      kind: 'unknown',
      reason: 'answer_differs',
    })
  })

  it.each(['order', 'link'])(
    '%s of another key names nothing to ask about later',
    async (account) => {
      const other = orderOf({ account })
      await rail.pay(other)
      const order = orderOf({ account })
      const mixed = railOf(standIn, {
        transport: async (asked) => {
          if (asked.url.pathname.endsWith('/payments'))
            return { kind: 'lost', reason: 'ECONNRESET' }
          const url = new URL(asked.url)
          for (const [name, value] of url.searchParams) {
            if (value === order.key) url.searchParams.set(name, other.key)
          }
          return exchange({ ...asked, url })
        },
      })
      expect(await mixed.pay(order)).toEqual({ kind: 'unknown', reason: 'answer_differs' })
    },
  )

  it('that ended is not declined while not every attempt at it is known', async () => {
    const order = orderOf({ account: 'link' })
    const known = knownOf(order, await rail.pay(order))
    await rail.cancel?.(known)
    expect(await rail.lookup(order.key, known)).toMatchObject({ kind: 'declined' })
    const is = /^GET \/v1\/payment_links(\/\w+)?$/
    set(is, { order_id: null })
    expect(await rail.lookup(order.key, known)).toMatchObject({ kind: 'pending', awaits: 'rail' })
    const later = railOf(standIn, {
      clock: { nowMs: () => Date.now() + 7 * DAY * 1000 },
      transport: async (asked) => {
        const got = await exchange(asked)
        if (got.kind !== 'answer' || !asked.url.pathname.includes('plink_')) return got
        const body = { ...(JSON.parse(got.body.toString('utf8')) as Body), order_id: null }
        return { ...got, body: Buffer.from(JSON.stringify(body)) }
      },
    })
    expect(await later.lookup(order.key, known)).toMatchObject({ kind: 'declined' })
  })

  it('with fields of fractions that nobody reads is read all the same', async () => {
    set(/^POST \/v1\/orders$/, { rate: 83.25, notes: [] })
    expect(await rail.pay(orderOf({ account: 'order' }))).toMatchObject({ kind: 'pending' })
  })
})

describe('a refund', () => {
  async function back(): Promise<RailRefund> {
    const order = orderOf({ account: 'link' })
    await rail.pay(order)
    return {
      payment: order.payment,
      key: `hg-${'r'.repeat(27)}`,
      paymentKey: order.key,
      paymentAccount: 'link',
      paymentReference: standIn.approve(order.key),
      amount: minor(25_000),
      currency: 'INR',
    }
  }

  it.each([
    ['was not captured', { captured: false }, 'payment_not_settled'],
    ['is another', { id: `pay_${'A'.repeat(14)}` }, 'answer_differs'],
    [
      'has a note of another key',
      { notes: { headgate: `hg-${'x'.repeat(27)}` } },
      'payment_differs',
    ],
    ['carries no key of ours', { notes: [], order_id: null }, 'payment_differs'],
  ])('is not sent where the payment %s', async (_what, change, reason) => {
    const asked = await back()
    set(/^GET \/v1\/payments\/\w+$/, change)
    expect(await rail.refunds?.make(asked)).toEqual({ kind: 'notSent', reason })
    expect(standIn.book().refunds).toBe(0)
  })

  it.each([
    ['of another payment', { payment_id: `pay_${'A'.repeat(14)}` }, 'unknown'],
    ['of another currency', { currency: 'USD' }, 'unknown'],
    ['that failed', { status: 'failed' }, 'declined'],
    ['in a state that nobody knows', { status: 'teleported' }, 'unknown'],
  ])('%s is not made', async (_what, change, kind) => {
    const asked = await back()
    set(/\/refund$/, change)
    expect(await rail.refunds?.make(asked)).toMatchObject({ kind })
  })

  it('is not absent by a list of another payment’s', async () => {
    const asked = await back()
    await rail.refunds?.make(asked)
    setEach(/\/refunds$/, { payment_id: `pay_${'A'.repeat(14)}` })
    expect(await rail.refunds?.lookup(asked)).toMatchObject({
      kind: 'unknown',
      reason: 'answer_differs',
    })
  })
})
