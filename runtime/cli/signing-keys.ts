/** The file of the key that signs receipts, seals and checkpoints, with the public halves of those that did before. */
import { z } from 'zod'
import {
  type PrivateJwk,
  privateJwkSchema,
  publicJwkOf,
  publicJwkSchema,
  thumbprint,
} from '../core/keys.ts'

/** Older keys that a file holds: the published document has room for as many and the current one. */
const SIGNED_BEFORE = 31

/** The key alone, or with those before it, the newest first; what was private of them is gone. */
export const signingKeySchema = z.union([
  privateJwkSchema,
  z.strictObject({
    key: privateJwkSchema,
    before: z.array(publicJwkSchema).max(SIGNED_BEFORE),
  }),
])
export type SigningKeyFile = z.infer<typeof signingKeySchema>

export const signingKeysOf = (file: SigningKeyFile) =>
  'key' in file ? file : { key: file, before: [] }

export const kidOf = (key: PrivateJwk): string => key.kid ?? thumbprint(publicJwkOf(key))

/** The file once `key` signs: what the old one signed is good for as long as anybody keeps it. */
export function afterRotation(file: SigningKeyFile, key: PrivateJwk) {
  const { key: old, before } = signingKeysOf(file)
  const published = { ...publicJwkOf(old), kid: kidOf(old) }
  return { key, before: [published, ...before].slice(0, SIGNED_BEFORE) }
}
