/**
 * What goes to a model and what may come back, as closed schemas: the same for every engine. Whatever an outsider wrote
 * stands in a field of its own with its source beside it, never within a text of ours.
 */
import { z } from 'zod'
import { identifierSchema } from '../runtime/core/ids.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { currencySchema, minorSchema } from '../runtime/core/money.ts'
import { needSchema, partOutcomeSchema } from '../runtime/core/plan.ts'
import { LOOK } from './bounds.ts'

const wordsSchema = z.string().min(1).max(LIMITS.titleChars)
const count = z.number().int().min(0)

export const planInputSchema = z.strictObject({
  task: z.string(),
  currency: currencySchema,
  /** Minor units in one unit of the currency. */
  minorPerMajor: z.number().int().min(1),
  available: minorSchema,
  depthLeft: z.number().int(),
  nodesLeft: z.number().int(),
  fanOut: z.number().int(),
  payees: z.array(z.strictObject({ id: identifierSchema, name: z.string() })),
  outcomes: z.array(partOutcomeSchema).exactOptional(),
  used: minorSchema.exactOptional(),
  objection: z.string().exactOptional(),
})
export type PlanInput = z.infer<typeof planInputSchema>

/** What became of an action of the looker's: carried out, or why not. */
const callSchema = z.discriminatedUnion('tool', [
  z.strictObject({
    tool: z.literal('search'),
    text: wordsSchema,
    merchants: z.array(identifierSchema),
    result: z.enum(['done', 'unavailable', 'repeated', 'no_such_merchant', 'no_more']),
    /** Items that were not known before. */
    found: count,
  }),
  z.strictObject({
    tool: z.literal('read'),
    item: count,
    result: z.enum(['done', 'unavailable', 'repeated', 'no_such_item', 'no_more']),
  }),
  z.strictObject({
    tool: z.literal('picks'),
    /** `not_alone`: other actions stood beside it, whose results it could not know. */
    result: z.enum(['no_such_item', 'not_buyable', 'not_searched', 'not_alone']),
  }),
])
export type Call = z.infer<typeof callSchema>

const shownItemSchema = z.strictObject({
  item: count,
  source: z.literal('page'),
  /** By which call it was read last. */
  tool: z.enum(['search', 'read']),
  merchant: identifierSchema,
  sku: identifierSchema,
  /** The merchant's words: data, never instructions. */
  words: z.strictObject({ title: z.string(), category: z.string(), description: z.string() }),
  /** The description is longer than what stands here. */
  more: z.literal(true).exactOptional(),
  unitAmount: minorSchema,
  /** For the quantity of the need. */
  total: minorSchema,
  /** The merchant says that it has as many as the need asks for. */
  enough: z.boolean(),
})
export type ShownItem = z.infer<typeof shownItemSchema>

export const lookInputSchema = z.strictObject({
  need: needSchema,
  currency: currencySchema,
  ceiling: minorSchema,
  merchants: z.array(identifierSchema),
  /** After this step. */
  left: z.strictObject({ steps: count, searches: count, reads: count }),
  calls: z.array(callSchema),
  items: z.array(shownItemSchema),
})
export type LookInput = z.infer<typeof lookInputSchema>

const actionSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('search'),
    text: wordsSchema,
    merchants: z.array(identifierSchema).max(LIMITS.payees).exactOptional(),
  }),
  z.strictObject({ kind: z.literal('read'), item: count }),
  z.strictObject({
    kind: z.literal('picks'),
    picks: z
      .array(
        z.strictObject({
          item: count,
          reason: z.string().max(LOOK.reasonChars),
          score: z.number().int().min(0).max(1000),
        }),
      )
      .max(LOOK.picks),
  }),
])
export type Action = z.infer<typeof actionSchema>
export type Pick = Extract<Action, { kind: 'picks' }>['picks'][number]

/** The looker's answer at each step. */
export const actionsSchema = z.strictObject({
  actions: z.array(actionSchema).min(1).max(LOOK.actions),
})

export const chooseInputSchema = z.strictObject({
  need: needSchema,
  currency: currencySchema,
  ceiling: minorSchema,
  candidates: z.array(
    z.strictObject({
      source: z.literal('quote'),
      merchant: identifierSchema,
      payee: identifierSchema,
      amount: minorSchema,
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
