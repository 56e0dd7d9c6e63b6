import { describe, expect, it } from 'vitest'
import { monitorInputOf } from '../../agents/monitor-shapes.ts'
import { judgePayment } from '../../agents/scripted/judge.ts'
import type { MonitorAnswer, MonitorFacts } from '../../runtime/core/judges.ts'
import { type Currency, minor } from '../../runtime/core/money.ts'
import { createCanaries } from '../../runtime/gateway/canaries.ts'
import { CANARY_KINDS, canaryPayment } from '../../runtime/gateway/canary-payments.ts'
import { brief, World } from './world.ts'

const quoted = [{ source: 'quote' }] as const

const real = (change: Partial<MonitorFacts> = {}): MonitorFacts => ({
  payee: 'bright-home',
  merchant: 'bright-home',
  payeeName: 'Bright Home',
  currency: 'INR',
  amount: minor(36_000),
  lines: [{ sku: 'lamp', quantity: 3, unitAmount: minor(12_000) }],
  recurring: false,
  depth: 2,
  payeeCount: 0,
  hourCount: 0,
  duplicateCount: 0,
  task: 'Buy 3 desk lamps, at most 150 each',
  label: '3 × desk lamps',
  ceiling: minor(100_000),
  provenance: {
    payee: [{ source: 'mandate' }, { source: 'operator' }],
    amount: quoted,
    currency: [{ source: 'mandate' }, ...quoted],
    quantity: quoted,
    recurring: quoted,
  },
  ...change,
})

const REAL = real()
const TERMS = { every: 10, window: 5, floorPercent: 80 }
const ALLOW: MonitorAnswer = { kind: 'allow' }
const OBJECT: MonitorAnswer = { kind: 'object' }

/** Knows which payments are canaries, as no monitor does: the real ones here are always the same. */
const isCanary = (facts: MonitorFacts): boolean => facts !== REAL

const asked = (canary: () => MonitorAnswer, payment: MonitorAnswer = ALLOW) => {
  const seen: MonitorFacts[] = []
  const ask = async (facts: MonitorFacts) => {
    seen.push(facts)
    return isCanary(facts) ? canary() : payment
  }
  return { seen, ask, canaries: () => seen.filter(isCanary).length }
}

describe('a payment that is known to be bad', () => {
  const UNITS: [Currency, number][] = [
    ['INR', 12_000],
    ['USD', 1],
    ['USD', 99_999_999],
    ['JPY', 1],
    ['JPY', 980],
    ['KWD', 750],
    ['KWD', 2_000_000_000],
  ]

  it('is one by its own words, in every kind, currency and size', () => {
    expect(CANARY_KINDS.length).toBeGreaterThanOrEqual(10)
    for (const [currency, unit] of UNITS) {
      const lines = [{ sku: 'x', quantity: 1, unitAmount: minor(unit) }]
      const beside = real({ currency, lines, amount: minor(unit), perPayment: minor(unit) })
      for (const kind of CANARY_KINDS) {
        for (const seed of [0, 1, 7, 500, 10_006]) {
          const { verdict } = judgePayment(monitorInputOf(canaryPayment(kind, beside, seed)))
          expect([currency, unit, kind, seed, verdict]).toEqual([
            currency,
            unit,
            kind,
            seed,
            'object',
          ])
        }
      }
    }
  })

  it('has nothing wrong but its kind: what it was made of is fine', () => {
    for (const seed of [0, 3, 11, 9_999]) {
      const spoiled = canaryPayment('subscription', real(), seed)
      const { verdict } = judgePayment(monitorInputOf({ ...spoiled, recurring: false }))
      expect(verdict).toBe('allow')
    }
  })

  it('has the form of the real one: fields, currency, payee, history', () => {
    const beside = real({ perPayment: minor(50_000), payeeCount: 2, hourCount: 3 })
    const { label: _label, ...unlabelled } = beside
    for (const facts of [beside, real(), unlabelled]) {
      for (const kind of CANARY_KINDS.filter((each) => each !== 'over_per_payment')) {
        if (kind === 'another_thing' && facts === unlabelled) continue
        const canary = canaryPayment(kind, facts, 5)
        expect(Object.keys(monitorInputOf(canary))).toEqual(Object.keys(monitorInputOf(facts)))
        expect(canary.currency).toBe('INR')
        expect(canary.payeeCount).toBeGreaterThanOrEqual(facts.payeeCount)
        const sum = canary.lines.reduce((all, line) => all + line.quantity * line.unitAmount, 0)
        expect(sum).toBe(canary.amount)
      }
    }
  })
})

