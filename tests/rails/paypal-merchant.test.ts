import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { refundKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailKnown, RailOrder, RailOutcome } from '../../runtime/core/rail.ts'
import { type PaypalStandIn, startPaypalStandIn } from '../support/paypal-stand-in.ts'
import {
  askStandIn,
  merchantOrder,
  openPaypal,
  repeating,
  rewriting,
  usdOrder,
} from './paypal-support.ts'

let standIn: PaypalStandIn
beforeEach(async () => {
  standIn = await startPaypalStandIn()
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

const referenceOf = (outcome: RailOutcome): string =>
  'reference' in outcome && outcome.reference !== undefined ? outcome.reference : ''

describe('an order that a payer agrees to', () => {
  let rail: Rail
  beforeEach(() => {
    rail = openPaypal(standIn)
  })

  it('waits for its payer, then for our capture, and takes exactly the amount once', async () => {
    const order = merchantOrder()
    const asked = await rail.pay(order)
    expect(asked).toMatchObject({ kind: 'pending', awaits: 'payer', status: 'CREATED' })
    expect(asked).toHaveProperty('approveUrl', expect.stringContaining('/checkoutnow?token='))
    expect(standIn.book().totals).toEqual({})
    expect(await rail.complete?.(known(order, asked))).toEqual(asked)

    standIn.approve(referenceOf(asked))
    const agreed = await rail.lookup(order.key, known(order, asked))
    expect(agreed).toMatchObject({ kind: 'pending', awaits: 'capture', status: 'APPROVED' })
    expect(standIn.book().totals).toEqual({})

    const paid = await rail.complete?.(known(order, asked))
    expect(paid).toMatchObject({ kind: 'settled', amount: 125_000, currency: 'USD' })
    expect(await rail.complete?.(known(order, asked))).toEqual(paid)
    expect(standIn.book()).toMatchObject({ totals: { USD: 125_000 }, payments: 1 })
    expect(await rail.lookup(order.key, known(order, paid))).toEqual(paid)
  })

  it('is made once for one key', async () => {
    const order = merchantOrder()
    expect(await rail.pay(order)).toEqual(await rail.pay(order))
  })

  it('takes nothing of an order that was changed after it was made', async () => {
    for (const [path, value] of [
      ['amount', { currency_code: 'USD', value: '1250.01' }],
      ['payee', { merchant_id: 'EVERYBDYELSE2' }],
    ] as const) {
      const order = merchantOrder()
      const asked = await rail.pay(order)
      await patch(standIn, referenceOf(asked), path, value)
      standIn.approve(referenceOf(asked))
      expect(await rail.complete?.(known(order, asked))).toMatchObject({
        kind: 'unknown',
        reason: 'answer_differs',
      })
    }
    expect(standIn.book().totals).toEqual({})
  })

  it('is ended by a cancel, before and after the payer agreed, and stays so when it is paid', async () => {
    const order = merchantOrder()
    const asked = await rail.pay(order)
    expect(await rail.cancel?.(known(order, asked))).toMatchObject({ kind: 'declined' })
    standIn.approve(referenceOf(asked))
    expect(await rail.cancel?.(known(order, asked))).toMatchObject({ kind: 'declined' })
    const paid = await rail.complete?.(known(order, asked))
    expect(await rail.cancel?.(known(order, asked))).toEqual(paid)
  })

  it('is over when its payer’s agreement has ended', async () => {
    const order = merchantOrder()
    const asked = await rail.pay(order)
    standIn.approve(referenceOf(asked))
    standIn.advance(3 * 3600)
    expect(await rail.complete?.(known(order, asked))).toMatchObject({
      kind: 'declined',
      status: 'VOIDED',
    })
  })

  it('tells no address but PayPal’s own', async () => {
    for (const href of [
      'https://www.paypal.com.evil.example/checkoutnow?token=1',
      'https://evil.example/?www.paypal.com',
      'http://www.paypal.com/checkoutnow',
      'https://www.paypal.com@evil.example/',
      'https://evil.example@www.paypal.com/checkoutnow',
      'javascript:alert(1)',
    ]) {
      const rail = openPaypal(standIn, { transport: rewriting(/http:[^"]*checkoutnow[^"]*/, href) })
      expect(await rail.pay(merchantOrder())).not.toHaveProperty('approveUrl')
    }
    const href = 'https://www.sandbox.paypal.com/checkoutnow?token=1'
    const good = openPaypal(standIn, { transport: rewriting(/http:[^"]*checkoutnow[^"]*/, href) })
    expect(await good.pay(merchantOrder())).toHaveProperty('approveUrl', href)
  })
})

describe('an order that a saved instrument pays', () => {
  let rail: Rail
  beforeEach(() => {
    rail = openPaypal(standIn, { instrument: standIn.instrument })
  })

  it('settles at once, and a capture that is pending does not, whatever the order says', async () => {
    expect(await rail.pay(merchantOrder())).toMatchObject({ kind: 'settled', status: 'COMPLETED' })
    standIn.script({ on: 'capture', fault: 'pending' })
    const order = merchantOrder()
    const asked = await rail.pay(order)
    expect(asked).toMatchObject({ kind: 'pending', awaits: 'rail', status: 'PENDING' })
    expect(standIn.book().totals).toEqual({ USD: 125_000 })
    standIn.advance(1)
    expect(await rail.lookup(order.key, known(order, asked))).toMatchObject({ kind: 'settled' })
    expect(standIn.book().totals).toEqual({ USD: 250_000 })
  })

  it('says by which of PayPal’s words an instrument was declined', async () => {
    standIn.script({ on: 'capture', fault: 'decline' })
    const order = merchantOrder()
    expect(await rail.pay(order)).toEqual({
      kind: 'declined',
      reason: 'instrument_declined',
      status: 'INSTRUMENT_DECLINED',
    })
    expect(standIn.book().totals).toEqual({})
  })

  it('takes no word for a refusal that it does not know as one', async () => {
    standIn.script({ on: 'capture', fault: 'decline', times: 2 })
    for (const instead of [
      '"BRAND_NEW_ISSUE"',
      '"INSTRUMENT_DECLINED"},{"issue":"BRAND_NEW_ISSUE"',
    ]) {
      const transport = rewriting(/"INSTRUMENT_DECLINED"/, instead)
      const odd = openPaypal(standIn, { instrument: standIn.instrument, transport })
      expect(await odd.pay(merchantOrder())).toMatchObject({
        kind: 'unknown',
        reason: 'status_422',
      })
    }
  })

  it.each(['resetAfter', 'hang', 'html502After', 'html200After', 'empty500After'] as const)(
    'calls a capture that ends in %s unknown, and finds it by the order’s id',
    async (fault) => {
      const rail = openPaypal(standIn, {
        instrument: standIn.instrument,
        timeoutMs: fault === 'hang' ? 1_000 : 10_000,
      })
      standIn.script({ on: 'capture', fault })
      const order = merchantOrder()
      const asked = await rail.pay(order)
      expect(asked).toMatchObject({ kind: 'unknown', reference: expect.any(String) })
      const found = await rail.lookup(order.key, known(order, asked))
      expect(found).toMatchObject({ kind: 'settled', amount: 125_000 })
      expect(await rail.pay(order)).toEqual(found)
      expect(standIn.book()).toMatchObject({ totals: { USD: 125_000 }, payments: 1 })
    },
  )

  it('finds a payment without any reference on the account’s list, once that is fresh', async () => {
    const order = merchantOrder()
    const asked = known(order)
    const paid = await rail.pay(order)
    expect(await rail.lookup(order.key, asked)).toMatchObject({ kind: 'unknown' })
    standIn.advance(7 * 3600)
    expect(await rail.lookup(order.key, asked)).toEqual(paid)
  })

  it('does not take the list’s silence for absence, because the payer’s list is another', async () => {
    const order = merchantOrder()
    const asked = known(order)
    standIn.advance(7 * 3600)
    expect(await rail.lookup(order.key, asked)).toEqual({ kind: 'unknown', reason: 'not_listed' })
    const withoutInstrument = openPaypal(standIn)
    expect(await withoutInstrument.lookup(order.key, asked)).toEqual({ kind: 'absent' })
  })

  it.each(['resetBefore', 'resetAfter', 'html502After', 'html200After'] as const)(
    'has sent nothing when the order itself is lost by %s, because it moves nothing',
    async (fault) => {
      standIn.script({ on: 'order.create', fault })
      const order = merchantOrder()
      expect(await rail.pay(order)).toMatchObject({ kind: 'notSent' })
      expect(standIn.book().totals).toEqual({})
      expect(await rail.pay(order)).toMatchObject({ kind: 'settled' })
      expect(standIn.book()).toMatchObject({ totals: { USD: 125_000 }, payments: 1 })
    },
  )

  it('never reports a capture of another amount than was asked as this one’s', async () => {
    standIn.script({ on: 'capture', fault: 'wrongAmount' })
    const order = merchantOrder()
    const asked = await rail.pay(order)
    expect(asked).toMatchObject({ kind: 'unknown', reason: 'amount_differs' })
    expect(await rail.lookup(order.key, known(order, asked))).toMatchObject({
      kind: 'settled',
      amount: 62_500,
    })
  })

  it('is not captured twice when PayPal has forgotten its request id', async () => {
    const order = merchantOrder()
    await rail.pay(order)
    standIn.advance(7 * 3600)
    expect(await rail.pay(order)).toEqual({ kind: 'unknown', reason: 'captured_elsewhere' })
    expect(standIn.book()).toMatchObject({ totals: { USD: 125_000 }, payments: 1 })
  })
})

describe('what is asked back of a capture', () => {
  let rail: Rail
  let order: RailOrder
  let reference: string
  beforeEach(async () => {
    rail = openPaypal(standIn, { instrument: standIn.instrument })
    order = merchantOrder()
    reference = referenceOf(await rail.pay(order))
  })

  const refundOf = (key: string, amount: number) => ({
    payment: order.payment,
    key,
    paymentKey: order.key,
    paymentAccount: order.account,
    paymentReference: reference,
    amount: minor(amount),
    currency: order.currency,
  })

  it('is refunded once for one key, in parts, with each part’s own id', async () => {
    const first = await rail.refunds?.make(refundOf('hg-refund-1', 25_000))
    expect(first).toMatchObject({ kind: 'refunded', amount: 25_000, currency: 'USD' })
    expect(await rail.refunds?.make(refundOf('hg-refund-1', 25_000))).toEqual(first)
    const second = await rail.refunds?.make(refundOf('hg-refund-2', 100_000))
    expect(standIn.book()).toEqual({ totals: {}, payments: 1, refunds: 2 })
    expect(await rail.lookup(order.key, { ...known(order), reference })).toMatchObject({
      kind: 'settled',
      amount: 125_000,
      back: [
        {
          id: first && 'reference' in first ? first.reference : '',
          kind: 'refunded',
          amount: 25_000,
        },
        { id: second && 'reference' in second ? second.reference : '', amount: 100_000 },
      ],
    })
  })

  it('is not noted without its own id while it is on its way, though the capture is called refunded', async () => {
    await rail.refunds?.make(refundOf(refundKeyOf('rfd_1'), 125_000))
    const slow = openPaypal(standIn, {
      instrument: standIn.instrument,
      transport: rewriting(/("refunds":\[\{.*?"status":)"COMPLETED"/, '$1"PENDING"'),
    })
    const found = await slow.lookup(order.key, { ...known(order), reference })
    expect(found).toMatchObject({ kind: 'settled', status: 'REFUNDED' })
    expect(found).not.toHaveProperty('returned')
    expect(found).not.toHaveProperty('back')
  })

  it('is told from its payment on the account’s list, though it carries its words', async () => {
    const asked = { ...known(order), submittedAtSeconds: Math.floor(standIn.nowMs() / 1000) }
    await rail.refunds?.make(refundOf(refundKeyOf('rfd_1'), 25_000))
    standIn.advance(7 * 3600)
    expect(await rail.lookup(order.key, asked)).toMatchObject({
      kind: 'settled',
      amount: 125_000,
      back: [{ amount: 25_000 }],
    })
    const fromSeconds = asked.submittedAtSeconds - 60
    const page = await rail.statement?.({ fromSeconds, toSeconds: fromSeconds + 3600 })
    expect(page?.objects).toMatchObject([
      { type: 'payment', key: order.key, amount: 125_000 },
      { type: 'refund', key: refundKeyOf('rfd_1'), direction: 'in', amount: 25_000 },
    ])
  })

  it('is not asked for where it is more than what is left, or another payment’s', async () => {
    await rail.refunds?.make(refundOf('hg-refund-1', 100_000))
    expect(await rail.refunds?.make(refundOf('hg-refund-2', 25_001))).toEqual({
      kind: 'notSent',
      reason: 'amount_exceeds_remaining',
    })
    const others = { ...refundOf('hg-refund-3', 100), paymentKey: 'hg-another' }
    expect(await rail.refunds?.make(others)).toEqual({ kind: 'notSent', reason: 'payment_differs' })
    expect(standIn.book()).toMatchObject({ totals: { USD: 25_000 }, refunds: 1 })
  })

  it.each(['resetAfter', 'html200After', 'html502After', 'empty500After'] as const)(
    'is unknown after %s, found by its key and not made again',
    async (fault) => {
      standIn.script({ on: 'refund', fault })
      const asked = refundOf('hg-refund-1', 125_000)
      expect(await rail.refunds?.make(asked)).toMatchObject({ kind: 'unknown' })
      const found = await rail.refunds?.lookup(asked)
      expect(found).toMatchObject({ kind: 'refunded', amount: 125_000 })
      expect(await rail.refunds?.make(asked)).toEqual(found)
      expect(standIn.book()).toEqual({ totals: {}, payments: 1, refunds: 1 })
    },
  )

  it('is absent when it was never made, pending while it is pending, and declined in PayPal’s word', async () => {
    const asked = refundOf('hg-refund-1', 125_000)
    expect(await rail.refunds?.lookup(asked)).toEqual({ kind: 'absent' })
    standIn.script({ on: 'refund', fault: 'decline' })
    expect(await rail.refunds?.make(asked)).toMatchObject({
      kind: 'declined',
      reason: 'refund_failed_insufficient_funds',
    })
    standIn.script({ on: 'refund', fault: 'pending' })
    expect(await rail.refunds?.make(asked)).toMatchObject({
      kind: 'unknown',
      reason: 'refund_pending',
    })
    standIn.advance(1)
    expect(await rail.refunds?.lookup(asked)).toMatchObject({ kind: 'refunded' })
  })

  it('never takes a smaller refund for the one that was asked', async () => {
    standIn.script({ on: 'refund', fault: 'wrongAmount' })
    const asked = refundOf('hg-refund-1', 125_000)
    expect(await rail.refunds?.make(asked)).toMatchObject({
      kind: 'unknown',
      reason: 'amount_differs',
    })
    expect(await rail.refunds?.lookup(asked)).toMatchObject({ kind: 'unknown' })
  })

  it('cannot be asked back of a payout', async () => {
    const payout = usdOrder()
    const paid = await rail.pay(payout)
    const asked = {
      ...refundOf('hg-refund-1', 100),
      paymentKey: payout.key,
      paymentAccount: payout.account,
      paymentReference: referenceOf(paid),
    }
    expect(await rail.refunds?.make(asked)).toEqual({
      kind: 'notSent',
      reason: 'payout_not_refundable',
    })
    expect(await rail.refunds?.lookup(asked)).toEqual({ kind: 'absent' })
  })

  it('shows what PayPal took back of itself', async () => {
    standIn.comeBack(order.key)
    expect(standIn.book().totals).toEqual({})
    expect(await rail.lookup(order.key, { ...known(order), reference })).toMatchObject({
      kind: 'settled',
      back: [{ amount: 125_000 }],
    })
  })
})

describe('an answer that is mixed up', () => {
  it.each([
    ['an order’s', /^POST .*\/capture$/],
    ['a capture’s', /^GET .*\/captures\//],
  ])('with another payment’s, %s, names nothing of that one', async (_what, name) => {
    const mixed = openPaypal(standIn, { transport: repeating(name) })
    const pay = async (order: RailOrder) => {
      const asked = await mixed.pay(order)
      standIn.approve(referenceOf(asked))
      const taken = (await mixed.complete?.(known(order, asked))) ?? asked
      const of = referenceOf(taken) === '' ? asked : taken
      return { asked, taken, found: await mixed.lookup(order.key, known(order, of)) }
    }
    const first = await pay(merchantOrder())
    const order = merchantOrder()
    const { asked, taken, found } = await pay(order)
    const others = [referenceOf(first.asked), referenceOf(first.taken)]
    for (const word of [taken, found as RailOutcome]) {
      expect(others).not.toContain(referenceOf(word))
    }
    const rail = openPaypal(standIn)
    expect(await rail.lookup(order.key, known(order, asked))).toMatchObject({ kind: 'settled' })
  })
})

async function patch(standIn: PaypalStandIn, id: string, field: string, value: unknown) {
  const path = `/purchase_units/@reference_id=='default'/${field}`
  const body = [{ op: 'replace', path, value }]
  const { status } = await askStandIn(standIn, 'PATCH', `/v2/checkout/orders/${id}`, { body })
  expect(status).toBe(204)
}
