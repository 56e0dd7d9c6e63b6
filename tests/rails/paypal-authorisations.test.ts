import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type {
  Rail,
  RailAuthorisation,
  RailAuthorisations,
  RailOrder,
} from '../../runtime/core/rail.ts'
import { exchange } from '../../runtime/rails/exchange.ts'
import { type PaypalStandIn, startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { merchantOrder, openPaypal, rewriting } from './paypal-support.ts'

let standIn: PaypalStandIn
let rail: Rail
beforeEach(async () => {
  standIn = await startPaypalStandIn()
  rail = openPaypal(standIn, { instrument: standIn.instrument })
})
afterEach(() => standIn.close())

function holds(of: Rail = rail): RailAuthorisations {
  if (of.authorisations === undefined) throw new Error('expected a rail with authorisations')
  return of.authorisations
}

const asked = (change: Partial<RailAuthorisation> = {}): RailAuthorisation => {
  const { key, account, currency } = merchantOrder()
  return { key, account, currency, amount: minor(100_000), ...change }
}

async function placed(authorisation = asked()): Promise<string> {
  const outcome = await holds().place(authorisation)
  if (outcome.kind !== 'authorised') throw new Error(`expected it to be placed: ${outcome.kind}`)
  return outcome.reference
}

const part = (amount: number, change: Partial<RailOrder> = {}) =>
  merchantOrder({ amount: minor(amount), ...change })

const knownOf = (order: RailOrder, authorisation: string, reference?: string) => ({
  order,
  submittedAtSeconds: Math.floor(standIn.nowMs() / 1000),
  authorisation,
  ...(reference === undefined ? {} : { reference }),
})

describe('an authorisation', () => {
  it('is for merchants, with a saved instrument, in currencies that PayPal takes', () => {
    expect(openPaypal(standIn).authorisations).toBeUndefined()
    const takes = (account: string, currency: RailOrder['currency']) =>
      holds().takes({ account, currency })
    expect(takes('merchant:DESKSHPQ23456', 'USD')).toBe(true)
    expect(takes('merchant:DESKSHPQ23456', 'KWD')).toBe(false)
    expect(takes('desks@example.com', 'USD')).toBe(false)
  })

  it('is placed once for one key, moves nothing, and is honoured for three days', async () => {
    const authorisation = asked()
    const outcome = await holds().place(authorisation)
    expect(outcome).toMatchObject({ kind: 'authorised', amount: 100_000, currency: 'USD' })
    expect(await holds().place(authorisation)).toEqual(outcome)
    expect(standIn.book().totals).toEqual({})
    const left = outcome.kind === 'authorised' ? outcome.untilSeconds - standIn.nowMs() / 1000 : 0
    expect(Math.round(left / 3600)).toBe(72)
    const reference = outcome.kind === 'authorised' ? outcome.reference : ''
    expect(await holds().lookup(authorisation, reference)).toEqual(outcome)
  })

  it('is drawn in parts, each of exactly its amount and once', async () => {
    const reference = await placed()
    const [first, second] = [part(40_000), part(60_000)]
    const drawn = await holds().draw(first, reference)
    expect(drawn).toMatchObject({ kind: 'settled', amount: 40_000, currency: 'USD' })
    expect(await holds().draw(first, reference)).toEqual(drawn)
    expect(await holds().draw(second, reference)).toMatchObject({ kind: 'settled' })
    expect(standIn.book()).toMatchObject({ totals: { USD: 100_000 }, payments: 2 })
    expect(await rail.lookup(first.key, knownOf(first, reference))).toEqual(drawn)

    const toSeconds = Math.floor(standIn.nowMs() / 1000) + 60
    standIn.advance(7 * 3600)
    const page = await rail.statement?.({ fromSeconds: toSeconds - 3600, toSeconds })
    expect(page?.objects.map(({ type, key }) => [type, key])).toEqual([
      ['payment', first.key],
      ['payment', second.key],
    ])
  })

  it('names each step by its key, so that PayPal knows each again', async () => {
    const ids: (string | undefined)[] = []
    const watching = openPaypal(standIn, {
      instrument: standIn.instrument,
      transport: (asked) => {
        if (asked.method === 'POST' && asked.url.pathname.startsWith('/v2/')) {
          expect(asked.headers.prefer).toBe('return=representation')
          ids.push(asked.headers['paypal-request-id'])
        }
        return exchange(asked)
      },
    })
    const [authorisation, order, direct] = [asked(), part(40_000), merchantOrder()]
    const outcome = await holds(watching).place(authorisation)
    const reference = outcome.kind === 'authorised' ? outcome.reference : ''
    await holds(watching).draw(order, reference)
    await holds(watching).void(reference)
    await watching.pay(direct)
    expect(ids).toEqual([
      authorisation.key,
      `${authorisation.key}-auth`,
      `${order.key}-cap`,
      undefined,
      direct.key,
      `${direct.key}-cap`,
    ])
  })

  it('is never drawn above what was authorised, though PayPal allows 115 % of it', async () => {
    const reference = await placed()
    expect(await holds().draw(part(60_000), reference)).toMatchObject({ kind: 'settled' })
    expect(await holds().draw(part(40_001), reference)).toEqual({
      kind: 'notSent',
      reason: 'authorisation_exceeded',
    })
    expect(standIn.book().totals).toEqual({ USD: 60_000 })
  })

  it.each(['resetAfter', 'html200After', 'html502After', 'empty500After', 'hang'] as const)(
    'finds a draw that ended in %s among the captures of its order, and draws it once',
    async (fault) => {
      const quick = openPaypal(standIn, {
        instrument: standIn.instrument,
        timeoutMs: fault === 'hang' ? 1_000 : 10_000,
      })
      const reference = await placed()
      standIn.script({ on: 'capture', fault })
      const order = part(40_000)
      expect(await holds(quick).draw(order, reference)).toMatchObject({ kind: 'unknown' })
      const found = await rail.lookup(order.key, knownOf(order, reference))
      expect(found).toMatchObject({ kind: 'settled', amount: 40_000 })
      expect(await holds().draw(order, reference)).toEqual(found)
      expect(standIn.book()).toMatchObject({ totals: { USD: 40_000 }, payments: 1 })
    },
  )

  it('proves a draw absent that never arrived', async () => {
    const reference = await placed()
    standIn.script({ on: 'capture', fault: 'resetBefore' })
    const order = part(40_000)
    expect(await holds().draw(order, reference)).toMatchObject({ kind: 'unknown' })
    expect(await rail.lookup(order.key, knownOf(order, reference))).toEqual({ kind: 'absent' })
  })

  it('waits for a draw that is pending, which counts against what is left', async () => {
    const reference = await placed()
    standIn.script({ on: 'capture', fault: 'pending' })
    const order = part(90_000)
    const outcome = await holds().draw(order, reference)
    expect(outcome).toMatchObject({ kind: 'pending', awaits: 'rail' })
    expect(await holds().draw(part(20_000), reference)).toMatchObject({ kind: 'notSent' })
    standIn.advance(1)
    const by = outcome.kind === 'pending' ? outcome.reference : ''
    expect(await rail.lookup(order.key, knownOf(order, reference, by))).toMatchObject({
      kind: 'settled',
    })
  })

  it('never reports a draw of another amount than was asked', async () => {
    const reference = await placed()
    standIn.script({ on: 'capture', fault: 'wrongAmount' })
    const order = part(40_000)
    expect(await holds().draw(order, reference)).toMatchObject({ reason: 'amount_differs' })
    expect(await rail.lookup(order.key, knownOf(order, reference))).toMatchObject({
      kind: 'settled',
      amount: 20_000,
    })
  })

  it('is void once it was voided, also the second time, and is drawn no more', async () => {
    const authorisation = asked()
    const reference = await placed(authorisation)
    await holds().draw(part(40_000), reference)
    expect(await holds().void(reference)).toEqual({ kind: 'voided' })
    expect(await holds().void(reference)).toEqual({ kind: 'voided' })
    expect(await holds().lookup(authorisation, reference)).toEqual({ kind: 'voided' })
    expect(await holds().draw(part(1_000), reference)).toMatchObject({
      kind: 'declined',
      reason: 'authorization_voided',
    })
    expect(standIn.book().totals).toEqual({ USD: 40_000 })
  })

  it('cannot be voided after all of it was drawn', async () => {
    const reference = await placed()
    await holds().draw(part(100_000), reference)
    expect(await holds().void(reference)).toMatchObject({
      kind: 'declined',
      reason: 'previously_captured',
    })
  })

  it.each([
    ['a 204', 'return=minimal'],
    ['a representation', 'return=representation'],
  ])('is voided by %s', async (_what, prefer) => {
    const reference = await placed()
    const lazy = openPaypal(standIn, {
      instrument: standIn.instrument,
      transport: (asked) => exchange({ ...asked, headers: { ...asked.headers, prefer } }),
    })
    expect(await holds(lazy).void(reference)).toEqual({ kind: 'voided' })
  })

  it('is over after 29 days, and so is what it would have paid', async () => {
    const authorisation = asked()
    const reference = await placed(authorisation)
    standIn.advance(29 * 24 * 3600)
    expect(await holds().lookup(authorisation, reference)).toEqual({ kind: 'voided' })
    expect(await holds().draw(part(1_000), reference)).toMatchObject({
      kind: 'declined',
      reason: 'authorization_expired',
    })
  })

  it('is found by its order when the answer was lost, and absent when it never arrived', async () => {
    const lost = asked()
    standIn.script({ on: 'authorize', fault: 'resetAfter' })
    const outcome = await holds().place(lost)
    expect(outcome).toMatchObject({ kind: 'unknown', reference: expect.any(String) })
    const by = outcome.kind === 'unknown' ? outcome.reference : undefined
    expect(await holds().lookup(lost, by)).toMatchObject({ kind: 'authorised', amount: 100_000 })

    const never = asked()
    standIn.script({ on: 'authorize', fault: 'resetBefore' })
    const gone = await holds().place(never)
    const byGone = gone.kind === 'unknown' ? gone.reference : undefined
    expect(await holds().lookup(never, byGone)).toEqual({ kind: 'absent' })
    expect(await holds().lookup(never)).toMatchObject({ kind: 'unknown' })
  })

  it('says what PayPal says when it is declined or pending', async () => {
    standIn.script({ on: 'authorize', fault: 'decline' })
    expect(await holds().place(asked())).toMatchObject({
      kind: 'declined',
      reason: 'instrument_declined',
    })
    standIn.script({ on: 'authorize', fault: 'pending' })
    expect(await holds().place(asked())).toMatchObject({ kind: 'pending', awaits: 'rail' })
    standIn.script({ on: 'authorize', fault: 'wrongAmount' })
    expect(await holds().place(asked())).toMatchObject({ reason: 'amount_differs' })
  })

  it('believes no state that it does not know', async () => {
    const transport = rewriting(/"status":"CREATED","amount"/, '"status":"MAYBE","amount"')
    const odd = openPaypal(standIn, { instrument: standIn.instrument, transport })
    expect(await holds(odd).place(asked())).toMatchObject({ reason: 'status_unexpected' })
  })
})
