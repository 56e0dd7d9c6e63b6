/** The gateway’s own public key, as it is published. */
import { createPublicKey } from 'node:crypto'
import type { GatewaySigner } from '../audit/signer.ts'
import { type PublicJwk, publicJwkSchema } from '../core/keys.ts'

/** The key that receipts and seals of this signer verify under. */
export const publicKeyOfSigner = ({ key, kid }: Omit<GatewaySigner, 'gateway'>): PublicJwk =>
  publicJwkSchema.parse({
    ...createPublicKey(key).export({ format: 'jwk' }),
    kid,
    use: 'sig',
    alg: 'EdDSA',
  })
