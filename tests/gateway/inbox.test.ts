/** What a rail's messages do: heard once, asked about, written down with their effect, and never believed by themselves. */
import { describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import { refundKeyOf } from '../../runtime/core/ids.ts'
import type { CommandName } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailOutcome, RailRefundOutcome } from '../../runtime/core/rail.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { message, objectFor, RailWord, strayOf } from './rail-word.ts'
import { settledFor, World } from './world.ts'

/** Work that is put off until a test says so: what follows an answer. */
function handTimers() {
  const waiting = new Set<() => void>()
  return {
    after: (ms: number, act: () => void) => {
      if (ms > 0) return () => undefined
      waiting.add(act)
      return () => void waiting.delete(act)
    },
    run: () => {
      for (const act of waiting) act()
      waiting.clear()
    },
  }
}

function listening() {
  const world = new World()
  const word = new RailWord()
  const timers = handTimers()
  Object.assign(world.rail, { events: word.events })
  const { ledger, rail, clock } = world
  const onAlarm = (alarm: unknown) => void world.alarms.push(alarm)
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const make = (of = ledger) =>
    createReconciler({ ledger: of, rail, clock, timers, onAlarm, onError })
  const reconciler = make()
  const parked = async () => (await ledger.parked(50)).map(({ id }) => id)
  const pay = async (outcome?: (key: string) => RailOutcome) => {
    const { root } = await world.run()
    const leaf = await world.leaf(root)
    if (outcome) world.rail.next.push(async ({ key }) => outcome(key))
    await world.pay(leaf)
    const order = world.rail.orders.at(-1)
    if (order === undefined) throw new Error('expected an order')
    const payment = async () => (await ledger.payment(order.payment)) ?? (await world.onlyPayment())
    return { leaf, order, payment }
  }
  return { world, word, timers, ledger, rail, make, reconciler, parked, pay, errors }
}

const lost = (): RailOutcome => ({ kind: 'unknown', reason: 'reset' })
const declined = (): RailOutcome => ({ kind: 'declined', reason: 'no' })

describe('a message', () => {
  it.each([
    ['forged', 'refused'],
    ['down', 'unverified'],
    ['broken', 'unverified'],
  ])('that is %s is %s, and nothing is written', async (signature, outcome) => {
    const { reconciler, parked, word } = listening()
    expect(await reconciler.hear(message('e1', 'r', signature))).toBe(outcome)
    expect(await parked()).toEqual([])
    expect(word.fetched).toEqual([])
    expect(reconciler.heard().get(outcome as 'refused')).toBe(1)
  })

  it('is durable before it is answered, and taken up only after that', async () => {
    const { reconciler, parked, word, timers } = listening()
    word.objects.set('o', strayOf('o'))
    expect(await reconciler.hear(message('e1', 'o'))).toBe('heard')
    expect(await parked()).toEqual(['e1'])
    expect(word.fetched).toEqual([])
    timers.run()
    await expect.poll(parked).toEqual([])
    expect(word.fetched).toEqual(['o'])
    await reconciler.close()
  })

  it('that could not be written down is no answer', async () => {
    const { make, ledger } = listening()
    const broken = make({
      ...ledger,
      execute: async () => {
        throw new Fault('store_unavailable', 'no disk')
      },
    })
    await expect(broken.hear(message('e1', 'o'))).rejects.toThrow('no disk')
  })

  it('about nothing that moves is done at once', async () => {
    const { reconciler, parked, ledger } = listening()
    expect(await reconciler.hear(message('e1'))).toBe('heard')
    expect(await parked()).toEqual([])
    expect(await ledger.message({ rail: 'simulated', id: 'e1' })).toMatchObject({ state: 'done' })
  })

  it('is heard once, however often it is sent, also when it is done', async () => {
    const { reconciler, word, parked, ledger } = listening()
    word.objects.set('o', strayOf('o'))
    await reconciler.hear(message('e1', 'o'))
    expect(await reconciler.hear(message('e1', 'o'))).toBe('repeated')
    await reconciler.runOnce()
    expect(await reconciler.hear(message('e1', 'other'))).toBe('repeated')
    await reconciler.runOnce()
    expect(word.fetched).toEqual(['o'])
    expect(await parked()).toEqual([])
    expect(await ledger.unacknowledged(9)).toHaveLength(1)
  })

  it('with an id of any kind is still one message', async () => {
    const { reconciler, ledger } = listening()
    const odd = `${'x'.repeat(4_000)}/../ \u{1f600}`
    await reconciler.hear(message(odd, 'o'))
    expect(await reconciler.hear(message(odd, 'o'))).toBe('repeated')
    expect((await ledger.parked(9))[0]?.id).toMatch(/^sha256:/)
  })

  it('is not listened to by more than a few at once', async () => {
    const { reconciler, rail, word } = listening()
    let go: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const { hear } = word.events
    Object.assign(rail, {
      events: { ...word.events, hear: async (m: never) => gate.then(() => hear(m)) },
    })
    const many = Array.from({ length: LIMITS.webhooksAtOnce + 3 }, (_, i) =>
      reconciler.hear(message(`e${i}`)),
    )
    go()
    const outcomes = await Promise.all(many)
    expect(outcomes.filter((outcome) => outcome === 'busy')).toHaveLength(3)
    expect(await reconciler.hear(message('after'))).toBe('heard')
  })
})

