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
  /** A merchant’s item, by its identifiers; `more` others came with it. */
  item: z
    .strictObject({
      merchant: identifierSchema,
      sku: identifierSchema,
      more: z.number().int().min(1).exactOptional(),
    })
    .exactOptional(),
  /** The node that read it. */
  node: identifierSchema.exactOptional(),
  at: secondsSchema.exactOptional(),
})
export type Origin = z.output<typeof originSchema>

/** The paper trail of one payment: for each value that matters, everything that it was made of, the origin first. */
export type Provenance = { readonly [value in Traced]: readonly Origin[] }

/** The gateway’s door that hands out quotes. */
export const QUOTES_DOOR = 'POST /quotes'

const trail = <T extends z.ZodType>(origin: T) => {
  const origins = z.array(origin).min(1).max(8).readonly()
  return z.strictObject({
    payee: origins,
    amount: origins,
    currency: origins,
    quantity: origins,
    recurring: origins,
  } satisfies Record<Traced, typeof origins>)
}

export const provenanceSchema = trail(originSchema)

/** As the log has it: without the item, because what was bought can be erased and a log cannot. */
export const loggedProvenanceSchema = trail(
  z.strictObject({
    source: z.enum(SOURCES),
    tool: z
      .string()
      .regex(/^[A-Z]{1,8} \/[a-z]{1,24}$/)
      .exactOptional(),
    node: identifierSchema.exactOptional(),
    at: secondsSchema.exactOptional(),
  }),
)

/** A trail as an event holds it. */
export function loggedProvenance(trail: Provenance): z.input<typeof loggedProvenanceSchema> {
  const bare = ({ item: _item, ...origin }: Origin) => origin
  const { payee, amount, currency, quantity, recurring } = trail
  return {
    payee: payee.map(bare),
    amount: amount.map(bare),
    currency: currency.map(bare),
    quantity: quantity.map(bare),
    recurring: recurring.map(bare),
  }
}

/** The least trusted source of several; without any there is no telling, which is the least trusted of all. */
export const joined = (origins: readonly Origin[]): Source =>
  SOURCES[Math.max(-1, ...origins.map(({ source }) => SOURCES.indexOf(source)))] ?? 'page'
