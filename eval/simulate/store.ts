/** The store as one process reaches it: late, failing before or after the commit, and dying with the process. */
import { Fault } from '../../runtime/core/errors.ts'
import type { CommandName, Commands, Ledger } from '../../runtime/core/ledger.ts'
import type { Process, World } from './world.ts'

const broken = (when: string) => new Fault('store_unavailable', `simulated failure ${when}`)

export function storeOf(world: World, process: Process): Ledger {
  const { ledger } = world
  const read =
    <A extends unknown[], R>(name: string, call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      world.io(process, name, () => {
        if (world.isFaulty && world.random.chance(0.002)) throw broken('of a read')
        return call(...args)
      })
  return {
    execute: (name, input) => execute(world, process, name, input),
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
    refunding: read('refunding', ledger.refunding),
    hold: read('hold', ledger.hold),
    holds: read('holds', ledger.holds),
    step: read('step', ledger.step),
    steps: read('steps', ledger.steps),
    events: read('events', ledger.events),
    feed: read('feed', ledger.feed),
    heads: read('heads', ledger.heads),
    onFeed: (listener) =>
      ledger.onFeed((run, position) => {
        if (process.isAlive) listener(run, position)
      }),
    ping: async () => undefined,
    close: async () => undefined,
  }
}

function execute<K extends CommandName>(
  world: World,
  process: Process,
  name: K,
  input: Commands[K]['input'],
): Promise<Commands[K]['result']> {
  const { random } = world
  return world.io(process, name, async () => {
    const luck = world.isFaulty ? random.next() : 1
    if (luck < 0.003) world.crash()
    if (!process.isAlive) return world.never()
    if (luck < 0.015) throw broken('before the commit')
    const result = await world.commit(name, input)
    if (luck < 0.019) world.crash()
    if (luck < 0.031) {
      world.counts.lostReplies += 1
      throw broken('after the commit')
    }
    if (luck > 0.031 && luck < 0.05) {
      world.counts.duplicates += 1
      return world.commit(name, input)
    }
    if (luck < 0.1) await world.io(process, 'late', () => undefined, random.between(10, 3_000))
    return result
  })
}