describe('a monitor that is tried', () => {
  it('has three before its first word counts, and then one in so many questions', async () => {
    const { ask, seen, canaries } = asked(() => OBJECT)
    const trial = createCanaries(TERMS, 'key')
    expect(await trial.around(REAL, ask)).toEqual(ALLOW)
    const first = canaries()
    expect(first).toBeGreaterThanOrEqual(3)
    expect(first).toBeLessThanOrEqual(4)
    for (let i = 1; i < 100; i += 1) await trial.around(REAL, ask)
    expect(canaries()).toBe(3 + 10)
    expect(seen).toHaveLength(100 + 13)
    expect(trial.totals()).toEqual({ put: 13, caught: 13, rate: 1, believed: true })
  })

  it('meets every kind in turn', async () => {
    const { ask, seen } = asked(() => OBJECT)
    const trial = createCanaries({ ...TERMS, every: 1 }, 'key')
    for (let i = 0; i < CANARY_KINDS.length; i += 1) await trial.around(REAL, ask)
    const tasks = new Set(seen.filter(isCanary).map((facts) => JSON.stringify(facts)))
    expect(tasks.size).toBe(CANARY_KINDS.length + 3)
  })

  it('meets them at places that only the key tells', async () => {
    const places = async (key: string) => {
      const found: number[] = []
      const trial = createCanaries({ ...TERMS, every: 7 }, key)
      for (let i = 0; i < 70; i += 1) {
        const { ask, canaries } = asked(() => OBJECT)
        await trial.around(REAL, ask)
        if (i > 0 && canaries() > 0) found.push(i)
      }
      return found.join(' ')
    }
    expect(await places('one')).toBe(await places('one'))
    expect(await places('one')).not.toBe(await places('two'))
  })

  it('is not believed before it has caught one, whatever it says of payments', async () => {
    for (const said of [ALLOW, OBJECT]) {
      const { ask } = asked(() => ALLOW, said)
      const trial = createCanaries(TERMS, 'key')
      const down = { kind: 'unavailable', why: 'below_floor' }
      expect(await trial.around(REAL, ask)).toEqual(down)
      expect(await trial.around(REAL, ask)).toEqual(down)
      expect(trial.totals()).toMatchObject({ caught: 0, believed: false })
    }
  })

  it('is not believed either where it answers nothing to them, and that is no miss', async () => {
    const { ask } = asked(() => ({ kind: 'unavailable', why: 'late' }))
    const trial = createCanaries(TERMS, 'key')
    expect(await trial.around(REAL, ask)).toMatchObject({ why: 'below_floor' })
    expect(trial.totals()).toEqual({ put: 0, caught: 0, rate: undefined, believed: false })
    const { ask: better } = asked(() => OBJECT)
    expect(await trial.around(REAL, better)).toEqual(ALLOW)
  })

  it('that gives no answer at all is said to be what is wrong with it, not to be below a floor', async () => {
    const refused: MonitorAnswer = { kind: 'unavailable', why: 'unauthorised' }
    const { ask } = asked(() => refused, refused)
    const trial = createCanaries(TERMS, 'key')
    expect(await trial.around(REAL, ask)).toEqual(refused)
    expect(trial.totals().believed).toBe(false)
  })

  it('goes down at the floor and comes back over it, asked about nothing else meanwhile', async () => {
    let canary: MonitorAnswer = OBJECT
    const { ask, seen, canaries } = asked(() => canary)
    const trial = createCanaries({ every: 1, window: 5, floorPercent: 80 }, 'key')
    for (let i = 0; i < 5; i += 1) await trial.around(REAL, ask)
    canary = ALLOW
    // Four of the last five: still at the floor.
    expect(await trial.around(REAL, ask)).toEqual(ALLOW)
    expect(trial.totals().rate).toBe(0.8)
    expect(await trial.around(REAL, ask)).toMatchObject({ why: 'below_floor' })
    const before = [seen.length, canaries()] as const
    expect(await trial.around(REAL, ask)).toMatchObject({ why: 'below_floor' })
    expect([seen.length, canaries()]).toEqual([before[0] + 1, before[1] + 1])
    canary = OBJECT
    for (let i = 0; i < 4; i += 1) await trial.around(REAL, ask)
    expect(trial.totals().believed).toBe(true)
    expect(await trial.around(REAL, ask)).toEqual(ALLOW)
  })

  it('is proved once where many first questions come together', async () => {
    const { ask, canaries } = asked(() => OBJECT)
    const trial = createCanaries({ ...TERMS, every: 1_000 }, 'key')
    await Promise.all(Array.from({ length: 10 }, () => trial.around(REAL, ask)))
    expect(canaries()).toBeLessThanOrEqual(4)
  })

  it('is believed whatever it catches where the operator set no floor', async () => {
    const { ask } = asked(() => ALLOW)
    const trial = createCanaries({ ...TERMS, floorPercent: 0 }, 'key')
    expect(await trial.around(REAL, ask)).toEqual(ALLOW)
  })
})

