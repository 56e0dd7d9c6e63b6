import { describe, expect, it } from 'vitest'
import {
  type Agents,
  ModelFault,
  type Plan,
  type PlanPart,
  type PlanRequest,
} from '../../runtime/core/agents.ts'
import { minor } from '../../runtime/core/money.ts'
import { heldTo, worthPlanning } from '../../runtime/funnel/again.ts'
import type { Unmet } from '../../runtime/funnel/results.ts'
import { World, type WorldOptions } from './world.ts'

const usage = { calls: 1, inputTokens: 0, outputTokens: 0, costMicros: 0 }

const part = (label: string, text: string, more: object = {}): PlanPart => ({
  kind: 'purchase',
  label,
  need: { text, quantity: 1, prefer: [] },
  ceiling: minor(9_000),
  ...more,
})

/** A planner of one level that answers `plans` in turn, and what it was asked. */
function planner(...plans: readonly (readonly PlanPart[])[]) {
  const asked: PlanRequest[] = []
  const agents = (scripted: Agents): Agents => ({
    ...scripted,
    plan: async (request) => {
      asked.push(request)
      const parts = plans[asked.length - 1] ?? []
      return { plan: { kind: 'parts', parts } as Plan, usage, model: 'planner' }
    },
  })
  return { agents, asked }
}

async function walked(options: Partial<WorldOptions>) {
  const world = await World.open({ task: 'what an office needs', ...options })
  const run = await world.finished()
  const reserved = (await world.ledger.tree(world.run.id)).map(({ account }) => account.reserved)
  expect(new Set(reserved)).toEqual(new Set([0]))
  return { world, run }
}

describe('a part of which nothing was found', () => {
  it('is planned again once, in other words, and bought', async () => {
    const { agents, asked } = planner([part('kettle', 'quarb')], [part('kettle', 'kettle')])
    const { world, run } = await walked({ agents })
    expect(run).toMatchObject({ state: 'completed' })
    expect(run.reason).toBeUndefined()
    expect(await world.bought()).toEqual(['1 x Electric Kettle'])
    expect(asked[1]?.outcomes).toEqual([
      {
        label: 'kettle',
        need: { text: 'quarb', quantity: 1, prefer: [] },
        reason: 'nothing_found',
      },
    ])
  })

  it('is not planned a third time', async () => {
    const { agents, asked } = planner([part('kettle', 'quarb')], [part('kettle', 'zorb')])
    const { run } = await walked({ agents })
    expect(asked).toHaveLength(2)
    expect(run.reason).toBe('0 bought, 1 not: kettle (nothing suitable was offered).')
  })

  it('is never asked for in the same words again', async () => {
    const same = part('kettle', ' QUARB ')
    const { agents, asked } = planner([part('kettle', 'quarb')], [same], [same])
    const { world, run } = await walked({ agents })
    expect(asked.map(({ objection }) => objection)).toEqual([
      undefined,
      undefined,
      expect.stringContaining('asked for otherwise than before'),
    ])
    const lookers = (await world.ledger.tree(world.run.id)).filter(
      ({ node }) => node.kind === 'looker',
    )
    expect(lookers).toHaveLength(1)
    expect(run).toMatchObject({ state: 'failed' })
  })

  it('takes with it nothing that was bought, however often the planner asks for it', async () => {
    const all = [part('kettle', 'kettle'), part('thing', 'quarb')]
    const again = [part('kettle', 'kettle'), part('thing', 'desk lamp'), part('thing', 'mugs')]
    const { agents } = planner(all, again, again)
    const { world } = await walked({ agents })
    expect(await world.bought()).toEqual(['1 x Desk Lamp', '1 x Electric Kettle'])
  })

  it('is bought in no greater number, and within the limits that the task set', async () => {
    const need = { text: 'quarb', quantity: 2, maxUnit: minor(1_600), prefer: [] }
    const more = { text: 'desk lamp', quantity: 50, maxUnit: minor(9_000), prefer: [] }
    const { agents } = planner([part('lamps', '', { need })], [part('lamps', '', { need: more })])
    const { world } = await walked({ agents })
    expect(await world.bought()).toEqual(['2 x Desk Lamp'])
  })
})

describe('what is not planned again', () => {
  it('is a payment of which the outcome is unknown', async () => {
    const { agents, asked } = planner([part('kettle', 'kettle')], [part('kettle', 'mugs')])
    const world = await World.open({
      task: 'what an office needs',
      agents,
      door: () => 'unknown',
      bounds: { outcomeMs: 1_000 },
    })
    const funnel = world.funnel()
    funnel.start(world.run)
    const payment = await world.until(async () => {
      return (await world.ledger.payments({ states: ['unknown'], limit: 1 }))[0]
    })
    world.nowMs += 2_000
    await world.until(async () => {
      const { state } = await world.ledger.standing(world.root.id)
      return state === 'closing' ? true : undefined
    })
    expect(asked).toHaveLength(1)
    const { id, amount } = payment
    const settle = { payment: id, amount, railReference: 'late', now: payment.createdAtSeconds }
    await world.ledger.execute('settle', settle)
    expect(await funnel.settled(world.run.id)).toMatchObject({ state: 'completed' })
    await funnel.close()
    expect(world.book.size).toBe(1)
  })

  it.each(['policy', 'monitor_objects', 'per_payment', 'window', 'approval_required'] as const)(
    'is what %s refused: a plan around a no is what it is there to stop',
    async (code) => {
      const { agents, asked } = planner([part('kettle', 'kettle')], [part('kettle', 'mugs')])
      const { world, run } = await walked({ agents, door: () => code })
      expect(asked).toHaveLength(1)
      expect(world.book.size).toBe(0)
      expect(run).toMatchObject({ state: 'failed' })
    },
  )

  it('is what was too dear for all that is left', () => {
    const dear: Unmet = {
      label: 'x',
      need: { text: 'x', quantity: 1, prefer: [] },
      reason: 'over_budget',
      cheapest: minor(500),
    }
    expect(worthPlanning([dear], minor(499))).toEqual([])
    expect(worthPlanning([dear], minor(500))).toEqual([dear])
    const same = heldTo({ kind: 'parts', parts: [part('x', 'x', { ceiling: minor(499) })] }, [dear])
    expect(same.plan).toEqual({ kind: 'parts', parts: [] })
  })
})

