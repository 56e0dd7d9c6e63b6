/**
 * What a monitor is told and what it may answer, the same for every engine. It is told numbers, identifiers of the
 * operator's, labels of ours and the principal's own words: no item's number, no title, no page.
 */
import { z } from 'zod'
import { identifierSchema } from '../runtime/core/ids.ts'
import { CONCERNS, type Concern, type MonitorFacts } from '../runtime/core/judges.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { currencySchema, EXPONENTS, minorSchema } from '../runtime/core/money.ts'
import { type Origin, SOURCES, type Source } from '../runtime/core/provenance.ts'

const sources = z.array(z.enum(SOURCES)).max(SOURCES.length)
const count = z.number().int().min(0)

/** Amounts are minor units of `currency`, of which `decimals` stand after the point. */
export const monitorInputSchema = z.strictObject({
  task: z.string(),
  label: z.string().exactOptional(),
  currency: currencySchema,
  decimals: z.number().int().min(0).max(4),
  amount: minorSchema,
  lines: z
    .array(z.strictObject({ quantity: z.number().int(), unitAmount: minorSchema }))
    .max(LIMITS.quoteLines),
  payee: z.strictObject({ id: identifierSchema, name: z.string() }),
  recurring: z.boolean(),
  /** What binds the whole run, and each payment of it. */
  ceiling: minorSchema,
  perPayment: minorSchema.exactOptional(),
  approvalAbove: minorSchema.exactOptional(),
  /** How often before; 0 also where no rule of the operator counts it. */
  history: z.strictObject({ toThisPayee: count, thisHour: count, sameAmountAndPayee: count }),
  /** Where each value came from, the most trusted source first. */
  origins: z.strictObject({
    payee: sources,
    amount: sources,
    currency: sources,
    quantity: sources,
    recurring: sources,
  }),
})
export type MonitorInput = z.infer<typeof monitorInputSchema>

/** An objection has a concern and a yes has none: anything in between is no answer. */
export const monitorVerdictSchema = z
  .strictObject({
    verdict: z.enum(['allow', 'object']),
    concerns: z.array(z.enum(CONCERNS)).max(CONCERNS.length),
  })
  .refine(({ verdict, concerns }) => (verdict === 'object') === concerns.length > 0, {
    message: 'expected concerns of an objection, and of nothing else',
  })
export type MonitorVerdict = z.infer<typeof monitorVerdictSchema>

/** The facts as a monitor is told them. */
export function monitorInputOf(facts: MonitorFacts): MonitorInput {
  const { task, label, currency, amount, lines, recurring, provenance } = facts
  const { payee, payeeName, ceiling, perPayment, approvalAbove } = facts
  return {
    task,
    ...(label === undefined ? {} : { label }),
    currency,
    decimals: EXPONENTS[currency],
    amount,
    lines: lines.map(({ quantity, unitAmount }) => ({ quantity, unitAmount })),
    payee: { id: payee, name: payeeName },
    recurring,
    ceiling,
    ...(perPayment === undefined ? {} : { perPayment }),
    ...(approvalAbove === undefined ? {} : { approvalAbove }),
    history: {
      toThisPayee: facts.payeeCount,
      thisHour: facts.hourCount,
      sameAmountAndPayee: facts.duplicateCount,
    },
    origins: {
      payee: sourcesOf(provenance.payee),
      amount: sourcesOf(provenance.amount),
      currency: sourcesOf(provenance.currency),
      quantity: sourcesOf(provenance.quantity),
      recurring: sourcesOf(provenance.recurring),
    },
  }
}

/** Without any there is no telling, which is as good as a page. */
function sourcesOf(origins: readonly Origin[]): Source[] {
  const named = SOURCES.filter((source) => origins.some((origin) => origin.source === source))
  return named.length === 0 ? ['page'] : named
}

/** Each concern once, in the order in which they are listed. */
export const inOrder = (concerns: readonly Concern[]): readonly Concern[] =>
  CONCERNS.filter((concern) => concerns.includes(concern))