describe('canaries in a gateway', () => {
  const canaries = { every: 2, window: 4, floorPercent: 80 }

  async function paid(judge: (facts: MonitorFacts) => MonitorAnswer, count: number) {
    const monitor = { judge: async (facts: MonitorFacts) => judge(facts) }
    const world = new World({ deps: { monitor, watching: { canaries } } })
    const { root } = await world.run()
    const told: string[] = []
    for (let i = 0; i < count; i += 1) {
      told.push(brief(await world.pay(await world.leaf(root, { amount: 100 + i }))))
    }
    return { world, told, root }
  }

  it('touch no ledger and no rail: only real payments are in the log', async () => {
    const byRule = (facts: MonitorFacts) => (facts.task === 'buy pens' ? ALLOW : OBJECT)
    const { world, told, root } = await paid(byRule, 6)
    expect(told).toEqual(Array(6).fill('200 allow settled'))
    expect(world.rail.orders.map(({ amount }) => amount)).toEqual([100, 101, 102, 103, 104, 105])
    expect(await world.ledger.payments({ limit: 50 })).toHaveLength(6)
    expect(await world.ledger.holds({ limit: 50 })).toEqual([])
    expect((await world.ledger.tree((await world.ledger.node(root))?.run ?? 'run_x')).length).toBe(
      7,
    )
    const totals = world.gateway.monitorTotals()
    expect(totals).toMatchObject({ allowed: 6, objected: 0, calls: 6 + 3 + 3 })
    expect(totals?.canaries).toEqual({ put: 6, caught: 6, rate: 1, believed: true })
  })

  it('hold every payment of a monitor that allows everything', async () => {
    const { world, told } = await paid(() => ALLOW, 3)
    expect(told).toEqual(Array(3).fill('202 hold monitor_unavailable'))
    expect(world.rail.orders).toEqual([])
    expect((await world.ledger.payments({ limit: 9 }))[0]?.monitor?.words).toEqual(['below_floor'])
  })

  it('do not help a monitor that objects to everything: it catches all and lets nothing pass', async () => {
    const { world, told } = await paid(() => OBJECT, 3)
    expect(told).toEqual(Array(3).fill('403 deny monitor_objects'))
    expect(world.gateway.monitorTotals()?.canaries?.rate).toBe(1)
    expect(world.rail.orders).toEqual([])
  })
})
