/** Money of a settled payment that comes back: heard by look-up, noted once, and put to use by a person alone. */
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailOutcomeOf, RailReversal } from '../../runtime/core/rail.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { type Leaf, settledFor, World } from './world.ts'

type Settled = RailOutcomeOf<'settled'>

async function settled(count = 1) {
  const world = new World()
  world.rail.truth = Object.assign(world.rail.truth, { afterSuccess: ['reversed'] })
  const { root } = await world.run()
  const leaves: Leaf[] = []
  for (let i = 0; i < count; i += 1) {
    const leaf = await world.leaf(root)
    await world.pay(leaf)
    leaves.push(leaf)
  }
  const { ledger, rail, clock } = world
  const alarms: unknown[] = []
  const onAlarm = (alarm: unknown) => void alarms.push(alarm)
  const reconciler = createReconciler({ ledger, rail, clock, onAlarm })
  const says = (change: Partial<Settled>, nth = 0) => {
    const order = rail.orders[nth]
    if (order === undefined) throw new Error('expected an order')
    rail.book.set(order.key, { ...settledFor(order), ...change })
  }
  const [leaf] = leaves
  if (leaf === undefined) throw new Error('expected a leaf')
  const account = async () => {
    const { available, spent, reversed } = (await ledger.account(leaf.id)) ?? {}
    return { available, spent, reversed }
  }
  return { world, reconciler, says, alarms, account }
}

const refund = (id: string, amount: number): RailReversal => {
  return { id, kind: 'refunded', amount: minor(amount) }
}

describe('a late reversal', () => {
  it('is heard by look-up, stays spent, and is told of once', async () => {
    const { world, reconciler, says, alarms, account } = await settled()
    const { id } = await world.onlyPayment()
    expect((await reconciler.runOnce()).reversed).toEqual([])
    says({ returned: true })
    await reconciler.runOnce()
    await reconciler.runOnce()
    await reconciler.runOnce()
    expect(await account()).toEqual({ available: 0, spent: 1_000, reversed: 1_000 })
    expect(alarms).toEqual([{ kind: 'reversed', payment: id }])
  })

  it('is heard also of a payment whose settlement was not known before', async () => {
    const { world, leaf, reconciler } = await unknownThenReturned()
    world.clock.advance(60)
    expect((await reconciler.runOnce()).settled).toHaveLength(1)
    const account = await world.ledger.account(leaf.id)
    expect(account).toMatchObject({ available: 0, spent: 1_000, reversed: 1_000 })
  })

  async function unknownThenReturned() {
    const world = new World()
    const { root } = await world.run()
    const leaf = await world.leaf(root)
    world.rail.next.push(async (order) => {
      world.rail.book.set(order.key, { ...settledFor(order), returned: true })
      return { kind: 'unknown', reason: 'reset' }
    })
    await world.pay(leaf)
    const { ledger, rail, clock } = world
    return { world, leaf, reconciler: createReconciler({ ledger, rail, clock }) }
  }

  it('comes in parts, each of the rail’s ids once, and a whole after them is the rest', async () => {
    const { reconciler, says, account } = await settled()
    says({ back: [refund('a', 300)] })
    for (let i = 0; i < 3; i += 1) await reconciler.runOnce()
    expect((await account()).reversed).toBe(300)
    says({ back: [refund('a', 300), refund('b', 200)] })
    for (let i = 0; i < 3; i += 1) await reconciler.runOnce()
    expect((await account()).reversed).toBe(500)
    says({ returned: true })
    for (let i = 0; i < 3; i += 1) await reconciler.runOnce()
    expect(await account()).toEqual({ available: 0, spent: 1_000, reversed: 1_000 })
  })

  it('of more than was settled, or in another currency, is noted not at all', async () => {
    const { reconciler, says, alarms, account } = await settled()
    says({ back: [refund('a', 1_001)] })
    await reconciler.runOnce()
    expect(alarms).toMatchObject([{ kind: 'rail_amount' }])
    says({ returned: true, currency: 'USD' })
    await reconciler.runOnce()
    await reconciler.runOnce()
    expect((await account()).reversed).toBe(0)
  })

  it('is looked for at a few payments a round, in turn at all, and for as long as one may come', async () => {
    const count = LIMITS.watchedPayments + 2
    const { world, reconciler, says } = await settled(count)
    says({ returned: true }, count - 1)
    const first = await reconciler.runOnce()
    expect(world.rail.lookups).toHaveLength(LIMITS.watchedPayments)
    const second = await reconciler.runOnce()
    expect(world.rail.lookups).toHaveLength(count)
    expect([...first.reversed, ...second.reversed]).toHaveLength(1)
    world.clock.advance(LIMITS.watchSeconds)
    await reconciler.runOnce()
    expect(world.rail.lookups).toHaveLength(count)
  })

  it('is not asked for of a rail on which nothing comes back', async () => {
    const { world, reconciler } = await settled()
    world.rail.truth = { ...world.rail.truth, afterSuccess: [] }
    await reconciler.runOnce()
    expect(world.rail.lookups).toEqual([])
  })

  it('holds up nothing that waits: a rail that does not answer is asked once a round', async () => {
    const { world, reconciler } = await settled(3)
    world.rail.lookup = async (key) => {
      world.rail.lookups.push(key)
      return { kind: 'unknown', reason: 'down' }
    }
    await reconciler.runOnce()
    expect(world.rail.lookups).toHaveLength(1)
  })

  it('is available again on a person’s word, as much as came back', async () => {
    const { world, reconciler, says, account } = await settled()
    says({ back: [refund('a', 300)] })
    await reconciler.runOnce()
    const payment = (await world.onlyPayment()).id
    const word = { payment, evidence: 'statement 9', by: 'operator:token' }
    const regain = (seen: number) => world.gateway.regain({ ...word, reversedAmount: minor(seen) })
    expect(await regain(1_000)).toEqual({ ok: false, code: 'stale' })
    expect((await regain(300)).ok).toBe(true)
    expect(await regain(300)).toEqual({ ok: false, code: 'conflict' })
    expect(await account()).toEqual({ available: 300, spent: 700, reversed: 0 })
  })
})
