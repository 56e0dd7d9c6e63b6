/** Reading a presented quote. Its claims are only claims until the issuer's pinned key says so. */
import { type Digest, sha256 } from '../core/ids.ts'
import { type ParsedJws, parseJws, verifyJws } from '../core/jws.ts'
import type { Merchants } from '../core/merchants.ts'
import { type Quote, quoteSchema } from '../core/quote.ts'

export interface ReadQuote {
  readonly digest: Digest
  readonly jws?: ParsedJws
  /** Absent when the text is no quote. */
  readonly claims?: Quote
}

/** Reads strictly; verifies nothing. */
export function readQuote(text: string): ReadQuote {
  const digest = sha256(text)
  const jws = parseJws(text, 'quote+jwt')
  if (jws === undefined) return { digest }
  const claims = quoteSchema.safeParse(jws.claims)
  return claims.success ? { digest, jws, claims: claims.data } : { digest, jws }
}

/** True if a key that the operator pinned for this issuer signed it: the one that `kid` names, where it names one. */
export function isSigned({ jws, claims }: ReadQuote, merchants: Merchants): boolean {
  if (jws === undefined || claims === undefined || !merchants.ids.includes(claims.iss)) return false
  const { kid } = jws.header
  const named = kid === undefined ? undefined : merchants.keyById(claims.iss, kid)
  const keys = kid === undefined ? merchants.keys(claims.iss) : named === undefined ? [] : [named]
  return keys.some((key) => verifyJws(jws, key))
}
