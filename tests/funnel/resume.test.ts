import { describe, expect, it } from 'vitest'
import { World, type WorldOptions } from './world.ts'

/** Branches, purchases and a second round, so that every kind of step is walked. */
const OPTIONS: WorldOptions = {
  task: '1 coffee machine; 1 office desk; 1 desk lamp',
  ceiling: 60_000,
}

/** Killed after its n-th write and walked on by a new funnel over what was written. */
async function killedAfter(n: number, options: WorldOptions) {
  const world = await World.open(options)
  world.killAfter = n
  const first = world.funnel()
  first.start(world.run)
  await world.until(async () => (world.isDead ? true : undefined))
  await first.close()
  const stored = await world.storedAnswers()
  world.killAfter = Number.POSITIVE_INFINITY
  world.asked.length = 0
  world.faults.length = 0
  const second = world.funnel()
  expect(await second.resume()).toBe(1)
  const run = await second.settled(world.run.id)
  await second.close()
  return { world, run, stored }
}

describe('a run that is killed after any write', () => {
  it('goes on from what was written: pays each thing once, asks no model again, ends the same', async () => {
    const whole = await World.open(OPTIONS)
    const end = await whole.finished()
    const bought = await whole.bought()
    const answers = await whole.storedAnswers()
    expect(bought).toEqual(['1 x Coffee Machine', '1 x Desk Lamp', '1 x Office Desk, 120 cm'])
    const kills = Array.from({ length: whole.writes - 2 }, (_, i) => i + 1)
    for (const n of kills) {
      const { world, run, stored } = await killedAfter(n, OPTIONS)
      expect(world.faults, `killed after ${n}`).toEqual([])
      expect(run, `killed after ${n}`).toMatchObject({ state: end.state })
      expect(run?.reason).toBe(end.reason)
      expect(run?.seal).toBeDefined()
      expect(await world.bought(), `killed after ${n}`).toEqual(bought)
      expect([...world.book.values()].map(({ calls }) => calls)).toEqual([1, 1, 1])
      expect(await world.storedAnswers(), `killed after ${n}`).toBe(answers)
      const rest = world.asked.length - lookersFirstCall(world)
      expect(stored + rest, `killed after ${n}`).toBe(answers)
    }
  })

  it('asks for a fresh quote after a kill as it would have without one', async () => {
    const options = (): WorldOptions => {
      let first: string | undefined
      const door: WorldOptions['door'] = ({ leaf }) => {
        first ??= leaf
        return leaf === first ? 'stale' : 'pay'
      }
      return { task: '1 kettle', door }
    }
    const whole = await World.open(options())
    await whole.finished()
    const leaves = (await whole.ledger.tree(whole.run.id)).filter(
      ({ node }) => node.kind === 'leaf',
    )
    expect(leaves).toHaveLength(2)
    for (let n = 1; n < whole.writes - 1; n += 1) {
      const { world, run } = await killedAfter(n, options())
      expect(run, `killed after ${n}`).toMatchObject({ state: 'completed' })
      expect(await world.bought(), `killed after ${n}`).toEqual(['1 x Electric Kettle'])
      expect([...world.book.values()].map(({ calls }) => calls)).toEqual([1])
    }
  })

  it('waits on for a person after a kill, and pays once after the yes', async () => {
    const options: WorldOptions = { task: '1 kettle', door: () => 'hold' }
    const world = await World.open(options)
    const first = world.funnel()
    first.start(world.run)
    const hold = await world.until(async () => {
      return (await world.ledger.holds({ states: ['open'], limit: 1 }))[0]
    })
    await first.close()
    const { id, digest } = hold
    await world.ledger.execute('decideHold', {
      hold: id,
      digest,
      decision: 'approved',
      by: 'operator',
      now: hold.createdAtSeconds,
    })
    const run = await world.finished()
    expect(run).toMatchObject({ state: 'completed' })
    expect(await world.bought()).toEqual(['1 x Electric Kettle'])
  })

  it('is left to the next process when its own stops, and only then', async () => {
    const world = await World.open(OPTIONS)
    const first = world.funnel()
    first.start(world.run)
    await first.close()
    first.start(world.run)
    expect(await world.ledger.run(world.run.id)).toMatchObject({ state: 'running' })
    expect(await world.finished()).toMatchObject({ state: 'completed' })
  })
})

/** A look asks its model twice, for searches and for picks, and is one answer in the log. */
const lookersFirstCall = (world: World): number => {
  const looks = world.asked.filter((role) => role === 'looker').length
  return Math.floor(looks / 2)
}
