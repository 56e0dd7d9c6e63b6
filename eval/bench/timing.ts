/**
 * Timing of two things side by side: a small batch of one, a small batch of the other, over and over in one run, so that
 * whatever else the machine does meets both alike.
 */

/** One of the things compared. */
export interface Side {
  /** What is timed; a promise is waited for. */
  readonly run: () => unknown
  /** What must be done between two calls and is nobody's time. */
  readonly between?: () => void
}

export interface Rounds {
  /** Calls of each side before anything is timed. */
  readonly warm: number
  readonly batches: number
  /** Calls in a batch. */
  readonly size: number
}

/** The middle one of the values, or the mean of the middle two; NaN for none. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
  return (lower + upper) / 2
}

/** The smallest value that at least this share of all values does not exceed (nearest rank); NaN for none. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

/** Of the straight line through the points (least squares): by how much y rises when x rises by one. */
export const slope = (points: readonly (readonly [x: number, y: number])[]): number => {
  const mean = (of: 0 | 1) => points.reduce((sum, point) => sum + point[of], 0) / points.length
  const [meanX, meanY] = [mean(0), mean(1)]
  const over = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  const under = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return over / under
}

async function timed({ run, between }: Side): Promise<number> {
  const started = performance.now()
  const result = run()
  if (result instanceof Promise) await result
  const ms = performance.now() - started
  between?.()
  return ms
}

/** The median over batches of each batch's median call, in milliseconds, for each side in the order given. */
export async function compare(
  sides: readonly Side[],
  { warm, batches, size }: Rounds,
): Promise<readonly number[]> {
  const batch = async (side: Side, calls: number) => {
    const times: number[] = []
    for (let call = 0; call < calls; call += 1) times.push(await timed(side))
    return median(times)
  }
  for (const side of sides) await batch(side, warm)
  const medians: number[][] = sides.map(() => [])
  for (let round = 0; round < batches; round += 1) {
    for (const [i, side] of sides.entries()) medians[i]?.push(await batch(side, size))
  }
  return medians.map(median)
}
