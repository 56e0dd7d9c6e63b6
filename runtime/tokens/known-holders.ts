/** The holders last known to have a recorded node; past the limit the one known for longest is forgotten. */
import type { HolderKey } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'

export interface KnownHolders {
  readonly add: (holder: HolderKey) => void
  readonly has: (holder: HolderKey) => boolean
}

export function createKnownHolders(most: number = LIMITS.knownHolders): KnownHolders {
  const holders = new Set<HolderKey>()
  return {
    has: (holder) => holders.has(holder),
    add(holder) {
      holders.delete(holder)
      holders.add(holder)
      const [oldest] = holders
      if (holders.size > most && oldest !== undefined) holders.delete(oldest)
    },
  }
}
