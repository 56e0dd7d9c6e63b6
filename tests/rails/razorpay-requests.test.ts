import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailLookup, RailOrder } from '../../runtime/core/rail.ts'
import { knownOf, orderOf, railOf } from '../support/razorpay/rail.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

const DAY = 24 * 3600

let standIn: RazorpayStandIn
let rail: Rail
beforeEach(async () => {
  standIn = await startRazorpayStandIn()
  rail = railOf(standIn)
})
afterEach(() => standIn.close())

const sent = (operation: string) =>
  standIn.seen.filter((each) => each.operation === operation).map(({ body }) => body)

const pending = (awaits: string, status: string) =>
  expect.objectContaining({ kind: 'pending', awaits, status })

async function asked(account: 'order' | 'link', change: Partial<RailOrder> = {}) {
  const order = orderOf({ account, ...change })
  const outcome = await rail.pay(order)
  const known = knownOf(order, outcome)
  const look = (): Promise<RailLookup> => rail.lookup(order.key, known)
  return { order, outcome, known, look }
}

describe('an order at Razorpay', () => {
  it('awaits the payer, then us, and is captured exactly and once', async () => {
    const { order, outcome, known, look } = await asked('order')
    expect(outcome).toEqual({
      kind: 'pending',
      awaits: 'payer',
      reference: expect.stringMatching(/^order_/),
      status: 'CREATED',
    })
    expect(await rail.complete?.(known)).toEqual(outcome)
    const payment = standIn.approve(order.key)
    expect(await look()).toEqual(pending('capture', 'ATTEMPTED'))
    expect(standIn.book().totals).toEqual({})
    const settled = await rail.complete?.(known)
    expect(settled).toEqual({
      kind: 'settled',
      reference: payment,
      amount: 125_000,
      currency: 'INR',
      status: 'CAPTURED',
    })
    expect(await rail.complete?.(known)).toEqual(settled)
    expect(await look()).toEqual(settled)
    expect(await rail.lookup(order.key)).toEqual(settled)
    expect(await rail.lookup(order.key, knownOf(order, settled))).toEqual(settled)
    expect(sent('capture')).toEqual([{ amount: 125_000, currency: 'INR' }])
    expect(standIn.book()).toEqual({ totals: { INR: 125_000 }, payments: 1, refunds: 0 })
  })

  it('says amount, currency and manual capture, which Razorpay would assume otherwise', async () => {
    const { order } = await asked('order', { currency: 'USD', amount: minor(4_200) })
    expect(sent('order.create')).toEqual([
      {
        amount: 4_200,
        currency: 'USD',
        receipt: order.key,
        notes: { headgate: order.key },
        partial_payment: false,
        payment: {
          capture: 'manual',
          capture_options: {
            automatic_expiry_period: 12,
            manual_expiry_period: 7_200,
            refund_speed: 'normal',
          },
        },
      },
    ])
  })

  it.each([true, false])(
    'is made once for one key, whether Razorpay checks receipts or not (%s)',
    async (uniqueReceipts) => {
      await standIn.close()
      standIn = await startRazorpayStandIn({ uniqueReceipts })
      rail = railOf(standIn)
      const { order, outcome } = await asked('order')
      expect(await rail.pay(order)).toEqual(outcome)
      expect(sent('order.create')).toHaveLength(1)
      const other = await rail.pay({ ...order, amount: minor(1_000) })
      expect(other).toMatchObject({ kind: 'unknown', reason: 'amount_differs' })
    },
  )

  it('that was captured before is settled by asking, though Razorpay refuses the capture', async () => {
    const { order, known } = await asked('order')
    const payment = standIn.approve(order.key)
    standIn.script({ on: 'capture', fault: 'resetAfter' })
    expect(await rail.complete?.(known)).toMatchObject({ kind: 'unknown' })
    expect(await rail.complete?.(known)).toMatchObject({ kind: 'settled', reference: payment })
    expect(sent('capture')).toHaveLength(1)
  })

  it('stays where it is when Razorpay refuses the capture, and is captured later', async () => {
    const { order, known } = await asked('order')
    standIn.approve(order.key)
    standIn.script({ on: 'capture', fault: 'decline' })
    expect(await rail.complete?.(known)).toEqual(pending('capture', 'ATTEMPTED'))
    expect(await rail.complete?.(known)).toMatchObject({ kind: 'settled' })
  })

  it('is not captured for a payment of another amount', async () => {
    const { order, known } = await asked('order')
    standIn.attempt(order.key, { ends: 'paid', amount: 130_000 })
    expect(await rail.complete?.(known)).toMatchObject({
      kind: 'unknown',
      reason: 'amount_differs',
    })
    expect(sent('capture')).toEqual([])
  })

  it('of which a payment failed may be authorised days later, and is captured then', async () => {
    const { order, known, look } = await asked('order')
    const payment = standIn.attempt(order.key, { ends: 'failed', lateAfterSeconds: 2 * DAY })
    expect(await look()).toEqual(pending('payer', 'ATTEMPTED'))
    standIn.advance(2 * DAY)
    expect(await look()).toEqual(pending('capture', 'ATTEMPTED'))
    expect(await rail.complete?.(known)).toMatchObject({ kind: 'settled', reference: payment })
  })

  it('that nobody captures in five days goes back to the payer, and no money has moved', async () => {
    const { order, known, look } = await asked('order')
    standIn.approve(order.key)
    standIn.advance(5 * DAY - 60)
    expect(await look()).toEqual(pending('capture', 'ATTEMPTED'))
    standIn.advance(60)
    expect(await look()).toEqual(pending('payer', 'ATTEMPTED'))
    expect(await rail.complete?.(known)).toEqual(pending('payer', 'ATTEMPTED'))
    expect(standIn.book()).toEqual({ totals: {}, payments: 0, refunds: 0 })
  })

  it('cannot be called back, and is told as it stands', async () => {
    const { outcome, known } = await asked('order')
    expect(await rail.cancel?.(known)).toEqual(outcome)
  })

  it('of which two payments were captured is a case for a person', async () => {
    const { order, known, look } = await asked('order')
    standIn.approve(order.key)
    standIn.approve(order.key)
    await rail.complete?.(known)
    standIn.capture(order.key)
    expect(await look()).toMatchObject({ kind: 'unknown', reason: 'more_than_one_payment' })
  })
})

