/** Many seeds over hostile rails, several at once, and what they met in all. */
import { deliver } from './deliver.ts'
import { startEngine } from './gateway.ts'
import type { PlantedFault } from './planted.ts'
import { runSeed, type SeedResult } from './seed.ts'

export interface HostileSummary {
  readonly seeds: number
  readonly byRail: Readonly<Record<string, number>>
  readonly payments: number
  readonly settled: number
  readonly cameBack: number
  readonly restarts: number
  readonly messages: number
  /** Of those, the ones that went by HTTP; of the others the rail was asked. */
  readonly byHttp: number
  /** How many requests met each. */
  readonly faults: Readonly<Record<string, number>>
  readonly wrong: readonly { readonly id: string; readonly why: string }[]
}

export interface HostileOptions {
  readonly seeds: number
  readonly from?: number
  readonly planted?: PlantedFault
  /** Begins no further seed once one has gone wrong. */
  readonly untilWrong?: boolean
  readonly onResult?: (result: SeedResult) => void
}

const isWrong = ({ why }: SeedResult): boolean => why !== undefined

/** Seeds mostly wait for their rails: so many at once keep one core busy. */
const AT_ONCE = 8

export async function runHostile(options: HostileOptions): Promise<HostileSummary> {
  const { seeds, from = 1, planted, untilWrong = false, onResult } = options
  const engine = await startEngine()
  const results: SeedResult[] = []
  let next = from
  const lane = async () => {
    while (next < from + seeds && !(untilWrong && results.some(isWrong))) {
      const seed = next
      next += 1
      const result = await runSeed(seed, {
        engine,
        deliver,
        ...(planted === undefined ? {} : { planted }),
      })
      results.push(result)
      onResult?.(result)
    }
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  } finally {
    await engine.close()
  }
  return summaryOf(results.sort((a, b) => a.seed - b.seed))
}

function summaryOf(results: readonly SeedResult[]): HostileSummary {
  const sum = (of: (result: SeedResult) => number) =>
    results.reduce((total, result) => total + of(result), 0)
  const faults: Record<string, number> = {}
  const byRail: Record<string, number> = {}
  for (const { rail, faults: met } of results) {
    byRail[rail] = (byRail[rail] ?? 0) + 1
    for (const [name, times] of Object.entries(met)) faults[name] = (faults[name] ?? 0) + times
  }
  return {
    seeds: results.length,
    byRail,
    payments: sum(({ payments }) => payments),
    settled: sum(({ settled }) => settled),
    cameBack: sum(({ cameBack }) => cameBack),
    restarts: sum(({ restarts }) => restarts),
    messages: sum(({ messages }) => messages),
    byHttp: sum(({ byHttp }) => byHttp),
    faults,
    wrong: results.flatMap(({ seed, rail, why }) =>
      why === undefined ? [] : [{ id: `R-hostile-${seed}`, why: `${rail}: ${why}` }],
    ),
  }
}
