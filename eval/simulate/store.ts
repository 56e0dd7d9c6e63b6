/**
 * What outlives every process: the store, and the file of checkpoints beside it. A process reaches both through ports
 * that are late, fail before or after the write, and die with the process.
 */
import type { CheckpointFile } from '../../runtime/audit/checkpoint-file.ts'
import { Fault } from '../../runtime/core/errors.ts'
import type { Lease } from '../../runtime/core/late.ts'
import type { CommandName, Commands, Ledger } from '../../runtime/core/ledger.ts'
import type { Draft } from '../../runtime/ledger/draft.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { TRANSITIONS, type Transitions } from '../../runtime/ledger/transitions.ts'
import type { Done } from './claims.ts'
import type { Process } from './process.ts'
import type { World } from './world.ts'

export const ORGANISATION = 'acme'

const broken = (when: string) => new Fault('store_unavailable', `simulated failure ${when}`)

export class Store {
  /** As nobody reaches it: always there and never late. */
  readonly ledger: Ledger
  readonly #world: World
  #draft: Draft | undefined

  constructor(world: World, rules: Transitions = TRANSITIONS) {
    this.#world = world
    const transitions = seen(rules, (draft) => {
      this.#draft = draft
    })
    this.ledger = createMemoryLedger({ organisation: ORGANISATION, transitions })
  }

  /** One command, followed and judged. */
  async commit<K extends CommandName>(
    name: K,
    input: Commands[K]['input'],
  ): Promise<Commands[K]['result']> {
    const world = this.#world
    const pending = this.ledger.execute(name, input)
    const draft = this.#draft
    const result = await pending
    world.trace(`p${world.process.id} ${name} ${result.ok ? 'ok' : result.code}`)
    if (result.ok && draft !== undefined)
      world.claims.follow({ name, input, result } as Done, draft)
    return result
  }

  port(process: Process): Ledger {
    const { ledger } = this
    const world = this.#world
    const read =
      <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> =>
        world.io(process, name, () => {
          if (world.isFaulty && world.random.chance(0.002)) throw broken('of a read')
          return call(...args)
        })
    return {
      execute: (name, input) => this.#execute(process, name, input),
      snapshot: read('snapshot', ledger.snapshot),
      run: read('run', ledger.run),
      runByMandate: read('runByMandate', ledger.runByMandate),
      runs: read('runs', ledger.runs),
      node: read('node', ledger.node),
      account: read('account', ledger.account),
      standing: read('standing', ledger.standing),
      token: read('token', ledger.token),
      tree: read('tree', ledger.tree),
      children: read('children', ledger.children),
      payment: read('payment', ledger.payment),
      payments: read('payments', ledger.payments),
      hold: read('hold', ledger.hold),
      holds: read('holds', ledger.holds),
      refunding: read('refunding', ledger.refunding),
      step: read('step', ledger.step),
      steps: read('steps', ledger.steps),
      events: read('events', ledger.events),
      feed: read('feed', ledger.feed),
      heads: read('heads', ledger.heads),
      authorisation: read('authorisation', ledger.authorisation),
      authorisations: read('authorisations', ledger.authorisations),
      paymentNamed: read('paymentNamed', ledger.paymentNamed),
      message: read('message', ledger.message),
      parked: read('parked', ledger.parked),
      outside: read('outside', ledger.outside),
      unacknowledged: read('unacknowledged', ledger.unacknowledged),
      walk: read('walk', ledger.walk),
      onFeed: (listener) =>
        ledger.onFeed((run, position) => {
          if (process.isAlive) listener(run, position)
        }),
      ping: async () => undefined,
      close: async () => undefined,
    }
  }

  #execute<K extends CommandName>(
    process: Process,
    name: K,
    input: Commands[K]['input'],
  ): Promise<Commands[K]['result']> {
    const world = this.#world
    if (name === 'lease') process.leases.add((input as Lease).holder)
    return world.io(process, name, () => troubled(world, process, () => this.commit(name, input)))
  }
}

/** The rules, with a word about what each is writing. */
function seen(rules: Transitions, tell: (draft: Draft) => void): Transitions {
  const entries = Object.entries(rules).map(([name, rule]) => [
    name,
    (input: never, draft: Draft) => {
      tell(draft)
      return rule(input, draft)
    },
  ])
  return Object.fromEntries(entries)
}

/** A write and its answer, either of which may fail, be late, or come twice; or the process dies of it. */
async function troubled<T>(world: World, process: Process, write: () => Promise<T>): Promise<T> {
  const { random } = world
  const luck = world.isFaulty ? random.next() : 1
  if (luck < 0.001) world.crash()
  if (!process.isAlive) return world.never()
  if (luck < 0.015) throw broken('before the commit')
  const result = await write()
  if (luck < 0.017) world.crash()
  if (luck < 0.031) {
    world.count('lostReplies')
    throw broken('after the commit')
  }
  if (luck > 0.031 && luck < 0.05) {
    world.count('duplicates')
    return write()
  }
  if (luck < 0.1) await world.io(process, 'late', () => undefined, random.between(10, 3_000))
  return result
}

/** The file of checkpoints: on the disk as soon as it is written, whoever hears of it. */
export class CheckpointLines {
  readonly #lines: string[] = []
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0
  }

  port(process: Process): CheckpointFile {
    const world = this.#world
    return {
      make: () => world.io(process, 'file', () => undefined),
      last: () => world.io(process, 'file', () => this.#lines.at(-1)),
      append: (jws) =>
        world.io(process, 'file', async () => {
          if (world.isFaulty && world.random.chance(0.05)) world.crash()
          if (!process.isAlive) return
          this.#lines.push(jws)
          world.count('checkpoints')
          if (!world.isFaulty) return
          const luck = world.random.next()
          if (luck < 0.05) world.crash()
          else if (luck < 0.1) throw broken('after the line was written')
        }),
    }
  }
}
