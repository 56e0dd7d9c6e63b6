/** The gateway’s own public keys, as they are published. */
import { createPublicKey } from 'node:crypto'
import type { GatewaySigner } from '../audit/signer.ts'
import { type PublicJwk, publicJwkSchema } from '../core/keys.ts'

/** The key that receipts and seals of this signer verify under. */
const publicKeyOfSigner = ({ key, kid }: Omit<GatewaySigner, 'gateway'>): PublicJwk =>
  publicJwkSchema.parse({
    ...createPublicKey(key).export({ format: 'jwk' }),
    kid,
    use: 'sig',
    alg: 'EdDSA',
  })

/** That key and those before it, each id once: what was signed under an older one still verifies. */
export function publicKeysOfSigner(signer: Omit<GatewaySigner, 'gateway'>): readonly PublicJwk[] {
  const current = publicKeyOfSigner(signer)
  const older = (signer.before ?? []).filter(({ kid }) => kid !== undefined && kid !== current.kid)
  return [current, ...older]
}
