/** The mandate: what one person signed, as strict claims. */
import { z } from 'zod'
import { holderKeySchema, identifierSchema } from './ids.ts'
import { LIMITS } from './limits.ts'
import { currencySchema, positiveMinorSchema } from './money.ts'
import { secondsSchema, wallClock } from './time.ts'

const count = (most: number) => z.number().int().min(1).max(most)

export const agentSchema = z.strictObject({
  engine: z.enum(['scripted', 'gemini', 'groq']),
  model: z.string().min(1).max(120).optional(),
})

/** A name of the IANA database; an offset such as `+05:30` is none, and knows nothing of clock changes. */
const isZone = (zone: string): boolean => {
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    return wallClock(zone) !== undefined
  } catch {
    return false
  }
}

export const windowSchema = z.strictObject({
  zone: z.string().max(60).refine(isZone, 'expected an IANA time zone'),
  perDay: positiveMinorSchema.optional(),
  perHour: positiveMinorSchema.optional(),
})

export const mandateSchema = z.strictObject({
  iss: identifierSchema,
  aud: identifierSchema,
  jti: identifierSchema,
  iat: secondsSchema,
  exp: secondsSchema,
  nbf: secondsSchema.optional(),
  task: z.string().min(1).max(LIMITS.taskChars),
  currency: currencySchema,
  ceiling: positiveMinorSchema,
  perPayment: positiveMinorSchema.optional(),
  approvalAbove: positiveMinorSchema.optional(),
  payees: z
    .array(identifierSchema)
    .min(1)
    .max(LIMITS.payees)
    .refine((ids) => new Set(ids).size === ids.length, 'expected each payee once'),
  limits: z.strictObject({
    depth: count(LIMITS.depth),
    fanOut: count(LIMITS.fanOut),
    nodes: count(LIMITS.nodes),
  }),
  window: windowSchema.optional(),
  agent: agentSchema.optional(),
  holder: holderKeySchema.optional(),
})

/** Amounts in minor units of `currency`; times in UTC seconds. */
export type Mandate = z.infer<typeof mandateSchema>
export type Agent = z.infer<typeof agentSchema>

/** Whether whoever runs `runs` is what a mandate asks for; a mandate that names no model takes any of the engine. */
export const isAgentNamed = (named: Agent | undefined, runs: Agent): boolean =>
  named === undefined ||
  (named.engine === runs.engine && (named.model === undefined || named.model === runs.model))
