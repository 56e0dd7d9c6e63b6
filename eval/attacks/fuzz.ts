/**
 * Many changed tokens and proofs against a real gateway over HTTP, from a process of their own. The gateway runs here, and
 * nothing else while it is fired at, so the delay of this event loop is the gateway's. The verdict is not the answers'
 * alone: the rail's book and every run's ledger must be what they were, but for the honest payments mixed in.
 */
import { fork } from 'node:child_process'
import type { KeyObject } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { type PrivateJwk, privateJwkSchema } from '../../runtime/core/keys.ts'
import type { Control, Failure, Order, Report, SentArm } from './fuzz-wire.ts'
import { Bench, type Held } from './world/bench.ts'
import { moveLines, movesBetween } from './world/rail-desk.ts'
import { startScene, startWorld } from './world/start.ts'

export interface FuzzOptions {
  readonly requests: number
  readonly seed: number
  /** Told how many requests are done. */
  readonly onProgress?: (done: number) => void
}

export interface FuzzResult {
  readonly requests: number
  readonly seed: number
  /** Honest payments among them that went through: all of them must. */
  readonly accepted: number
  readonly controls: number
  /** Hostile requests that were answered with success. */
  readonly widened: number
  /** Answers of 500 and above, and connections that ended without one. */
  readonly serverErrors: number
  readonly refusedByStatus: Readonly<Record<string, number>>
  readonly sentByKind: Readonly<Record<string, number>>
  readonly longestStallMs: number
  /** What the rail or a ledger says otherwise than the honest payments explain; must be empty. */
  readonly movedMoney: readonly string[]
  readonly failures: readonly Failure[]
}

const LONGEST_STALL_MS = 100

/** Whether nothing got through, nothing broke, every honest payment went; with `timed`, also that nothing stalled. */
export function isWell(result: FuzzResult, { timed }: { timed: boolean }): boolean {
  const { accepted, controls, widened, serverErrors, movedMoney, longestStallMs } = result
  const isQuiet = !timed || longestStallMs <= LONGEST_STALL_MS
  return accepted === controls && widened + serverErrors + movedMoney.length === 0 && isQuiet
}

const jwkOf = (key: KeyObject): PrivateJwk => privateJwkSchema.parse(key.export({ format: 'jwk' }))

const armed = ({ token, holder, claims }: Held, calls: SentArm['calls']): SentArm => ({
  token,
  claims,
  key: jwkOf(holder),
  calls,
})

const SEARCH = { text: 'chair', limit: 1 }
const PRICE = 1_000

/** Trees with a node of every kind, and leaves of which each may be paid for once. */
async function armTheFuzzer(bench: Bench, requests: number) {
  const controlCount = Math.max(5, Math.min(100, Math.floor(requests / 200)))
  const root = await bench.run({ ceiling: 10_000_000 })
  const planner = await bench.child(root, { ceiling: 5_000_000 }, 150)
  const low = await bench.child(planner, { ceiling: 40_000, payees: [bench.shop.id] }, 10)
  const looker = await bench.child(root, { kind: 'looker', ceiling: 0 })
  const quote = bench.quote()
  const leaf = await bench.leaf(low, quote)
  const other = await bench.purchase()
  const controls: Control[] = []
  for (let n = 0; n < controlCount; n += 1) {
    const price = bench.quote()
    const arm = armed(await bench.leaf(planner, price), [])
    controls.push({ arm, path: '/payments', body: { quote: price } })
  }
  const nodesPath = `/runs/${root.run}/nodes`
  const child = bench.mint(low, { ceiling: 10_000 })
  const openCalls = [[nodesPath, { token: leaf.token }]] as const
  const arms = [
    armed(leaf, [['/payments', { quote }]]),
    armed(other.leaf, [['/payments', { quote: other.quote }]]),
    armed(looker, [
      ['/search', SEARCH],
      ['/products', { merchant: bench.shop.id, sku: 'THING' }],
      ['/quotes', { merchant: bench.shop.id, lines: [{ sku: 'THING', quantity: 1 }] }],
    ]),
    ...[root, planner, low].map((open) => armed(open, openCalls)),
  ]
  const planners = [low, planner, root].map((open) => armed(open, openCalls))
  return { arms, planners, nodesPath, child: armed(child, []), controls }
}

/** Every node's money, by id: what no hostile request may change. */
async function booksOf(bench: Bench): Promise<ReadonlyMap<string, string>> {
  const books = new Map<string, string>()
  for (const run of bench.runs) {
    const { nodes } = await bench.detail(run)
    for (const { id, ceiling, available, reserved, spent, allotted } of nodes) {
      books.set(id, [ceiling, available, reserved, spent, allotted].join(' '))
    }
  }
  return books
}

function bookReasons(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  controls: readonly Control[],
): string[] {
  const expected = new Map(before)
  for (const { arm } of controls) expected.set(arm.claims.node, `${PRICE} 0 0 ${PRICE} 0`)
  const ids = new Set([...expected.keys(), ...after.keys()])
  return [...ids]
    .filter((id) => expected.get(id) !== after.get(id))
    .map((id) => `node ${id}: expected ${expected.get(id)}, found ${after.get(id)}`)
}

/** Starts the fuzzer's process and resolves with its last word. */
function fire(order: Order, onProgress: FuzzOptions['onProgress']): Promise<Report> {
  const file = fileURLToPath(new URL('./fuzz-sender.ts', import.meta.url))
  return new Promise((resolve, reject) => {
    const child = fork(file, {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      serialization: 'advanced',
    })
    child.on('message', (report: Report) => {
      onProgress?.(report.done)
      if (report.ended) resolve(report)
    })
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`the fuzzer's process ended early: ${code}`)))
    child.send(order)
  })
}

export async function fuzz({ requests, seed, onProgress }: FuzzOptions): Promise<FuzzResult> {
  const scene = await startScene()
  try {
    const world = await startWorld(scene, 'main')
    try {
      const bench = new Bench(world)
      const arms = await armTheFuzzer(bench, requests)
      const { origin, url } = world
      const [books, rail] = [await booksOf(bench), await world.desk.book()]
      const delay = monitorEventLoopDelay({ resolution: 5 })
      delay.enable()
      const report = await fire({ origin, url, seed, requests, ...arms }, onProgress)
      delay.disable()
      const moves = moveLines(movesBetween(rail, await world.desk.book()))
      const wanted = moveLines(arms.controls.map(() => bench.move()))
      const isPaid = moves.join('\n') === wanted.join('\n')
      return {
        ...scoreOf(report),
        requests,
        seed,
        controls: arms.controls.length,
        longestStallMs: Math.round(delay.max / 1e6),
        movedMoney: [
          ...(isPaid ? [] : [`the rail moved ${moves.length} times, not ${wanted.length}`]),
          ...bookReasons(books, await booksOf(bench), arms.controls),
        ],
      }
    } finally {
      await world.close()
    }
  } finally {
    await scene.close()
  }
}

function scoreOf({ statuses, kinds, controlsOk, failures }: Report) {
  const count = (holds: (status: number) => boolean) =>
    Object.entries(statuses).reduce((sum, [status, n]) => sum + (holds(Number(status)) ? n : 0), 0)
  return {
    accepted: controlsOk,
    widened: count((status) => status > 0 && status < 400),
    serverErrors: count((status) => status === 0 || status >= 500),
    refusedByStatus: Object.fromEntries(
      Object.entries(statuses).filter(([status]) => Number(status) >= 400),
    ),
    sentByKind: kinds,
    failures,
  }
}
