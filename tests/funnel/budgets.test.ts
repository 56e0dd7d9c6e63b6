import { describe, expect, it } from 'vitest'
import { type Agents, type Budget, ModelFault, type Usage } from '../../runtime/core/agents.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { BOUNDS } from '../../runtime/funnel/context.ts'
import { RunMeter } from '../../runtime/funnel/meter.ts'
import { addUse, createModelUses, NO_USE } from '../../runtime/ledger/model-use.ts'
import { World, type WorldOptions } from './world.ts'

const EACH: Usage = { calls: 1, inputTokens: 90, outputTokens: 10, costMicros: 50 }
const TASK = '1 kettle; 1 office desk; 1 desk lamp'

/** The scripted agents, with a price: whatever they do is one call of a hundred tokens. */
const priced = (scripted: Agents): Agents => ({
  plan: async (...args) => ({ ...(await scripted.plan(...args)), usage: EACH }),
  look: async (request, { meter: _unmetered, ...session }, signal) => ({
    ...(await scripted.look(request, session, signal)),
    usage: EACH,
  }),
  choose: async (...args) => ({ ...(await scripted.choose(...args)), usage: EACH }),
})

const used = async (world: World) =>
  [...(await createModelUses(world.ledger).of(world.run.id)).values()].reduce(addUse, NO_USE)

async function walked(options: Partial<WorldOptions>) {
  const world = await World.open({ task: TASK, agents: priced, ...options })
  const run = await world.finished()
  for (const { account, standing } of await world.ledger.tree(world.run.id)) {
    const { ceiling, available, reserved, spent, allotted } = account
    expect(ceiling).toBe(available + reserved + spent + allotted)
    expect([reserved, standing.state]).toEqual([0, 'closed'])
  }
  const paid = [...world.book.values()].reduce((sum, { amount }) => sum + amount, 0)
  const root = await world.ledger.account(world.root.id)
  expect(root?.available).toBe(100_000 - paid)
  return { world, run, use: await used(world) }
}

