/**
 * The one file that reads the machine's clock. Everything else takes a `Clock`, so that tests and simulations
 * decide what time it is.
 */
import { Fault } from './errors.ts'
import { LIMITS } from './limits.ts'
import type { Clock, Timers } from './time.ts'

/**
 * A clock over `wallMs` that never goes back: a step back within the allowed skew stands still, a longer one throws
 * Fault `clock_untrusted` until the wall clock has caught up, because expiry and windows would mean nothing. Given
 * `monotonicMs` too, it throws while the two have parted by more than a minute, in either direction.
 */
export function steadyClock(wallMs: () => number, monotonicMs?: () => number): Clock {
  let last = 0
  const ahead = () => (monotonicMs === undefined ? 0 : wallMs() - monotonicMs())
  const aheadAtStart = ahead()
  return {
    nowMs: () => {
      const wall = Math.floor(wallMs())
      if (!(Math.abs(ahead() - aheadAtStart) <= LIMITS.clockStepMs)) {
        throw new Fault('clock_untrusted', 'the wall clock was stepped by more than a minute')
      }
      if (!(wall + LIMITS.skewSeconds * 1000 >= last)) {
        throw new Fault('clock_untrusted', 'the wall clock went back')
      }
      last = Math.max(last, wall)
      return last
    },
  }
}

/** The machine's wall clock, made steady; build one per process, at its start. */
export const systemClock = (): Clock => steadyClock(Date.now, () => performance.now())

/** The machine's timers. */
export const systemTimers: Timers = {
  after: (ms, act) => {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
}
