import { describe, expect, it } from 'vitest'
import type { MonitorAnswer } from '../../runtime/core/judges.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailOutcome, RailOutcomeOf } from '../../runtime/core/rail.ts'
import type { PaymentRecord } from '../../runtime/core/records.ts'
import { assemble } from '../../runtime/gateway/gate.ts'
import { mayCallRail } from '../../runtime/gateway/rail.ts'
import { createReconciler, type Reconciler } from '../../runtime/gateway/reconcile.ts'
import { bodyOf, brief, type Leaf, settledFor, World } from './world.ts'

async function ready(): Promise<{ world: World; leaf: Leaf; reconciler: Reconciler }> {
  const world = new World()
  const { root } = await world.run()
  const { ledger, rail, clock } = world
  const onAlarm = (alarm: unknown) => void world.alarms.push(alarm)
  const reconciler = createReconciler({ ledger, rail, clock, onAlarm })
  return { world, leaf: await world.leaf(root), reconciler }
}

const says = (outcome: RailOutcome) => async () => outcome

/** 5 s in which the call may begin, 10 s for the call, 30 s until the fake rail shows it, and one more. */
const PATIENCE_SECONDS = 5 + 10 + 30
/** A step of the clock that is believed, and so waited for. */
const STEP_SECONDS = LIMITS.clockStepMs / 1000

async function sums(world: World, leaf: Leaf) {
  const account = await world.ledger.account(leaf.id)
  return [account?.available, account?.reserved, account?.spent]
}

