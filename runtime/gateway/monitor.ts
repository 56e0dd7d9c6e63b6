/** Asking the monitor. Whatever is not exactly one of its three answers, in time, is `unavailable`. */
import { z } from 'zod'
import type { Monitor, MonitorAnswer, PaymentFacts } from '../core/judges.ts'
import { within } from './deadline.ts'

const answerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('allow') }),
  z.strictObject({ kind: z.literal('object') }),
  z.strictObject({ kind: z.literal('unavailable'), why: z.string() }),
])

/** Never throws and never takes longer than `ms`. */
export async function askMonitor(
  monitor: Monitor,
  facts: PaymentFacts,
  ms: number,
): Promise<MonitorAnswer> {
  const stop = new AbortController()
  try {
    const answer = await within(monitor.judge(facts, stop.signal), ms)
    if (answer === 'late') return { kind: 'unavailable', why: 'late' }
    const parsed = answerSchema.safeParse(answer)
    return parsed.success ? parsed.data : { kind: 'unavailable', why: 'malformed' }
  } catch {
    return { kind: 'unavailable', why: 'failed' }
  } finally {
    stop.abort()
  }
}
