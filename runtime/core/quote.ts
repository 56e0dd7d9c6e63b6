/** A quote: an issuer's signed, expiring offer, as strict claims; how it is read, and whose word it is. */
import { z } from 'zod'
import { type Digest, identifierSchema, sha256 } from './ids.ts'
import { type ParsedJws, parseJws, verifyJws } from './jws.ts'
import { LIMITS } from './limits.ts'
import type { Merchants } from './merchants.ts'
import { currencySchema, positiveMinorSchema } from './money.ts'
import type { Signatures } from './signatures.ts'
import { secondsSchema } from './time.ts'

const lineSchema = z.strictObject({
  sku: identifierSchema,
  title: z.string().min(1).max(LIMITS.titleChars),
  quantity: z.number().int().min(1).max(LIMITS.quantity),
  unitAmount: positiveMinorSchema,
})

export type QuoteLine = z.infer<typeof lineSchema>

/** `lines` must add up to `amount` exactly; whatever else an issuer wants to say lies under `ext`, unread. */
export const quoteSchema = z
  .strictObject({
    iss: identifierSchema,
    jti: identifierSchema,
    iat: secondsSchema,
    exp: secondsSchema,
    kind: z.literal('merchant'),
    payee: identifierSchema,
    lines: z.array(lineSchema).min(1).max(LIMITS.quoteLines),
    amount: positiveMinorSchema,
    currency: currencySchema,
    recurring: z.boolean().optional(),
    ext: z.unknown().optional(),
  })
  .refine(
    (quote) =>
      quote.lines.reduce((sum, line) => sum + line.quantity * line.unitAmount, 0) === quote.amount,
    { message: 'expected the lines to add up to the amount', path: ['amount'] },
  )

/** Amounts in minor units of `currency`; times in UTC seconds. */
export type Quote = z.infer<typeof quoteSchema>

export interface ReadQuote {
  /** SHA-256 of the text as presented. */
  readonly digest: Digest
  readonly jws?: ParsedJws
  /** Absent when the text is no quote. Not to be believed until `isSigned`. */
  readonly claims?: Quote
}

/** Reads a quote's compact JWS strictly; verifies nothing. */
export function readQuote(text: string): ReadQuote {
  const digest = sha256(text)
  const jws = parseJws(text, 'quote+jwt')
  if (jws === undefined) return { digest }
  const claims = quoteSchema.safeParse(jws.claims)
  return claims.success ? { digest, jws, claims: claims.data } : { digest, jws }
}

/** True if a key that the operator pinned for this issuer signed it: the one that `kid` names, where it names one. */
export function isSigned(
  { jws, claims }: ReadQuote,
  merchants: Pick<Merchants, 'ids' | 'keys' | 'keyById'>,
  signatures?: Signatures,
): boolean {
  if (jws === undefined || claims === undefined || !merchants.ids.includes(claims.iss)) return false
  const { kid } = jws.header
  const named = kid === undefined ? undefined : merchants.keyById(claims.iss, kid)
  const keys = kid === undefined ? merchants.keys(claims.iss) : named === undefined ? [] : [named]
  return keys.some((key) => verifyJws(jws, key, signatures))
}
