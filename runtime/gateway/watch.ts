/**
 * What stands between check 9 and its monitor: the answer that was given first, the quota, the canaries and the deadline. A
 * monitor is never waited for longer than it may take, nothing that it says enters a record but closed words, and
 * whatever is wrong with it is no answer.
 */
import { z } from 'zod'
import {
  type CanaryTerms,
  CONCERNS,
  MONITOR_FAILURES,
  type Monitor,
  type MonitorAnswer,
  type MonitorFacts,
  type MonitorFailure,
  type MonitorWord,
} from '../core/judges.ts'
import type { Timers } from '../core/time.ts'
import { createCanaries } from './canaries.ts'
import { firstAnswer, questionOf, standingAnswer } from './first-answer.ts'
import type { Gate, GatewayDeps, Timings } from './gate.ts'
import type { Caller } from './identify.ts'
import { monitorFactsOf } from './monitor-facts.ts'
import { createQuota, type Quota } from './monitor-quota.ts'
import { type MonitorTally, type MonitorTotals, monitorTally } from './monitor-tally.ts'
import type { Purchase } from './purchase.ts'
import { within } from './timers.ts'

/** A monitor that is asked in the right way: in time, in closed words, believed or not, and counted. */
export interface Asker {
  readonly tally: MonitorTally
  /** Never throws. */
  ask(facts: MonitorFacts): Promise<MonitorAnswer>
  totals(): MonitorTotals
}

/** With how often it may be asked. */
export interface Watch extends Asker {
  readonly monitor: Monitor
  readonly quota?: Quota | undefined
}

/** Undefined where there is no monitor: check 9 does not apply. */
export function createWatch(deps: GatewayDeps, { monitorMs }: Timings): Watch | undefined {
  const { monitor, watching = {}, ledger, clock, timers } = deps
  if (monitor === undefined) return undefined
  const quota = watching.quota && createQuota(watching.quota, { ledger, clock })
  const asker = createAsker(monitor, { ms: monitorMs, timers, canaries: watching.canaries })
  return { ...asker, monitor, quota }
}

export interface AskerOptions {
  readonly ms: number
  readonly timers?: Timers | undefined
  readonly canaries?: CanaryTerms | undefined
}

export function createAsker(
  monitor: Monitor,
  { ms, timers, canaries: terms }: AskerOptions,
): Asker {
  const tally = monitorTally()
  const canaries = terms && createCanaries(terms)
  const put = putter(monitor, { ms, timers, tally })
  return {
    tally,
    ask: (facts) => (canaries === undefined ? put(facts) : canaries.around(facts, put)),
    totals: () => ({
      ...tally.totals(),
      ...(canaries === undefined ? {} : { canaries: canaries.totals() }),
    }),
  }
}

/** What the monitor says of a payment, as it was said first. Throws Fault. */
export async function watched(
  gate: Gate,
  watch: Watch,
  { caller, purchase }: { readonly caller: Caller<unknown>; readonly purchase: Purchase },
): Promise<MonitorAnswer> {
  const { snapshot, node } = caller
  const root = snapshot.path[0]?.id ?? node.node
  const question = questionOf(gate, watch.monitor, monitorFactsOf(caller, purchase))
  const places = { leaf: node.node, root }
  const before = await standingAnswer(gate, places, question)
  if (before !== undefined) return before
  const isWithinQuota = (await watch.quota?.take({ run: snapshot.run.id, node: node.node })) ?? true
  const answer: MonitorAnswer = isWithinQuota
    ? await watch.ask(question.facts)
    : { kind: 'unavailable', why: 'over_quota' }
  if (answer.kind === 'unavailable') {
    const why = failureOf(answer)
    // Those that the monitor gave were counted when it was asked.
    if (why === 'over_quota' || why === 'below_floor') watch.tally.failed(why)
    return answer
  }
  watch.tally.answered(answer.kind)
  return firstAnswer(gate, places, { question, answer, monitor: watch.monitor })
}

/** The answer as it stands in records: concerns, or why there is none. */
export function wordOf(answer: MonitorAnswer): MonitorWord {
  switch (answer.kind) {
    case 'allow':
      return { answer: 'allow', words: [] }
    case 'object':
      return { answer: 'object', words: answer.concerns ?? [] }
    case 'unavailable':
      return { answer: 'unavailable', words: [failureOf(answer)] }
  }
}

const failureSchema = z.enum(MONITOR_FAILURES)

/** A reason that is not one of ours is not repeated. */
function failureOf({ why }: { readonly why: string }): MonitorFailure {
  const read = failureSchema.safeParse(why)
  return read.success ? read.data : 'failed'
}

const usageCount = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const usage = z
  .strictObject({
    calls: usageCount,
    inputTokens: usageCount,
    outputTokens: usageCount,
    costMicros: usageCount,
  })
  .exactOptional()
const concerns = z.array(z.enum(CONCERNS)).max(CONCERNS.length).readonly().exactOptional()

/** Whatever is not exactly one of these, in time, is `unavailable`. */
const answerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('allow'), usage }),
  z.strictObject({ kind: z.literal('object'), concerns, usage }),
  z.strictObject({ kind: z.literal('unavailable'), why: z.string(), usage }),
])

/** Asks once: never throws, and never takes longer than a monitor may. */
function putter(
  monitor: Monitor,
  { ms, timers, tally }: { ms: number; timers: Timers | undefined; tally: MonitorTally },
): (facts: MonitorFacts) => Promise<MonitorAnswer> {
  const asked = async (facts: MonitorFacts, signal: AbortSignal): Promise<MonitorAnswer> => {
    const parsed = answerSchema.safeParse(await monitor.judge(facts, signal))
    // Also of an answer that comes too late: it has been paid for.
    if (parsed.success) tally.spent(parsed.data.usage)
    return parsed.success ? parsed.data : { kind: 'unavailable', why: 'malformed' }
  }
  return async (facts) => {
    const stop = new AbortController()
    const answer = await within(asked(facts, stop.signal), ms, timers)
      .catch(() => ({ kind: 'unavailable', why: 'failed' }) as const)
      .finally(() => stop.abort())
    tally.asked()
    if (answer !== 'late' && answer.kind !== 'unavailable') return answer
    const why = answer === 'late' ? answer : failureOf(answer)
    tally.failed(why)
    return { kind: 'unavailable', why }
  }
}
