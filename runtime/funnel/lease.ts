/**
 * Which of several processes over one store carries a run out. A walk holds the run's lease while it lasts and renews it;
 * once it cannot be sure to hold it any more it stops, at its next step or wait, well before another may take it. What is
 * done twice nevertheless, by a process that slept in the middle of a step, is recorded once: steps, splits and payments
 * are the first one's, whoever comes second.
 */
import { Fault } from '../core/errors.ts'
import type { RunId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { nowSeconds, type Timers } from '../core/time.ts'
import type { FunnelDeps } from './context.ts'

/** Part of a lease after which it is renewed, and after which it counts as lost: clocks of processes differ. */
const [RENEW_AT, LOST_AT] = [1 / 3, 2 / 3]

/** How often a process looks for runs that nobody carries out. */
export const LOOK_MS = (LIMITS.leaseSeconds * 1000) / 3

export interface RunLease {
  /** Aborted once the lease may be another's. */
  readonly lost: AbortSignal
  /** Throws once the lease may be another's. */
  readonly assertHeld: () => void
  /** Stops renewing, and gives back what is still held. */
  readonly end: () => Promise<void>
}

type LeaseDeps = Pick<FunnelDeps, 'ledger' | 'clock'> & {
  readonly timers: Timers
  readonly holder: string
}

/** The run's lease, or undefined while another process holds it. Throws Fault. */
export async function takeLease(deps: LeaseDeps, run: RunId): Promise<RunLease | undefined> {
  const { clock, timers } = deps
  const ms = LIMITS.leaseSeconds * 1000
  const lost = new AbortController()
  // Counted from before it was asked for: the answer may take long.
  let askedMs = clock.nowMs()
  if (!(await ask(deps, run, LIMITS.leaseSeconds))) return undefined
  let isEnded = false
  let callOff = () => {}
  let renewing: Promise<void> = Promise.resolve()
  const lose = () => lost.abort(new Fault('store_unavailable', 'the run is another process’s now'))
  const assertHeld = () => {
    if (clock.nowMs() - askedMs >= ms * LOST_AT) lose()
    lost.signal.throwIfAborted()
  }
  const renew = async (): Promise<void> => {
    const nowMs = clock.nowMs()
    try {
      if (!(await ask(deps, run, LIMITS.leaseSeconds))) return lose()
      askedMs = nowMs
    } catch {
      // Tried again at the next turn, while it is held at all.
    }
    if (clock.nowMs() - askedMs >= ms * LOST_AT) return lose()
    if (!isEnded) next()
  }
  const next = () => {
    callOff = timers.after(ms * RENEW_AT, () => {
      renewing = renew().catch(lose)
    })
  }
  next()
  return {
    lost: lost.signal,
    assertHeld,
    end: async () => {
      isEnded = true
      callOff()
      await renewing
      callOff()
      if (!lost.signal.aborted) await ask(deps, run, 0).catch(() => false)
    },
  }
}

async function ask(
  { ledger, clock, holder }: LeaseDeps,
  run: RunId,
  seconds: number,
): Promise<boolean> {
  const leased = await ledger.execute('leaseRun', { run, holder, seconds, now: nowSeconds(clock) })
  if (leased.ok || leased.code === 'conflict') return leased.ok
  throw new Fault('internal', `a lease was refused: ${leased.code}`)
}
