import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freshId, refundKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailOrder, RailRefund } from '../../runtime/core/rail.ts'
import { knownOf, orderOf, railOf } from '../support/razorpay/rail.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

let standIn: RazorpayStandIn
let rail: Rail
beforeEach(async () => {
  standIn = await startRazorpayStandIn()
  rail = railOf(standIn)
})
afterEach(() => standIn.close())

/** A payment that a payer made, and how to ask it back. */
async function paid(account: 'order' | 'link', change: Partial<RailOrder> = {}) {
  const order = orderOf({ account, ...change })
  const first = await rail.pay(order)
  standIn.approve(order.key)
  const known = knownOf(order, first)
  const settled =
    account === 'order' ? await rail.complete?.(known) : await rail.lookup(order.key, known)
  if (settled?.kind !== 'settled') throw new Error('expected a settled payment')
  const back = (amount: number, of: Partial<RailRefund> = {}): RailRefund => ({
    payment: order.payment,
    key: refundKeyOf(`rfd_${freshId()}`),
    paymentKey: order.key,
    paymentAccount: account,
    paymentReference: settled.reference,
    amount: minor(amount),
    currency: order.currency,
    ...of,
  })
  return { order, settled, back, look: () => rail.lookup(order.key, knownOf(order, settled)) }
}

const posts = () => standIn.seen.filter(({ operation }) => operation === 'refund')

