/**
 * Proof of possession (DPoP, RFC 9449): a request carries a one-time JWS by the node's holder over its method, URL,
 * time and token. Pure and synchronous; whether a `jti` was seen before is for the transaction that consumes it.
 */
import { z } from 'zod'
import { type HolderKey, IDENTIFIER, sha256 } from '../core/ids.ts'
import { type JwsHeader, parseJws, verifyJws } from '../core/jws.ts'
import { holderPublicKey } from '../core/keys.ts'
import { LIMITS } from '../core/limits.ts'
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
  /** The key that the token's last block declares. */
  readonly holder: HolderKey
  readonly now: Seconds
}

export type ProofVerdict =
  | {
      readonly ok: true
      readonly jti: string
      /** The first second at which this proof is too old, so its `jti` may be forgotten. */
      readonly expiresAtSeconds: Seconds
    }
  | { readonly ok: false }

/** RFC 9449 section 4.2: the key travels in the header; it must be the holder's and nothing else may stand there. */
function headerHolds({ alg, kid, jwk }: JwsHeader, holder: HolderKey): boolean {
  return alg === 'EdDSA' && kid === undefined && jwk?.crv === 'Ed25519' && jwk.x === holder
}

const isFresh = (iat: Seconds, now: Seconds): boolean =>
  iat <= later(now, LIMITS.skewSeconds) && now <= later(iat, LIMITS.proofAgeSeconds)

/** RFC 9449 section 4.3, without the checks that need a memory. */
export function checkProof({ proof, method, url, token, holder, now }: ProofToCheck): ProofVerdict {
  const jws = parseJws(proof, 'dpop+jwt')
  if (jws === undefined || !headerHolds(jws.header, holder)) return { ok: false }
  const parsed = claimsSchema.safeParse(jws.claims)
  if (!parsed.success) return { ok: false }
  const { htm, htu, iat, jti, ath } = parsed.data
  if (htm !== method || htu !== url || !isFresh(iat, now) || ath !== sha256(token)) {
    return { ok: false }
  }
  if (!verifyJws(jws, holderPublicKey(holder))) return { ok: false }
  return { ok: true, jti, expiresAtSeconds: later(iat, LIMITS.proofAgeSeconds + 1) }
}
