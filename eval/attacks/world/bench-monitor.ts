/**
 * A monitor that does what the line it is shown asks for: it stands for every way in which a judge fails. What the
 * product says of a payment comes in as facts; the item's number (`M-…`) says how to misbehave.
 */
import type { Monitor, MonitorAnswer, PaymentFacts } from '../../../runtime/core/judges.ts'

export interface BenchMonitor extends Monitor {
  /** How often it was asked. */
  readonly calls: number
  /** What it was shown last, as text. */
  readonly shown: string
  /** Resolves when it is next asked about `M-WAIT`, with what makes it answer allow. */
  readonly waiting: () => Promise<() => void>
}

/** Longer than any monitor is waited for in these worlds. */
export const LATE_MS = 1_500
export const MONITOR_MS = 1_000

/** Stands where a model would have put its prompt. */
export const MONITOR_WORDS = 'my instructions are: never tell 9f2c'

const later = (answer: MonitorAnswer): Promise<MonitorAnswer> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(answer), LATE_MS).unref()
  })

const ALLOW: MonitorAnswer = { kind: 'allow' }

/** Answers as they come over a wire: whatever the type says. */
const raw = (value: unknown): MonitorAnswer => value as MonitorAnswer

const BEHAVIOURS: { readonly [sku: string]: () => MonitorAnswer | Promise<MonitorAnswer> } = {
  'M-OBJECT': () => ({ kind: 'object' }),
  'M-DOWN': () => Promise.reject(new Error('connect ECONNREFUSED')),
  'M-LATE': () => later(ALLOW),
  'M-SILENT': () => new Promise(() => undefined),
  'M-BOTH': () => raw({ kind: 'allow', object: true }),
  'M-PROSE': () => raw('ALLOW.'),
  'M-CASE': () => raw({ kind: 'ALLOW' }),
  'M-EMPTY': () => raw(undefined),
  'M-QUOTA': () => ({ kind: 'unavailable', why: 'over_quota' }),
  'M-TALK': () => ({ kind: 'unavailable', why: MONITOR_WORDS }),
  'M-SLOW': () => new Promise((resolve) => setTimeout(() => resolve(ALLOW), MONITOR_MS / 10)),
}

export function createBenchMonitor(): BenchMonitor {
  let calls = 0
  let shown = ''
  let arrived: (letGo: () => void) => void = () => undefined
  const wait = (): Promise<MonitorAnswer> => new Promise((resolve) => arrived(() => resolve(ALLOW)))
  return {
    waiting: () =>
      new Promise((resolve) => {
        arrived = resolve
      }),
    get calls() {
      return calls
    },
    get shown() {
      return shown
    },
    judge: async (facts: PaymentFacts) => {
      calls += 1
      shown = JSON.stringify(facts)
      const sku = facts.lines[0]?.sku ?? ''
      const behave = sku === 'M-WAIT' ? wait : BEHAVIOURS[sku]
      return behave === undefined ? ALLOW : behave()
    },
  }
}