describe('a payee that cannot be paid', () => {
  it('may be replaced by another', async () => {
    const { agents, asked } = planner([part('drink', 'kettle')], [part('drink', 'desk lamp')])
    const { world } = await walked({
      agents,
      door: ({ quote }) => (quote.iss === 'pantry-row' ? 'payee' : 'pay'),
    })
    expect(asked[1]?.outcomes).toMatchObject([{ reason: 'refused', code: 'payee' }])
    expect(await world.bought()).toEqual(['1 x Desk Lamp'])
  })
})

describe('a branch that came to nothing', () => {
  const branch = (task: string): PlanPart => ({
    kind: 'branch',
    label: 'kitchen',
    task,
    ceiling: minor(9_000),
  })
  const scriptedBelow = (...plans: readonly (readonly PlanPart[])[]) => {
    let round = 0
    return (scripted: Agents): Agents => ({
      ...scripted,
      plan: async (request, signal) => {
        if (request.task !== 'all') return scripted.plan(request, signal)
        round += 1
        return { plan: { kind: 'parts', parts: plans[round - 1] ?? [] }, usage, model: 'planner' }
      },
    })
  }

  it('may become a branch again, with a task that can be read', async () => {
    const agents = scriptedBelow([branch('some kettles')], [branch('1 kettle')])
    const { world, run } = await walked({ task: 'all', agents })
    expect(run).toMatchObject({ state: 'completed' })
    expect(await world.bought()).toEqual(['1 x Electric Kettle'])
  })

  it('does not get the same task again', async () => {
    const unread = branch('some kettles')
    const { world, run } = await walked({
      task: 'all',
      agents: scriptedBelow([unread], [unread], [unread]),
    })
    expect(run).toMatchObject({ state: 'failed' })
    expect(run.reason).toContain('does not say how many')
    const tree = await world.ledger.tree(world.run.id)
    expect(tree).toHaveLength(2)
  })
})

describe('a further plan that cannot be had', () => {
  it('leaves standing what was bought before', async () => {
    let round = 0
    const { run, world } = await walked({
      agents: (scripted) => ({
        ...scripted,
        plan: async () => {
          round += 1
          const parts =
            round === 1 ? [part('kettle', 'kettle'), part('thing', 'quarb')] : 'nonsense'
          return { plan: { kind: 'parts', parts } as unknown as Plan, usage, model: 'planner' }
        },
      }),
    })
    expect(await world.bought()).toEqual(['1 x Electric Kettle'])
    expect(run).toMatchObject({
      state: 'completed',
      reason: '1 bought, 1 not: thing (nothing suitable was offered).',
    })
  })
})

describe('a run with a further plan that is killed after any write', () => {
  it('buys each thing once, even where the model answers otherwise after it', async () => {
    let isBlocked = true
    const given: WorldOptions = {
      task: 'what an office needs',
      bounds: { tries: 1 },
      agents: (scripted) => ({
        ...scripted,
        plan: async ({ outcomes }) => {
          const first = [part('kettle', 'kettle'), part('lamp', 'lamps of the desk')]
          const parts = outcomes?.map(({ label }) => part(label, 'desk lamp')) ?? first
          return { plan: { kind: 'parts', parts }, usage, model: 'planner' }
        },
        look: async (request, session, signal) => {
          const isOdd = request.need.text === 'lamps of the desk'
          if (isOdd && isBlocked) throw new ModelFault('blocked', 'no', { retryable: false })
          return scripted.look(request, session, signal)
        },
      }),
    }
    const bought = ['1 x Desk Lamp', '1 x Electric Kettle']
    const whole = await World.open(given)
    await whole.finished()
    expect(await whole.bought()).toEqual(bought)
    for (let n = 1; n < whole.writes - 1; n += 1) {
      isBlocked = true
      const world = await World.open(given)
      world.killAfter = n
      const first = world.funnel()
      first.start(world.run)
      await world.until(async () => (world.isDead ? true : undefined))
      await first.close()
      isBlocked = false
      world.killAfter = Number.POSITIVE_INFINITY
      const second = world.funnel()
      await second.resume()
      await second.settled(world.run.id)
      await second.close()
      expect(await world.bought(), `killed after ${n}`).toEqual(bought)
    }
  })
})
