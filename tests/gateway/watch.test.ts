import { describe, expect, it } from 'vitest'
import { parseEvent } from '../../runtime/core/events.ts'
import type {
  Monitor,
  MonitorAnswer,
  MonitorFacts,
  MonitorIdentity,
} from '../../runtime/core/judges.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import type { GatewayDeps } from '../../runtime/gateway/gate.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import { bodyOf, brief, type Leaf, World } from './world.ts'

const ALLOW = { kind: 'allow' } as const
const OBJECT = { kind: 'object', concerns: ['too_much'] } as const
const DOWN = { kind: 'unavailable', why: 'unreachable' } as const

/** Says one answer after another, then the last one for ever; keeps what it was asked about. */
function saying(...answers: MonitorAnswer[]): Monitor & { readonly asked: MonitorFacts[] } {
  const asked: MonitorFacts[] = []
  return {
    asked,
    judge: async (facts) => {
      asked.push(facts)
      return answers[asked.length - 1] ?? answers.at(-1) ?? ALLOW
    },
  }
}

const IDENTITY: MonitorIdentity = {
  engine: 'groq',
  model: 'watcher/1',
  prompt: 'v2',
  promptDigest: 'p'.repeat(43),
}

async function watched(monitor: Monitor, watching?: GatewayDeps['watching']) {
  const world = new World({ deps: { monitor, watching, timings: { monitorMs: 500 } } })
  const { root } = await world.run()
  return { world, root, leaf: await world.leaf(root) }
}

const eventsOf = async (world: World, leaf: Leaf) =>
  (await world.ledger.events(leaf.id, 0, 200)).map(({ body }) => parseEvent(body))

const heldOf = (answer: Parameters<typeof bodyOf>[0]) => bodyOf(answer).holdId ?? 'none'

async function approve(world: World, answer: Parameters<typeof bodyOf>[0]): Promise<void> {
  const { holdId } = bodyOf(answer)
  const hold = holdId && (await world.ledger.hold(holdId))
  if (!hold) throw new Error('no hold')
  await world.gateway.approve({ hold: hold.id, digest: hold.digest, by: 'olga' })
}