describe('a message about a payment of ours', () => {
  it('has the rail asked by our key, and settles on that alone', async () => {
    const { world, word, pay, reconciler, parked } = listening()
    const { order, payment } = await pay(lost)
    // What the object says is not what settles: the look-up does.
    word.objects.set('o', objectFor(order, { amount: minor(1), currency: 'USD' }))
    world.rail.book.set(order.key, settledFor(order))
    await reconciler.hear(message('e1', 'o'))
    world.clock.advance(1)
    await reconciler.runOnce()
    expect(await payment()).toMatchObject({ state: 'settled', settledAmount: 1_000 })
    expect(await parked()).toEqual([])
    expect(world.alarms).toEqual([])
  })

  it('does nothing while the rail has no word by our key', async () => {
    const { word, pay, reconciler, parked } = listening()
    const { order, payment } = await pay(lost)
    word.objects.set('o', objectFor(order))
    await reconciler.hear(message('e1', 'o'))
    await reconciler.runOnce()
    expect((await payment()).state).toBe('unknown')
    expect(await parked()).toEqual(['e1'])
  })

  it('that comes while our own call is under way waits for it', async () => {
    const { world, word, pay, reconciler, parked, make, ledger } = listening()
    let state = ''
    const { order } = await pay((key) => {
      void key
      return lost()
    })
    // As another process finds it that was killed in its call.
    const held = await ledger.payment(order.payment)
    const submitted = { ...held, state: 'submitted' }
    const early = make({
      ...ledger,
      payment: async (id) => (id === order.payment ? (submitted as never) : ledger.payment(id)),
    })
    word.objects.set('o', objectFor(order))
    world.rail.book.set(order.key, settledFor(order))
    await early.hear(message('e1', 'o'))
    await early.runOnce()
    state = (await ledger.payment(order.payment))?.state ?? ''
    expect([state, await parked(), world.rail.lookups]).toEqual(['unknown', ['e1'], []])
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await ledger.payment(order.payment))?.state).toBe('settled')
    expect(await parked()).toEqual([])
  })

  it('is done in the transaction of its effect: a crash in between leaves both undone', async () => {
    const { world, make, ledger, parked, payment } = await crashing()
    const broken = make({
      ...ledger,
      execute: (async (name: CommandName, input: never) => {
        if (name === 'settle') {
          expect(input).toMatchObject({ heard: { rail: 'simulated', id: 'e1' } })
          throw new Fault('store_unavailable', 'killed')
        }
        return ledger.execute(name, input)
      }) as typeof ledger.execute,
    })
    await broken.hear(message('e1', 'o'))
    await expect(broken.runOnce()).rejects.toThrow('killed')
    expect([(await payment()).state, await parked()]).toEqual(['unknown', ['e1']])
    world.clock.advance(5 + LIMITS.leaseSeconds)
    await make().runOnce()
    expect([(await payment()).state, await parked()]).toEqual(['settled', []])
  })

  async function crashing() {
    const all = listening()
    const { order, payment } = await all.pay(lost)
    all.word.objects.set('o', objectFor(order))
    all.world.rail.book.set(order.key, settledFor(order))
    return { ...all, order, payment }
  }

  it('is taken up by one of two gateways', async () => {
    const { make, ledger, word, world, order } = await crashing()
    const [one, two] = [make(), make()]
    await Promise.all([one.hear(message('e1', 'o')), two.hear(message('e1', 'o'))])
    await Promise.all([one.runOnce(), two.runOnce()])
    expect(word.fetched).toEqual(['o'])
    expect((await ledger.message({ rail: 'simulated', id: 'e1' }))?.attempts).toBe(1)
    expect((await ledger.payment(order.payment))?.state).toBe('settled')
    const events = await ledger.events((await world.onlyPayment()).node, 0, 99)
    expect(events.filter(({ body }) => body.includes('"settled"'))).toHaveLength(1)
  })

  it('in any order, once or many times, leaves the same books', async () => {
    const outcomes = new Set<string>()
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 1, 0, 2, 0],
      [2, 2, 0],
    ]) {
      const { make, ledger, world, word, order: ours, payment } = await crashing()
      word.objects.set('back', objectFor(ours, { id: 'rv', type: 'reversal', direction: 'in' }))
      const reconciler = make()
      for (const nth of order) {
        const [id, ref] = [`e${nth}`, nth === 2 ? 'back' : 'o']
        if (nth === 2) world.rail.book.set(ours.key, { ...settledFor(ours), returned: true })
        await reconciler.hear(message(id, ref))
        world.clock.advance(20)
        await reconciler.runOnce()
      }
      world.rail.book.set(ours.key, { ...settledFor(ours), returned: true })
      for (let i = 0; i < 4; i += 1) {
        world.clock.advance(700)
        await reconciler.runOnce()
      }
      const { state, reversals } = await payment()
      const open = (await ledger.parked(9)).length
      const events = await ledger.events((await payment()).node, 0, 99)
      const types = events.map(({ body }) => JSON.parse(body).type).filter((t) => t !== 'opened')
      outcomes.add(JSON.stringify([state, reversals?.map(({ amount }) => amount), open, types]))
    }
    expect([...outcomes]).toEqual([
      JSON.stringify([
        'settled',
        [1_000],
        0,
        ['reserved', 'submitted', 'unknown', 'settled', 'reversed'],
      ]),
    ])
  })

  it('never takes back what is settled: a person is told', async () => {
    const { world, word, pay, reconciler, parked } = listening()
    const { order, payment } = await pay()
    word.objects.set('o', objectFor(order, { status: 'FAILED', moved: false }))
    world.rail.book.set(order.key, { kind: 'declined', reason: 'failed' })
    await reconciler.hear(message('e1', 'o'))
    await reconciler.runOnce()
    expect((await payment()).state).toBe('settled')
    expect(world.alarms).toEqual([{ kind: 'missing_at_rail', payment: order.payment }])
    expect(await parked()).toEqual([])
  })

  it('that the rail settled after it had said no is money from outside, with our payment named', async () => {
    const { world, word, pay, reconciler, parked, ledger } = listening()
    const { order, payment, leaf } = await pay(declined)
    expect((await payment()).state).toBe('released')
    const before = await ledger.account(leaf.id)
    word.objects.set('o', objectFor(order))
    world.rail.book.set(order.key, settledFor(order))
    await reconciler.hear(message('e1', 'o'))
    await reconciler.hear(message('e2', 'o'))
    await reconciler.runOnce()
    expect((await payment()).state).toBe('released')
    expect(await ledger.account(leaf.id)).toEqual(before)
    expect(await ledger.unacknowledged(9)).toMatchObject([
      { object: `ref-${order.key}`, payment: order.payment, amount: 1_000 },
    ])
    expect(world.alarms).toEqual([{ kind: 'late_settlement', payment: order.payment }])
    expect(await parked()).toEqual([])
  })

  it('notes what came back, the last of it together with the end of the message', async () => {
    const { world, parked, ledger, payment, order, make } = await crashing()
    const back = [
      { id: 'a', kind: 'refunded', amount: minor(100) },
      { id: 'b', kind: 'refunded', amount: minor(200) },
    ] as const
    world.rail.book.set(order.key, { ...settledFor(order), back })
    const heardBy: unknown[] = []
    const watched = make({
      ...ledger,
      execute: (async (name: CommandName, input: { heard?: unknown; id?: string }) => {
        if (input.heard !== undefined) heardBy.push([name, input.id])
        return ledger.execute(name, input as never)
      }) as typeof ledger.execute,
    })
    await watched.hear(message('e1', 'o'))
    await watched.runOnce()
    expect((await payment()).reversals).toMatchObject([{ id: 'a' }, { id: 'b' }])
    expect(heardBy[0]).toEqual(['reverse', 'b'])
    expect(await parked()).toEqual([])
  })

  it('about a refund of ours has that refund asked about', async () => {
    const { world, word, pay, parked, ledger, rail, make } = listening()
    const { payment } = await pay()
    let found: RailRefundOutcome = { kind: 'unknown', reason: 'late' }
    Object.assign(rail, { refunds: { make: async () => found, lookup: async () => found } })
    world.rebuild({ rail })
    const { id } = await payment()
    const said = await world.gateway.refund({
      ...{ payment: id, amount: minor(300), idempotencyKey: 'one', by: 'op' },
    })
    if (!said.ok) throw new Error(said.code)
    const key = refundKeyOf(said.refund.id)
    const moved = strayOf('rf', { type: 'refund', direction: 'in', key })
    word.objects.set('o', moved)
    const reconciler = make()
    await reconciler.hear(message('e1', 'o'))
    world.clock.advance(60)
    await reconciler.runOnce()
    expect([(await payment()).refunds?.[0]?.state, await parked()]).toEqual(['unknown', ['e1']])
    found = { kind: 'refunded', reference: 'rf', amount: minor(300), currency: 'INR' }
    world.clock.advance(60)
    await reconciler.runOnce()
    expect([(await payment()).refunds?.[0]?.state, await parked()]).toEqual(['made', []])
    expect(await ledger.unacknowledged(9)).toEqual([])
    expect(await ledger.message({ rail: 'simulated', id: 'e1' })).toMatchObject({ state: 'done' })
  })
})

