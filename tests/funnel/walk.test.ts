import { describe, expect, it } from 'vitest'
import { World } from './world.ts'

const OFFICE = `Furniture:
- 2 office desks, up to 150 each
- 3 ergonomic chairs
Kitchen:
- kettle
- 1 set of stoneware mugs`

describe('a run', () => {
  it('is walked from its task to a sealed end, each thing bought once by the rail’s own book', async () => {
    const world = await World.open({ task: OFFICE })
    const run = await world.finished()
    expect(world.faults).toEqual([])
    expect(run).toMatchObject({ state: 'completed' })
    expect(run.reason).toBeUndefined()
    expect(run.seal).toBeDefined()
    expect(await world.bought()).toEqual([
      '1 x Electric Kettle',
      '1 x Stoneware Mugs, set of 12',
      '2 x Office Desk, 120 cm',
      '3 x Ergonomic Office Chair',
    ])
    expect([...world.book.values()].every(({ calls }) => calls === 1)).toBe(true)
    expect(world.orders).toHaveLength(4)
    const root = await world.ledger.account(world.root.id)
    expect(root).toMatchObject({ available: 100_000 - 49_000, allotted: 49_000, openChildren: 0 })
  })

  it('has a tree of categories, lines, lookers and leaves, all closed at the end', async () => {
    const world = await World.open({ task: OFFICE })
    await world.finished()
    const tree = await world.ledger.tree(world.run.id)
    const count = (kind: string) => tree.filter(({ node }) => node.kind === kind).length
    expect([count('planner'), count('looker'), count('leaf')]).toEqual([7, 4, 4])
    expect(Math.max(...tree.map(({ node }) => node.path.length - 1))).toBe(3)
    expect(tree.every(({ standing }) => standing.state === 'closed')).toBe(true)
    for (const { account } of tree) {
      const { ceiling, available, reserved, spent, allotted } = account
      expect(ceiling).toBe(available + reserved + spent + allotted)
    }
  })

  it('fails with the planner’s sentence when its task cannot be read, and spends nothing', async () => {
    const world = await World.open({ task: 'some chairs' })
    expect(await world.finished()).toMatchObject({
      state: 'failed',
      reason: '"some chairs" does not say how many: write a number.',
    })
    expect(world.book.size).toBe(0)
  })

  it('names what it could not find, and buys the rest', async () => {
    const world = await World.open({ task: '1 kettle; 2 quarbs' })
    expect(await world.finished()).toMatchObject({
      state: 'completed',
      reason: '1 bought, 1 not: 2 × quarbs (nothing suitable was offered).',
    })
  })

  it('fails when nothing of the task could be done', async () => {
    const world = await World.open({ task: '2 quarbs' })
    expect(await world.finished()).toMatchObject({ state: 'failed' })
  })

  it('leaves a run alone that somebody else plans', async () => {
    const world = await World.open({ task: OFFICE })
    const funnel = world.funnel()
    funnel.start({ ...world.run, state: 'completed' })
    await funnel.settled(world.run.id)
    expect(world.asked).toEqual([])
    await funnel.close()
  })
})

describe('the second round', () => {
  it('buys with what came home from other branches what the first round had too little for', async () => {
    const world = await World.open({ task: '1 coffee machine; 1 office desk', ceiling: 60_000 })
    expect(await world.finished()).toMatchObject({ state: 'completed' })
    expect(await world.bought()).toEqual(['1 x Coffee Machine', '1 x Office Desk, 120 cm'])
    expect(world.asked.filter((role) => role === 'planner')).toHaveLength(4)
  })

  it('says what was too dear for all that was left', async () => {
    const task = '1 coffee machine; 1 kettle; 1 office desk; 1 standing desk'
    const world = await World.open({ task, ceiling: 60_000 })
    const run = await world.finished()
    expect(await world.bought()).toHaveLength(3)
    expect(run.reason).toBe(
      '3 bought, 1 not: 1 × coffee machine (over budget: the cheapest was INR 400.00).',
    )
  })

  it('names the one of two alike that it had no money for', async () => {
    const task = '1 coffee machine; 1 coffee machine; 1 office desk'
    const world = await World.open({ task, ceiling: 60_000 })
    const run = await world.finished()
    expect(await world.bought()).toEqual(['1 x Coffee Machine', '1 x Office Desk, 120 cm'])
    expect(run.reason).toContain('2 bought, 1 not: 1 × coffee machine')
  })

  it('is not asked for when no price that was seen can be met', async () => {
    const world = await World.open({ task: '1 coffee machine', ceiling: 20_000 })
    await world.finished()
    expect(world.asked.filter((role) => role === 'planner')).toHaveLength(1)
  })

  it('never spends more than a limit for the whole task, whatever is left of the mandate', async () => {
    const task = 'Budget: 450\n- 1 coffee machine\n- 1 office desk\n- 1 kettle'
    const world = await World.open({ task, ceiling: 100_000 })
    await world.finished()
    const spent = [...world.book.values()].reduce((sum, { amount }) => sum + amount, 0)
    expect(spent).toBeLessThanOrEqual(45_000)
    expect(world.book.size).toBeGreaterThan(0)
  })
})

describe('bounds', () => {
  it('end the parts that have no room and carry out the others', async () => {
    const world = await World.open({
      task: '1 kettle; 1 office desk; 1 desk lamp',
      limits: { depth: 1, fanOut: 4, nodes: 100 },
    })
    const run = await world.finished()
    expect(await world.bought()).toHaveLength(2)
    expect(run.reason).toContain('the mandate allows no more nodes or children here')
  })

  it('hold the number of nodes of the whole run', async () => {
    const world = await World.open({ task: OFFICE, limits: { depth: 3, fanOut: 32, nodes: 6 } })
    const run = await world.finished()
    const tree = await world.ledger.tree(world.run.id)
    expect(tree.length).toBeLessThanOrEqual(7)
    expect(await world.bought()).toHaveLength(3)
    expect(run.state).toBe('completed')
  })

  it('end a run that is out of model calls with a reason', async () => {
    const world = await World.open({ task: OFFICE, budgets: { run: { calls: 3 } } })
    const run = await world.finished()
    expect(run.state).toBe('failed')
    expect(run.reason).toContain('the budget of model calls is used up')
  })

  it('end a run that takes longer than it may', async () => {
    const world = await World.open({ task: OFFICE, bounds: { wallMs: 1000 } })
    world.nowMs += 2000
    expect(await world.finished()).toMatchObject({
      state: 'failed',
      reason: 'The run ended early: the run took longer than it may.',
    })
  })

  it('keep the purchases under way to their number', async () => {
    let [now, most] = [0, 0]
    const world = await World.open({
      task: '1 kettle; 1 office desk; 1 desk lamp; 1 ergonomic chair; 1 set of mugs',
      bounds: { purchases: 2 },
      agents: (scripted) => ({
        ...scripted,
        look: async (request, session, signal) => {
          now += 1
          most = Math.max(most, now)
          await new Promise((resolve) => setTimeout(resolve, 1))
          const look = await scripted.look(request, session, signal)
          now -= 1
          return look
        },
      }),
    })
    await world.finished()
    expect(await world.bought()).toHaveLength(5)
    expect(most).toBe(2)
  })
})
