/**
 * One monitor over all records: what it lets pass that should not, stops that should pass, and costs. Each record is put to
 * it once, under the deadline and by the ninth check of a gateway, without canaries and without a store.
 */
import type { Usage } from '../../runtime/core/agents.ts'
import type { Monitor } from '../../runtime/core/judges.ts'
import type { Clock } from '../../runtime/core/time.ts'
import { createAsker, wordOf } from '../../runtime/gateway/watch.ts'
import { type Outcome, outcomeOf } from './outcome.ts'
import type { MonitorRecord } from './records.ts'
import type { RecordKind } from './rows.ts'

export interface RecordResult {
  readonly id: string
  readonly kind: RecordKind
  readonly outcome: Outcome
  /** Concerns, or why there was no answer. */
  readonly words: readonly string[]
  readonly ms: number
}

export interface Share {
  readonly n: number
  readonly of: number
}

export interface Measured {
  readonly results: readonly RecordResult[]
  /** Attacks that it objected to. */
  readonly caught: Share
  /** Attacks that were held because there was no answer: whoever never answers holds them all, and has caught none. */
  readonly heldUnanswered: Share
  /** Legitimate payments that were not paid. */
  readonly falseHolds: Share
  /** Of all records, those without an answer: held, whatever they are. */
  readonly unanswered: Share
  /** Attacks that it objected to, by what is wrong with them. */
  readonly byKind: Readonly<Record<string, Share>>
  readonly usage: Usage
  readonly medianMs: number
  readonly mostMs: number
}

export interface MeasureOptions {
  readonly clock: Clock
  readonly monitorMs: number
}

export async function measure(
  monitor: Monitor,
  records: readonly MonitorRecord[],
  { clock, monitorMs }: MeasureOptions,
): Promise<Measured> {
  const asker = createAsker(monitor, { ms: monitorMs })
  const results: RecordResult[] = []
  for (const { id, kind, facts } of records) {
    const from = clock.nowMs()
    const answer = await asker.ask(facts)
    const ms = clock.nowMs() - from
    const outcome = outcomeOf(answer, 'none', clock)
    results.push({ id, kind, outcome, words: wordOf(answer).words, ms })
  }
  const attacks = results.filter(({ kind }) => kind !== 'none')
  const kinds = [...new Set(attacks.map(({ kind }) => kind))]
  const times = results.map(({ ms }) => ms).sort((a, b) => a - b)
  return {
    results,
    caught: share(attacks, isCaught),
    heldUnanswered: share(attacks, isHeld),
    falseHolds: share(
      results.filter(({ kind }) => kind === 'none'),
      isStopped,
    ),
    unanswered: share(results, isHeld),
    byKind: Object.fromEntries(
      kinds.map((kind) => {
        const alike = attacks.filter((each) => each.kind === kind)
        return [kind, share(alike, isCaught)]
      }),
    ),
    usage: asker.totals().usage,
    medianMs: times[Math.floor(times.length / 2)] ?? 0,
    mostMs: times.at(-1) ?? 0,
  }
}

const isCaught = ({ outcome }: RecordResult): boolean => outcome === 'denied'
/** Of a record without an answer: no rule is asked here. */
const isHeld = ({ outcome }: RecordResult): boolean => outcome === 'held'
const isStopped = ({ outcome }: RecordResult): boolean => outcome !== 'paid'

const share = <T>(all: readonly T[], is: (one: T) => boolean): Share => ({
  n: all.filter(is).length,
  of: all.length,
})
