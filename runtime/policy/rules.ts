/**
 * The operator's standing rules as strict configuration. Each rule has an id of the operator's own, which stands
 * in records and cards and never reaches an agent. A rule about an amount names its currency; it says nothing
 * about payments in another.
 */
import { z } from 'zod'
import { identifierSchema } from '../core/ids.ts'
import { currencySchema, minorSchema } from '../core/money.ts'

const id = identifierSchema
const bound = { id, currency: currencySchema, above: minorSchema }

const ruleSchema = z.discriminatedUnion('kind', [
  /** Forbids a payment of more than `above`. */
  z.strictObject({ kind: z.literal('per_payment_cap'), ...bound }),
  /** Asks a person about a payment of more than `above`. */
  z.strictObject({ kind: z.literal('approval_above'), ...bound }),
  /** Asks a person about the first payment to a payee, if it is of more than `above`. */
  z.strictObject({ kind: z.literal('first_payment_above'), ...bound }),
  /** Asks a person about the same amount to the same payee within a day. */
  z.strictObject({ kind: z.literal('duplicate'), id }),
  /** Lets a run make at most `most` payments in one hour. */
  z.strictObject({
    kind: z.literal('hourly_count'),
    id,
    most: z.number().int().min(1).max(1_000_000),
    effect: z.enum(['hold', 'deny']),
  }),
  /** Forbids payments to these payees and to these merchants. */
  z.strictObject({
    kind: z.literal('deny_list'),
    id,
    payees: z.array(identifierSchema).max(10_000).default([]),
    merchants: z.array(identifierSchema).max(10_000).default([]),
  }),
  /** Asks a person about an offer that would be charged again and again. */
  z.strictObject({ kind: z.literal('recurring'), id }),
  /**
   * Asks a person about a quote that no looker of the run was given: where the mandate leaves a choice of payees, and where
   * it is for more than every amount that the principal wrote.
   */
  z.strictObject({ kind: z.literal('untrusted_origin'), id }),
])

export type Rule = z.infer<typeof ruleSchema>

const eachOnce = (rules: readonly { readonly id: string }[]): boolean =>
  new Set(rules.map((rule) => rule.id)).size === rules.length

/** The rules in the order in which they are asked; `policySchema.parse` is how a configuration becomes one. */
export const policySchema = z.strictObject({
  rules: z.array(ruleSchema).max(64).refine(eachOnce, 'expected each rule id once'),
})

export type PolicyConfig = z.infer<typeof policySchema>

/** What holds where the operator says nothing: recurring charges, double payments, and quotes from elsewhere go to a person. */
export const DEFAULT_POLICY: PolicyConfig = {
  rules: [
    { kind: 'recurring', id: 'recurring-needs-a-person' },
    { kind: 'duplicate', id: 'same-payment-twice-in-a-day' },
    { kind: 'untrusted_origin', id: 'quote-from-elsewhere' },
  ],
}
