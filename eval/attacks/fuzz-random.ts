/** Numbers that look random and are always the same for one seed: every request draws from a row of its own. */

export interface Draw {
  /** 0 to `below - 1`. */
  readonly int: (below: number) => number
  readonly pick: <T>(items: readonly T[]) => T
}

/** Mulberry32 by Tommy Ettinger: small, and good enough to choose what to break. */
export function drawOf(seed: number, index: number): Draw {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const int = (below: number) => Math.floor(next() * below)
  const pick = <T>(items: readonly T[]): T => {
    const item = items[int(items.length)]
    if (item === undefined) throw new RangeError('expected something to pick from')
    return item
  }
  return { int, pick }
}