describe('a budget', () => {
  const WORDS = {
    calls: 'the budget of model calls is used up',
    tokens: 'the budget of model tokens is used up',
    costMicros: 'the budget of money for models is used up',
  }
  const kinds = Object.keys(WORDS) as (keyof Budget)[]

  it.each(kinds)('of no %s asks no model', async (kind) => {
    const { run, use } = await walked({ budgets: { run: { [kind]: 0 } } })
    expect(run).toMatchObject({ state: 'failed', reason: `The run ended early: ${WORDS[kind]}.` })
    expect(use).toEqual(NO_USE)
  })

  it.each(kinds)(
    'of no %s plans by the scripted planner and names what was not bought',
    async (kind) => {
      const { run, use } = await walked({ fallback: true, budgets: { run: { [kind]: 0 } } })
      expect(run.state).toBe('failed')
      expect(run.reason).toContain('0 bought, 3 not')
      expect(run.reason).toContain(WORDS[kind])
      expect(use).toMatchObject({ calls: 0, costMicros: 0 })
      expect(use.fallbacks).toBeGreaterThan(0)
    },
  )

  it.each([
    ['calls', 9],
    ['tokens', 900],
    ['costMicros', 450],
  ] as const)(
    'of %s that runs out in the middle ends some branches and lets others finish',
    async (kind, most) => {
      const { world, run, use } = await walked({
        budgets: { run: { [kind]: most } },
        bounds: { purchases: 1 },
      })
      expect(use.calls).toBeLessThanOrEqual(9)
      expect(run).toMatchObject({ state: 'completed' })
      expect(run.reason).toContain(WORDS[kind])
      expect((await world.bought()).length).toBeGreaterThan(0)
      expect((await world.bought()).length).toBeLessThan(3)
    },
  )

  it('of a node is its own: a looker that may ask once asks once, and so does every other', async () => {
    const { world, use } = await walked({ budgets: { node: { calls: 2 } } })
    expect(await world.bought()).toHaveLength(3)
    expect(use.calls).toBeGreaterThan(2)
    const none = await walked({ budgets: { node: { calls: 1 } } })
    expect(none.run.reason).toContain(WORDS.calls)
  })

  it('counts what failed', async () => {
    const { use } = await walked({
      fallback: true,
      budgets: { run: { calls: 2 } },
      bounds: { tries: 5 },
      agents: (scripted) => ({
        ...priced(scripted),
        plan: async () => {
          throw new ModelFault('malformed', 'no', { usage: { ...EACH, calls: 0 } })
        },
      }),
    })
    expect(use).toMatchObject({
      ...EACH,
      calls: 2,
      inputTokens: 180,
      outputTokens: 20,
      costMicros: 100,
    })
    expect(use.unanswered).toBe(2)
  })

  it('hears what a question that came too late may have used: its adapter gives up before the funnel does', () => {
    expect(BOUNDS.modelMs).toBeGreaterThan(LIMITS.modelMs)
  })

  it('ends a look between its calls', async () => {
    let calls = 0
    const { use, run } = await walked({
      task: '1 kettle',
      limits: { depth: 1, fanOut: 8, nodes: 8 },
      budgets: { node: { calls: 4 } },
      agents: (scripted) => ({
        ...scripted,
        look: async (_request, { meter }) => {
          for (;;) {
            meter?.before()
            calls += 1
            meter?.after(EACH)
          }
        },
      }),
    })
    expect(calls).toBe(4)
    expect(run.reason).toContain(WORDS.calls)
    expect(use).toMatchObject({ calls: 5, costMicros: 200 })
  })

  it('is not widened by an agent that lies about what it used', async () => {
    const lies = { calls: -5, inputTokens: Number.NaN, outputTokens: -1, costMicros: -9_000 }
    const { use } = await walked({
      budgets: { run: { calls: 3 } },
      agents: (scripted) => ({
        ...scripted,
        plan: async (...args) => ({ ...(await scripted.plan(...args)), usage: lies }),
      }),
    })
    expect(use).toMatchObject({ calls: 3, inputTokens: 0, outputTokens: 0, costMicros: 0 })
  })
})

describe('two calls at the same time', () => {
  const most = (budget: Partial<Budget>) => {
    const noEnd = { calls: 100, tokens: 100_000, costMicros: 100_000 }
    return new RunMeter({ run: { ...noEnd, ...budget }, node: noEnd })
  }

  it('are not both the last one', () => {
    const meter = most({ calls: 1 })
    expect(meter.admit('a' as never)).toBeUndefined()
    expect(meter.admit('b' as never)).toBe('model_calls')
  })

  it.each([
    ['model_tokens', { tokens: 250 }],
    ['model_cost', { costMicros: 125 }],
  ] as const)('are taken to use as much as the largest so far: %s', (spent, budget) => {
    const meter = most(budget)
    meter.recall('a' as never, EACH)
    expect(meter.admit('a' as never)).toBeUndefined()
    expect(meter.admit('b' as never)).toBeUndefined()
    expect(meter.admit('c' as never)).toBe(spent)
    meter.settle('a' as never, 1, { calls: 1, inputTokens: 1, outputTokens: 1, costMicros: 1 })
    expect(meter.admit('c' as never)).toBeUndefined()
  })
})

/** One process that is killed after so many writes of its own, unless the run ends before; whether it ended. */
async function lived(world: World, writes: number): Promise<boolean> {
  world.killAfter = world.writes + writes
  const funnel = world.funnel()
  await funnel.resume()
  let isOver = false
  const over = () => {
    isOver = true
  }
  void funnel.settled(world.run.id).then(over, over)
  await world.until(async () => (isOver || world.isDead ? true : undefined))
  await funnel.close()
  return (await world.ledger.run(world.run.id))?.seal !== undefined
}

