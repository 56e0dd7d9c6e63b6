/**
 * What a bench says: figures, some of them with a bound. Only ratios of two things measured side by side in one run have
 * bounds, and counts of bytes; a time by itself says more of the machine than of us.
 */

export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly bound?: number
  /** On which side of its bound the value must be. */
  readonly sense?: 'at most' | 'at least'
  readonly within?: boolean
  /** What a reader should know of how it came about. */
  readonly note?: string
}

export interface Ask {
  /** Only shows that it works: as few rounds as possible, and nobody looks at the bounds. */
  readonly quick: boolean
  /** Progress, for people. */
  readonly tell: (text: string) => void
}

/** A suite is its name, a line about it and how it is measured: the runner knows no more of any. */
export interface Suite {
  readonly name: string
  readonly about: string
  readonly measure: (ask: Ask) => Promise<readonly Figure[]>
}

/** The figures of all parts, measured one after another. */
export const inTurn =
  (parts: readonly Suite['measure'][]): Suite['measure'] =>
  async (ask) => {
    const figures: Figure[] = []
    for (const part of parts) figures.push(...(await part(ask)))
    return figures
  }

export const MEBI = 1024 * 1024

/** Not a number where either is missing, which is within no bound. */
export const ratio = (over: number | undefined, under: number | undefined): number =>
  (over ?? Number.NaN) / (under ?? Number.NaN)

export const atMost = (bound: number, figure: Figure): Figure => ({
  ...figure,
  bound,
  sense: 'at most',
  // Not `>`: what is not a number is within nothing.
  within: figure.value <= bound,
})

export const atLeast = (bound: number, figure: Figure): Figure => ({
  ...figure,
  bound,
  sense: 'at least',
  within: figure.value >= bound,
})
