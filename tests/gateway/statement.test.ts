/** The rail's own list against the ledger: both ways, object by object, each second in one comparison. */
import { describe, expect, it } from 'vitest'
import { refundKeyOf } from '../../runtime/core/ids.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type {
  Rail,
  RailObject,
  RailOrder,
  RailOutcome,
  RailRefunds,
} from '../../runtime/core/rail.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { message, objectFor, RailWord, strayOf } from './rail-word.ts'
import { at, START, settledFor, World } from './world.ts'

const SKEW = LIMITS.statementSkewSeconds

function listing() {
  const world = new World()
  const word = new RailWord()
  Object.assign(world.rail, { events: word.events, statement: word.statement })
  const { ledger, rail, clock } = world
  const onAlarm = (alarm: unknown) => void world.alarms.push(alarm)
  const make = () => createReconciler({ ledger, rail, clock, onAlarm })
  const pay = async (outcome?: () => RailOutcome): Promise<RailOrder> => {
    const { root } = await world.run()
    const leaf = await world.leaf(root)
    if (outcome) world.rail.next.push(async () => outcome())
    await world.pay(leaf)
    const order = world.rail.orders.at(-1)
    if (order === undefined) throw new Error('expected an order')
    return order
  }
  const list = (...objects: RailObject[]) => void word.list.push(...objects)
  const reconciler = make()
  const compare = async (from?: number) => {
    const said = await reconciler.compare(from === undefined ? undefined : at(from - START))
    if (said === undefined) throw new Error('expected a list')
    return said
  }
  return { world, word, ledger, rail, clock, pay, list, reconciler, compare }
}

const lost = (): RailOutcome => ({ kind: 'unknown', reason: 'reset' })
const declined = (): RailOutcome => ({ kind: 'declined', reason: 'no' })

