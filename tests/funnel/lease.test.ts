/** Several processes over one store: one of them carries a run out, and when it cannot any more another does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { openTogether } from '../support/firestore/ledger.ts'
import { World, type WorldOptions } from './world.ts'

const OPTIONS: WorldOptions = {
  task: '1 coffee machine; 1 office desk; 1 desk lamp',
  ceiling: 60_000,
}

/** One process's way to the store, which ends with the process: after so many writes, or when it is told. */
function mortal(ledger: Ledger, writes = Number.POSITIVE_INFINITY) {
  let left = writes
  const state = { isDead: false, writes: 0 }
  const alive = () => {
    if (state.isDead) throw new Fault('store_unavailable', 'killed')
  }
  const killed: Ledger = new Proxy(ledger, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name)
      if (typeof found !== 'function' || name === 'onFeed') return found
      return async (...args: unknown[]) => {
        alive()
        const answer: unknown = await found.apply(target, args)
        if (name === 'execute' && args[0] !== 'leaseRun') {
          state.writes += 1
          left -= 1
          if (left === 0) state.isDead = true
        }
        alive()
        return answer
      }
    },
  })
  return { ledger: killed, state }
}

const pass = (world: World, seconds: number) => {
  world.nowMs += seconds * 1000
}

async function wholeRun() {
  const world = await World.open(OPTIONS)
  const run = await world.finished()
  return {
    run,
    bought: await world.bought(),
    answers: await world.storedAnswers(),
    asked: world.asked.length,
    writes: world.writes,
  }
}

/** What must hold of a run that more than one process had a hand in. */
async function expectOnce(world: World, whole: Awaited<ReturnType<typeof wholeRun>>) {
  const run = await world.ledger.run(world.run.id)
  expect(run).toMatchObject({ state: whole.run.state, seal: expect.any(String) })
  expect(await world.bought()).toEqual(whole.bought)
  expect([...world.book.values()].map(({ calls }) => calls)).toEqual([1, 1, 1])
  expect(await world.storedAnswers()).toBe(whole.answers)
}

describe('two processes over one store', () => {
  it('carry a run out once, whoever is told of it, and ask no model twice', async () => {
    const whole = await wholeRun()
    const world = await World.open(OPTIONS)
    const funnels = ['a', 'b'].map((name) => world.funnel(name))
    for (const funnel of funnels) funnel.start(world.run)
    for (const funnel of funnels) expect(await funnel.resume()).toBeLessThan(2)
    for (const funnel of funnels) await funnel.settled(world.run.id)
    for (const funnel of funnels) await funnel.close()
    await expectOnce(world, whole)
    expect(world.asked).toHaveLength(whole.asked)
    expect(world.faults).toEqual([])
  })

  it('hand a run over when one is killed after any of its writes, once its lease has run out and not before', async () => {
    const whole = await wholeRun()
    for (let n = 1; n < whole.writes; n += 4) {
      const world = await World.open(OPTIONS)
      const dying = mortal(world.ledger, n)
      const first = world.funnel('a', dying.ledger)
      first.start(world.run)
      await world.until(async () => (dying.state.isDead ? true : undefined))
      const second = world.funnel('b')
      await second.resume()
      await second.settled(world.run.id)
      expect((await world.ledger.run(world.run.id))?.lease?.holder, `killed after ${n}`).toBe('a')
      pass(world, LIMITS.leaseSeconds)
      await second.resume()
      await second.settled(world.run.id)
      await first.close()
      await second.close()
      await expectOnce(world, whole)
    }
  })

  it('hand it over at once when one is put away', async () => {
    const whole = await wholeRun()
    const asleep = Promise.withResolvers<void>()
    let asked = 0
    const world = await World.open({
      ...OPTIONS,
      agents: (agents) => ({
        ...agents,
        choose: async (...args) => {
          asked += 1
          if (asked > 1) return agents.choose(...args)
          asleep.resolve()
          return new Promise(() => {})
        },
      }),
    })
    const first = world.funnel('a')
    first.start(world.run)
    await asleep.promise
    await first.close()
    const second = world.funnel('b')
    expect(await second.resume()).toBe(1)
    await second.settled(world.run.id)
    await second.close()
    await expectOnce(world, whole)
    expect(world.faults).toEqual([])
  })

  it('leave alone what another took while one slept in the middle of a step', async () => {
    const whole = await wholeRun()
    const wake = Promise.withResolvers<void>()
    const asleep = Promise.withResolvers<void>()
    let asked = 0
    const world = await World.open({
      ...OPTIONS,
      agents: (agents) => ({
        ...agents,
        plan: async (...args) => {
          asked += 1
          if (asked === 1) {
            asleep.resolve()
            await wake.promise
          }
          return agents.plan(...args)
        },
      }),
    })
    const sleeping = mortal(world.ledger)
    const first = world.funnel('a', sleeping.ledger)
    first.start(world.run)
    await asleep.promise
    pass(world, LIMITS.leaseSeconds)
    const second = world.funnel('b')
    await second.resume()
    await second.settled(world.run.id)
    const before = sleeping.state.writes
    wake.resolve()
    await first.settled(world.run.id)
    // The answer that it had asked for is the one write that it tries, and finds there already.
    expect(sleeping.state.writes - before).toBeLessThan(2)
    await first.close()
    await second.close()
    await expectOnce(world, whole)
  })
})

describe('two instances over Firestore', () => {
  let double: FirestoreDouble
  beforeAll(async () => {
    double = await startFirestoreDouble()
  })
  afterAll(() => double.close())

  it('end a run that one of them was killed in: each step and payment once', async () => {
    const whole = await wholeRun()
    const { ledger, peers, dispose } = await openTogether(double.host, 1)
    const [peer = createMemoryLedger({ organisation: 'acme' })] = peers
    const world = await World.open({ ...OPTIONS, ledger })
    const dying = mortal(peer, Math.floor(whole.writes / 2))
    const [first, second] = [world.funnel('a', dying.ledger), world.funnel('b')]
    first.start(world.run)
    await world.until(async () => (dying.state.isDead ? true : undefined))
    pass(world, LIMITS.leaseSeconds)
    await second.resume()
    await second.settled(world.run.id)
    await first.close()
    await second.close()
    await expectOnce(world, whole)
    await dispose()
  }, 60_000)
})
