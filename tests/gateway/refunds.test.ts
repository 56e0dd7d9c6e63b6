/** What a gateway makes of a rail's word on a refund, and of a rail that makes none. */
import { describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailRefund, RailRefundOutcome } from '../../runtime/core/rail.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { World } from './world.ts'

type Said = (order: RailRefund) => Promise<RailRefundOutcome>

async function settled(said?: Said, found?: Said) {
  const world = new World()
  const orders: RailRefund[] = []
  const heard = (answer: Said) => async (order: RailRefund) => {
    orders.push(order)
    return answer(order)
  }
  const rail = Object.assign(
    world.rail,
    said === undefined ? {} : { refunds: { make: heard(said), lookup: found ?? said } },
  )
  world.rebuild({ rail })
  const { root } = await world.run()
  const leaf = await world.leaf(root)
  await world.pay(leaf)
  const { id } = await world.onlyPayment()
  const refund = (amount = 400, idempotencyKey = 'one') =>
    world.gateway.refund({ payment: id, amount: minor(amount), idempotencyKey, by: 'op' })
  const { ledger, clock } = world
  const onAlarm = (alarm: unknown) => void world.alarms.push(alarm)
  const reconciler = createReconciler({ ledger, rail, clock, onAlarm })
  return { world, orders, id, refund, reconciler }
}

const made =
  (change: Partial<Extract<RailRefundOutcome, { kind: 'refunded' }>> = {}): Said =>
  async ({ key, amount, currency }) => ({
    ...{ kind: 'refunded', reference: `ref-${key}`, amount, currency },
    ...change,
  })

const stateOf = (said: Awaited<ReturnType<Awaited<ReturnType<typeof settled>>['refund']>>) =>
  said.ok ? said.refund.state : said.code

describe('a refund', () => {
  it('is asked for by keys that derive, with the payment’s own currency and account', async () => {
    const { orders, refund, id, world } = await settled(made())
    expect(stateOf(await refund())).toBe('made')
    const { railKey, railReference, account } = await world.onlyPayment()
    expect(orders).toEqual([
      {
        payment: id,
        key: expect.stringMatching(/^hg-/),
        paymentKey: railKey,
        paymentAccount: account,
        paymentReference: railReference,
        amount: 400,
        currency: 'INR',
      },
    ])
    expect(orders[0]?.key).not.toBe(railKey)
    await refund(400, 'two')
    expect(new Set(orders.map(({ key }) => key)).size).toBe(2)
  })

  it.each([
    ['another amount', { amount: minor(399) }, 'rail_amount'],
    ['another currency', { currency: 'USD' }, 'rail_currency'],
  ] as const)(
    'of %s than was asked is never clipped: unknown, with one alarm',
    async (_what, change, kind) => {
      const { refund, world, id, reconciler } = await settled(made(change))
      expect(stateOf(await refund())).toBe('unknown')
      expect(world.alarms).toEqual([{ kind, payment: id }])
      world.clock.advance(600)
      await reconciler.runOnce()
      expect(world.alarms).toEqual([{ kind, payment: id }])
      expect((await world.onlyPayment()).reversals).toBeUndefined()
    },
  )

  it('that the rail names as another one is unknown, with one alarm, and the other stays as it was', async () => {
    const { refund, world, id, reconciler } = await settled(made({ reference: 'one-for-both' }))
    expect(stateOf(await refund(400, 'one'))).toBe('made')
    expect(stateOf(await refund(400, 'two'))).toBe('unknown')
    expect(world.alarms).toEqual([{ kind: 'rail_amount', payment: id }])
    world.clock.advance(600)
    await reconciler.runOnce()
    expect(world.alarms).toEqual([{ kind: 'rail_amount', payment: id }])
    const { refunds, reversals } = await world.onlyPayment()
    expect(refunds?.map(({ state }) => state)).toEqual(['made', 'unknown'])
    expect(reversals).toMatchObject([{ id: 'one-for-both', amount: 400 }])
  })

  it('that cannot be written down holds up no other one', async () => {
    const silent: Said = async () => ({ kind: 'unknown', reason: 'late' })
    const { refund, world, reconciler } = await settled(silent, made())
    await refund(400, 'one')
    await refund(300, 'two')
    const execute = world.ledger.execute.bind(world.ledger)
    world.ledger.execute = async (name, input) => {
      if (name === 'refunded' && 'amount' in input && input.amount === 400) {
        throw new Fault('ledger_corrupt', 'its account', { retryable: false })
      }
      return execute(name, input)
    }
    world.clock.advance(600)
    await expect(reconciler.runOnce()).rejects.toThrow('its account')
    const { refunds } = await world.onlyPayment()
    expect(refunds?.map(({ state }) => state)).toEqual(['unknown', 'made'])
  })

  it('stays unknown, with an alarm, where the rail has sent more back by itself meanwhile', async () => {
    let reverse: (() => Promise<unknown>) | undefined
    const { refund, world, id } = await settled(async (order) => {
      await reverse?.()
      return made()(order)
    })
    reverse = () =>
      world.ledger.execute('reverse', {
        ...{ payment: id, id: 'rvrs', kind: 'reversed', amount: minor(1_000) },
        now: (world.clock.nowMs() / 1000) as never,
      })
    expect(stateOf(await refund())).toBe('unknown')
    expect(world.alarms).toContainEqual({ kind: 'rail_amount', payment: id })
  })

  it('by a rail that throws or never answers is unknown, and looked up later', async () => {
    const { refund, world, reconciler, orders } = await settled(async () => {
      throw new Error('socket')
    }, made())
    expect(stateOf(await refund())).toBe('unknown')
    world.clock.advance(30)
    expect((await reconciler.runOnce()).reversed).toEqual([])
    world.clock.advance(120)
    expect((await reconciler.runOnce()).reversed).toHaveLength(1)
    expect(stateOf(await refund())).toBe('made')
    expect(orders).toHaveLength(1)
  })

  it('that could not begin in time is not sent', async () => {
    const { refund, world, orders } = await settled(made())
    const execute = world.ledger.execute.bind(world.ledger)
    const slow: typeof execute = async (name, input) => {
      const result = await execute(name, input)
      if (name === 'refund') world.clock.advance(6)
      return result
    }
    world.rebuild({ ledger: { ...world.ledger, execute: slow } })
    const said = await refund()
    expect(said.ok && said.refund).toMatchObject({ state: 'failed', reason: 'too_late' })
    expect(orders).toEqual([])
  })

  it('is refused where the rail makes none, or is another than the payment’s', async () => {
    const { refund } = await settled()
    await expect(refund()).rejects.toMatchObject({ code: 'refund_rejected', claim: 'rail' })
    const other = await settled(made())
    other.world.rebuild({ facts: { ...other.world.deps.facts, railName: 'another' } })
    await expect(other.refund()).rejects.toMatchObject({ code: 'refund_rejected' })
    expect(other.orders).toEqual([])
  })

  it('is asked about by one of two gateways at a time', async () => {
    let asked = 0
    const { refund, world, reconciler } = await settled(
      async () => ({ kind: 'unknown', reason: 'late' }),
      async () => {
        asked += 1
        return { kind: 'unknown', reason: 'late' }
      },
    )
    await refund()
    world.clock.advance(120)
    const { ledger, rail, clock } = world.deps
    await Promise.all([reconciler.runOnce(), createReconciler({ ledger, rail, clock }).runOnce()])
    expect(asked).toBe(1)
  })
})