describe('a message about somebody else’s money', () => {
  it('is one record and one alarm, whatever it is called and however often', async () => {
    const { word, world, reconciler, ledger } = listening()
    word.objects.set('o', strayOf('po_1', { key: 'hg-of-another-gateway' }))
    for (const id of ['e1', 'e2']) await reconciler.hear(message(id, 'o'))
    await reconciler.runOnce()
    const [outside, ...more] = await ledger.unacknowledged(9)
    expect(more).toEqual([])
    expect(outside).toMatchObject({ rail: 'simulated', object: 'po_1', currency: 'EUR' })
    expect(outside).not.toHaveProperty('payment')
    expect(world.alarms).toEqual([{ kind: 'outside', outside: outside?.id }])
  })

  it('that has not moved says nothing yet', async () => {
    const { word, reconciler, ledger, parked } = listening()
    word.objects.set('o', strayOf('po_1', { moved: false }))
    await reconciler.hear(message('e1', 'o'))
    await reconciler.runOnce()
    expect([await ledger.unacknowledged(9), await parked()]).toEqual([[], []])
  })

  it('is ours where it takes back what is ours, by the rail’s own id', async () => {
    const { word, world, pay, reconciler, ledger, parked } = listening()
    const { order, payment } = await pay()
    const back = { type: 'refund', direction: 'in', of: `ref-${order.key}` } as const
    word.objects.set('o', strayOf('rf_9', back))
    await reconciler.hear(message('e1', 'o'))
    await reconciler.runOnce()
    expect([(await payment()).reversals, await parked()]).toEqual([undefined, ['e1']])
    const said = [{ id: 'rf_9', kind: 'refunded', amount: minor(50) }] as const
    world.rail.book.set(order.key, { ...settledFor(order), back: said })
    world.clock.advance(10)
    await reconciler.runOnce()
    expect((await payment()).reversals).toMatchObject([{ id: 'rf_9', amount: 50 }])
    expect([await ledger.unacknowledged(9), await parked()]).toEqual([[], []])
  })
})

