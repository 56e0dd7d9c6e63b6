/** Public keys as JSON Web Keys (RFC 7517), Ed25519 (RFC 8037) and P-256; nothing else is accepted. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import { type HolderKey, holderKeySchema, sha256 } from './ids.ts'
import { canonicalJson } from './json.ts'

const optionalMembers = {
  kid: z.string().min(1).max(120).optional(),
  use: z.literal('sig').optional(),
  alg: z.enum(['EdDSA', 'Ed25519', 'ES256']).optional(),
}

const ed25519Schema = z.strictObject({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: holderKeySchema,
  ...optionalMembers,
})

const p256Schema = z.strictObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: holderKeySchema,
  y: holderKeySchema,
  ...optionalMembers,
})

export const publicJwkSchema = z.discriminatedUnion('crv', [ed25519Schema, p256Schema])
export type PublicJwk = z.infer<typeof publicJwkSchema>

export const privateJwkSchema = z.discriminatedUnion('crv', [
  ed25519Schema.extend({ d: holderKeySchema }),
  p256Schema.extend({ d: holderKeySchema }),
])
export type PrivateJwk = z.infer<typeof privateJwkSchema>

export const jwksSchema = z.strictObject({ keys: z.array(publicJwkSchema).min(1).max(32) })
export type Jwks = z.infer<typeof jwksSchema>

/** Root keys as a gateway publishes them: tokens name one by its id; from `retiresAt` (UTC seconds) on it is refused. */
export const rootKeysSchema = z.strictObject({
  current: z.number().int().min(0).max(0xffff_ffff),
  keys: z
    .array(
      z.strictObject({
        id: z.number().int().min(0).max(0xffff_ffff),
        jwk: publicJwkSchema,
        retiresAt: z.number().int().min(0).optional(),
      }),
    )
    .min(1)
    .max(1_000),
})
export type PublishedRootKeys = z.infer<typeof rootKeysSchema>

export const publicKeyOf = (jwk: PublicJwk): KeyObject =>
  createPublicKey({ key: { ...jwk }, format: 'jwk' })

export const privateKeyOf = (jwk: PrivateJwk): KeyObject =>
  createPrivateKey({ key: { ...jwk }, format: 'jwk' })

/** The public half of a private key, without its secret member. */
export function publicJwkOf(jwk: PrivateJwk): PublicJwk {
  const { d: _secret, ...rest } = jwk
  return rest
}

/** RFC 7638 thumbprint, SHA-256, base64url. */
export function thumbprint(jwk: PublicJwk): string {
  const members =
    jwk.kty === 'OKP'
      ? { crv: jwk.crv, kty: jwk.kty, x: jwk.x }
      : { crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y }
  return sha256(canonicalJson(members))
}

/** An Ed25519 private key from its 32 secret bytes (RFC 8410 PKCS #8 wrapping). */
export function ed25519FromSeed(seed: Uint8Array): KeyObject {
  if (seed.length !== 32) throw new RangeError('expected 32 bytes')
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex')
  return createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' })
}

/** The raw public key of an Ed25519 key (private or public), base64url. */
export function rawPublicKey(key: KeyObject): HolderKey {
  const jwk = (key.type === 'private' ? createPublicKey(key) : key).export({ format: 'jwk' })
  if (jwk.crv !== 'Ed25519' || jwk.x === undefined) throw new TypeError('expected an Ed25519 key')
  return jwk.x
}
