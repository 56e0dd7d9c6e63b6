/** One authorisation for a run and payee: when it is placed, what is drawn from it, and that the rest is given back. */
import { describe, expect, it, vi } from 'vitest'
import { authorisationIdOf } from '../../runtime/core/ids.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type {
  RailAuthorisation,
  RailAuthorisations,
  RailKnown,
  RailOrder,
  RailOutcome,
} from '../../runtime/core/rail.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { brief, type Leaf, START, settledFor, World } from './world.ts'

type Placed = Awaited<ReturnType<RailAuthorisations['place']>>
type Found = Awaited<ReturnType<RailAuthorisations['lookup']>>
type Voided = Awaited<ReturnType<RailAuthorisations['void']>>

const UNTIL = START + 3_600

async function begun(leaves = 3, takes = true) {
  const world = new World()
  const calls: string[] = []
  const placed: RailAuthorisation[] = []
  const holds = (order: RailAuthorisation): Placed => ({
    kind: 'authorised',
    reference: 'AUTH1',
    amount: order.amount,
    currency: order.currency,
    untilSeconds: UNTIL,
  })
  const said: {
    place: (order: RailAuthorisation) => Promise<Placed>
    lookup: () => Found
    draw: (order: RailOrder) => RailOutcome
    void: () => Voided
  } = {
    place: async (order) => holds(order),
    lookup: () => ({ kind: 'absent' }),
    draw: settledFor,
    void: () => ({ kind: 'voided' }),
  }
  const known: (RailKnown | undefined)[] = []
  const authorisations: RailAuthorisations = {
    takes: () => takes,
    place: async (order) => {
      calls.push('place')
      placed.push(order)
      return said.place(order)
    },
    lookup: async (_order, reference) => {
      calls.push(`lookup ${reference ?? ''}`)
      return said.lookup()
    },
    draw: async (order, reference) => {
      calls.push(`draw ${order.amount} ${reference}`)
      const outcome = said.draw(order)
      if (outcome.kind === 'settled') world.rail.book.set(order.key, outcome)
      return outcome
    },
    void: async (reference) => {
      calls.push(`void ${reference}`)
      return said.void()
    },
  }
  const { book } = world.rail
  const rail = Object.assign(world.rail, {
    authorisations,
    lookup: async (key: string, of?: RailKnown) => {
      known.push(of)
      return book.get(key) ?? ({ kind: 'absent' } as const)
    },
  })
  world.rebuild({ rail })
  const { run, root } = await world.run()
  const made: Leaf[] = []
  for (let i = 0; i < leaves; i += 1) made.push(await world.leaf(root))
  const { ledger, clock } = world
  const onAlarm = (alarm: unknown) => void world.alarms.push(alarm)
  const reconciler = createReconciler({ ledger, rail, clock, onAlarm })
  const found = () => ledger.authorisation(authorisationIdOf(run, 'shop'))
  const [first, second, third] = made as [Leaf, Leaf, Leaf]
  return {
    world,
    calls,
    placed,
    said,
    run,
    root,
    first,
    second,
    third,
    found,
    reconciler,
    known,
    holds,
  }
}

