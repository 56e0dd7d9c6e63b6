/**
 * The one file that reads the machine's clock. Everything else takes a `Clock`, so that tests and simulations
 * decide what time it is.
 */
import { Fault } from './errors.ts'
import { LIMITS } from './limits.ts'
import type { Clock } from './time.ts'

/**
 * A clock over `wallMs` that never goes back: a step back within the allowed skew stands still, a longer one throws
 * Fault `clock_untrusted` until the wall clock has caught up, because expiry and windows would mean nothing.
 */
export function steadyClock(wallMs: () => number): Clock {
  let last = 0
  return {
    nowMs: () => {
      const wall = Math.floor(wallMs())
      if (wall + LIMITS.skewSeconds * 1000 < last) {
        throw new Fault('clock_untrusted', 'the wall clock went back')
      }
      last = Math.max(last, wall)
      return last
    },
  }
}

/** The machine's wall clock, made steady. */
export const systemClock = (): Clock => steadyClock(Date.now)
