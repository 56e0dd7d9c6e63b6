/** How often something may be done in a minute, by name; what is remembered is bounded, and the oldest name goes first. */
import { type Clock, nowSeconds, type Seconds } from '../core/time.ts'

const NAMES = 10_000
const MINUTE = 60

export interface Throttle {
  /** Whether this name has room for one more, which is then counted. */
  take(name: string): boolean
}

export function createThrottle({
  perMinute,
  clock,
}: {
  perMinute: number
  clock: Clock
}): Throttle {
  const counts = new Map<string, { readonly since: Seconds; count: number }>()
  return {
    take(name) {
      const now = nowSeconds(clock)
      const known = counts.get(name)
      const isOver = known === undefined || known.since + MINUTE <= now
      const current = isOver ? { since: now, count: 0 } : known
      if (isOver) {
        counts.delete(name)
        for (const oldest of counts.keys()) {
          if (counts.size < NAMES) break
          counts.delete(oldest)
        }
        counts.set(name, current)
      }
      current.count += 1
      return current.count <= perMinute
    },
  }
}
