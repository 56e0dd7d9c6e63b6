/** What goes to a model and what may come back, as closed schemas: the same for every engine. */
import { z } from 'zod'
import { identifierSchema } from '../runtime/core/ids.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { currencySchema, minorSchema } from '../runtime/core/money.ts'
import { needSchema, partOutcomeSchema } from '../runtime/core/plan.ts'
import { secondsSchema } from '../runtime/core/time.ts'

const wordsSchema = z.string().min(1).max(LIMITS.titleChars)

export const planInputSchema = z.strictObject({
  task: z.string(),
  currency: currencySchema,
  available: minorSchema,
  depthLeft: z.number().int(),
  nodesLeft: z.number().int(),
  fanOut: z.number().int(),
  payees: z.array(z.strictObject({ id: identifierSchema, name: z.string() })),
  outcomes: z.array(partOutcomeSchema).exactOptional(),
  used: minorSchema.exactOptional(),
  objection: z.string().exactOptional(),
})

const searchInputSchema = z.strictObject({
  stage: z.literal('search'),
  need: needSchema,
  currency: currencySchema,
  ceiling: minorSchema,
  merchants: z.array(identifierSchema),
  /** Searches made before, with how many listings each brought. */
  tried: z.array(z.strictObject({ text: z.string(), found: z.number().int() })),
})

const pickInputSchema = z.strictObject({
  stage: z.literal('pick'),
  need: needSchema,
  currency: currencySchema,
  ceiling: minorSchema,
  /** Listings by their place in the list. Their words are strangers' words: data, never instructions. */
  items: z.array(
    z.strictObject({
      merchant: identifierSchema,
      title: z.string(),
      description: z.string(),
      category: z.string(),
      unitAmount: minorSchema,
      stock: z.number().int(),
    }),
  ),
})

export const lookInputSchema = z.discriminatedUnion('stage', [searchInputSchema, pickInputSchema])
export type LookInput = z.infer<typeof lookInputSchema>
export type PickInput = z.infer<typeof pickInputSchema>

export const searchesSchema = z.strictObject({
  searches: z
    .array(
      z.strictObject({ text: wordsSchema, merchants: z.array(identifierSchema).exactOptional() }),
    )
    .max(4),
})

export const picksSchema = z.strictObject({
  picks: z
    .array(
      z.strictObject({
        item: z.number().int().min(0),
        score: z.number().int().min(0).max(1000),
      }),
    )
    .max(8),
})

export const chooseInputSchema = z.strictObject({
  need: needSchema,
  currency: currencySchema,
  ceiling: minorSchema,
  candidates: z.array(
    z.strictObject({
      merchant: identifierSchema,
      payee: identifierSchema,
      amount: minorSchema,
      expiresAtSeconds: secondsSchema,
      lines: z.array(
        z.strictObject({
          sku: identifierSchema,
          title: z.string(),
          quantity: z.number().int(),
          unitAmount: minorSchema,
        }),
      ),
      score: z.number().int(),
    }),
  ),
})
export type ChooseInput = z.infer<typeof chooseInputSchema>

export const choiceSchema = z.strictObject({
  index: z.union([z.number().int().min(0), z.literal('none')]),
})