describe('an authorisation', () => {
  it('is placed by the first payment for all that the open leaves may pay there, and drawn in parts', async () => {
    const { world, calls, placed, first, second, third, found, root } = await begun()
    await world.leaf(root, { iss: 'stall' })
    const frozen = await world.leaf(root)
    await world.gateway.freeze(frozen.id, 'op')
    for (const leaf of [first, second, third]) {
      expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    }
    expect(placed).toMatchObject([{ amount: 3_000, currency: 'INR', account: 'acc-shop' }])
    expect(placed[0]?.key).toMatch(/^hg-/)
    expect(calls).toEqual(['place', 'draw 1000 AUTH1', 'draw 1000 AUTH1', 'draw 1000 AUTH1'])
    expect(world.rail.orders).toEqual([])
    expect(await found()).toMatchObject({ state: 'open', amount: 3_000, drawn: 3_000 })
  })

  it('is never drawn above its sum: what does not fit is paid as any other payment', async () => {
    const { world, calls, first, second, root, found, said } = await begun(2)
    said.place = async (order) => ({
      kind: 'authorised',
      reference: 'AUTH1',
      amount: minor(order.amount - 500),
      currency: order.currency,
      untilSeconds: UNTIL,
    })
    await world.pay(first)
    await world.pay(second)
    await world.pay(await world.leaf(root, { amount: 400 }))
    expect(calls).toEqual(['place', 'draw 1000 AUTH1', 'draw 400 AUTH1'])
    expect(world.rail.orders.map(({ amount }) => amount)).toEqual([1_000])
    expect((await found())?.drawn).toBe(1_400)
  })

  it('has its part back where the rail did not take it', async () => {
    const { world, first, found, said } = await begun()
    said.draw = () => ({ kind: 'declined', reason: 'instrument_declined' })
    expect(brief(await world.pay(first))).toBe('200 allow released')
    expect(await found()).toMatchObject({ state: 'open', drawn: 0 })
  })

  it('is told again to the rail that is asked about a draw whose outcome was lost', async () => {
    const { world, first, said, known, reconciler, found } = await begun()
    said.draw = () => ({ kind: 'unknown', reason: 'reset' })
    expect(brief(await world.pay(first))).toBe('200 allow unknown')
    world.clock.advance(300)
    await reconciler.runOnce()
    expect(known[0]).toMatchObject({ authorisation: 'AUTH1' })
    expect((await world.onlyPayment()).state).toBe('released')
    expect((await found())?.drawn).toBe(0)
  })

  it.each([
    ['declined', { kind: 'declined', reason: 'no' }, 'failed'],
    ['not sent', { kind: 'notSent', reason: 'refused' }, 'failed'],
    ['unknown', { kind: 'unknown', reason: 'reset' }, 'placing'],
    ['pending', { kind: 'pending', awaits: 'payer', reference: 'AUTH1' }, 'placing'],
  ] as const)(
    'that is %s stands in the way of no payment, and is not placed again',
    async (_what, word, state) => {
      const { world, calls, first, second, said, found } = await begun()
      said.place = async () => word
      expect(brief(await world.pay(first))).toBe('200 allow settled')
      expect(brief(await world.pay(second))).toBe('200 allow settled')
      expect(calls).toEqual(['place'])
      expect(world.rail.orders).toHaveLength(2)
      expect((await found())?.state).toBe(state)
    },
  )

  it('that another attempt places just now is not waited for', async () => {
    const { world, calls, first, second, said, holds } = await begun()
    let answer: (word: Placed) => void = () => undefined
    const asked = Promise.withResolvers<RailAuthorisation>()
    said.place = (order) => {
      asked.resolve(order)
      return new Promise((resolve) => {
        answer = resolve
      })
    }
    const slow = world.pay(first)
    const order = await asked.promise
    expect(brief(await world.pay(second))).toBe('200 allow settled')
    answer(holds(order))
    expect(brief(await slow)).toBe('200 allow settled')
    expect(calls).toEqual(['place', 'draw 1000 AUTH1'])
    expect(world.rail.orders).toHaveLength(1)
  })

  it.each([
    ['more than was asked', { amount: minor(3_001) }],
    ['another currency', { currency: 'USD' }],
  ] as const)('of %s is drawn from never, tells a person, and is voided', async (_what, other) => {
    const { world, calls, first, said, holds, found, reconciler } = await begun()
    said.place = async (order) => ({ ...(holds(order) as object), ...other }) as Placed
    await world.pay(first)
    expect(calls).toEqual(['place'])
    expect(world.alarms).toMatchObject([{ kind: 'rail_amount' }])
    expect((await found())?.state).toBe('voiding')
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await found())?.state).toBe('voided')
  })

  it('whose placing was ambiguous is looked up, and drawn from by those who come later', async () => {
    const { world, calls, first, second, said, found, reconciler } = await begun()
    said.place = async () => ({ kind: 'unknown', reason: 'reset' })
    await world.pay(first)
    said.lookup = () => ({
      kind: 'authorised',
      reference: 'AUTH1',
      amount: minor(3_000),
      currency: 'INR',
      untilSeconds: UNTIL,
    })
    await reconciler.runOnce()
    expect(calls).toEqual(['place'])
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await found())?.state).toBe('open')
    await world.pay(second)
    expect(calls).toEqual(['place', 'lookup ', 'draw 1000 AUTH1'])
  })

  it('that the rail does not have is over once its absence is proof', async () => {
    const { world, first, said, found, reconciler } = await begun()
    said.place = async () => ({ kind: 'unknown', reason: 'reset' })
    await world.pay(first)
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await found())?.state).toBe('placing')
    world.clock.advance(120)
    await reconciler.runOnce()
    expect(await found()).toMatchObject({ state: 'failed', reason: 'absent_at_rail' })
  })

  it('that the rail never names is over after the time that any rail holds money', async () => {
    const { world, first, said, found, reconciler } = await begun()
    said.place = async () => ({ kind: 'unknown', reason: 'reset' })
    said.lookup = () => ({ kind: 'unknown', reason: 'reference_needed' })
    await world.pay(first)
    world.clock.advance(30 * 24 * 3600)
    await reconciler.runOnce()
    expect((await found())?.state).toBe('placing')
    world.clock.advance(2 * 24 * 3600)
    await reconciler.runOnce()
    expect(await found()).toMatchObject({ state: 'failed', reason: 'never_named' })
  })

  it('whose placing is answered late is heard all the same, and holds up no payment', async () => {
    const { world, first, second, said, holds, placed, found, calls } = await begun()
    let answer: (word: Placed) => void = () => undefined
    said.place = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    // Only the deadline of placing passes, and at once.
    const after = (ms: number, act: () => void) => {
      if (ms === LIMITS.railMs / 2) queueMicrotask(act)
      return () => undefined
    }
    world.rebuild({ timers: { after } })
    expect(brief(await world.pay(first))).toBe('200 allow settled')
    expect([(await found())?.state, world.rail.orders.length]).toEqual(['placing', 1])
    answer(holds(placed[0] as RailAuthorisation))
    await vi.waitFor(async () => expect((await found())?.state).toBe('open'))
    await world.pay(second)
    expect(calls).toEqual(['place', 'draw 1000 AUTH1'])
  })

  it.each(['cancel', 'close', 'revoke', 'expiry', 'time'] as const)(
    'is voided after a %s, at the rail first, and asked again until the rail has said so',
    async (what) => {
      const { world, calls, first, second, said, found, reconciler, run, root } = await begun()
      await world.pay(first)
      await reconciler.runOnce()
      expect((await found())?.state).toBe('open')
      if (what === 'cancel') await world.gateway.cancel(run, 'op')
      if (what === 'close') await world.gateway.close(root, 'op')
      if (what === 'revoke') await world.gateway.revoke(root, 'op')
      if (what === 'expiry') world.clock.advance(7_200)
      if (what === 'time') world.clock.advance(3_600)
      await reconciler.runOnce()
      expect((await found())?.state).toBe('voiding')
      if (what === 'time') {
        await world.pay(await world.leaf(root, { exp: UNTIL + 3_000, amount: 10 }))
      }
      // A draw that was recorded just before may be on its way.
      await reconciler.runOnce()
      expect(calls.filter((call) => call.startsWith('void'))).toEqual([])
      said.void = () => ({ kind: 'unknown', reason: 'reset' })
      world.clock.advance(60)
      await reconciler.runOnce()
      expect((await found())?.state).toBe('voiding')
      said.void = () => ({ kind: 'voided' })
      await reconciler.runOnce()
      await reconciler.runOnce()
      expect(await found()).toMatchObject({ state: 'voided', drawn: 1_000 })
      expect(calls.filter((call) => call.startsWith('void'))).toEqual(['void AUTH1', 'void AUTH1'])
      expect(calls.filter((call) => call.startsWith('draw'))).toHaveLength(1)
      expect(brief(await world.pay(second))).not.toContain('settled')
    },
  )

  it('that is frozen is kept: it may be drawn from again', async () => {
    const { world, first, root, found, reconciler } = await begun()
    await world.pay(first)
    await world.gateway.freeze(root, 'op')
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await found())?.state).toBe('open')
  })

  it('whose void the rail refuses is over only where nothing is left of it, or the rail says that it is void', async () => {
    const { world, first, said, found, reconciler, run, holds, placed } = await begun()
    await world.pay(first)
    await world.gateway.cancel(run, 'op')
    await reconciler.runOnce()
    said.void = () => ({ kind: 'declined', reason: 'cannot_be_voided' })
    said.lookup = () => holds(placed[0] as RailAuthorisation)
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await found())?.state).toBe('voiding')
    said.lookup = () => ({ kind: 'voided' })
    await reconciler.runOnce()
    expect((await found())?.state).toBe('voided')
  })

  it.each([
    ['refuses, and goes on to name', { kind: 'declined', reason: 'resource_not_found' }],
    ['never answers', { kind: 'unknown', reason: 'reset' }],
  ] as const)(
    'whose void the rail %s is over after the time that any rail holds money',
    async (_what, word) => {
      const { world, first, said, found, reconciler, run, holds, placed } = await begun()
      await world.pay(first)
      await world.gateway.cancel(run, 'op')
      await reconciler.runOnce()
      said.void = () => word
      said.lookup = () => holds(placed[0] as RailAuthorisation)
      world.clock.advance(30 * 24 * 3600)
      await reconciler.runOnce()
      expect((await found())?.state).toBe('voiding')
      world.clock.advance(2 * 24 * 3600)
      await reconciler.runOnce()
      expect(await found()).toMatchObject({ state: 'voided', reason: 'never_voided' })
      expect((await world.gateway.erase(run, 'op')).ok).toBe(true)
    },
  )

  it('is no matter of a rail or account that takes none', async () => {
    const { world, calls, first } = await begun(1, false)
    expect(brief(await world.pay(first))).toBe('200 allow settled')
    expect([calls, world.rail.orders.length]).toEqual([[], 1])
  })

  it('keeps the clear account until the rail holds nothing any more, and not after an erasure', async () => {
    const { world, first, run, found, reconciler } = await begun(1)
    await world.pay(first)
    await world.gateway.cancel(run, 'op')
    expect(await world.gateway.erase(run, 'op')).toEqual({ ok: false, code: 'money_waiting' })
    expect((await world.ledger.node(first.id))?.label).toBe('leaf')
    await reconciler.runOnce()
    world.clock.advance(60)
    await reconciler.runOnce()
    expect((await found())?.account).toBe('acc-shop')
    expect((await world.gateway.erase(run, 'op')).ok).toBe(true)
    expect((await found())?.account).toBe('erased')
  })
})
