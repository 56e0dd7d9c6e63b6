/** One seed: a world is started, troubled for a while, left in peace, and then judged. */
import type { PaymentState } from '../../runtime/core/records.ts'
import { decideHolds, mandateOf, operate, outsidePlanner, resumeAll, startRun } from './people.ts'
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
const ENDED: readonly PaymentState[] = ['settled', 'released']

export async function runSeed(
  seed: number,
  planted?: Planted,
  keepLines = 60,
): Promise<SeedResult> {
  const world = new World(seed, planted, keepLines)
  const { scheduler, random } = world
  const isFailed = () => world.violation !== undefined
  const guard = (work: Promise<unknown>) =>
    work.catch((error: unknown) =>
      world.fail(`a person stumbled: ${error instanceof Error ? error.stack : ''}`),
    )
  for (let i = 0; i < 2; i += 1) {
    scheduler.after(
      random.between(0, 5_000),
      () => void guard(funnelRun(world, `mandate-${seed}-${i}`)),
    )
    scheduler.after(
      random.between(0, 20_000),
      () => void guard(outsidePlanner(world, `outside-${seed}-${i}`)),
    )
  }
  for (let at = 0; at < TROUBLE_MS; at += random.between(1_000, 5_000)) {
    scheduler.after(at, () => void guard(operate(world)))
  }
  if (random.chance(0.4)) jump(world)
  for (let i = random.between(0, 3); i > 0; i -= 1) {
    scheduler.after(random.between(500, TROUBLE_MS), () => world.crash())
  }
  await scheduler.run(isFailed, START_MS + TROUBLE_MS)
  if (!isFailed()) await calm(world, isFailed)
  if (!isFailed()) await world.audit()
  return {
    seed,
    counts: world.counts,
    digest: scheduler.digest(),
    violation: world.violation,
    trace: scheduler.lastLines(),
  }
}

async function funnelRun(world: World, jti: string): Promise<void> {
  const made = await startRun(world, mandateOf(world, jti))
  if (made !== undefined) world.process.parts.funnel.start(made.run)
}

function jump(world: World): void {
  const { random, scheduler } = world
  const from = random.between(2_000, 40_000)
  scheduler.after(from, () => {
    world.counts.jumps += 1
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
  world.crash()
  world.counts.crashes -= 1
  let isDone = false
  const look = async () => {
    await resumeAll(world)
    await decideHolds(world, false)
    isDone = await isAtRest(world)
    scheduler.after(10_000, () => void look())
  }
  scheduler.after(1_000, () => void look())
  await scheduler.run(() => isDone || isFailed(), START_MS + PATIENCE_MS)
  if (isDone || isFailed()) return
  const runs = await world.ledger.runs({ limit: 50 })
  const open = runs
    .filter(({ seal }) => seal === undefined)
    .map(({ id, state }) => `${id} ${state}`)
  const held = [...world.reference.payments.values()].filter(({ state }) => !ENDED.includes(state))
  world.fail(
    `something never ended: ${open.join(', ')}; ${held.map(({ state }) => state).join(', ')}`,
  )
}

/** Sealed runs alone, but for those whose rail moved another sum than was asked: they wait for a person. */
async function isAtRest(world: World): Promise<boolean> {
  const { payments, places } = world.reference
  const open = [...payments.values()].filter(({ state }) => !ENDED.includes(state))
  const isOdd = open.every(
    ({ state, key, amount }) => state === 'unknown' && (world.rail.moved(key) ?? 0) > amount,
  )
  if (!isOdd) return false
  const waiting = new Set(open.map(({ run }) => run))
  const runs = await world.ledger.runs({ limit: 50 })
  if (!runs.every(({ id, seal }) => seal !== undefined || waiting.has(id))) return false
  for (const place of places.values()) {
    const isHome = place.reserved === 0 && (place.path.length === 1 || place.available === 0)
    if (!waiting.has(place.run) && !isHome) world.fail('money did not come home')
  }
  return true
}
