import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { LIMITS } from '../../runtime/core/limits.ts'
import { mandateSchema } from '../../runtime/core/mandate.ts'
import { planSchema } from '../../runtime/core/plan.ts'
import { quoteSchema } from '../../runtime/core/quote.ts'
import { LAST_SECOND } from '../../runtime/core/time.ts'
import { quoteBody, registerNodeBody, searchBody } from '../../runtime/core/wire.ts'

const mandate = {
  iss: 'alice',
  aud: 'gateway',
  jti: 'm1',
  iat: 1,
  exp: 2,
  task: 'paper',
  currency: 'INR',
  ceiling: 1,
  payees: ['mill'],
  limits: { depth: 1, fanOut: 1, nodes: 1 },
}

const line = { sku: 'paper', title: 'Paper', quantity: 1, unitAmount: 1 }

function quote(lines: readonly (typeof line)[]) {
  const amount = lines.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0)
  const ids = { iss: 'mill', jti: 'q1', payee: 'mill', kind: 'merchant' }
  return { ...ids, iat: 1, exp: 2, currency: 'INR', lines, amount }
}

const ids = (n: number) => Array.from({ length: n }, (_, i) => `id-${i}`)
const words = (n: number) => 'w'.repeat(n)

interface Limit {
  readonly what: string
  readonly most: number
  readonly schema: z.ZodType
  /** A document that is right in everything but, perhaps, this. */
  readonly withMany: (n: number) => unknown
}

const ofMandate = (field: 'depth' | 'fanOut' | 'nodes'): Limit => ({
  what: `${field} in a mandate`,
  most: LIMITS[field],
  schema: mandateSchema,
  withMany: (n) => ({ ...mandate, limits: { ...mandate.limits, [field]: n } }),
})

const EACH: readonly Limit[] = [
  ofMandate('depth'),
  ofMandate('fanOut'),
  ofMandate('nodes'),
  {
    what: 'payees in a mandate',
    most: LIMITS.payees,
    schema: mandateSchema,
    withMany: (n) => ({ ...mandate, payees: ids(n) }),
  },
  {
    what: 'characters of a task',
    most: LIMITS.taskChars,
    schema: mandateSchema,
    withMany: (n) => ({ ...mandate, task: words(n) }),
  },
  {
    what: 'as the second of an expiry',
    most: LAST_SECOND,
    schema: mandateSchema,
    withMany: (n) => ({ ...mandate, exp: n }),
  },
  {
    what: 'lines in a quote',
    most: LIMITS.quoteLines,
    schema: quoteSchema,
    withMany: (n) => quote(Array.from({ length: n }, () => line)),
  },
  {
    what: 'pieces of a line in a quote',
    most: LIMITS.quantity,
    schema: quoteSchema,
    withMany: (quantity) => quote([{ ...line, quantity }]),
  },
  {
    what: 'characters of a title in a quote',
    most: LIMITS.titleChars,
    schema: quoteSchema,
    withMany: (n) => quote([{ ...line, title: words(n) }]),
  },
  {
    what: 'lines when asking for a quote',
    most: LIMITS.quoteLines,
    schema: quoteBody,
    withMany: (n) => ({ merchant: 'mill', lines: ids(n).map((sku) => ({ sku, quantity: 1 })) }),
  },
  {
    what: 'pieces of a line when asking for a quote',
    most: LIMITS.quantity,
    schema: quoteBody,
    withMany: (quantity) => ({ merchant: 'mill', lines: [{ sku: 'paper', quantity }] }),
  },
  {
    what: 'pieces in a plan',
    most: LIMITS.quantity,
    schema: planSchema,
    withMany: (quantity) => ({
      kind: 'parts',
      parts: [
        { kind: 'purchase', label: 'p', need: { text: 'p', quantity, prefer: [] }, ceiling: 1 },
      ],
    }),
  },
  {
    what: 'merchants in a search',
    most: LIMITS.payees,
    schema: searchBody,
    withMany: (n) => ({ text: 'paper', limit: 1, merchants: ids(n) }),
  },
  {
    what: 'characters of a search',
    most: LIMITS.titleChars,
    schema: searchBody,
    withMany: (n) => ({ text: words(n), limit: 1 }),
  },
  {
    what: 'items from a search',
    most: LIMITS.searchItems,
    schema: searchBody,
    withMany: (limit) => ({ text: 'paper', limit }),
  },
  {
    what: 'nodes for a registered planner',
    most: LIMITS.nodes,
    schema: registerNodeBody,
    withMany: (nodes) => ({ token: 't', nodes }),
  },
  {
    what: 'characters of a registered token',
    most: LIMITS.tokenChars,
    schema: registerNodeBody,
    withMany: (n) => ({ token: words(n) }),
  },
]

describe('what an outsider writes', () => {
  it.each(EACH.map((limit) => [limit.most, limit.what, limit] as const))(
    'may have %i %s and not one more',
    (most, _what, { schema, withMany }) => {
      expect(schema.safeParse(withMany(most)).success).toBe(true)
      expect(schema.safeParse(withMany(most + 1)).success).toBe(false)
    },
  )
})