describe('one payment', () => {
  it('answers a retry with the first answer, and the rail is not called again', async () => {
    const { world, leaf } = await ready()
    const first = await world.pay(leaf)
    const second = await world.pay(leaf)
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(first.headers['idempotent-replayed']).toBeUndefined()
    expect(second.body).toEqual(first.body)
    expect(world.rail.orders).toHaveLength(1)
  })

  it('is replayed even after its leaf was frozen or has expired', async () => {
    const { world, leaf } = await ready()
    const first = await world.pay(leaf)
    await world.gateway.freeze(leaf.id, 'olga')
    world.clock.advance(8_000)
    expect((await world.pay(leaf)).body).toEqual(first.body)
  })

  it('is replayed in the gateway’s stream: the leaf’s own chain ends with its payment', async () => {
    const { world, leaf } = await ready()
    await world.pay(leaf)
    const head = (await world.ledger.account(leaf.id))?.head
    await world.pay(leaf)
    expect((await world.ledger.account(leaf.id))?.head).toEqual(head)
  })

  it('asked for fifty times at once reaches the rail once', async () => {
    const { world, leaf } = await ready()
    const answers = await Promise.all(Array.from({ length: 50 }, () => world.pay(leaf)))
    expect(world.rail.orders).toHaveLength(1)
    const told = new Set(answers.map(brief))
    expect(
      [...told].filter((line) => !/^(200 allow settled|409 allow submitted)$/.test(line)),
    ).toEqual([])
    expect(await sums(world, leaf)).toEqual([0, 0, 1_000])
  })

  it('in flight is told so, and its answer comes once the rail has spoken', async () => {
    const { world, leaf } = await ready()
    let settle: (outcome: RailOutcome) => void = () => undefined
    world.rail.next.push(
      () =>
        new Promise((resolve) => {
          settle = resolve
        }),
    )
    const first = world.pay(leaf)
    while (world.rail.orders.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const second = await world.pay(leaf)
    expect(brief(second)).toBe('409 allow submitted')
    expect(second.headers['retry-after']).toBe('1')
    const [order] = world.rail.orders
    if (order) settle(settledFor(order))
    expect(brief(await first)).toBe('200 allow settled')
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    expect(world.rail.orders).toHaveLength(1)
  })

  it('is never sent by an attempt that comes to the rail too late', async () => {
    const { world, leaf, reconciler } = await ready()
    const execute: typeof world.ledger.execute = async (name, input) => {
      const result = await world.ledger.execute(name, input)
      // The process slept for longer than a call may take to begin.
      if (name === 'reserve') world.clock.ms += 5_001
      return result
    }
    world.rebuild({ ledger: { ...world.ledger, execute } })
    expect(brief(await world.pay(leaf))).toBe('409 allow submitted')
    expect(world.rail.orders).toEqual([])
    world.clock.advance(PATIENCE_SECONDS + STEP_SECONDS)
    expect((await reconciler.runOnce()).released).toHaveLength(1)
    expect(await sums(world, leaf)).toEqual([1_000, 0, 0])
  })

  it('may still begin at the last millisecond', async () => {
    const { world, leaf } = await ready()
    const execute: typeof world.ledger.execute = async (name, input) => {
      const result = await world.ledger.execute(name, input)
      if (name === 'reserve') world.clock.ms += 5_000
      return result
    }
    world.rebuild({ ledger: { ...world.ledger, execute } })
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
  })
})

describe('the rail', () => {
  it('is called by the attempt whose nonce is stored, while it is submitted, and by no other', async () => {
    const { world, leaf } = await ready()
    world.rail.next.push(says({ kind: 'unknown', reason: 'late' }))
    await world.pay(leaf)
    const payment: PaymentRecord = { ...(await world.onlyPayment()), state: 'submitted' }
    const gate = assemble(world.deps)
    const nonce = payment.nonce ?? ''
    expect(mayCallRail(gate, payment, nonce)).toBe(true)
    expect(mayCallRail(gate, payment, 'another')).toBe(false)
    expect(mayCallRail(gate, { ...payment, state: 'unknown' }, nonce)).toBe(false)
    expect(mayCallRail(gate, { ...payment, state: 'reserved' }, nonce)).toBe(false)
  })
})

describe('the rail’s word', () => {
  it('declined gives the money and the quote back, and is an answer', async () => {
    const { world, leaf } = await ready()
    world.rail.next.push(says({ kind: 'declined', reason: 'account closed, call +44 …' }))
    expect(brief(await world.pay(leaf))).toBe('200 allow released')
    expect(await sums(world, leaf)).toEqual([1_000, 0, 0])
    expect(brief(await world.pay(leaf))).toBe('200 allow released')
    expect(world.rail.orders).toHaveLength(1)
    expect((await world.onlyPayment()).reason).toBe('declined')
    const parent = (await world.ledger.node(leaf.id))?.parent
    if (parent === undefined) throw new Error('no parent')
    expect(brief(await world.pay(await world.leafFor(parent, leaf.quote)))).toBe(
      '200 allow settled',
    )
  })

  it('not sent gives the money back', async () => {
    const { world, leaf } = await ready()
    world.rail.next.push(says({ kind: 'notSent', reason: 'refused' }))
    expect(brief(await world.pay(leaf))).toBe('200 allow released')
    expect(await sums(world, leaf)).toEqual([1_000, 0, 0])
  })

  it('for less settles that much and returns the rest', async () => {
    const { world, leaf } = await ready()
    world.rail.next.push(async (order) => ({ ...settledFor(order), amount: minor(400) }))
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    expect(await sums(world, leaf)).toEqual([600, 0, 400])
  })

  it('for more, or in another currency, is never clipped: unknown, kept, and an alarm', async () => {
    const odd: Partial<RailOutcomeOf<'settled'>>[] = [
      { amount: minor(1_001) },
      { currency: 'USD' },
      { amount: minor(0) },
    ]
    for (const change of odd) {
      const { world, leaf } = await ready()
      world.rail.next.push(async (order) => ({ ...settledFor(order), ...change }))
      const answer = await world.pay(leaf)
      expect(brief(answer)).toBe('200 allow unknown')
      expect(bodyOf(answer).receipt).toBeUndefined()
      expect(await sums(world, leaf)).toEqual([0, 1_000, 0])
      expect(world.alarms).toHaveLength(1)
    }
  })

  it('that never comes, or throws, is unknown and keeps the money', async () => {
    const silences: (() => Promise<RailOutcome>)[] = [
      () => new Promise(() => undefined),
      () => Promise.reject(new Error('socket hang up')),
    ]
    for (const silence of silences) {
      const { world, leaf } = await ready()
      world.rebuild({ timings: { railMs: 5 } })
      world.rail.next.push(silence)
      expect(brief(await world.pay(leaf))).toBe('200 allow unknown')
      expect(await sums(world, leaf)).toEqual([0, 1_000, 0])
    }
  })
})

describe('reconciling', () => {
  const lost = async (world: World, leaf: Leaf) => {
    world.rail.next.push(async (order) => {
      world.rail.book.set(order.key, settledFor(order))
      return { kind: 'unknown', reason: 'reset' }
    })
    expect(brief(await world.pay(leaf))).toBe('200 allow unknown')
  }

  it('settles a payment whose reply was lost, and the retry is told with a receipt', async () => {
    const { world, leaf, reconciler } = await ready()
    await lost(world, leaf)
    world.clock.advance(PATIENCE_SECONDS + 1)
    expect((await reconciler.runOnce()).settled).toHaveLength(1)
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe('200 allow settled')
    expect(bodyOf(answer).receipt).toBeDefined()
    expect(world.rail.orders).toHaveLength(1)
    expect(await sums(world, leaf)).toEqual([0, 0, 1_000])
  })

  it('asks nothing while the call could still begin, be under way, or not be visible', async () => {
    const { world, leaf, reconciler } = await ready()
    await lost(world, leaf)
    world.clock.advance(PATIENCE_SECONDS)
    await reconciler.runOnce()
    expect(world.rail.lookups).toEqual([])
    world.clock.ms += 1
    await reconciler.runOnce()
    expect(world.rail.lookups).toHaveLength(1)
  })

  it('releases what the rail has never heard of, and only then', async () => {
    const { world, leaf, reconciler } = await ready()
    world.rail.next.push(says({ kind: 'unknown', reason: 'late' }))
    await world.pay(leaf)
    world.clock.advance(PATIENCE_SECONDS + 1)
    expect((await reconciler.runOnce()).released).toEqual([])
    world.clock.advance(STEP_SECONDS)
    expect((await reconciler.runOnce()).released).toHaveLength(1)
    expect(await sums(world, leaf)).toEqual([1_000, 0, 0])
    expect((await world.onlyPayment()).reason).toBe('absent_at_rail')
  })

  it('does not believe that a payment is absent because the clock was stepped, here or while nobody ran', async () => {
    const { world, leaf } = await ready()
    world.rail.next.push(says({ kind: 'unknown', reason: 'late' }))
    await world.pay(leaf)
    // A process that starts under a clock set far ahead.
    world.clock.advance(24 * 3600)
    const { ledger, rail, clock } = world
    const reconciler = createReconciler({ ledger, rail, clock })
    expect((await reconciler.runOnce()).released).toEqual([])
    world.clock.advance(PATIENCE_SECONDS + STEP_SECONDS)
    expect((await reconciler.runOnce()).released).toEqual([])
    world.clock.ms += 1
    expect((await reconciler.runOnce()).released).toHaveLength(1)
  })

  it('keeps the money while the rail has no word, cannot be asked, or throws', async () => {
    const { world, leaf, reconciler } = await ready()
    world.rail.next.push(says({ kind: 'unknown', reason: 'late' }))
    await world.pay(leaf)
    world.clock.advance(PATIENCE_SECONDS + 1)
    const { id, railKey } = await world.onlyPayment()
    for (const kind of ['unknown', 'notSent'] as const) {
      world.rail.book.set(railKey, { kind, reason: 'x' })
      expect((await reconciler.runOnce()).waiting).toEqual([id])
    }
    world.rail.lookup = () => Promise.reject(new Error('down'))
    expect((await reconciler.runOnce()).waiting).toEqual([id])
    world.rail.truth = { ...world.rail.truth, lookupByReference: false }
    world.rail.lookup = async () => ({ kind: 'absent' })
    expect((await reconciler.runOnce()).waiting).toEqual([id])
    expect(await sums(world, leaf)).toEqual([0, 1_000, 0])
  })

  it('raises the alarm about an odd amount once, and never settles it', async () => {
    const { world, leaf, reconciler } = await ready()
    world.rail.next.push(async (order) => ({ ...settledFor(order), amount: minor(5_000) }))
    await world.pay(leaf)
    world.clock.advance(PATIENCE_SECONDS + 1)
    await reconciler.runOnce()
    await reconciler.runOnce()
    expect((await world.onlyPayment()).state).toBe('unknown')
    expect(world.alarms).toHaveLength(1)
  })

  it('gives back a reservation that was never submitted, after a minute and not before', async () => {
    const { world, leaf, reconciler } = await ready()
    let decide: (answer: MonitorAnswer) => void = () => undefined
    const judge = () =>
      new Promise<MonitorAnswer>((resolve) => {
        decide = resolve
      })
    world.rebuild({ monitor: { judge } })
    const slow = world.pay(leaf)
    while ((await world.ledger.payments({ limit: 1 })).length === 0) await Promise.resolve()
    world.rebuild({ monitor: undefined })
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await world.onlyPayment()).state).toBe('reserved')
    world.clock.ms += 1
    expect((await reconciler.runOnce()).released).toHaveLength(1)
    expect(await sums(world, leaf)).toEqual([1_000, 0, 0])
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    decide({ kind: 'allow' })
    expect(brief(await slow)).toBe('200 allow settled')
    expect(world.rail.orders).toHaveLength(1)
  })

  it('goes on to the other payments when one of them faults', async () => {
    const { world, leaf } = await ready()
    const parent = (await world.ledger.node(leaf.id))?.parent
    const other = await world.leaf(parent ?? leaf.id)
    await lost(world, leaf)
    await lost(world, other)
    world.clock.advance(PATIENCE_SECONDS + 1)
    let failed = false
    const execute: typeof world.ledger.execute = async (name, input) => {
      if (name !== 'settle' || failed) return world.ledger.execute(name, input)
      failed = true
      throw new Error('disk')
    }
    const { rail, clock } = world
    const shaky = createReconciler({ ledger: { ...world.ledger, execute }, rail, clock })
    await expect(shaky.runOnce()).rejects.toThrow('disk')
    expect(await world.ledger.payments({ states: ['settled'], limit: 5 })).toHaveLength(1)
    expect((await shaky.runOnce()).settled).toHaveLength(1)
  })

  it('runs by itself until it is closed', async () => {
    const { world, leaf } = await ready()
    await lost(world, leaf)
    world.clock.advance(PATIENCE_SECONDS + 1)
    const { ledger, rail, clock } = world
    const reconciler = createReconciler({ ledger, rail, clock, delays: { everyMs: 1 } })
    reconciler.start()
    while ((await world.onlyPayment()).state !== 'settled') {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await reconciler.close()
    const { length } = world.rail.lookups
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(world.rail.lookups).toHaveLength(length)
  })
})
