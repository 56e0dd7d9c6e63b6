/**
 * The algorithms under a compact JWS: EdDSA (RFC 8037) and ES256 (RFC 7518 section 3.4), synchronous. The product has
 * this one implementation and passes no other to anything; the port is there for `eval/simulate`, which composes a
 * gateway itself, so that its histories spend their time on the money path and not on curves.
 */
import { KeyObject, sign, verify } from 'node:crypto'
import { type PublicJwk, publicKeyOf } from './keys.ts'

export type Algorithm = 'EdDSA' | 'ES256'

/** A key in either form; of a private key its public half is meant. */
export type VerifyingKey = KeyObject | PublicJwk

export interface Signatures {
  /** 64 bytes, by the algorithm that the key is for. */
  sign(data: Uint8Array, key: KeyObject): Uint8Array
  /** True only if the signature holds under this key and the key is of the kind that `alg` names. */
  verify(alg: Algorithm, data: Uint8Array, signature: Uint8Array, key: VerifyingKey): boolean
}

/** Ed25519 keys sign EdDSA; every other key is for ES256, and one that is not P-256 makes nothing that verifies. */
export const algorithmOf = (key: KeyObject): Algorithm =>
  key.asymmetricKeyType === 'ed25519' ? 'EdDSA' : 'ES256'

const isP256 = (key: KeyObject): boolean =>
  key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'

export const SIGNATURES: Signatures = Object.freeze({
  sign: (data: Uint8Array, key: KeyObject) =>
    algorithmOf(key) === 'EdDSA'
      ? sign(null, data, key)
      : sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' }),
  verify: (alg: Algorithm, data: Uint8Array, signature: Uint8Array, of: VerifyingKey) => {
    const key = of instanceof KeyObject ? of : publicKeyOf(of)
    return alg === 'EdDSA'
      ? key.asymmetricKeyType === 'ed25519' && verify(null, data, key, signature)
      : isP256(key) && verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)
  },
})