describe('what was used', () => {
  it('is not forgotten when a process is killed after every few writes', async () => {
    const options: WorldOptions = {
      task: '1 kettle',
      agents: priced,
      limits: { depth: 1, fanOut: 8, nodes: 8 },
    }
    for (const every of [1, 2, 3, 5]) {
      const world = await World.open(options)
      // What is safe to send again is sent again: each process has to live a little longer.
      for (let lives = 0; !(await lived(world, every + lives)); lives += 1)
        expect(lives).toBeLessThan(40)
      expect(await world.bought()).toEqual(['1 x Electric Kettle'])
      expect(await used(world), `killed after every ${every}`).toMatchObject({ calls: 3 })
    }
    const world = await World.open({ ...options, budgets: { run: { calls: 2 } } })
    for (let lives = 1; !(await lived(world, lives)); lives += 1) expect(lives).toBeLessThan(40)
    expect(await used(world)).toMatchObject({ calls: 2, costMicros: 100 })
    expect(await world.ledger.run(world.run.id)).toMatchObject({ state: 'failed' })
  })

  it('bounds a run whose model fails and whose process ends again and again', async () => {
    const world = await World.open({
      task: '1 kettle',
      budgets: { run: { calls: 5 } },
      agents: (scripted) => ({
        ...scripted,
        plan: async () => {
          throw new ModelFault('unavailable', 'no', { usage: EACH })
        },
      }),
    })
    for (let lives = 0; lives < 7; lives += 1) await lived(world, 1)
    for (let lives = 1; !(await lived(world, lives)); lives += 1) expect(lives).toBeLessThan(40)
    const feed = await world.ledger.feed(world.run.id, 0, 1_000)
    const events = feed.map(({ body }) => parseEvent(body))
    expect(events.filter(({ type }) => type === 'unanswered')).toHaveLength(5)
  })

  it('bounds a run whose process dies over every question before it knows what became of it', async () => {
    let asked = 0
    const world: World = await World.open({
      task: '1 kettle',
      fallback: true,
      budgets: { run: { calls: 4 } },
      agents: (scripted) => ({
        ...scripted,
        plan: async () => {
          asked += 1
          world.killAfter = world.writes
          return new Promise(() => undefined)
        },
      }),
    })
    for (let lives = 1; !(await lived(world, 1_000)); lives += 1) expect(lives).toBeLessThan(40)
    expect(asked).toBe(4)
    expect(await world.ledger.run(world.run.id)).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('the budget of model calls is used up'),
    })
  })

  it('is the same to whoever reads on and to whoever reads it all', async () => {
    const { world } = await walked({})
    const uses = createModelUses(world.ledger)
    const early = createModelUses({
      feed: async (run, after, limit) => (await world.ledger.feed(run, after, limit)).slice(0, 7),
    })
    await early.of(world.run.id)
    for (let i = 0; i < 20; i += 1) await early.of(world.run.id)
    expect(await early.of(world.run.id)).toEqual(await uses.of(world.run.id))
    expect(await uses.of(world.run.id)).toEqual(await uses.of(world.run.id))
  })
})

describe('a mandate that names an engine', () => {
  it.each([
    [{ engine: 'gemini' }, { engine: 'gemini', model: 'gemini-x' }, true],
    [{ engine: 'gemini', model: 'gemini-x' }, { engine: 'gemini', model: 'gemini-x' }, true],
    [{ engine: 'gemini', model: 'gemini-y' }, { engine: 'gemini', model: 'gemini-x' }, false],
    [{ engine: 'groq' }, { engine: 'gemini', model: 'gemini-x' }, false],
    [undefined, { engine: 'groq', model: 'llama' }, true],
  ] as const)('%o is carried out by %o: %s', async (named, runs, isIt) => {
    const world = await World.open({
      task: '1 kettle',
      runs,
      ...(named === undefined ? {} : { named }),
    })
    const run = await world.finished()
    expect(run.state).toBe(isIt ? 'completed' : 'failed')
    expect(world.asked.length > 0).toBe(isIt)
    if (!isIt) expect(run.reason).toContain('another engine or model than this gateway runs')
  })
})
