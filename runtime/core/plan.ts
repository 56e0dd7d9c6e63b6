/** Plans as closed schemas: what a planner may answer, and how a plan is read back from the store. */
import { z } from 'zod'
import { LIMITS } from './limits.ts'
import { minorSchema, positiveMinorSchema } from './money.ts'

const wordsSchema = z.string().min(1).max(LIMITS.titleChars)

export const needSchema = z.strictObject({
  text: wordsSchema,
  quantity: z.number().int().min(1).max(LIMITS.quantity),
  maxUnit: positiveMinorSchema.exactOptional(),
  maxTotal: positiveMinorSchema.exactOptional(),
  prefer: z.array(wordsSchema).max(20),
})

const branchSchema = z.strictObject({
  kind: z.literal('branch'),
  label: wordsSchema,
  task: z.string().min(1).max(LIMITS.taskChars),
  ceiling: minorSchema,
  nodes: z.number().int().min(1).max(LIMITS.nodes).exactOptional(),
})

const purchaseSchema = z.strictObject({
  kind: z.literal('purchase'),
  label: wordsSchema,
  need: needSchema,
  ceiling: minorSchema,
})

export const planSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('parts'),
    parts: z
      .array(z.discriminatedUnion('kind', [branchSchema, purchaseSchema]))
      .max(LIMITS.fanOut * 2),
  }),
  z.strictObject({ kind: z.literal('unreadable'), reason: z.string().min(1).max(500) }),
])

export const partOutcomeSchema = z.strictObject({
  label: wordsSchema,
  need: needSchema,
  reason: z.enum(['over_budget', 'nothing_found', 'refused', 'failed']),
  cheapest: minorSchema.exactOptional(),
  code: z.string().max(80).exactOptional(),
})
