import { describe, expect, it } from 'vitest'
import { ClientError } from '../../runtime/client/errors.ts'
import { type Agents, ModelFault, type Plan, type Usage } from '../../runtime/core/agents.ts'
import { type LedgerEvent, parseEvent } from '../../runtime/core/events.ts'
import { createModelUses } from '../../runtime/ledger/model-use.ts'
import { World, type WorldOptions } from './world.ts'

const COST: Usage = { calls: 1, inputTokens: 100, outputTokens: 10, costMicros: 7 }
const answeredBy = { usage: COST, model: 'gemini-x' }

async function walked(options: WorldOptions) {
  const world = await World.open({ fallback: true, ...options })
  const run = await world.finished()
  return { world, run, events: await eventsOf(world) }
}

async function eventsOf(world: World): Promise<LedgerEvent[]> {
  return (await world.ledger.feed(world.run.id, 0, 10_000)).map(({ body }) => parseEvent(body))
}

const dataOf = (events: readonly LedgerEvent[], type: LedgerEvent['type']) =>
  events.filter((event) => event.type === type).map(({ data }) => data)

/** Conservation at every node, nothing held back, and what was not spent at home. */
async function allIsHome(world: World): Promise<void> {
  const tree = await world.ledger.tree(world.run.id)
  for (const { account, standing } of tree) {
    const { ceiling, available, reserved, spent, allotted } = account
    expect(ceiling).toBe(available + reserved + spent + allotted)
    expect(reserved).toBe(0)
    expect(standing.state).toBe('closed')
  }
  const paid = [...world.book.values()].reduce((sum, { amount }) => sum + amount, 0)
  const root = await world.ledger.account(world.root.id)
  expect(root?.available).toBe(100_000 - paid)
}

const planning = (plan: Agents['plan']): Pick<WorldOptions, 'agents'> => ({
  agents: (scripted) => ({ ...scripted, plan }),
})
const answering = (plan: unknown) => planning(async () => ({ plan: plan as Plan, ...answeredBy }))
const failing = (failure: ModelFault['failure'], retryable = false) =>
  planning(async () => {
    throw new ModelFault(failure, 'no', { retryable, usage: COST, model: 'gemini-x' })
  })

describe('a planner without a plan', () => {
  it.each([
    ['answers nonsense for ever', answering({ kind: 'parts', parts: [{ what: 'desk' }] })],
    ['answers nothing', answering(undefined)],
    ['gives out more than there is', answering({ kind: 'parts', parts: [{ kind: 'purchase', label: 'x', need: { text: 'kettle', quantity: 1, prefer: [] }, ceiling: 900_000 }] })],
  ])('is asked twice when it %s, and then the scripted planner takes over and says so', async (_name, model) => {
    const { world, run, events } = await walked({ task: '1 kettle', ...model })
    expect(run).toMatchObject({ state: 'completed' })
    expect(await world.bought()).toEqual(['1 x Electric Kettle'])
    const planned = dataOf(events, 'planned')
    expect(planned).toEqual([
      { model: 'gemini-x', ...COST, step: 'plan-1', parts: 0 },
      expect.objectContaining({ model: 'scripted-1', calls: 0, fallback: 'bad_plan', parts: 1 }),
    ])
    expect(dataOf(events, 'unanswered')).toEqual([
      expect.objectContaining({ role: 'planner', failure: 'bad_plan', ...COST }),
    ])
    await allIsHome(world)
  }) // biome-ignore format: a table

  it.each(['refused', 'blocked', 'quota', 'unauthorised', 'other_model'] as const)(
    'that is %s is not asked again, and what it used up counts',
    async (failure) => {
      const { world, run, events } = await walked({ task: '1 kettle', ...failing(failure) })
      expect(run).toMatchObject({ state: 'completed' })
      expect(dataOf(events, 'unanswered')).toEqual([
        expect.objectContaining({ role: 'planner', failure, model: 'gemini-x', ...COST }),
      ])
      const use = (await createModelUses(world.ledger).of(world.run.id)).get(world.root.id)
      expect(use).toMatchObject({ fallbacks: 1, fallback: 'model_failed', unanswered: 1 })
      expect(use?.byModel['gemini-x']).toEqual(COST)
    },
  )

  it('that is silent is given up after its tries', async () => {
    const { run, events } = await walked({
      task: '1 kettle',
      bounds: { modelMs: 5, tries: 2 },
      ...planning(() => new Promise(() => undefined)),
    })
    expect(run).toMatchObject({ state: 'completed' })
    expect(dataOf(events, 'unanswered')).toMatchObject([{ failure: 'late' }, { failure: 'late' }])
  })

  it('says nothing of a provider in the log', async () => {
    const secret = 'sorry, as a model of ACME I must not'
    const { events } = await walked({
      task: '1 kettle',
      ...planning(async () => {
        throw new ModelFault('refused', secret, { retryable: false, cause: new Error(secret) })
      }),
    })
    expect(JSON.stringify(events)).not.toContain('sorry')
  })

  it('ends the branch where there is no other', async () => {
    const { world, run } = await walked({
      task: '1 kettle',
      fallback: false,
      ...failing('refused'),
    })
    expect(run).toMatchObject({
      state: 'failed',
      reason: 'The run ended early: the model gave no usable answer.',
    })
    await allIsHome(world)
  })

  it('ends with the scripted planner’s sentence where that cannot read the task either', async () => {
    const { world, run } = await walked({ task: 'some chairs', ...failing('refused') })
    expect(run).toMatchObject({ state: 'failed' })
    expect(run.reason).toContain('does not say how many')
    await allIsHome(world)
  })

  it('below others leaves them as they are', async () => {
    const { world, run, events } = await walked({
      task: '1 kettle; 1 office desk',
      agents: (scripted) => ({
        ...scripted,
        plan: async (request, signal) => {
          if (!request.task.includes('kettle') || request.task.includes('desk')) {
            return scripted.plan(request, signal)
          }
          throw new ModelFault('refused', 'no kettles', { retryable: false })
        },
      }),
    })
    expect(run).toMatchObject({ state: 'completed' })
    expect(await world.bought()).toHaveLength(2)
    const fallbacks = events.flatMap(({ type, stream, data }) =>
      type === 'planned' && 'fallback' in data ? [stream] : [],
    )
    expect(fallbacks).toHaveLength(1)
    expect(fallbacks).not.toContain(world.root.id)
  })

  it('stands in the log once: a walk that is killed and resumed follows the plan that was written', async () => {
    let refuses = true
    const model = planning(async () => {
      if (refuses) throw new ModelFault('refused', 'no', { retryable: false })
      const need = { text: 'desk lamp', quantity: 1, prefer: [] }
      const part = { kind: 'purchase', label: 'lamp', need, ceiling: 5000 }
      return { plan: { kind: 'parts', parts: [part] } as unknown as Plan, ...answeredBy }
    })
    for (let n = 3; n < 12; n += 1) {
      refuses = true
      const world = await World.open({ task: '1 kettle', fallback: true, ...model })
      world.killAfter = n
      const first = world.funnel()
      first.start(world.run)
      await world.until(async () => (world.isDead ? true : undefined))
      await first.close()
      refuses = false
      world.killAfter = Number.POSITIVE_INFINITY
      const second = world.funnel()
      await second.resume()
      await second.settled(world.run.id)
      await second.close()
      expect(await world.bought(), `killed after ${n}`).toEqual(['1 x Electric Kettle'])
    }
  })
})

