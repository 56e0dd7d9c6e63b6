/** Payments on which the rail stays silent: who asks, and who is told. */
import { afterEach, describe, expect, it } from 'vitest'
import { parseEvent } from '../../runtime/core/events.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { settledFor, World } from './world.ts'

async function silent() {
  const world = new World()
  const { root } = await world.run()
  const leaf = await world.leaf(root)
  world.rail.next.push(async () => ({ kind: 'unknown', reason: 'late' }))
  await world.pay(leaf)
  const { railKey } = await world.onlyPayment()
  world.rail.book.set(railKey, { kind: 'unknown', reason: 'late' })
  const { ledger, rail, clock } = world
  const alarms: unknown[] = []
  const another = () =>
    createReconciler({ ledger, rail, clock, onAlarm: (alarm) => void alarms.push(alarm) })
  return { world, leaf, railKey, another, alarms, reconciler: another() }
}

describe('a payment that stays unknown', () => {
  it('raises one alarm and one event when it is old enough, and not before', async () => {
    const { world, leaf, reconciler, alarms } = await silent()
    const { id } = await world.onlyPayment()
    world.clock.ms += LIMITS.overdueMs
    expect(await reconciler.runOnce()).toMatchObject({ waiting: [id], overdue: [] })
    world.clock.ms += 1
    expect((await reconciler.runOnce()).overdue).toEqual([id])
    world.clock.advance(3600)
    expect(await reconciler.runOnce()).toMatchObject({ waiting: [id], overdue: [] })
    expect(alarms).toEqual([{ kind: 'overdue', payment: id }])
    const events = (await world.ledger.events(leaf.id, 0, 100)).map(({ body }) => parseEvent(body))
    expect(events.filter(({ type }) => type === 'overdue')).toHaveLength(1)
  })

  it('raises none when the rail ends it in that very round', async () => {
    const { world, railKey, reconciler, alarms } = await silent()
    const { amount } = await world.onlyPayment()
    const [order] = world.rail.orders
    if (order === undefined) throw new Error('expected an order')
    world.rail.book.set(railKey, { ...settledFor(order), amount })
    world.clock.ms += LIMITS.overdueMs + 1
    expect(await reconciler.runOnce()).toMatchObject({ waiting: [], overdue: [] })
    expect(alarms).toEqual([])
  })
})

describe('payments that nobody can clear', () => {
  const limits: { pageItems: number } = LIMITS
  const { pageItems } = LIMITS
  afterEach(() => {
    limits.pageItems = pageItems
  })

  it('hold up no younger one, however many they are: it is asked about and settled', async () => {
    const { world, reconciler } = await silent()
    const { root } = await world.run()
    const order = { kind: 'unknown', reason: 'late' } as const
    world.rail.next.push(async () => order)
    await world.pay(await world.leaf(root))
    const youngest = world.rail.orders.at(-1)
    if (youngest === undefined) throw new Error('expected an order')
    world.rail.book.set(youngest.key, settledFor(youngest))
    limits.pageItems = 1
    world.clock.advance(60)
    expect((await reconciler.runOnce()).settled).toEqual([youngest.payment])
  })
})

describe('two gateways on one store', () => {
  it('do not both ask about a payment, and the other takes over once the lease has ended', async () => {
    const { world, reconciler, another } = await silent()
    const second = another()
    world.clock.advance(60)
    const { id } = await world.onlyPayment()
    expect((await reconciler.runOnce()).waiting).toEqual([id])
    expect((await second.runOnce()).waiting).toEqual([])
    expect((await reconciler.runOnce()).waiting).toEqual([id])
    expect(world.rail.lookups).toHaveLength(2)
    world.clock.advance(LIMITS.leaseSeconds)
    expect((await second.runOnce()).waiting).toEqual([id])
    expect((await reconciler.runOnce()).waiting).toEqual([])
  })
})
