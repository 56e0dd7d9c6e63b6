import { createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailHeard, RailObject } from '../../runtime/core/rail.ts'
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

type Message = ReturnType<RazorpayStandIn['messages']>[number]

const heard = async (message: Message | undefined, by = rail): Promise<RailHeard | undefined> =>
  by.events?.hear({
    headers: message?.headers ?? {},
    body: Buffer.from(message?.body ?? ''),
  })

const secret = () => String(standIn.env.RAZORPAY_WEBHOOK_SECRET)

const signed = (body: string, by = secret()): Message => ({
  headers: {
    'x-razorpay-event-id': 'E1',
    'x-razorpay-signature': createHmac('sha256', by).update(body).digest('hex'),
  },
  body,
})

async function settledPayout() {
  const order = orderOf({ account: standIn.accounts[0] ?? '' })
  const first = await rail.pay(order)
  const outcome = await rail.lookup(order.key, knownOf(order, first))
  if (outcome.kind !== 'settled') throw new Error('expected a settled payout')
  return { order, outcome }
}

describe('a message of Razorpay', () => {
  it('names its event and what to ask about, the same however often it comes', async () => {
    const { outcome } = await settledPayout()
    const [initiated, processed] = standIn.messages()
    expect(await heard(processed)).toEqual({
      kind: 'event',
      id: processed?.headers['x-razorpay-event-id'],
      name: 'payout.processed',
      object: { ref: outcome.reference },
    })
    expect(await heard(processed)).toEqual(await heard(processed))
    expect(await heard(initiated)).toMatchObject({ name: 'payout.initiated' })
  })

  it('is refused when a byte of it is another, or when nobody signed it', async () => {
    await settledPayout()
    const [message] = standIn.messages()
    if (message === undefined) throw new Error('expected a message')
    const { headers, body } = message
    expect(await heard({ headers, body: `${body} ` })).toEqual({ kind: 'refused' })
    expect(await heard({ headers, body: body.replace('125000', '125001') })).toEqual({
      kind: 'refused',
    })
    const { 'x-razorpay-signature': signature = '', ...bare } = headers
    for (const other of ['', 'x', signature.slice(1), signature.replace(/./, 'z')]) {
      const wrong = { ...bare, 'x-razorpay-signature': other }
      expect(await heard({ headers: wrong, body })).toEqual({ kind: 'refused' })
    }
    expect(await heard({ headers: bare, body })).toEqual({ kind: 'refused' })
    expect(await heard(signed(body, 'another-secret'))).toEqual({ kind: 'refused' })
    expect(await heard(signed('[object Object]'))).toEqual({ kind: 'refused' })
    expect(await heard(signed(''))).toEqual({ kind: 'refused' })
  })

  it('counts under the secret of before a change too, for as long as that is configured', async () => {
    await settledPayout()
    const [before] = standIn.messages()
    const next = standIn.rotateWebhookSecret()
    standIn.stray({ direction: 'out', amount: 100, currency: 'INR' })
    const [after] = standIn.messages()
    const both = railOf(standIn, { webhookSecrets: [next, secret()] })
    expect(await heard(before, both)).toMatchObject({ kind: 'event' })
    expect(await heard(after, both)).toMatchObject({ kind: 'event' })
    const onlyNext = railOf(standIn, { webhookSecrets: [next] })
    expect(await heard(before, onlyNext)).toEqual({ kind: 'refused' })
    expect(await heard(after)).toEqual({ kind: 'refused' })
  })

  it('is read up to its size and no further', async () => {
    const filled = (chars: number) => {
      const envelope = { entity: 'event', event: 'payout.processed', payload: {}, x: '' }
      const rest = chars - JSON.stringify(envelope).length
      return signed(JSON.stringify({ ...envelope, x: 'x'.repeat(rest) }))
    }
    expect(await heard(filled(64 * 1024))).toMatchObject({ kind: 'event' })
    expect(await heard(filled(64 * 1024 + 1))).toEqual({ kind: 'refused' })
  })

  it.each([
    ['an id that is another path', { payout: { entity: { id: 'pout_1/../../x' } } }, undefined],
    ['nothing that moves', {}, undefined],
    [
      'an entity of another family',
      { payment: { entity: { id: 'pay_00000000000000' } } },
      undefined,
    ],
  ])('about %s names nothing to ask about', async (_what, payload, ref) => {
    const body = JSON.stringify({ entity: 'event', event: 'payout.updated', payload })
    const word = await heard(signed(body))
    expect(word).toMatchObject({ kind: 'event', name: 'payout.updated' })
    expect(word?.kind === 'event' && word.object?.ref).toBe(ref)
  })

  it('with an odd name or without an id has one all the same', async () => {
    const body = JSON.stringify({ entity: 'event', event: 'Odd NAME', payload: {} })
    const { headers } = signed(body)
    const { 'x-razorpay-event-id': _id, ...rest } = headers
    const word = await heard({ headers: rest, body })
    expect(word).toEqual({
      kind: 'event',
      id: expect.stringMatching(/^sha256:/),
      name: 'unrecognised',
    })
  })

  it('of the past leads to what is now: authorised long after it was captured, processed after it was reversed', async () => {
    const order = orderOf({ account: 'order' })
    const known = knownOf(order, await rail.pay(order))
    standIn.approve(order.key)
    await rail.complete?.(known)
    const { order: payout, outcome } = await settledPayout()
    standIn.comeBack(payout.key)
    const shuffled = standIn.messages().reverse()
    const objects = new Map<string, unknown>()
    for (const message of [...shuffled, ...shuffled]) {
      const word = await heard(message)
      if (word?.kind !== 'event' || word.object === undefined) throw new Error('expected an object')
      objects.set(word.name, await rail.events?.fetch(word.object.ref))
    }
    expect(objects.get('payment.authorized')).toMatchObject({
      type: 'payment',
      status: 'CAPTURED',
      moved: true,
      key: order.key,
    })
    expect(objects.get('order.paid')).toEqual(objects.get('payment.authorized'))
    expect(objects.get('payout.processed')).toMatchObject({
      id: outcome.reference,
      type: 'payout',
      status: 'REVERSED',
      moved: true,
    })
    expect(objects.get('payout.reversed')).toEqual({
      id: `${outcome.reference}.reversal`,
      type: 'reversal',
      key: payout.key,
      of: outcome.reference,
      direction: 'in',
      amount: 125_000,
      currency: 'INR',
      status: 'REVERSED',
      moved: true,
      atSeconds: expect.any(Number),
    })
  })

  it('of a refund leads to it, with the payment that it takes back', async () => {
    const order = orderOf({ account: 'link' })
    const known = knownOf(order, await rail.pay(order))
    const payment = standIn.approve(order.key)
    await rail.lookup(order.key, known)
    standIn.comeBack(order.key)
    const word = await heard(standIn.messages().at(-1))
    if (word?.kind !== 'event') throw new Error('expected an event')
    expect(word.name).toBe('refund.processed')
    expect(await rail.events?.fetch(word.object?.ref ?? '')).toMatchObject({
      type: 'refund',
      of: payment,
      direction: 'in',
      moved: true,
      amount: 125_000,
    })
  })

  it('of a link that ended leads to a promise by which nothing moved', async () => {
    const order = orderOf({ account: 'link' })
    const known = knownOf(order, await rail.pay(order))
    await rail.cancel?.(known)
    const word = await heard(standIn.messages().at(-1))
    if (word?.kind !== 'event') throw new Error('expected an event')
    expect(await rail.events?.fetch(word.object?.ref ?? '')).toMatchObject({
      type: 'other',
      key: order.key,
      status: 'CANCELLED',
      moved: false,
    })
  })

  it('leads nowhere by a reference that it did not give, or when Razorpay does not answer', async () => {
    for (const ref of ['', '../orders', 'pay_1/capture#', 'order_00000000000000']) {
      expect(await rail.events?.fetch(ref)).toMatchObject({ kind: 'unknown' })
    }
    expect(standIn.seen).toEqual([])
    expect(await rail.events?.fetch('pay_00000000000000')).toMatchObject({ kind: 'unknown' })
    standIn.script({ on: '*', fault: 'html200After' })
    expect(await rail.events?.fetch('pout_00000000000000')).toMatchObject({ kind: 'unknown' })
  })
})