describe('the first answer', () => {
  it('that objects stands, however often the payment is sent again', async () => {
    const monitor = saying(OBJECT, ALLOW)
    const { world, leaf } = await watched(monitor)
    for (let i = 0; i < 3; i += 1) {
      expect(brief(await world.pay(leaf))).toBe('403 deny monitor_objects')
    }
    expect(monitor.asked).toHaveLength(1)
    expect(world.rail.orders).toEqual([])
  })

  it('stands after a restart', async () => {
    const { world, leaf } = await watched(saying(OBJECT))
    await world.pay(leaf)
    const milder = saying(ALLOW)
    world.rebuild({ monitor: milder })
    expect(brief(await world.pay(leaf))).toBe('403 deny monitor_objects')
    expect(milder.asked).toEqual([])
  })

  it('that allows is not asked for again where the rail declines', async () => {
    const monitor = saying(ALLOW, OBJECT)
    const { world, root, leaf } = await watched(monitor)
    await world.gateway.freeze(root, 'olga')
    await world.gateway.resume(root, 'olga')
    world.rail.next.push(async () => ({ kind: 'declined', reason: 'no' }))
    await world.pay(leaf)
    await world.pay(leaf)
    expect(monitor.asked).toHaveLength(1)
  })

  it('wins over a second one that two attempts at once bring', async () => {
    for (const answers of [
      [ALLOW, OBJECT],
      [OBJECT, ALLOW],
    ]) {
      const both: ((answer: MonitorAnswer) => void)[] = []
      const monitor: Monitor = { judge: () => new Promise((resolve) => both.push(resolve)) }
      const { world, leaf } = await watched(monitor)
      const paid = [world.pay(leaf), world.pay(leaf)]
      await expect.poll(() => both.length).toBe(2)
      both.forEach((answer, i) => {
        answer(answers[i] ?? ALLOW)
      })
      const told = (await Promise.all(paid)).map(brief)
      const judged = (await eventsOf(world, leaf)).filter(({ type }) => type === 'judged')
      expect(judged).toHaveLength(1)
      const verdict = judged[0]?.type === 'judged' && judged[0].data.verdict
      expect(world.rail.orders).toHaveLength(verdict === 'allow' ? 1 : 0)
      expect(told.some((text) => text.includes('monitor_objects'))).toBe(verdict === 'object')
    }
  })

  it('wins also while the money that it gives back is still set aside', async () => {
    const inner = createMemoryLedger({ organisation: 'acme' })
    let overtake: () => void = () => undefined
    const overtaken = new Promise<void>((resolve) => {
      overtake = resolve
    })
    let releases = 0
    // The first release waits until the other attempt has gone on, whichever way.
    const execute: Ledger['execute'] = async (name, input) => {
      if (name === 'submit' || (name === 'release' && releases++ > 0)) overtake()
      else if (name === 'release') await overtaken
      return inner.execute(name, input)
    }
    const ledger: Ledger = Object.assign(Object.create(inner), { execute })
    const both: ((answer: MonitorAnswer) => void)[] = []
    const monitor: Monitor = { judge: () => new Promise((resolve) => both.push(resolve)) }
    const world = new World({ deps: { monitor, ledger } })
    const leaf = await world.leaf((await world.run()).root)
    const paid = [world.pay(leaf), world.pay(leaf)]
    await expect.poll(() => both.length).toBe(2)
    both[0]?.(OBJECT)
    await expect.poll(() => releases).toBe(1)
    both[1]?.(ALLOW)
    await Promise.all(paid)
    expect(world.rail.orders).toEqual([])
  })

  it('holds for the payment under another leaf and quote, whatever was paid in between', async () => {
    const rules = createPolicy({
      rules: [{ id: 'many', kind: 'hourly_count', effect: 'deny', most: 90 }],
    })
    const asked: MonitorFacts[] = []
    const monitor: Monitor = {
      told: ({ lines: _lines, provenance: _provenance, ...told }) => ({ ...told }),
      judge: async (facts) => {
        asked.push(facts)
        return asked.length === 1 ? OBJECT : ALLOW
      },
    }
    const world = new World({ deps: { monitor }, policy: rules })
    const { root } = await world.run()
    const first = await world.leaf(root)
    expect(brief(await world.pay(first))).toBe('403 deny monitor_objects')
    const dull = await world.leaf(root, { amount: 7 })
    expect(brief(await world.pay(dull))).toBe('200 allow settled')
    // Counts have moved, the item and the quote are other ones: the payment is the same.
    const lines = [{ sku: 'other', title: 'Pen', quantity: 1, unitAmount: 1_000 }]
    const again = await world.leaf(root, { lines })
    expect(brief(await world.pay(again))).toBe('403 deny monitor_objects')
    expect(asked).toHaveLength(2)
  })

  it('that objects holds for another leaf whose question is under way when it comes', async () => {
    const both: ((answer: MonitorAnswer) => void)[] = []
    const monitor: Monitor = {
      told: ({ lines: _lines, ...told }) => ({ ...told }),
      judge: () => new Promise((resolve) => both.push(resolve)),
    }
    const { world, root, leaf } = await watched(monitor)
    const other = await world.leaf(root)
    const first = world.pay(leaf)
    await expect.poll(() => both.length).toBe(1)
    const second = world.pay(other)
    await expect.poll(() => both.length).toBe(2)
    both[0]?.(OBJECT)
    expect(brief(await first)).toBe('403 deny monitor_objects')
    both[1]?.(ALLOW)
    expect(brief(await second)).toBe('403 deny monitor_objects')
    expect(world.rail.orders).toEqual([])
  })

  it('that objects holds for another leaf also where a crash kept it from being written for all', async () => {
    const monitor = saying(OBJECT, ALLOW)
    const { world, root, leaf } = await watched(monitor)
    const { ledger } = world
    const dying: GatewayDeps['ledger'] = {
      ...ledger,
      execute: async (name, command) => {
        if ('name' in command && String(command.name).startsWith('monitor-objection-')) {
          throw new Error('killed')
        }
        return ledger.execute(name, command)
      },
    }
    world.rebuild({ ledger: dying })
    await world.pay(leaf).catch(() => undefined)
    world.rebuild({ ledger })
    expect(brief(await world.pay(leaf))).toBe('403 deny monitor_objects')
    expect(brief(await world.pay(await world.leaf(root)))).toBe('403 deny monitor_objects')
    expect(monitor.asked).toHaveLength(1)
  })

  it('about how often alone is asked for again once the counts have changed', async () => {
    const monitor = saying({ kind: 'object', concerns: ['repeated'] }, ALLOW)
    const { world, root, leaf } = await watched(monitor)
    expect(brief(await world.pay(leaf))).toBe('403 deny monitor_objects')
    expect(brief(await world.pay(leaf))).toBe('403 deny monitor_objects')
    const other = await world.leaf(root)
    expect(brief(await world.pay(other))).toBe('200 allow settled')
    expect(monitor.asked).toHaveLength(2)
  })

  it('is for exactly what was told: another amount, rule, model or prompt is asked about afresh', async () => {
    const monitor = { ...saying(OBJECT, OBJECT, OBJECT, OBJECT, OBJECT), identity: IDENTITY }
    const { world, root, leaf } = await watched(monitor)
    const count = async (of: Leaf) => {
      await world.pay(of)
      return monitor.asked.length
    }
    expect(await count(leaf)).toBe(1)
    expect(await count(leaf)).toBe(1)
    expect(await count(await world.leaf(root, { amount: 1_001 }))).toBe(2)
    world.rebuild({ policy: createPolicy({ rules: [{ id: 'a', kind: 'recurring' }] }) })
    expect(await count(leaf)).toBe(3)
    world.rebuild({ monitor: { ...monitor, identity: { ...IDENTITY, prompt: 'v3' } } })
    expect(await count(leaf)).toBe(4)
    world.rebuild({ monitor: { ...monitor, identity: { ...IDENTITY, model: 'watcher/2' } } })
    expect(await count(leaf)).toBe(5)
  })

  it('is no silence: that may be asked about again, and a person is asked once', async () => {
    const monitor = saying(DOWN, { kind: 'unavailable', why: 'late' }, ALLOW)
    const { world, leaf } = await watched(monitor)
    const holds = [await world.pay(leaf), await world.pay(leaf)].map(heldOf)
    expect(new Set(holds).size).toBe(1)
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    expect(monitor.asked).toHaveLength(3)
  })

  it('is in the log before it is acted on, with who gave it and what it cost, in closed words', async () => {
    const usage = { calls: 1, inputTokens: 700, outputTokens: 12, costMicros: 90 }
    const { world, leaf } = await watched({ ...saying({ ...OBJECT, usage }), identity: IDENTITY })
    await world.pay(leaf)
    const events = await eventsOf(world, leaf)
    expect(events.map(({ type }) => type)).toEqual([
      'opened',
      'reserved',
      'judged',
      'released',
      'refused',
    ])
    expect(events[2]?.data).toEqual({
      verdict: 'object',
      concerns: ['too_much'],
      question: expect.stringMatching(/^[\w-]{43}$/),
      ...IDENTITY,
      ...usage,
    })
    expect(events[4]?.data).toMatchObject({ code: 'monitor_objects', rule: 'too_much' })
  })
})

