/** Verdicts on payments since the start, for an operator's graphs. An answer that is only told again is none. */
import type { DenialCode } from '../core/codes.ts'

export interface VerdictCount {
  readonly verdict: 'allow' | 'hold' | 'deny'
  /** `none` for what was allowed. */
  readonly code: DenialCode | 'none'
  readonly count: number
}

export interface VerdictCounts {
  add(verdict: VerdictCount['verdict'], code: VerdictCount['code']): void
  totals(): readonly VerdictCount[]
}

export function verdictCounts(): VerdictCounts {
  const counted = new Map<string, VerdictCount>()
  return {
    add: (verdict, code) => {
      const key = `${verdict} ${code}`
      counted.set(key, { verdict, code, count: (counted.get(key)?.count ?? 0) + 1 })
    },
    totals: () => [...counted.values()],
  }
}