describe('a payment link at Razorpay', () => {
  it('awaits the payer at an address of Razorpay’s, and settles by asking once it was paid', async () => {
    const { order, outcome, look } = await asked('link')
    expect(outcome).toEqual({
      kind: 'pending',
      awaits: 'payer',
      reference: expect.stringMatching(/^plink_/),
      status: 'CREATED',
      approveUrl: expect.stringMatching(/^https:\/\/rzp\.io\/i\//),
    })
    expect(await look()).toEqual(outcome)
    const payment = standIn.approve(order.key)
    const settled = await look()
    expect(settled).toEqual({
      kind: 'settled',
      reference: payment,
      amount: 125_000,
      currency: 'INR',
      status: 'CAPTURED',
    })
    expect(await rail.lookup(order.key)).toEqual(settled)
    expect(await rail.lookup(order.key, knownOf(order, settled))).toEqual(settled)
  })

  it('writes to nobody, takes no part payment, and ends within a day', async () => {
    const { order } = await asked('link', { currency: 'JPY', amount: minor(5_000) })
    const now = Math.floor(Date.now() / 1000)
    expect(sent('link.create')).toEqual([
      {
        amount: 5_000,
        currency: 'JPY',
        accept_partial: false,
        description: 'HG0123456789ABCDEF',
        reference_id: order.key,
        expire_by: expect.any(Number),
        notify: { sms: false, email: false },
        reminder_enable: false,
        notes: { headgate: order.key },
      },
    ])
    const [body] = sent('link.create') as { expire_by: number }[]
    expect(Math.abs(Number(body?.expire_by) - now - DAY)).toBeLessThan(120)
  })

  it('is made once for one key, and another order’s key is not taken for this one’s', async () => {
    const { order, outcome } = await asked('link')
    expect(await rail.pay(order)).toEqual(outcome)
    const other = await rail.pay({ ...order, amount: minor(1_000) })
    expect(other).toMatchObject({ kind: 'unknown', reason: 'amount_differs' })
    expect(sent('link.create')).toHaveLength(1)
  })

  it('is made once though two ask at the same time, because Razorpay refuses the second', async () => {
    const order = orderOf({ account: 'link' })
    const both = await Promise.all([rail.pay(order), rail.pay(order)])
    expect(both[0]).toMatchObject({ kind: 'pending', awaits: 'payer' })
    expect(both[1]).toEqual(both[0])
  })

  it('that is cancelled is declined, and one that was paid meanwhile is settled', async () => {
    const first = await asked('link')
    expect(await rail.cancel?.(first.known)).toEqual({
      kind: 'declined',
      reason: 'cancelled',
      status: 'CANCELLED',
    })
    expect(() => standIn.approve(first.order.key)).toThrow()
    const second = await asked('link')
    standIn.approve(second.order.key)
    expect(await rail.cancel?.(second.known)).toMatchObject({ kind: 'settled' })
  })

  it('that expired is declined, but not while a failed payment of it may still be authorised', async () => {
    const unpaid = await asked('link')
    const tried = await asked('link')
    const payment = standIn.attempt(tried.order.key, { ends: 'failed', lateAfterSeconds: 2 * DAY })
    standIn.advance(DAY + 60)
    expect(await unpaid.look()).toMatchObject({ kind: 'declined', reason: 'expired' })
    expect(await tried.look()).toEqual(pending('rail', 'EXPIRED'))
    standIn.advance(DAY)
    expect(await tried.look()).toMatchObject({ kind: 'settled', reference: payment })
  })

  it('of which a payment failed is declined once it can be authorised no more', async () => {
    const { order, look } = await asked('link')
    standIn.attempt(order.key, { ends: 'failed' })
    standIn.advance(DAY + 60)
    expect(await look()).toEqual(pending('rail', 'EXPIRED'))
    const later = railOf(standIn, { clock: { nowMs: () => Date.now() + 6 * DAY * 1000 } })
    expect(await later.lookup(order.key)).toMatchObject({ kind: 'declined', reason: 'expired' })
  })

  it('where the account captures nothing by itself is captured by us', async () => {
    await standIn.close()
    standIn = await startRazorpayStandIn({ autoCapture: false })
    rail = railOf(standIn)
    const { order, known, look } = await asked('link')
    standIn.approve(order.key)
    expect(await look()).toEqual(pending('capture', 'CREATED'))
    expect(await rail.complete?.(known)).toMatchObject({ kind: 'settled', amount: 125_000 })
  })

  it('tells no address that is not Razorpay’s own', async () => {
    standIn.shortUrl = 'https://rzp.io.example/i/x'
    const { outcome } = await asked('link')
    expect(outcome).toEqual(pending('payer', 'CREATED'))
    expect(outcome).not.toHaveProperty('approveUrl')
  })
})

describe.each(['order', 'link'] as const)(
  'an %s of which nothing is known for certain',
  (account) => {
    const create = `${account}.create`

    it('is found by its key after a lost answer, and absent after a lost request', async () => {
      standIn.script({ on: create, fault: 'resetAfter' })
      const made = await asked(account)
      expect(made.outcome).toMatchObject({ kind: 'unknown' })
      expect(await made.look()).toEqual(pending('payer', 'CREATED'))
      standIn.script({ on: create, fault: 'resetBefore' })
      const lost = await asked(account)
      expect(lost.outcome).toMatchObject({ kind: 'unknown' })
      expect(await lost.look()).toEqual({ kind: 'absent' })
      expect(await rail.lookup(lost.order.key)).toEqual({ kind: 'absent' })
    })

    it('of another amount than was asked is unknown, at the making and at each look-up', async () => {
      standIn.script({ on: create, fault: 'wrongAmount' })
      const { outcome, look } = await asked(account)
      expect(outcome).toMatchObject({ kind: 'unknown', reason: 'amount_differs' })
      expect(await look()).toMatchObject({ kind: 'unknown', reason: 'amount_differs' })
    })

    it('is not made where Razorpay cannot say whether it is there', async () => {
      standIn.script({ on: `${account}.list`, fault: 'html502Before' })
      expect((await asked(account)).outcome).toEqual({ kind: 'notSent', reason: 'status_502' })
      expect(sent(create)).toEqual([])
    })

    it('is not absent by a list that is not one', async () => {
      for (const fault of ['html200After', 'empty500After', 'redirect307', 'rateLimit'] as const) {
        standIn.script({ on: `${account}.list`, fault })
        const { order } = { order: orderOf({ account }) }
        expect(await rail.lookup(order.key, knownOf(order))).toMatchObject({ kind: 'unknown' })
      }
    })
  },
)
