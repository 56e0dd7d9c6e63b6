/**
 * Shared counters: the one place where siblings meet, so a payment enters one only where the mandate's window or a
 * rule of the operator asks for it. A key holds its period; a settlement after midnight counts where it was reserved.
 */
import type { Denial } from '../core/codes.ts'
import { deny, hold } from '../core/codes.ts'
import { type PayeeId, type RunId, sha256 } from '../core/ids.ts'
import type { PolicyDecision, RuleCounters } from '../core/judges.ts'
import type { CounterUse } from '../core/ledger.ts'
import type { Mandate } from '../core/mandate.ts'
import type { Quote } from '../core/quote.ts'
import type { Counter } from '../core/records.ts'
import { isoTime, later, type Seconds, wallClock } from '../core/time.ts'

const DAY_SECONDS = 24 * 3600

const utcDay = (at: Seconds): string => isoTime(at).slice(0, 10)

const duplicateKey = ({ payee, amount, currency }: Quote, day: string): string =>
  `duplicate:${sha256(`${payee} ${amount} ${currency}`)}:${day}`

const payeeKey = (payee: PayeeId): string => `payee:${payee}`

/** The keys that rules may count this payment under now; days and hours of rules are UTC. */
export function ruleCounters(run: RunId, quote: Quote, now: Seconds): RuleCounters {
  return {
    payee: payeeKey(quote.payee),
    hour: `rule-hour:${run}:${isoTime(now).slice(0, 13)}`,
    duplicate: duplicateKey(quote, utcDay(now)),
  }
}

export interface RuleCounts {
  readonly payeeCount: number
  readonly hourCount: number
  readonly duplicateCount: number
}

/** Yesterday's duplicates count as well: two payments around midnight are within a day of each other. */
function yesterdaysDuplicates(quote: Quote, now: Seconds): string {
  return duplicateKey(quote, utcDay(later(now, -DAY_SECONDS)))
}

/** Everything that `ruleCounts` needs from a snapshot. */
export const countersToRead = (run: RunId, quote: Quote, now: Seconds): readonly string[] => [
  ...Object.values(ruleCounters(run, quote, now)),
  yesterdaysDuplicates(quote, now),
]

export function ruleCounts(
  counters: readonly Counter[],
  run: RunId,
  quote: Quote,
  now: Seconds,
): RuleCounts {
  const count = (key: string) => counters.find((counter) => counter.key === key)?.count ?? 0
  const { payee, hour, duplicate } = ruleCounters(run, quote, now)
  return {
    payeeCount: count(payee),
    hourCount: count(hour),
    duplicateCount: count(duplicate) + count(yesterdaysDuplicates(quote, now)),
  }
}

/** A counter to enter when reserving, and what it means when it is at its bound. */
export interface CountedUse {
  readonly use: CounterUse
  readonly denial: Denial
}

/** The counters of the mandate's window, by the wall clock of its zone. */
export function windowUses(run: RunId, window: Mandate['window'], now: Seconds): CountedUse[] {
  if (window === undefined) return []
  const { perDay, perHour, zone } = window
  const { day, hour } = periods(zone, now)
  const uses: CountedUse[] = []
  if (perDay !== undefined) {
    uses.push({
      use: { key: `window-day:${run}:${day}`, maxAmount: perDay },
      denial: deny('window'),
    })
  }
  if (perHour !== undefined) {
    uses.push({
      use: { key: `window-hour:${run}:${hour}`, maxAmount: perHour },
      denial: deny('window'),
    })
  }
  return uses
}

/**
 * `2026-03-29` and `2026-03-29T02+02:00` in that zone. A day is as long as the zone makes it, 23 to 25 hours, and has one
 * sum. An hour that a clock shows twice is two windows, told apart by the offset: `perHour` is what may go within sixty
 * minutes, and the second hour is not spent before it begins. Where clocks move by half an hour, a window may be shorter.
 */
export function periods(zone: string, now: Seconds): { day: string; hour: string } {
  const parts = wallClock(zone).formatToParts(now * 1000)
  const part = (wanted: Intl.DateTimeFormatPartTypes) =>
    parts.find(({ type }) => type === wanted)?.value ?? ''
  const day = `${part('year')}-${part('month')}-${part('day')}`
  return { day, hour: `${day}T${part('hour')}${part('timeZoneName').replace('GMT', '')}` }
}

/** The counters of the rules. An approval answers holds, so bounds that hold are then counted and not enforced. */
export function ruleUses(
  bounds: PolicyDecision['bounds'],
  keys: RuleCounters,
  approved: boolean,
): CountedUse[] {
  return bounds.map(({ counter, maxCount, rule, effect }) => {
    const key = keys[counter]
    const isAnswered = effect === 'hold' && approved
    return {
      use: isAnswered ? { key } : { key, maxCount },
      denial: effect === 'hold' ? hold('approval_required', rule) : deny('policy', rule),
    }
  })
}

/** What it means that this counter is at its bound: the word of whoever set the tightest one. */
export function denialAt(uses: readonly CountedUse[], key: string | undefined): Denial {
  const most = ({ use }: CountedUse) => use.maxCount ?? Number.POSITIVE_INFINITY
  const [tightest] = uses.filter(({ use }) => use.key === key).sort((a, b) => most(a) - most(b))
  return tightest?.denial ?? deny('window')
}
