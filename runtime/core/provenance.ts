/**
 * Where a value that matters for money came from. A label stands beside the value, as typed fields of ours, and never
 * in a text: no words of an outsider can look like one. Values made of several are as trusted as the least of them.
 */
import { z } from 'zod'
import { identifierSchema } from './ids.ts'
import { secondsSchema } from './time.ts'

/** From the most trusted to the least: the principal’s mandate, the operator’s registry, a signed quote, a page. */
export const SOURCES = ['mandate', 'operator', 'quote', 'page'] as const
export type Source = (typeof SOURCES)[number]

/** What is traced of a payment. */
export const TRACED = ['payee', 'amount', 'currency', 'quantity', 'recurring'] as const
export type Traced = (typeof TRACED)[number]

/** One value’s origin. `tool`, `item` and `at` say by which call of which item, and when, if it was read at all. */
export const originSchema = z.strictObject({
  source: z.enum(SOURCES),
  /** The gateway’s own door that it came through, such as `POST /quotes`. */
  tool: z.string().max(40).exactOptional(),
  /** A merchant’s item, by its identifiers. */
  item: z.strictObject({ merchant: identifierSchema, sku: identifierSchema }).exactOptional(),
  /** The node that read it. */
  node: identifierSchema.exactOptional(),
  at: secondsSchema.exactOptional(),
})
export type Origin = z.output<typeof originSchema>

/** The paper trail of one payment: for each value that matters, everything that it was made of, the origin first. */
export type Provenance = { readonly [value in Traced]: readonly Origin[] }

/** The least trusted source of several; without any there is no telling, which is the least trusted of all. */
export const joined = (origins: readonly Origin[]): Source =>
  SOURCES[Math.max(-1, ...origins.map(({ source }) => SOURCES.indexOf(source)))] ?? 'page'