describe('lookers and choosers without a decision', () => {
  const roles = ['look', 'choose'] as const

  it.each(roles)('end their branch with a reason: %s', async (role) => {
    const { world, run, events } = await walked({
      task: '1 kettle; 1 office desk',
      agents: (scripted) => ({
        ...scripted,
        [role]: async (request: { need: { text: string } }, ...rest: never[]) => {
          if (request.need.text.includes('kettle')) {
            throw new ModelFault('blocked', 'no', { retryable: false, usage: COST })
          }
          return (scripted[role] as (...args: unknown[]) => unknown)(request, ...rest)
        },
      }),
    })
    expect(run.reason).toBe(
      '1 bought, 1 not: 1 × kettle (it could not be carried out: the model gave no usable answer).',
    )
    expect(await world.bought()).toEqual(['1 x Office Desk, 120 cm'])
    expect(dataOf(events, 'unanswered')).toMatchObject([{ failure: 'blocked', ...COST }])
    await allIsHome(world)
  })

  it('that answer nonsense for ever are asked a few times, and count each time', async () => {
    const { world, run, events } = await walked({
      task: '1 kettle',
      bounds: { tries: 3 },
      agents: (scripted) => ({
        ...scripted,
        look: async () => ({ look: { found: 'all of it' } as never, ...answeredBy }),
      }),
    })
    expect(run).toMatchObject({ state: 'failed' })
    expect(dataOf(events, 'unanswered')).toMatchObject(
      Array.from({ length: 3 }, () => ({ role: 'looker', failure: 'malformed', ...COST })),
    )
    await allIsHome(world)
  })

  it('count what a look had used by the time a merchant was down, and the rest goes on', async () => {
    const down = () => {
      throw new ClientError('down', { status: 503, code: 'unavailable', advice: 'retry' })
    }
    const { world, run, events } = await walked({
      task: '1 kettle; 1 office desk',
      agents: (scripted) => ({
        ...scripted,
        look: (request, session, signal) => {
          const isDown = request.need.text.includes('kettle')
          return scripted.look(request, isDown ? { ...session, quote: down } : session, signal)
        },
      }),
    })
    expect(run.reason).toContain('1 bought, 1 not: 1 × kettle (it could not be carried out')
    const noted = dataOf(events, 'unanswered')
    expect(noted).toHaveLength(3)
    expect(noted[0]).toMatchObject({ role: 'looker', failure: 'interrupted', calls: 2 })
    await allIsHome(world)
  })
})

describe('a task of nothing that can be had', () => {
  it('is forbidden for every part: nothing is paid, the reasons are named, the money is home', async () => {
    const { world, run } = await walked({ task: '1 kettle; 1 office desk', door: () => 'policy' })
    expect(run).toMatchObject({ state: 'failed' })
    expect(run.reason).toContain('a rule of the operator forbids it')
    await allIsHome(world)
  })

  it('has an empty catalogue', async () => {
    const empty = ['desk-bazaar', 'pantry-row'].map((id) => ({ id, products: [] }))
    const { world, run } = await walked({ task: '1 kettle; 1 office desk', shops: empty })
    expect(run).toMatchObject({ state: 'failed' })
    expect(run.reason).toContain('nothing suitable was offered')
    await allIsHome(world)
  })
})
