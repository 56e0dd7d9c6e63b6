/** Scripted outcomes of the simulated rail: what a test or a demo wants the next payout to meet. */
import { z } from 'zod'
import { currencySchema, positiveMinorSchema } from '../../core/money.ts'
import { payoutKeySchema } from './wire.ts'

/** The rail still books this late and no later; the adapter's truth table rests on it. */
export const LATEST_BOOKING_MS = 1_500

/**
 * - `settle`, `decline`: as usual, or the rail's own refusal.
 * - `lostReply`: booked, then the connection drops. `lostRequest`: it drops and nothing was booked.
 * - `lateCommit`: the connection drops at once, the payout is booked `delayMs` later.
 * - `slow`: booked at once, answered `delayMs` later.
 * - `lateReversal`: settled; comes back `afterMs` later, or when `POST /payouts/{key}/return` says so.
 * - `garbage`: booked, answered 200 with a web page. `error500AfterSettle`: booked, answered 500.
 * - `wrongAmount`: moves `amount` (default: one unit more) or `currency` instead of what was asked, and says so.
 */
const OUTCOMES = [
  'settle',
  'decline',
  'lostReply',
  'lostRequest',
  'lateCommit',
  'slow',
  'lateReversal',
  'garbage',
  'error500AfterSettle',
  'wrongAmount',
] as const

export const ruleSchema = z
  .strictObject({
    /** Which kind of request it answers; in a `match` the key and account of a refund are its own and its payout's. */
    on: z.enum(['payout', 'refund']).default('payout'),
    /** Every given member must fit; none given fits all. `n` is the value of `calls` at that request. */
    match: z
      .strictObject({
        account: z.string().min(1).max(200).optional(),
        key: payoutKeySchema.optional(),
        n: z.number().int().min(1).optional(),
      })
      .default({}),
    outcome: z.enum(OUTCOMES),
    /** How many requests it answers before it is used up. */
    times: z.number().int().min(1).max(1_000_000).default(1),
    delayMs: z.number().int().min(0).max(60_000).default(1_000),
    afterMs: z.number().int().min(0).max(600_000).optional(),
    amount: positiveMinorSchema.optional(),
    currency: currencySchema.optional(),
    reason: z.string().min(1).max(80).optional(),
  })
  .refine((rule) => rule.outcome !== 'lateCommit' || rule.delayMs <= LATEST_BOOKING_MS, {
    message: 'expected a late booking within the rail’s visibility delay',
    path: ['delayMs'],
  })

export type Rule = z.infer<typeof ruleSchema>

export interface Arrival {
  readonly on: Rule['on']
  readonly n: number
  readonly account: string
  readonly key: string
}

const fits = ({ on, match }: Rule, arrival: Arrival): boolean =>
  on === arrival.on &&
  (match.account === undefined || match.account === arrival.account) &&
  (match.key === undefined || match.key === arrival.key) &&
  (match.n === undefined || match.n === arrival.n)

/** The rules in the order they were posted. Kept in memory only: a script is not part of the book. */
export class Script {
  #rules: { readonly rule: Rule; left: number }[] = []

  add(rule: Rule): void {
    this.#rules.push({ rule, left: rule.times })
  }

  clear(): void {
    this.#rules = []
  }

  /** The first rule that fits, used up by one; undefined means that the payout goes as usual. */
  take(arrival: Arrival): Rule | undefined {
    const entry = this.#rules.find(({ rule }) => fits(rule, arrival))
    if (!entry) return undefined
    entry.left -= 1
    if (entry.left === 0) this.#rules = this.#rules.filter((other) => other !== entry)
    return entry.rule
  }
}