describe('Razorpay’s own list of what moved', () => {
  const now = () => Math.floor(Date.now() / 1000)

  it('has every movement once, ours with its key, oldest first, and nothing that did not move', async () => {
    const { order } = await settledPayout()
    const { order: back } = await settledPayout()
    standIn.comeBack(back.key)
    standIn.script({ on: 'payout.create', fault: 'decline' })
    await rail.pay(orderOf({ account: standIn.accounts[0] ?? '' }))
    const bought = orderOf({ account: 'order' })
    const known = knownOf(bought, await rail.pay(bought))
    const payment = standIn.approve(bought.key)
    await rail.complete?.(known)
    const unpaid = orderOf({ account: 'order' })
    await rail.pay(unpaid)
    standIn.approve(unpaid.key)
    const out = standIn.stray({ direction: 'out', amount: 777, currency: 'INR' })
    const into = standIn.stray({ direction: 'in', amount: 888, currency: 'USD' })
    const page = await rail.statement?.({ fromSeconds: now() - 3600, toSeconds: now() + 60 })
    const objects = page?.objects ?? []
    const of = (is: (object: RailObject) => boolean) =>
      objects
        .filter(is)
        .map(({ type, direction, amount, status }) => [type, direction, amount, status])
    expect(of(({ key }) => key === order.key)).toEqual([['payout', 'out', 125_000, 'PROCESSED']])
    expect(of(({ key }) => key === back.key)).toEqual([
      ['payout', 'out', 125_000, 'REVERSED'],
      ['reversal', 'in', 125_000, 'REVERSED'],
    ])
    expect(of(({ id }) => id === payment)).toEqual([['payment', 'out', 125_000, 'CAPTURED']])
    expect(of(({ id }) => id === out)).toEqual([['payout', 'out', 777, 'PROCESSED']])
    expect(of(({ id }) => id === into)).toEqual([['payment', 'in', 888, 'CAPTURED']])
    expect(objects).toHaveLength(6)
    expect(page?.next).toBeUndefined()
    expect(page?.completeUntilSeconds).toBeLessThanOrEqual(now())
    const times = objects.map(({ atSeconds }) => atSeconds)
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  it('finds what was made days before and moved since', async () => {
    standIn.stray({ direction: 'out', amount: 777, currency: 'INR' })
    standIn.advance(4 * DAY)
    const fromSeconds = now() + 3 * DAY
    const page = await rail.statement?.({ fromSeconds, toSeconds: fromSeconds + DAY })
    expect(page?.objects).toMatchObject([{ amount: 777 }])
    const later = now() + 6 * DAY
    const none = await rail.statement?.({ fromSeconds: later, toSeconds: later + DAY })
    expect(none?.objects).toEqual([])
  })

  it('is whole when it takes many pages, each movement once', async () => {
    const ids = new Set<string>()
    for (let day = 0; day < 3; day += 1) {
      for (let n = 0; n < 500; n += 1) {
        ids.add(standIn.stray({ direction: 'out', amount: 100 + n, currency: 'INR' }))
      }
      standIn.advance(DAY)
    }
    const found: string[] = []
    const later = railOf(standIn, { clock: { nowMs: () => Date.now() + 5 * DAY * 1000 } })
    const of = { fromSeconds: now() - 60, toSeconds: now() + 4 * DAY }
    let after: string | undefined
    do {
      const page = await later.statement?.(after === undefined ? of : { ...of, after })
      found.push(...(page?.objects ?? []).map(({ id }) => id))
      after = page?.next
      // No second is in two pages, and none in no page.
      if (after !== undefined) expect(Number(after)).toBe(Number(page?.completeUntilSeconds) + 1)
    } while (after !== undefined)
    expect(found).toHaveLength(1_500)
    expect(new Set(found)).toEqual(ids)
  })

  it('is a fault when it cannot be read whole', async () => {
    const of = { fromSeconds: now() - 60, toSeconds: now() }
    for (const on of ['payout.list', 'payment.list', 'refund.list']) {
      standIn.script({ on, fault: 'html200After' })
      await expect(rail.statement?.(of)).rejects.toMatchObject({ code: 'rail_unconfigured' })
    }
  })

  it('leaves out refunds of what was never captured, because no money had come', async () => {
    const order = orderOf({ account: 'order', amount: minor(5_000) })
    await rail.pay(order)
    standIn.approve(order.key)
    standIn.advance(5 * DAY + 60)
    const page = await rail.statement?.({ fromSeconds: now(), toSeconds: now() + 6 * DAY })
    expect(page?.objects).toEqual([])
  })
})
