/**
 * Leaves of one run that all pay at once on a Firestore whose calls take their time, and the same where each payment
 * writes the accounts above it too. That is what a ledger costs that keeps sums in ancestors; it is made here, of the
 * product's own transitions, and exists nowhere else.
 */
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { type Draft, type Key, keys, type Steps } from '../../../runtime/ledger/draft.ts'
import { openFirestoreLedger } from '../../../runtime/ledger/firestore.ts'
import { createLanes } from '../../../runtime/ledger/lanes.ts'
import { TRANSITIONS, type Transitions } from '../../../runtime/ledger/transitions.ts'
import { startFirestoreDouble } from '../../../tests/support/firestore/double.ts'
import { slow } from '../../../tests/support/firestore/faults.ts'
import { freshProject } from '../../../tests/support/firestore/ledger.ts'
import { median } from '../timing.ts'
import { atOnce, openRun, pay, paymentOf, splitLeaves } from './payments.ts'

export interface RootsOrder {
  readonly leaves: number
  /** Of the product's own ledger, before and after the one of the other, which takes that much longer. */
  readonly rounds: number
  readonly callMs: number
}

export interface Run {
  readonly paymentsPerSecond: number
  readonly abortedPerPayment: number
}

export interface Roots {
  readonly own: Run
  readonly withAncestors: Run
}

/** The transition, and then a write of what stands in every account above the leaf, whose record says which these are. */
function* withAncestors<R extends { readonly ok: boolean }>(
  steps: Steps<R>,
  draft: Draft,
  leaf: () => Key<'node'>,
): Steps<R> {
  const result = yield* steps
  if (!result.ok || !draft.isDirty) return result
  yield [leaf()]
  const above = draft.need(leaf()).path.slice(0, -1).map(keys.account)
  yield above
  for (const account of above) draft.put(account, draft.need(account))
  return result
}

const WITH_ANCESTORS: Transitions = {
  ...TRANSITIONS,
  reserve: (input, draft) =>
    withAncestors(TRANSITIONS.reserve(input, draft), draft, () => keys.node(input.payment.node)),
  settle: (input, draft) => {
    const node = () => keys.node(draft.need(keys.payment(input.payment)).node)
    return withAncestors(TRANSITIONS.settle(input, draft), draft, node)
  },
}

export async function measureRoots(order: RootsOrder): Promise<Roots> {
  const own: Run[] = []
  const rounds = async () => {
    for (let i = 0; i < order.rounds; i += 1) own.push(await payAtOnce(order, TRANSITIONS))
  }
  await rounds()
  const hot = await payAtOnce(order, WITH_ANCESTORS)
  await rounds()
  return { own: middle(own), withAncestors: hot }
}

const middle = (runs: readonly Run[]): Run => ({
  paymentsPerSecond: median(runs.map((run) => run.paymentsPerSecond)),
  abortedPerPayment: median(runs.map((run) => run.abortedPerPayment)),
})

/** A fresh store each time: the run, its leaves, and then all payments at once. */
async function payAtOnce(order: RootsOrder, transitions: Transitions): Promise<Run> {
  const double = await startFirestoreDouble({ mode: 'hostile', lockMs: 2_000 })
  const ledger = await openFirestoreLedger({
    emulatorHost: double.host,
    projectId: freshProject(),
    organisation: 'acme',
    transitions,
    deadlineMs: 120_000,
    pollMs: 60_000,
  })
  try {
    const { run, root } = await openRun(ledger, 'roots')
    const leaves = await splitLeaves(ledger, root, order.leaves)
    await ledger.feed(run.id, 0, 1)
    slow(double, order.callMs)
    const before = double.engine.aborted
    const one = transitions === TRANSITIONS ? ledger : queued(ledger)
    const ms = await atOnce(order.leaves, leaves.map(paymentOf), (payment) => pay(one, payment))
    await ledger.feed(run.id, 0, 1)
    return {
      paymentsPerSecond: (order.leaves * 1000) / ms,
      abortedPerPayment: (double.engine.aborted - before) / order.leaves,
    }
  } finally {
    await ledger.close()
    await double.close()
  }
}

/** One instance that writes ancestors would let its commands wait for each other here rather than in the store. */
function queued(ledger: Ledger): Ledger {
  const lanes = createLanes()
  return {
    ...ledger,
    execute: (name, input) => lanes.run(['root'], () => ledger.execute(name, input)),
  }
}
