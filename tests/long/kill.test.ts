/**
 * A gateway that is killed, again and again, at random moments of a real run over real processes. Who was paid is
 * asked of the rail's own book, which lives in a process that is never killed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { loadMission } from '../../runtime/cli/mission.ts'
import { startWorld, type World } from '../../runtime/cli/world.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { jwksSchema } from '../../runtime/core/keys.ts'
import { type OperatorCalls, operatorOf } from '../support/operator.ts'

/** A few among all other tests; the README's command asks for more. */
const RUNS = Number(process.env.KILL_RUNS ?? 1)
const KILLS_A_RUN = 5
/** Feed positions of an office move that nobody disturbs, roughly: kills are spread over all of them. */
const POSITIONS = 420

const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000)

/** A small seeded generator, so that a failure can be looked at again. */
function randomOf(start: number): () => number {
  let state = start
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

let world: World
let operator: OperatorCalls

beforeAll(async () => {
  world = await startWorld({
    clock: systemClock(),
    entry: new URL('../support/quick-gateway.ts', import.meta.url).pathname,
  })
  operator = operatorOf(world)
})

afterAll(async () => {
  await world?.close()
})

async function postRun(): Promise<string> {
  const { mandate } = loadMission('office-move')
  const made = await operator.post('/runs', { mandate: world.sign(mandate) })
  return (made as { run: { id: string } }).run.id
}

/** Kills once the run has come to each of these positions, and starts the gateway again. */
async function runWithKills(positions: readonly number[], random: () => number): Promise<string> {
  const id = await postRun()
  for (const position of positions) {
    const isThere = (detail: { position: number; run: { state: string } }) =>
      detail.position >= position || detail.run.state !== 'running'
    await operator.follow(id, isThere)
    await sleep(random() * 30)
    await world.gateway.kill()
    await world.gateway.restart()
  }
  await operator.follow(id, ({ run }) => run.state !== 'running')
  return id
}

describe(`a run killed ${RUNS * KILLS_A_RUN} times at random moments (KILL_SEED=${seed})`, () => {
  it('completes each time, pays each leaf once by the rail’s own book, and its log verifies', async () => {
    const random = randomOf(seed)
    const jwks = jwksSchema.parse(await operator.get('/.well-known/jwks.json'))
    // Some calls are under way when the gateway dies: the rail commits, and nobody hears it.
    await world.rail.script({ match: {}, outcome: 'slow', delayMs: 60, times: 1_000 })
    const keysBefore = new Set<string>()
    for (let round = 1; round <= RUNS; round += 1) {
      const positions = Array.from({ length: KILLS_A_RUN }, () => Math.ceil(random() * POSITIONS))
      const id = await runWithKills(
        positions.sort((a, b) => a - b),
        random,
      )
      const { run, nodes } = await operator.run(id)
      const settled = nodes.filter(({ payment }) => payment?.state === 'settled')
      const { entries = [] } = await world.rail.book()
      const own = entries.filter(({ key }) => !keysBefore.has(key))
      for (const { key } of own) keysBefore.add(key)

      expect(run.state).toBe('completed')
      expect(run.reason).toBeUndefined()
      expect(settled).toHaveLength(16)
      expect(own).toHaveLength(16)
      expect(new Set(own.map(({ key }) => key)).size).toBe(16)
      const moved = own.reduce((sum, { amount }) => sum + amount, 0)
      expect(run.totals.spent).toBe(moved)
      expect(run.totals.available + run.totals.reserved + run.totals.spent).toBe(run.ceiling)
      expect(run.totals.reserved).toBe(0)

      const log = (await operator.text(`/audit?run=${id}`)).trim().split('\n')
      const verdict = verifyExport(log, { run: id, seals: [run.seal ?? ''], jwks })
      expect(verdict.broken).toBeUndefined()
      expect(verdict.ok).toBe(true)
    }
    const { calls, payments } = await world.rail.book()
    expect(calls).toBe(payments)
  })
})
