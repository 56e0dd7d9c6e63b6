/**
 * Proof of possession (DPoP, RFC 9449): a request carries a one-time JWS by the node's holder over its method, URL,
 * time and token. It is judged first and by itself, under the key that it carries, so that a bad one costs no worker;
 * that this key is the holder of the token's last block is for whoever verifies the token. Pure and synchronous;
 * whether a `jti` was seen before is for the transaction that consumes it.
 */
import { z } from 'zod'
import { type HolderKey, IDENTIFIER, sha256 } from '../core/ids.ts'
import { type JwsHeader, parseJws, verifyJws } from '../core/jws.ts'
import { LIMITS } from '../core/limits.ts'
import type { Signatures } from '../core/signatures.ts'
import { later, type Seconds, secondsSchema } from '../core/time.ts'

/** Nothing but these: a claim that we would ignore might be one that its signer relied on. */
const claimsSchema = z.strictObject({
  htm: z.string(),
  htu: z.string(),
  iat: secondsSchema,
  jti: z.string().min(16).max(80).regex(IDENTIFIER),
  ath: z.string(),
})

export interface ProofToCheck {
  /** The `DPoP` header's text. */
  readonly proof: string
  readonly method: string
  /** The public URL of the route, without query or fragment. */
  readonly url: string
  /** The token's text as presented. */
  readonly token: string
  readonly now: Seconds
  readonly signatures?: Signatures | undefined
}

export type ProofVerdict =
  | {
      readonly ok: true
      /** Whose proof it is; means nothing until a verified token declares the same. */
      readonly holder: HolderKey
      readonly jti: string
      /** The first second at which this proof is too old, so its `jti` may be forgotten. */
      readonly expiresAtSeconds: Seconds
    }
  | { readonly ok: false }

/** A header is some 150 characters and a payload some 400 with the longest URL; more is refused unread. */
export const LONGEST_PROOF = 2_048

/** RFC 9449 section 4.2: the key travels in the header, its public half alone, and nothing but `alg` and `typ` beside it. */
function keyOf({ alg, kid, jwk }: JwsHeader) {
  return alg === 'EdDSA' && kid === undefined && jwk?.crv === 'Ed25519' ? jwk : undefined
}

const isFresh = (iat: Seconds, now: Seconds): boolean =>
  iat <= later(now, LIMITS.skewSeconds) && now <= later(iat, LIMITS.proofAgeSeconds)

/** RFC 9449 section 4.3, without what needs a memory (4.3.11) or the token's content (the binding, section 6). */
export function checkProof(toCheck: ProofToCheck): ProofVerdict {
  const { proof, method, url, token, now } = toCheck
  const jws = proof.length > LONGEST_PROOF ? undefined : parseJws(proof, 'dpop+jwt')
  const key = jws && keyOf(jws.header)
  const parsed = claimsSchema.safeParse(jws?.claims)
  if (jws === undefined || key === undefined || !parsed.success) return { ok: false }
  const { htm, htu, iat, jti, ath } = parsed.data
  if (htm !== method || htu !== url || !isFresh(iat, now) || ath !== sha256(token)) {
    return { ok: false }
  }
  if (!verifyJws(jws, key, toCheck.signatures)) return { ok: false }
  return { ok: true, holder: key.x, jti, expiresAtSeconds: later(iat, LIMITS.proofAgeSeconds + 1) }
}
