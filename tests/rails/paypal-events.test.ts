import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailHeard, RailMessage } from '../../runtime/core/rail.ts'
import { createPaypalVault } from '../../runtime/rails/paypal.ts'
import { type PaypalStandIn, startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { merchantOrder, openPaypal, optionsOf, usdOrder } from './paypal-support.ts'

let standIn: PaypalStandIn
let rail: Rail
beforeEach(async () => {
  standIn = await startPaypalStandIn()
  rail = openPaypal(standIn, { instrument: standIn.instrument })
})
afterEach(() => standIn.close())

const messageOf = ({ headers, body }: { headers: Record<string, string>; body: string }) =>
  ({ headers, body: Buffer.from(body) }) satisfies RailMessage

async function hear(message: RailMessage, of: Rail = rail): Promise<RailHeard> {
  if (of.events === undefined) throw new Error('expected a rail with messages')
  return of.events.hear(message)
}

async function fetchOf(heard: RailHeard) {
  const ref = heard.kind === 'event' ? heard.object?.ref : undefined
  return rail.events?.fetch(ref ?? '')
}

describe('PayPal’s messages', () => {
  it('are believed by PayPal’s own word over the bytes that came', async () => {
    const order = usdOrder()
    await rail.pay(order)
    const [batch, item] = standIn.messages()
    if (batch === undefined || item === undefined) throw new Error('expected two messages')
    expect(batch.body).toContain(' "weight": 1.0, ')
    expect(await hear(messageOf(batch))).toMatchObject({
      kind: 'event',
      name: 'payment.payoutsbatch.success',
    })
    const heard = await hear(messageOf(item))
    expect(heard).toMatchObject({ kind: 'event', name: 'payment.payouts_item.succeeded' })
    expect(await hear(messageOf(item))).toEqual(heard)
    const object = {
      type: 'payout',
      key: order.key,
      direction: 'out',
      amount: 125_000,
      currency: 'USD',
      status: 'SUCCESS',
      moved: true,
    }
    expect(await fetchOf(heard)).toMatchObject(object)
    expect(await fetchOf(await hear(messageOf(batch)))).toEqual(await fetchOf(heard))
  })

  it('are refused when a byte of them, a header or the webhook is another', async () => {
    await rail.pay(usdOrder())
    const [message] = standIn.messages()
    if (message === undefined) throw new Error('expected a message')
    const { headers, body } = message
    const refused = async (change: Partial<typeof message>) =>
      expect(await hear(messageOf({ ...message, ...change }))).toEqual({ kind: 'refused' })
    await refused({ body: body.replace('1.0', '1') })
    await refused({ body: JSON.stringify(JSON.parse(body)) })
    await refused({ body: ` ${body}` })
    await refused({ body: `${body},"webhook_id":"x"` })
    await refused({ body: '' })
    for (const name of Object.keys(headers).filter((name) => name.startsWith('paypal-'))) {
      const { [name]: _gone, ...others } = headers
      await refused({ headers: others })
    }
    await refused({ headers: { ...headers, 'paypal-transmission-id': 'another' } })
    const other = openPaypal(standIn, { webhookId: 'WEBHOOKOFOTHERS' })
    expect(await hear(messageOf(message), other)).toEqual({ kind: 'refused' })
    const { webhookId: _none, ...options } = optionsOf(standIn)
    const { createPaypalRail } = await import('../../runtime/rails/paypal.ts')
    expect(await hear(messageOf(message), createPaypalRail(options))).toEqual({ kind: 'refused' })
  })

  it('are refused unasked when the certificate is not PayPal’s', async () => {
    await rail.pay(usdOrder())
    const [message] = standIn.messages()
    if (message === undefined) throw new Error('expected a message')
    let asked = 0
    const counting = openPaypal(standIn, {
      transport: async () => {
        asked += 1
        return { kind: 'notSent', reason: 'counted' }
      },
    })
    const hearOf = (url: string) =>
      hear(
        messageOf({ ...message, headers: { ...message.headers, 'paypal-cert-url': url } }),
        counting,
      )
    for (const url of [
      'https://paypal.com.evil.example/cert',
      'https://evilpaypal.com/cert',
      'http://api.paypal.com/cert',
      'https://api.paypal.com:8443/cert',
      'https://api.paypal.com@evil.example/cert',
      'not an address',
    ]) {
      expect(await hearOf(url)).toEqual({ kind: 'refused' })
    }
    expect(asked).toBe(0)
    expect(await hearOf('https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1')).toEqual({
      kind: 'unverified',
      reason: 'token_notSent',
    })
  })

  it.each(['resetBefore', 'html502Before', 'html200After', 'empty500After', 'rateLimit'] as const)(
    'stay unverified while PayPal’s word on them ends in %s',
    async (fault) => {
      await rail.pay(usdOrder())
      const [message] = standIn.messages()
      if (message === undefined) throw new Error('expected a message')
      standIn.script({ on: 'verify', fault })
      expect(await hear(messageOf(message))).toMatchObject({ kind: 'unverified' })
      expect(await hear(messageOf(message))).toMatchObject({ kind: 'event' })
    },
  )

  it('lead to captures, refunds, authorisations and orders as they are now', async () => {
    const order = merchantOrder()
    const paid = await rail.pay(order)
    const reference = paid.kind === 'settled' ? paid.reference : ''
    const [captured] = standIn.messages()
    await rail.refunds?.make({
      payment: order.payment,
      key: 'hg-refund-1',
      paymentKey: order.key,
      paymentAccount: order.account,
      paymentReference: reference,
      amount: minor(25_000),
      currency: 'USD',
    })
    const [refunded] = standIn.messages()
    if (captured === undefined || refunded === undefined) throw new Error('expected two messages')
    expect(await fetchOf(await hear(messageOf(captured)))).toMatchObject({
      id: reference,
      type: 'payment',
      key: order.key,
      status: 'PARTIALLY_REFUNDED',
      moved: true,
    })
    expect(await fetchOf(await hear(messageOf(refunded)))).toMatchObject({
      type: 'refund',
      direction: 'in',
      amount: 25_000,
      status: 'COMPLETED',
      moved: true,
    })
    const waiting = merchantOrder()
    const asked = await openPaypal(standIn).pay(waiting)
    standIn.approve(asked.kind === 'pending' ? asked.reference : '')
    const [approved] = standIn.messages()
    if (approved === undefined) throw new Error('expected a message')
    const heard = await hear(messageOf(approved))
    expect(heard).toMatchObject({ name: 'checkout.order.approved' })
    expect(await fetchOf(heard)).toMatchObject({
      key: waiting.key,
      type: 'payment',
      status: 'APPROVED',
      moved: false,
    })
  })

  it('name nothing where nothing moves, and what they name may be gone', async () => {
    const event = { id: 'WH-1', event_type: 'CUSTOMER.DISPUTE.CREATED', resource_type: 'dispute' }
    const plain = standIn.sign(JSON.stringify({ ...event, resource: { id: 'PP-D-1' } }))
    expect(await hear(messageOf(plain))).toEqual({
      kind: 'event',
      id: 'WH-1',
      name: 'customer.dispute.created',
    })
    const tricky = { ...event, resource_type: 'capture', resource: { id: '../refunds/1' } }
    expect(await hear(messageOf(standIn.sign(JSON.stringify(tricky))))).not.toHaveProperty('object')
    expect(await rail.events?.fetch('capture:ABCDEFGH')).toEqual({ kind: 'absent' })
    for (const ref of ['', 'capture:', 'capture:a/b', 'capture:a:b', 'else:A', 'constructor:A']) {
      expect(await rail.events?.fetch(ref)).toMatchObject({ kind: 'unknown' })
    }
  })
})

describe('the account’s own list', () => {
  const pageOf = async (fromSeconds: number, toSeconds: number, after?: string) =>
    rail.statement?.({ fromSeconds, toSeconds, ...(after === undefined ? {} : { after }) })

  it('shows what moved, ours and others’, with the same ids by which it was heard of', async () => {
    const from = Math.floor(standIn.nowMs() / 1000)
    const order = usdOrder()
    await rail.pay(order)
    const heard = await hear(messageOf(standIn.messages()[1] ?? { headers: {}, body: '' }))
    const stray = standIn.stray({ direction: 'out', amount: 700, currency: 'JPY' })
    standIn.stray({ direction: 'in', amount: 5_000, currency: 'HUF' })
    standIn.comeBack(order.key)
    standIn.advance(4 * 3600)
    const to = Math.floor(standIn.nowMs() / 1000)
    const page = await pageOf(from, to)
    expect(page).not.toHaveProperty('next')
    const fetched = await fetchOf(heard)
    expect(page?.objects).toMatchObject([
      { type: 'payout', key: order.key, direction: 'out', amount: 125_000, moved: true },
      { id: stray, type: 'payment', direction: 'out', amount: 700, currency: 'JPY' },
      { type: 'payment', direction: 'in', amount: 5_000, currency: 'HUF' },
      { type: 'reversal', direction: 'in', amount: 125_000, moved: true },
    ])
    expect(page?.objects[0]?.id).toBe(fetched && 'id' in fetched ? fetched.id : undefined)
  })

  it('is whole only up to where PayPal has refreshed it', async () => {
    const from = Math.floor(standIn.nowMs() / 1000)
    standIn.stray({ direction: 'out', amount: 1, currency: 'USD' })
    const page = await pageOf(from, from + 60)
    expect(page).toMatchObject({ objects: [] })
    expect(page?.completeUntilSeconds).toBeLessThan(from)
  })

  it('is read in pages and in windows of 31 days, none twice', async () => {
    const from = Math.floor(standIn.nowMs() / 1000)
    for (let i = 0; i < 201; i += 1) {
      standIn.stray({ direction: 'out', amount: 1, currency: 'USD' })
    }
    standIn.advance(40 * 24 * 3600)
    standIn.stray({ direction: 'out', amount: 2, currency: 'USD' })
    standIn.advance(4 * 3600)
    const to = Math.floor(standIn.nowMs() / 1000)
    const ids = new Set<string>()
    let after: string | undefined
    let pages = 0
    do {
      const page = await pageOf(from, to, after)
      for (const { id } of page?.objects ?? []) ids.add(id)
      after = page?.next
      pages += 1
    } while (after !== undefined)
    expect([ids.size, pages]).toEqual([202, 3])
  })

  it('throws where it cannot be read', async () => {
    standIn.script({ on: 'search', fault: 'html200After' })
    await expect(pageOf(1_700_000_000, 1_700_000_060)).rejects.toMatchObject({
      code: 'rail_unconfigured',
    })
    await expect(pageOf(1, 2, 'x')).rejects.toMatchObject({ code: 'internal' })
  })
})

describe('a saved instrument', () => {
  it('is saved once the payer agreed, pays a merchant, and pays nobody once it is forgotten', async () => {
    const vault = createPaypalVault(optionsOf(standIn))
    const urls = { returnUrl: 'https://shop.example/yes', cancelUrl: 'https://shop.example/no' }
    const begun = await vault.begin({ key: 'save-1', ...urls })
    if (begun.kind !== 'begun') throw new Error('expected it to begin')
    const { setupToken } = begun
    expect(await vault.save({ key: 'save-1', setupToken })).toMatchObject({
      kind: 'declined',
      reason: 'payer_action_required',
    })
    standIn.approve(setupToken)
    const saved = await vault.save({ key: 'save-1', setupToken })
    if (saved.kind !== 'saved') throw new Error('expected it to be saved')
    expect(await vault.save({ key: 'save-1', setupToken })).toEqual(saved)
    const { instrument } = saved
    const paying = openPaypal(standIn, { instrument })
    const paid = await paying.pay(merchantOrder())
    expect(paid).toMatchObject({ kind: 'settled' })
    expect(JSON.stringify(paid)).not.toContain(instrument)
    expect(await vault.forget(instrument)).toEqual({ kind: 'forgotten' })
    expect(await paying.pay(merchantOrder())).toMatchObject({
      kind: 'declined',
      reason: 'token_id_not_found',
    })
  })
})
