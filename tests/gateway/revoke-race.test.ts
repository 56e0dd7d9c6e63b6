/**
 * Stopping a subtree while its leaves pay. Between any two steps of any payment, and of the stop itself, a seeded
 * scheduler decides who goes on, so that every seed is another interleaving and each can be looked at again.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import {
  type NodeId,
  type PaymentId,
  paymentIdOf,
  type RunId,
  sha256,
} from '../../runtime/core/ids.ts'
import type { Monitor } from '../../runtime/core/judges.ts'
import type { CommandName, Commands, Ledger } from '../../runtime/core/ledger.ts'
import type { RailOrder, RailOutcome } from '../../runtime/core/rail.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'
import { type Leaf, settledFor, World } from './world.ts'

const AMOUNT = 1_000

/** Lets one of those who wait go on at a time, in an order that the seed decides. */
class Turns {
  /** Whole steps so far: what happened before what. */
  tick = 0
  #state: number
  #waiting: (() => void)[] = []
  #isOn = false

  constructor(seed: number) {
    this.#state = seed
  }

  below(most: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((this.#state / 2 ** 32) * most)
  }

  pause(): Promise<void> {
    if (!this.#isOn) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Runs all of these to their ends, one step of one of them at a time. */
  async run<T>(tasks: readonly (() => Promise<T>)[]): Promise<T[]> {
    this.#isOn = true
    let hasEnded = false
    const all = Promise.all(tasks.map((task) => this.pause().then(task))).finally(() => {
      hasEnded = true
    })
    while (!hasEnded) {
      const [next] = this.#waiting.splice(this.below(this.#waiting.length), 1)
      next?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#isOn = false
    return all
  }
}

type Done = {
  [K in CommandName]: { name: K; result: Commands[K]['result']; tick: number }
}[CommandName]

/** The same ledger, which everybody waits for before and after, and what it committed in its own order. */
function takingTurns(ledger: Ledger, turns: Turns, done: Done[]): Ledger {
  return new Proxy(ledger, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== 'execute' && name !== 'snapshot' && name !== 'payment') {
        return typeof value === 'function' ? value.bind(target) : value
      }
      return async (...input: unknown[]) => {
        await turns.pause()
        const result = await value.apply(target, input)
        turns.tick += 1
        if (name === 'execute') done.push({ name: input[0], result, tick: turns.tick } as Done)
        await turns.pause()
        return result
      }
    },
  })
}

interface Call {
  readonly payment: PaymentId
  readonly began: number
  readonly outcome: RailOutcome['kind']
}

interface Scene {
  readonly turns: Turns
  readonly world: World
  readonly store: Ledger
  readonly done: Done[]
  readonly calls: Call[]
  readonly run: RunId
  readonly root: NodeId
  readonly planner: NodeId
  /** Three below the planner, one beside it. */
  readonly leaves: readonly Leaf[]
}

/** Four in six are paid. */
function outcomeOf(order: RailOrder, drawn: number): RailOutcome {
  if (drawn === 0) return { kind: 'declined', reason: 'no' }
  return drawn === 1 ? { kind: 'unknown', reason: 'late' } : settledFor(order)
}

async function setScene(store: Ledger, seed: number): Promise<Scene> {
  const turns = new Turns(seed)
  const done: Done[] = []
  const calls: Call[] = []
  const monitor: Monitor = {
    judge: async () => {
      await turns.pause()
      return { kind: 'allow' }
    },
  }
  const ledger = takingTurns(store, turns, done)
  const world = new World({ deps: { ledger, ...(seed % 2 === 0 ? { monitor } : {}) } })
  const { run, root } = await world.run()
  const planner = await world.child(root, 'planner', {}, 10)
  const leaves: Leaf[] = []
  for (const parent of [planner.id, planner.id, planner.id, root]) {
    leaves.push(await world.leaf(parent, { amount: AMOUNT }))
  }
  const slow = async (order: RailOrder): Promise<RailOutcome> => {
    const outcome = outcomeOf(order, turns.below(6))
    calls.push({ payment: order.payment, began: turns.tick, outcome: outcome.kind })
    for (let waited = turns.below(4); waited > 0; waited -= 1) await turns.pause()
    return outcome
  }
  world.rail.next = leaves.map(() => slow)
  return { turns, world, store, done, calls, run, root, planner: planner.id, leaves }
}

type Act = 'freeze' | 'revoke'

const paymentOf = ({ id, quote }: Leaf): PaymentId => paymentIdOf(id, sha256(quote))

/** Everybody pays, and somebody stops a node or the gateway at a moment of the seed’s. */
async function race(scene: Scene) {
  const { turns, world, root, planner, leaves } = scene
  const act: Act = turns.below(2) === 0 ? 'freeze' : 'revoke'
  const target =
    ([root, planner, planner, leaves[0]?.id ?? root, 'gateway'] as const)[turns.below(5)] ?? root
  const after = turns.below(40)
  const stop = async () => {
    for (let waited = 0; waited < after; waited += 1) await turns.pause()
    await (target === 'gateway' || act === 'freeze'
      ? world.gateway.freeze(target, 'olga')
      : world.gateway.revoke(target, 'olga'))
  }
  await turns.run([stop, ...leaves.map((leaf) => async () => void (await world.pay(leaf)))])
  const paths = await Promise.all(leaves.map(({ id }) => scene.store.node(id)))
  const stopped = paths.map((node) => target === 'gateway' || node?.path.includes(target) === true)
  return { target, stopped }
}

/** What must hold whatever the order was; returns how the ack found each payment below. */
async function judge(scene: Scene, { target, stopped }: Awaited<ReturnType<typeof race>>) {
  const { done, calls, leaves, store } = scene
  const ack = done.find(({ name }) => name === 'setStanding')
  if (ack?.name !== 'setStanding' || !ack.result.ok) throw new Error('expected an acknowledgement')
  const { onTheirWay, standing } = ack.result
  const found: string[] = []
  for (const [i, leaf] of leaves.entries()) {
    const payment = paymentOf(leaf)
    const call = calls.find((each) => each.payment === payment)
    const isListed = onTheirWay.includes(payment)
    if (!stopped[i]) {
      expect(isListed).toBe(false)
      expect(call).toBeDefined()
      continue
    }
    const final = done.find(
      ({ name, result }) =>
        (name === 'settle' || name === 'release' || name === 'markUnknown') &&
        result.ok &&
        'payment' in result &&
        result.payment.id === payment,
    )
    const wasFinal = final !== undefined && final.tick < ack.tick
    // A call may begin after the acknowledgement only if the acknowledgement says so.
    if (call !== undefined) expect([isListed, wasFinal]).toContain(true)
    if (call !== undefined && call.began >= ack.tick) expect(isListed).toBe(true)
    if (isListed) expect(call).toBeDefined()
    found.push(call === undefined ? 'stopped' : isListed ? 'listed' : 'final')
    await judgeOrder(scene, leaf, target, standing.version)
  }
  await judgeSums(store, scene)
  return found
}

/** The log says it too: whatever was submitted had read the standing as it was before the stop. */
async function judgeOrder(scene: Scene, leaf: Leaf, target: NodeId | 'gateway', version: number) {
  const path = ['gateway', ...((await scene.store.node(leaf.id))?.path ?? [])]
  for (const { body } of await scene.store.events(leaf.id, 0, 50)) {
    const { type, data } = parseEvent(body)
    if (type !== 'submitted') continue
    const read = (data as { standings: number[] }).standings
    expect(read[path.indexOf(target)]).toBeLessThan(version)
  }
}

async function judgeSums(store: Ledger, { run, root, calls }: Scene) {
  const tree = await store.tree(run)
  for (const { node, account } of tree) {
    const { ceiling, available, reserved, spent, allotted } = account
    expect(available + reserved + spent + allotted).toBe(ceiling)
    const children = tree.filter(({ node: { parent } }) => parent === node.id)
    expect(children.reduce((sum, child) => sum + child.account.ceiling, 0)).toBe(allotted)
  }
  expect(tree.find(({ node: { id } }) => id === root)?.account.ceiling).toBe(100_000)
  const of = (kind: RailOutcome['kind']) =>
    calls.filter(({ outcome }) => outcome === kind).length * AMOUNT
  expect(tree.reduce((sum, { account }) => sum + account.spent, 0)).toBe(of('settled'))
  expect(tree.reduce((sum, { account }) => sum + account.reserved, 0)).toBe(of('unknown'))
  const lines: string[] = []
  for await (const line of exportLog(store, run)) lines.push(line)
  expect(verifyExport(lines, { run }).broken).toBeUndefined()
}

/** Every way in which a stop can find a payment must have come up, or the seeds show nothing. */
async function raceAll(
  seeds: number,
  withStore: (seed: number, use: (store: Ledger) => Promise<void>) => Promise<void>,
) {
  const found = new Set<string>()
  for (let seed = 1; seed <= seeds; seed += 1) {
    await withStore(seed, async (store) => {
      const scene = await setScene(store, seed)
      try {
        for (const how of await judge(scene, await race(scene))) found.add(how)
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error })
      }
    })
  }
  expect([...found].sort()).toEqual(['final', 'listed', 'stopped'])
}

describe('a stop that races with payments below it', () => {
  it('lets none be submitted after its acknowledgement, and lists what was on its way: in memory', async () => {
    await raceAll(250, (_seed, use) => use(createMemoryLedger({ organisation: 'acme' })))
  })

  it('does so in the embedded store', async () => {
    const folder = await temporaryFolder()
    try {
      await raceAll(30, async (seed, use) => {
        const path = join(folder.path, `${seed}.db`)
        const store = await openSqliteLedger({ path, organisation: 'acme', spawn: withoutThread })
        try {
          await use(store)
        } finally {
          await store.close()
        }
      })
    } finally {
      await folder.remove()
    }
  })
})