describe.each(['order', 'link'] as const)('a refund of an %s', (account) => {
  it('gives back in parts, each once for its key, and the look-up says each by its own id', async () => {
    const { settled, back, look } = await paid(account)
    const [a, b] = [back(25_000), back(100_000)]
    const first = await rail.refunds?.make(a)
    expect(first).toEqual({
      kind: 'refunded',
      reference: expect.stringMatching(/^rfnd_/),
      amount: 25_000,
      currency: 'INR',
    })
    expect(await rail.refunds?.make(a)).toEqual(first)
    expect(await rail.refunds?.lookup(a)).toEqual(first)
    expect(await rail.refunds?.lookup(b)).toEqual({ kind: 'absent' })
    const second = await rail.refunds?.make(b)
    expect(await look()).toEqual({
      ...settled,
      status: 'REFUNDED',
      returned: true,
      back: [b, a].map(({ amount }, i) => ({
        id: [second, first].map((made) => made?.kind === 'refunded' && made.reference)[i],
        kind: 'refunded',
        amount,
      })),
    })
    expect(standIn.book()).toEqual({ totals: { INR: 0 }, payments: 1, refunds: 2 })
  })

  it('always states its amount, and carries our key as header and receipt', async () => {
    const { back } = await paid(account)
    const asked = back(25_000)
    await rail.refunds?.make(asked)
    expect(posts()).toHaveLength(1)
    expect(posts()[0]?.headers['x-refund-idempotency']).toBe(asked.key)
    expect(posts()[0]?.body).toEqual({
      amount: 25_000,
      speed: 'normal',
      receipt: asked.key,
      notes: { headgate: asked.key },
    })
  })

  it.each([
    ['more than was paid', { amount: minor(125_001) }, 'amount_exceeds_remaining'],
    ['another currency', { currency: 'USD' }, 'currency_differs'],
    ['another payment’s key', { paymentKey: refundKeyOf('rfd_x') }, 'payment_differs'],
    ['less than a rupee', { amount: minor(99) }, 'order_not_expressible'],
    ['a payment that is not there', { paymentReference: 'pay_00000000000000' }, 'lookup_refused'],
    ['a payout', { paymentAccount: `fa_${'A'.repeat(14)}` }, 'payout_not_refundable'],
    ['an id that is another path', { paymentReference: 'pay_1/capture#' }, 'order_not_expressible'],
  ] as const)('is not sent for %s', async (_what, change, reason) => {
    const { back } = await paid(account)
    expect(await rail.refunds?.make(back(25_000, change))).toEqual({ kind: 'notSent', reason })
    expect(posts()).toEqual([])
  })

  it('is not sent for more than is left, however the parts were asked', async () => {
    const { back } = await paid(account)
    await rail.refunds?.make(back(100_000))
    const outcome = await rail.refunds?.make(back(25_001))
    expect(outcome).toEqual({ kind: 'notSent', reason: 'amount_exceeds_remaining' })
  })

  it('after a lost answer is unknown, found by its key, and made once', async () => {
    const { back } = await paid(account)
    const asked = back(125_000)
    standIn.script({ on: 'refund', fault: 'resetAfter' })
    expect(await rail.refunds?.make(asked)).toMatchObject({ kind: 'unknown' })
    expect(await rail.refunds?.lookup(asked)).toMatchObject({ kind: 'refunded', amount: 125_000 })
    expect(await rail.refunds?.make(asked)).toMatchObject({ kind: 'refunded' })
    expect(posts()).toHaveLength(1)
  })

  it('after a lost request is unknown, and absent by a whole list', async () => {
    const { back } = await paid(account)
    const asked = back(25_000)
    standIn.script({ on: 'refund', fault: 'resetBefore' })
    expect(await rail.refunds?.make(asked)).toMatchObject({ kind: 'unknown' })
    expect(await rail.refunds?.lookup(asked)).toEqual({ kind: 'absent' })
    standIn.script({ on: 'payment.refunds', fault: 'html200After' })
    expect(await rail.refunds?.lookup(asked)).toMatchObject({ kind: 'unknown' })
  })

  it('that is pending at the rail is unknown until it is processed', async () => {
    const { back, settled, look } = await paid(account)
    const asked = back(25_000)
    standIn.script({ on: 'refund', fault: 'pending' })
    expect(await rail.refunds?.make(asked)).toMatchObject({
      kind: 'unknown',
      reason: 'refund_pending',
      status: 'PENDING',
    })
    expect(await look()).toEqual(settled)
    standIn.advance(DAY)
    expect(await rail.refunds?.lookup(asked)).toMatchObject({ kind: 'refunded' })
    expect(await look()).toMatchObject({ back: [{ kind: 'refunded', amount: 25_000 }] })
  })

  it('of another amount than was asked is unknown', async () => {
    const { back } = await paid(account)
    standIn.script({ on: 'refund', fault: 'wrongAmount' })
    const outcome = await rail.refunds?.make(back(25_000))
    expect(outcome).toMatchObject({ kind: 'unknown', reason: 'amount_differs' })
  })

  it('is declined where the balance is too low, which Razorpay calls a bad request', async () => {
    const { back } = await paid(account)
    const asked = back(25_000)
    standIn.script({ on: 'refund', fault: 'decline' })
    expect(await rail.refunds?.make(asked)).toEqual({ kind: 'declined', reason: 'refused_by_rail' })
    expect(posts()).toHaveLength(1)
  })

  it('is unknown while an earlier request with its key is under way', async () => {
    const { back } = await paid(account)
    standIn.script({ on: 'refund', fault: 'inProgress409' })
    const outcome = await rail.refunds?.make(back(25_000))
    expect(outcome).toEqual({ kind: 'unknown', reason: 'key_in_use' })
  })

  it('whose key is another amount’s is not taken for this one’s', async () => {
    const { back } = await paid(account)
    const first = back(25_000)
    await rail.refunds?.make(first)
    expect(await rail.refunds?.make({ ...first, amount: minor(30_000) })).toMatchObject({
      kind: 'unknown',
      reason: 'amount_differs',
    })
    expect(standIn.book().refunds).toBe(1)
  })

  it('by somebody else is seen by its own id', async () => {
    const { order, look } = await paid(account)
    standIn.comeBack(order.key)
    expect(await look()).toMatchObject({
      kind: 'settled',
      returned: true,
      back: [{ id: expect.stringMatching(/^rfnd_/), kind: 'refunded', amount: 125_000 }],
    })
  })
})

const DAY = 24 * 3600
