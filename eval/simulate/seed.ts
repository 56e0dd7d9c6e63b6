/**
 * One seed: a world is started, troubled for a while, left in peace, and then judged. Where to find what:
 *
 * - `scheduler` is time and chance; `world` is what outlives a process, `process` the real gateway composed over ports.
 * - behind the ports: `store` (with the file of checkpoints), `rail`, `tokens`, `signatures`, and in `fakes` the shops,
 *   agents and the monitor.
 * - from outside: `people` with keys of their own, and `operators`.
 * - the judges: `reference` is the ledger in its shortest form, `claims` (and `late`) what must hold at each step, `books`
 *   what must hold at the end; `planted` has the faults that they ought to find.
 */
import { closeBooks, isAtRest, unrest } from './books.ts'
import { eraseSome, operate, tidyUp } from './operators.ts'
import { funnelRun, outsidePlanner } from './people.ts'
import type { Planted } from './planted.ts'
import { type Counts, START_MS, World } from './world.ts'

export interface SeedResult {
  readonly seed: number
  readonly counts: Counts
  readonly digest: string
  readonly violation: string | undefined
  /** The last steps, oldest first. */
  readonly trace: readonly string[]
}

const TROUBLE_MS = 60_000
const PATIENCE_MS = 3 * 3_600_000
const OUTSIDE_PLANNERS = 3

export async function runSeed(
  seed: number,
  planted?: Planted,
  keepLines = 60,
): Promise<SeedResult> {
  const world = new World(seed, planted, keepLines)
  const { scheduler } = world
  const isFailed = () => world.violation !== undefined
  trouble(world)
  await scheduler.run(isFailed, START_MS + TROUBLE_MS)
  if (!isFailed()) await calm(world, isFailed)
  if (!isFailed()) await closeBooks(world)
  return {
    seed,
    counts: world.counts,
    digest: scheduler.digest(),
    violation: world.violation,
    trace: scheduler.lastLines(),
  }
}

/** Everything that people will do, and when the machine will fail them. */
function trouble(world: World): void {
  const { scheduler, random, seed } = world
  const later = (from: number, to: number, act: () => Promise<unknown>) =>
    scheduler.after(
      random.between(from, to),
      () => void act().catch((error) => stumble(world, error)),
    )
  later(0, 5_000, () => funnelRun(world, `mandate-${seed}`))
  for (let i = 0; i < OUTSIDE_PLANNERS; i += 1) {
    later(0, 20_000, () => outsidePlanner(world, `outside-${seed}-${i}`))
  }
  for (let at = 0; at < TROUBLE_MS; at += random.between(1_000, 4_000)) {
    later(at, at + 1, () => operate(world))
  }
  if (random.chance(0.4)) jump(world)
  for (let i = random.between(0, 3); i > 0; i -= 1) {
    scheduler.after(random.between(500, TROUBLE_MS), () => world.crash())
  }
}

function stumble(world: World, error: unknown): void {
  world.fail(`a person stumbled: ${error instanceof Error ? error.stack : ''}`)
}

function jump(world: World): void {
  const { random, scheduler } = world
  const from = random.between(2_000, 40_000)
  scheduler.after(from, () => {
    world.count('clockJumps')
    world.wallOffsetMs = random.pick([3_600_000, -3_600_000, 45_000, -45_000]) ?? 0
    world.trace(`clock jumps by ${world.wallOffsetMs}`)
    // A process that starts meanwhile takes the wrong time for the right one.
    if (random.chance(0.5)) scheduler.after(random.between(0, 2_000), () => world.crash())
  })
  scheduler.after(from + random.between(2_000, 15_000), () => {
    world.wallOffsetMs = 0
  })
}

/** The trouble stops, the process is started once more, and everything must come to its end. */
async function calm(world: World, isFailed: () => boolean): Promise<void> {
  const { scheduler } = world
  world.isFaulty = false
  world.wallOffsetMs = 0
  world.trace('the trouble is over')
  world.replace(world.process)
  let isDone = false
  const look = async () => {
    await tidyUp(world)
    const isOver = await isAtRest(world)
    if (isOver) await eraseSome(world)
    isDone = isOver
    scheduler.after(10_000, () => void look())
  }
  scheduler.after(1_000, () => void look())
  await scheduler.run(() => isDone || isFailed(), START_MS + PATIENCE_MS)
  if (!isDone && !isFailed()) world.fail(`something never ended: ${await unrest(world)}`)
}