describe('why a monitor says no', () => {
  it('is the operator’s: the agent is told the code alone', async () => {
    for (const [answer, words] of [
      [{ kind: 'object', concerns: ['unusual_payee', 'too_many'] }, ['unusual_payee', 'too_many']],
      [{ kind: 'unavailable', why: 'rate_limited' }, ['rate_limited']],
      [{ kind: 'unavailable', why: 'my instructions are: …' }, ['failed']],
    ] as const) {
      const { world, leaf } = await watched(saying(answer))
      const told = await world.pay(leaf)
      for (const word of words) expect(JSON.stringify(told)).not.toContain(word)
      const payment = await world.onlyPayment()
      expect(payment.monitor).toEqual({ answer: answer.kind, words })
      const { holdId } = bodyOf(told)
      if (holdId) expect((await world.ledger.hold(holdId))?.rule).toBe(words[0])
    }
  })

  it('stands beside a payment that it let pass, too', async () => {
    const { world, leaf } = await watched(saying(ALLOW))
    await world.pay(leaf)
    expect((await world.onlyPayment()).monitor).toEqual({ answer: 'allow', words: [] })
  })
})

describe('the quota', () => {
  const quota = { perLeaf: 3, perRun: 5, perHour: 8 }

  it('of a leaf is used up by its own questions, and then a person decides', async () => {
    const monitor = saying(DOWN, DOWN, DOWN, ALLOW)
    const { world, leaf } = await watched(monitor, { quota })
    for (let i = 0; i < 4; i += 1) {
      expect(brief(await world.pay(leaf))).toBe('202 hold monitor_unavailable')
    }
    expect(monitor.asked).toHaveLength(3)
    expect((await world.onlyPayment()).monitor?.words).toEqual(['over_quota'])
    await approve(world, await world.pay(leaf))
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    expect(monitor.asked).toHaveLength(3)
  })

  it('of a leaf is not given back by a restart', async () => {
    const monitor = saying(DOWN)
    const { world, leaf } = await watched(monitor, { quota })
    await world.pay(leaf)
    await world.pay(leaf)
    world.rebuild({})
    await world.pay(leaf)
    world.rebuild({})
    await world.pay(leaf)
    expect(monitor.asked).toHaveLength(3)
  })

  it('of a leaf is not doubled by attempts at once', async () => {
    const monitor = saying(DOWN)
    const { world, leaf } = await watched(monitor, { quota })
    await Promise.all(Array.from({ length: 8 }, () => world.pay(leaf)))
    expect(monitor.asked.length).toBeLessThanOrEqual(3)
    await world.pay(leaf)
    await world.pay(leaf)
    await world.pay(leaf)
    expect(monitor.asked).toHaveLength(3)
  })

  it('that dull payments have used up holds the bad one, and never lets it pass unwatched', async () => {
    const monitor = saying(ALLOW)
    const { world, root } = await watched(monitor, { quota: { ...quota, perRun: 10 } })
    for (let i = 0; i < 10; i += 1) await world.pay(await world.leaf(root, { amount: 10 + i }))
    const bad = await world.leaf(root, { amount: 9_000 })
    const paid = world.rail.orders.length
    expect(brief(await world.pay(bad))).toBe('202 hold monitor_unavailable')
    expect(world.rail.orders).toHaveLength(paid)
    expect(world.gateway.monitorTotals()?.failures.get('over_quota')).toBeGreaterThan(0)
  })

  it('of a run is that run’s alone, and of an hour everybody’s until the next', async () => {
    const monitor = saying(ALLOW)
    const { world, root } = await watched(monitor, { quota })
    const payIn = async (parent: typeof root, amount: number) =>
      brief(await world.pay(await world.leaf(parent, { amount })))
    for (let i = 0; i < 5; i += 1) expect(await payIn(root, 10 + i)).toBe('200 allow settled')
    expect(await payIn(root, 20)).toBe('202 hold monitor_unavailable')
    const { root: other } = await world.run()
    for (let i = 0; i < 3; i += 1) expect(await payIn(other, 10 + i)).toBe('200 allow settled')
    expect(await payIn(other, 20)).toBe('202 hold monitor_unavailable')
    const late = async (amount: number) => {
      const leaf = await world.leaf(other, { amount, exp: 1_800_000_000 + 6_000 })
      return brief(await world.pay(leaf))
    }
    world.clock.advance(3_600 - 1)
    expect(await late(21)).toBe('202 hold monitor_unavailable')
    world.clock.advance(1)
    expect(await late(22)).toBe('200 allow settled')
  })

  it('of an hour is not used up by a leaf that has none left', async () => {
    const monitor = saying(DOWN)
    const { world, root, leaf } = await watched(monitor, { quota: { ...quota, perHour: 4 } })
    for (let i = 0; i < 9; i += 1) await world.pay(leaf)
    await world.pay(await world.leaf(root, { amount: 5 }))
    expect(monitor.asked).toHaveLength(4)
  })
})

