/**
 * The funnel: it turns one mandate into a tree and walks it to its end. It holds no money and no authority of its own:
 * every child is minted under its parent's derived key and exists by a recorded split, every search and payment goes
 * through the gateway's door with the node's own proof. A walk may be killed at any instant; resumed, it goes on from
 * what is written, asks no model again and pays nothing twice. Where several processes share a store, a walk holds the
 * run's lease.
 */
import { systemTimers } from '../core/clock.ts'
import { Fault } from '../core/errors.ts'
import type { RunId } from '../core/ids.ts'
import { parseJws } from '../core/jws.ts'
import { mandateSchema } from '../core/mandate.ts'
import type { NodeRecord, RunRecord } from '../core/records.ts'
import { everyRun } from '../ledger/reads.ts'
import { TERMINAL } from '../ledger/runs.ts'
import { recallUse } from './asking.ts'
import { BOUNDS, type FunnelDeps, type Walk } from './context.ts'
import { LOOK_MS, takeLease } from './lease.ts'
import { RunMeter } from './meter.ts'
import { closeNode } from './nodes.ts'
import { Places } from './places.ts'
import { reasonOf } from './reason.ts'
import { NOTHING, resolved, type WalkResult } from './results.ts'
import { walkPlanner } from './walk.ts'

export interface Funnel {
  /** Walks a run in the background; a run that is walked already, ended, or planned elsewhere is left alone. */
  start(run: RunRecord): void
  /** Starts every run that has not ended, now and, where other processes may end, again and again; returns how many. */
  resume(): Promise<number>
  /** Resolves with the run once its walk in this process is over. */
  settled(run: RunId): Promise<RunRecord | undefined>
  /** Stops walking and waits until nothing is in hand; what is written is where the next walk goes on. */
  close(): Promise<void>
}

const isOver = ({ state, seal, halted }: RunRecord): boolean =>
  seal !== undefined || halted !== undefined || TERMINAL.has(state)

/** A funnel that walks nothing yet: `start` one run, or `resume` all that have not ended. */
export function createFunnel(deps: FunnelDeps): Funnel {
  const stop = new AbortController()
  const walks = new Map<RunId, Promise<void>>()
  let callOff = () => {}
  let looking: Promise<unknown> = Promise.resolve()

  const start = (run: RunRecord): void => {
    if (stop.signal.aborted || walks.has(run.id) || isOver(run)) return
    const done = walkRun(deps, run, stop.signal)
      .catch((error: unknown) => {
        if (!stop.signal.aborted) deps.onFault?.(error)
      })
      .finally(() => walks.delete(run.id))
    walks.set(run.id, done)
  }

  const resume = async (): Promise<number> => {
    let started = 0
    for await (const run of everyRun(deps.ledger)) {
      if (isOver(run)) continue
      start(run)
      started += 1
    }
    return started
  }

  /** Runs of a process that was killed have nobody until their leases end. */
  const lookLater = () => {
    if (deps.holder === undefined || stop.signal.aborted) return
    callOff = (deps.timers ?? systemTimers).after(LOOK_MS, () => {
      looking = resume()
        .catch((error: unknown) => deps.onFault?.(error))
        .then(lookLater)
    })
  }

  return {
    start,
    resume: async () => {
      const started = await resume()
      callOff()
      lookLater()
      return started
    },
    settled: async (run) => {
      await walks.get(run)
      return deps.ledger.run(run)
    },
    close: async () => {
      stop.abort()
      callOff()
      await looking
      callOff()
      await Promise.all(walks.values())
    },
  }
}

/** From where it was left to its seal. A fault of ours pauses the walk; it is never the run's failure. */
async function walkRun(deps: FunnelDeps, run: RunRecord, signal: AbortSignal): Promise<void> {
  const root = await deps.ledger.node(run.root)
  if (root === undefined) throw new Fault('ledger_corrupt', 'a run has no root')
  if (root.custody !== 'funnel') return
  const { holder, timers = systemTimers } = deps
  if (holder === undefined) return walkOn(newWalk(deps, run, signal), root)
  const lease = await takeLease({ ...deps, timers, holder }, run.id)
  if (lease === undefined) return
  try {
    // As it is now: whoever held it before may have ended it since it was listed.
    const now = (await deps.ledger.run(run.id)) ?? run
    if (isOver(now)) return
    const walk = newWalk(deps, now, AbortSignal.any([signal, lease.lost]), lease.assertHeld)
    await walkOn(walk, root)
  } catch (error) {
    // The next look finds whether anybody carries it out.
    if (!lease.lost.aborted) throw error
  } finally {
    await lease.end()
  }
}

async function walkOn(walk: Walk, root: NodeRecord): Promise<void> {
  const { signal } = walk
  let isRecalled = false
  for (;;) {
    try {
      if (!isRecalled) await recallUse(walk)
      isRecalled = true
      return await walkToSeal(walk, root)
    } catch (error) {
      signal.throwIfAborted()
      walk.onFault?.(error)
      if (!(error instanceof Fault) || !error.retryable) throw error
      await walk.change(walk.bounds.pauseMs)
    }
  }
}

function newWalk(
  deps: FunnelDeps,
  run: RunRecord,
  signal: AbortSignal,
  assertHeld: () => void = () => undefined,
): Walk {
  const bounds = { ...BOUNDS, ...deps.bounds }
  const { timers = systemTimers } = deps
  return {
    ...deps,
    timers,
    bounds,
    run,
    mandate: mandateSchema.parse(parseJws(run.mandate, 'mandate+jwt')?.claims),
    signal,
    assertOurs: () => {
      signal.throwIfAborted()
      assertHeld()
    },
    places: new Places(bounds.purchases),
    change: (ms) => feedMoves({ ...deps, timers }, run.id, ms, signal),
    meter: new RunMeter(deps.budgets),
  }
}

async function walkToSeal(walk: Walk, root: NodeRecord): Promise<void> {
  const { state } = await current(walk)
  const isWalked = state === 'running'
  const result = isWalked ? await walkPlanner(walk, root, walk.mandate.task) : NOTHING
  for (;;) {
    await closeNode(walk, root.id)
    const standing = await walk.ledger.standing(root.id)
    if (standing.state === 'closed') {
      const known = await resolved(walk, result)
      const isCancelled = (await current(walk)).state === 'cancelling'
      const reason = isCancelled ? undefined : reasonOf(known, root.currency)
      await walk.finish(walk.run.id, endOf(known), reason)
    }
    if (isOver(await current(walk))) return
    await walk.change(walk.bounds.pauseMs)
  }
}

async function current({ ledger, run }: Walk): Promise<RunRecord> {
  return (await ledger.run(run.id)) ?? run
}

/** Failed means that nothing of the task came about; anything bought makes it completed, with what is unmet named. */
const endOf = ({ bought, unmet, unreadable, ended }: WalkResult): 'completed' | 'failed' => {
  const isWhole = unmet.length === 0 && unreadable === undefined && ended === undefined
  return bought > 0 || isWhole ? 'completed' : 'failed'
}

/** Resolves when the run's feed has moved, after `ms`, or when the walk is stopped. */
function feedMoves(
  { ledger, timers }: Pick<Walk, 'ledger' | 'timers'>,
  run: RunId,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      callOff()
      unsubscribe()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const callOff = timers.after(ms, finish)
    const unsubscribe = ledger.onFeed((moved) => {
      if (moved === run) finish()
    })
    signal.addEventListener('abort', finish, { once: true })
    if (signal.aborted) finish()
  })
}