describe('the rail’s list', () => {
  it('is none at a rail that has none', async () => {
    const { ledger, rail, clock } = new World()
    const reconciler = createReconciler({ ledger, rail, clock })
    expect(await reconciler.compare()).toBeUndefined()
  })

  it('that has what we have is equal, and says so per currency', async () => {
    const { pay, list, compare, clock, world } = listing()
    for (let i = 0; i < 5; i += 1) list(objectFor(await pay()))
    clock.advance(10)
    expect(await compare()).toMatchObject({
      ...{ objects: 5, lines: [], unequal: 0, differs: false },
      totals: [{ currency: 'INR', ours: 5_000, acknowledged: 0, rail: 5_000, difference: 0 }],
    })
    expect(world.alarms).toEqual([])
  })

  it('is read on from where it was whole, around it by the skew of two clocks, all pages of it', async () => {
    const { pay, list, compare, clock, word, ledger } = listing()
    list(objectFor(await pay()), ...['a', 'b', 'c', 'd'].map((id) => strayOf(id)))
    word.completeUntilSeconds = START + 4
    clock.advance(10)
    const first = await compare()
    expect([first.fromSeconds, first.untilSeconds, first.objects]).toEqual([START, START + 4, 5])
    expect(word.pages.map(({ after }) => after)).toEqual([undefined, '2', '4'])
    expect(word.pages[0]?.fromSeconds).toBe(START - SKEW)
    word.completeUntilSeconds = START + 8
    list(strayOf('e', { atSeconds: START + 5 }), strayOf('f', { atSeconds: START + 9 }))
    const second = await compare()
    expect([second.fromSeconds, second.untilSeconds, second.objects]).toEqual([
      START + 4,
      START + 8,
      1,
    ])
    word.completeUntilSeconds = START + 10
    expect((await compare()).objects).toBe(1)
    expect(await ledger.walk('simulated')).toEqual({ rail: 'simulated', untilSeconds: START + 10 })
    expect((await compare(START)).objects).toBe(7)
    expect(await ledger.walk('simulated')).toEqual({ rail: 'simulated', untilSeconds: START + 10 })
  })

  it('whose pages shift while they are read has each movement once', async () => {
    const { pay, compare, clock, word, world, rail } = listing()
    const paid = objectFor(await pay())
    const stray = strayOf('a')
    const pages = [
      [paid, stray],
      [stray, paid, strayOf('b')],
    ]
    const statement: Rail['statement'] = async ({ after }) => ({
      objects: pages[Number(after ?? 0)] ?? [],
      completeUntilSeconds: word.completeUntilSeconds,
      ...(after === undefined ? { next: '1' } : {}),
    })
    Object.assign(rail, { statement })
    clock.advance(10)
    const said = await compare()
    expect(said.objects).toBe(3)
    expect(said.lines.map(({ kind }) => kind)).toEqual(['outside', 'outside'])
    expect(world.alarms).toMatchObject([{ kind: 'outside' }, { kind: 'outside' }])
  })

  it('that is asked for from later on leaves no gap behind', async () => {
    const { compare, clock, ledger, list } = listing()
    clock.advance(100)
    await compare(START)
    clock.advance(100)
    list(strayOf('a', { atSeconds: START + 120 }))
    expect((await compare(START + 150)).objects).toBe(0)
    expect((await ledger.walk('simulated'))?.untilSeconds).toBe(START + 100)
    expect((await compare()).objects).toBe(1)
  })

  it('that cannot be read is a fault, and nothing counts as read', async () => {
    const { compare, rail, ledger } = listing()
    Object.assign(rail, { statement: async () => Promise.reject(new Error('down')) })
    await expect(compare()).rejects.toThrow('down')
    expect(await ledger.walk('simulated')).toBeUndefined()
  })

  it('with money of nobody’s is one record and one alarm, the same that a message tells of', async () => {
    const { list, compare, clock, word, world, reconciler, ledger } = listing()
    const stray = strayOf('po_1')
    list(stray, strayOf('in_1', { direction: 'in', amount: minor(200) }))
    word.objects.set('o', stray)
    await reconciler.hear(message('e1', 'o'))
    await reconciler.runOnce()
    clock.advance(1)
    const said = await compare(START)
    expect(said).toMatchObject({
      differs: true,
      totals: [{ currency: 'EUR', ours: 0, rail: 7_500, difference: 7_500 }],
      lines: [
        { kind: 'outside', object: 'po_1' },
        { kind: 'outside', object: 'in_1', rail: -200 },
      ],
    })
    expect(await ledger.unacknowledged(9)).toHaveLength(2)
    expect(world.alarms).toHaveLength(2)
    await compare(START)
    expect(world.alarms).toHaveLength(2)
  })

  it('differs no more in what a person has acknowledged', async () => {
    const { list, compare, clock, ledger, world } = listing()
    list(strayOf('po_1'))
    clock.advance(1)
    await compare(START)
    const [outside] = await ledger.unacknowledged(1)
    if (outside === undefined) throw new Error('expected one')
    const word = { outside: outside.id, evidence: 'rent', by: 'operator:asha' }
    expect((await world.gateway.acknowledge(word)).ok).toBe(true)
    expect(await compare(START)).toMatchObject({
      differs: false,
      totals: [{ acknowledged: 7_700, rail: 7_700, difference: 0 }],
      lines: [{ kind: 'outside', acknowledged: true }],
    })
  })

  it('with another amount than ours is an alarm', async () => {
    const { pay, list, compare, clock, world } = listing()
    const order = await pay()
    list(objectFor(order, { amount: minor(1_001) }))
    clock.advance(1)
    expect(await compare()).toMatchObject({
      differs: true,
      totals: [{ ours: 1_000, rail: 1_001, difference: 1 }],
      lines: [{ kind: 'amount', payment: order.payment }],
    })
    expect(world.alarms).toEqual([{ kind: 'rail_amount', payment: order.payment }])
  })

  it('with one payment of ours twice differs', async () => {
    const { pay, list, compare, clock } = listing()
    const order = await pay()
    list(objectFor(order), objectFor(order, { id: 'again' }))
    clock.advance(1)
    expect((await compare()).totals).toMatchObject([
      { ours: 1_000, rail: 2_000, difference: 1_000 },
    ])
  })

  it('ends what we had no word on, by looking it up', async () => {
    const { pay, list, compare, clock, world, ledger } = listing()
    const order = await pay(lost)
    list(objectFor(order))
    clock.advance(60)
    expect(await compare()).toMatchObject({ differs: false, lines: [{ kind: 'waiting' }] })
    expect((await ledger.payment(order.payment))?.state).toBe('unknown')
    world.rail.book.set(order.key, settledFor(order))
    expect(await compare(START)).toMatchObject({ differs: false, unequal: 0 })
    expect((await ledger.payment(order.payment))?.state).toBe('settled')
  })

  it('with what we had released is money from outside, and an alarm', async () => {
    const { pay, list, compare, clock, world } = listing()
    const order = await pay(declined)
    list(objectFor(order))
    world.rail.book.set(order.key, settledFor(order))
    clock.advance(1)
    for (let i = 0; i < 2; i += 1) {
      expect(await compare(START)).toMatchObject({
        differs: true,
        lines: [{ kind: 'late_settlement', payment: order.payment }],
      })
    }
    expect(world.alarms).toEqual([{ kind: 'late_settlement', payment: order.payment }])
  })

  it('without a payment that we call settled is an alarm, once it is whole past it by any clock', async () => {
    const { pay, compare, clock, world } = listing()
    const order = await pay()
    clock.advance(SKEW - 1)
    expect((await compare()).differs).toBe(false)
    expect(world.alarms).toEqual([])
    clock.advance(1)
    expect(await compare()).toMatchObject({
      differs: true,
      totals: [{ ours: 1_000, rail: 0, difference: -1_000 }],
      lines: [{ kind: 'missing', payment: order.payment }],
    })
    expect(world.alarms).toEqual([{ kind: 'missing_at_rail', payment: order.payment }])
    clock.advance(SKEW)
    expect((await compare()).unequal).toBe(0)
    expect(world.alarms).toHaveLength(1)
  })

  it('that dates a payment before the last comparison ended still has it', async () => {
    const { pay, compare, clock, world, list } = listing()
    clock.advance(100)
    await compare(START)
    const order = await pay()
    list(objectFor(order, { atSeconds: START + 40 }))
    clock.advance(2 * SKEW)
    expect((await compare()).unequal).toBe(0)
    expect(world.alarms).toEqual([])
  })

  it('notes what came back, and is equal in that too', async () => {
    const { pay, list, compare, clock, world, ledger, rail } = listing()
    const order = await pay()
    const refunds: RailRefunds = {
      make: async ({ amount, currency }) => {
        return { kind: 'refunded', reference: 'rf', amount, currency }
      },
      lookup: async () => ({ kind: 'absent' }),
    }
    world.rebuild({ rail: Object.assign(rail, { refunds }) })
    const word = { payment: order.payment, amount: minor(300), idempotencyKey: 'one', by: 'op' }
    const refund = await world.gateway.refund(word)
    if (!refund.ok) throw new Error(refund.code)
    const back = { direction: 'in', currency: 'INR' } as const
    const key = refundKeyOf(refund.refund.id)
    list(
      objectFor(order),
      strayOf('rf', { ...back, type: 'refund', key, amount: minor(300) }),
      strayOf('rv', { ...back, type: 'reversal', of: `ref-${order.key}`, amount: minor(100) }),
    )
    world.rail.book.set(order.key, {
      ...settledFor(order),
      back: [
        { id: 'rf', kind: 'refunded', amount: minor(300) },
        { id: 'rv', kind: 'reversed', amount: minor(100) },
      ],
    })
    clock.advance(60)
    expect(await compare()).toMatchObject({
      differs: false,
      totals: [{ ours: 600, rail: 600, difference: 0 }],
    })
    expect((await ledger.payment(order.payment))?.reversals).toMatchObject([
      { id: 'rf' },
      { id: 'rv' },
    ])
    expect(await ledger.unacknowledged(9)).toEqual([])
  })

  it('with more back than is noted differs', async () => {
    const { pay, list, compare, clock, world } = listing()
    const order = await pay()
    const back = { direction: 'in', currency: 'INR', type: 'reversal', key: order.key } as const
    list(objectFor(order), strayOf('rv', { ...back, amount: minor(400) }))
    const some = [{ id: 'x', kind: 'reversed', amount: minor(300) }] as const
    world.rail.book.set(order.key, { ...settledFor(order), back: some })
    clock.advance(60)
    expect(await compare()).toMatchObject({
      differs: true,
      totals: [{ ours: 700, rail: 600, difference: -100 }],
    })
  })
})