describe('a monitor in each of its failures', () => {
  const BAD: Record<string, () => MonitorAnswer | Promise<MonitorAnswer>> = {
    silent: () => new Promise(() => undefined),
    late: () => new Promise((resolve) => setTimeout(() => resolve(ALLOW), 60)),
    'both verdicts': () => ({ kind: 'allow', concerns: ['too_much'] }) as never,
    prose: () => 'ALLOW.' as never,
    'another case': () => ({ kind: 'ALLOW' }) as never,
    empty: () => undefined as never,
    'an extra field': () => ({ kind: 'allow', sure: true }) as never,
    'usage that is no number': () => ({ kind: 'allow', usage: { calls: 'one' } }) as never,
    'a throw': () => {
      throw new Error('500')
    },
    'a rejection': () => Promise.reject(new Error('429')),
  }

  it.each(Object.entries(BAD))('%s: held, and no money moves', async (_what, judge) => {
    const monitor: Monitor = { judge: (async () => judge()) as Monitor['judge'] }
    const world = new World({ deps: { monitor, timings: { monitorMs: 20 } } })
    const { root } = await world.run()
    const leaf = await world.leaf(root)
    expect(brief(await world.pay(leaf))).toBe('202 hold monitor_unavailable')
    expect(world.rail.orders).toEqual([])
    expect((await world.ledger.account(leaf.id))?.available).toBe(1_000)
  })

  it('a late answer is ignored, and what it cost is counted', async () => {
    const usage = { calls: 1, inputTokens: 5, outputTokens: 6, costMicros: 7 }
    let answer: (said: MonitorAnswer) => void = () => undefined
    const judge = () =>
      new Promise<MonitorAnswer>((resolve) => {
        answer = resolve
      })
    const world = new World({ deps: { monitor: { judge }, timings: { monitorMs: 20 } } })
    const { root } = await world.run()
    const leaf = await world.leaf(root)
    expect(brief(await world.pay(leaf))).toBe('202 hold monitor_unavailable')
    answer({ kind: 'allow', usage })
    await expect.poll(() => world.gateway.monitorTotals()?.usage).toEqual(usage)
    expect(world.rail.orders).toEqual([])
    expect((await world.onlyPayment()).monitor?.words).toEqual(['late'])
  })

  it('one that obeys any words of its input loosens nothing that the checks before it refuse', async () => {
    const obeys: Monitor = {
      judge: async ({ task, label }) =>
        /allow/.test(`${task} ${label}`) ? ALLOW : { kind: 'object', concerns: ['not_in_task'] },
    }
    const forbidding = createPolicy({
      rules: [{ id: 'no-stall', kind: 'deny_list', payees: ['stall'], merchants: [] }],
    })
    const world = new World({ deps: { monitor: obeys }, policy: forbidding })
    const { root } = await world.run({ task: 'always allow', perPayment: 5_000, ceiling: 20_000 })
    const refused = [
      await world.leaf(root, { iss: 'stall' }),
      await world.leaf(root, { amount: 5_001 }),
      await world.leaf(root, { payee: 'stall' }),
    ]
    for (const leaf of refused) expect(brief(await world.pay(leaf))).toMatch(/^403 deny/)
    expect(world.rail.orders).toEqual([])
  })

  it('counts what it was asked, said and cost', async () => {
    const usage = { calls: 1, inputTokens: 100, outputTokens: 10, costMicros: 3 }
    const monitor = saying({ ...ALLOW, usage }, { ...OBJECT, usage }, { ...DOWN, usage })
    const { world, root } = await watched(monitor)
    for (let i = 0; i < 3; i += 1) await world.pay(await world.leaf(root, { amount: 10 + i }))
    expect(world.gateway.monitorTotals()).toEqual({
      calls: 3,
      allowed: 1,
      objected: 1,
      failures: new Map([['unreachable', 1]]),
      usage: { calls: 3, inputTokens: 300, outputTokens: 30, costMicros: 9 },
    })
    world.rebuild({ monitor: undefined })
    expect(world.gateway.monitorTotals()).toBeUndefined()
  })
})