describe('a message that cannot be understood', () => {
  it('holds up no other, is given up on never, and is an alarm after a day', async () => {
    const { word, world, reconciler, parked, ledger } = listening()
    const many = Array.from({ length: LIMITS.messagesPerRound }, (_, i) => `bad${i}`)
    for (const id of many) await reconciler.hear(message(id, 'nowhere'))
    world.clock.advance(1)
    word.objects.set('o', strayOf('o'))
    await reconciler.hear(message('good', 'o'))
    await reconciler.runOnce()
    await reconciler.runOnce()
    expect(await parked()).toHaveLength(many.length)
    expect(await ledger.unacknowledged(9)).toHaveLength(1)
    world.clock.advance(LIMITS.messageStuckSeconds)
    await reconciler.runOnce()
    await reconciler.runOnce()
    world.clock.advance(3_600)
    await reconciler.runOnce()
    expect(world.alarms.slice(1)).toEqual(
      many.map((id) => ({ kind: 'webhook_stuck', message: id })),
    )
    word.objects.set('nowhere', strayOf('late', { moved: false }))
    world.clock.advance(3_600)
    await reconciler.runOnce()
    expect(await parked()).toEqual([])
  })

  it('fails no other: the first fault is thrown after all were tried', async () => {
    const { word, reconciler, ledger, rail, parked } = listening()
    word.objects.set('o', strayOf('o'))
    await reconciler.hear(message('bad', 'x'))
    await reconciler.hear(message('good', 'o'))
    const { fetch } = word.events
    word.objects.set('x', strayOf('x', { currency: 'not money' }))
    Object.assign(rail, { events: { ...word.events, fetch } })
    await expect(reconciler.runOnce()).rejects.toThrow()
    expect(await parked()).toEqual(['bad'])
    expect(await ledger.unacknowledged(9)).toHaveLength(1)
  })
})
