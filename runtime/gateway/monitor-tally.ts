/** What a monitor has been asked and has said since the start, for an operator's graphs. */
import { addUsage, NO_USAGE, type Usage } from '../core/agents.ts'
import type { MonitorFailure } from '../core/judges.ts'
import type { CanaryTotals } from './canaries.ts'

export interface MonitorTotals {
  /** Questions that were put to it, canaries among them. */
  readonly calls: number
  /** Its answers about payments. */
  readonly allowed: number
  readonly objected: number
  /** Why there was no answer, canaries among them; our own reasons, such as a quota, are here without a call. */
  readonly failures: ReadonlyMap<MonitorFailure, number>
  readonly usage: Usage
  /** Absent where none are put to it. */
  readonly canaries?: CanaryTotals
}

export interface MonitorTally {
  asked(): void
  answered(kind: 'allow' | 'object'): void
  failed(why: MonitorFailure): void
  spent(usage: Usage | undefined): void
  totals(): Omit<MonitorTotals, 'canaries'>
}

export function monitorTally(): MonitorTally {
  const failures = new Map<MonitorFailure, number>()
  const answers = { allow: 0, object: 0 }
  let calls = 0
  let used = NO_USAGE
  return {
    asked: () => {
      calls += 1
    },
    answered: (kind) => {
      answers[kind] += 1
    },
    failed: (why) => {
      failures.set(why, (failures.get(why) ?? 0) + 1)
    },
    spent: (usage = NO_USAGE) => {
      used = addUsage(used, usage)
    },
    totals: () => ({
      calls,
      allowed: answers.allow,
      objected: answers.object,
      failures,
      usage: used,
    }),
  }
}
