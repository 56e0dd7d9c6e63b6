/** Signs proofs of possession (DPoP, RFC 9449) with the holder's key. */
import type { KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { freshId, sha256 } from '../core/ids.ts'
import { rawPublicKey } from '../core/keys.ts'
import type { Seconds } from '../core/time.ts'

export interface ProofToSign {
  readonly holder: KeyObject
  readonly method: string
  /** The gateway's public URL of the route, without query or fragment. */
  readonly url: string
  /** The token's text exactly as the `Authorization` header will carry it. */
  readonly token: string
  readonly now: Seconds
}

/** A proof for one request: good once, and for about a minute. */
export function signProof({ holder, method, url, token, now }: ProofToSign): Promise<string> {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(holder) }
  return new SignJWT({ htm: method, htu: url, iat: now, jti: freshId(), ath: sha256(token) })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'dpop+jwt', jwk })
    .sign(holder)
}
