/**
 * The gateway's root keys: one signs, and those that are in force verify. An older key is in force until its grace ends;
 * a key that is in neither place never was one. Which keys there are is published, so that nobody has to guess.
 */
import type { KeyObject } from 'node:crypto'
import { Fault } from '../core/errors.ts'
import { type PublishedRootKeys, publicJwkSchema, publicKeyOf, rawPublicKey } from '../core/keys.ts'
import { type Seconds, seconds } from '../core/time.ts'
import type { RingEntry, Setup } from './messages.ts'

/** An older key: its tokens verify before `retiresAtSeconds`, and from that second on no more. */
export interface RetiringKey {
  readonly id: number
  readonly publicKey: KeyObject
  readonly retiresAtSeconds: Seconds
}

export interface RootKeys {
  /** Signs every new run. `id` is an unsigned 32-bit number. */
  readonly current: { readonly id: number; readonly privateKey: KeyObject }
  readonly others: readonly RetiringKey[]
}

const LARGEST_ID = 0xffff_ffff

/** The 32 secret bytes of an Ed25519 private key (RFC 8037). Throws TypeError for any other key. */
export function seedOf(key: KeyObject): Uint8Array {
  const jwk = key.export({ format: 'jwk' })
  if (jwk.crv !== 'Ed25519' || jwk.d === undefined) {
    throw new TypeError('expected an Ed25519 private key')
  }
  return Buffer.from(jwk.d, 'base64url')
}

const publicBytes = (key: KeyObject): Uint8Array => Buffer.from(rawPublicKey(key), 'base64url')

/** One that signs, or the published halves alone for whoever only verifies. */
export type AnyRootKeys = RootKeys | PublishedRootKeys

/** What a worker needs to know. Throws Fault (`config_invalid`) for a wrong kind of key or an id given twice. */
export function setupOf(keys: AnyRootKeys): Setup {
  try {
    const ring = 'keys' in keys ? publishedRing(keys) : ringOf(keys)
    const ids = ring.map(({ id }) => id)
    if (ids.some((id) => !Number.isInteger(id) || id < 0 || id > LARGEST_ID)) {
      throw new RangeError('expected root key ids of 32 bits')
    }
    if (new Set(ids).size !== ids.length) throw new RangeError('expected each root key id once')
    if ('keys' in keys) return { kind: 'setup', ring }
    const { id, privateKey } = keys.current
    return { kind: 'setup', root: { id, seed: seedOf(privateKey) }, ring }
  } catch (cause) {
    throw new Fault('config_invalid', 'expected Ed25519 root keys, each with its own id', {
      retryable: false,
      cause,
    })
  }
}

const ringOf = ({ current, others }: RootKeys): RingEntry[] => [
  { id: current.id, publicKey: publicBytes(current.privateKey) },
  ...others.map(({ id, publicKey, retiresAtSeconds }) => {
    return { id, publicKey: publicBytes(publicKey), retiresAtSeconds }
  }),
]

const publishedRing = ({ keys }: PublishedRootKeys): RingEntry[] =>
  keys.map(({ id, jwk, retiresAt }) => ({
    id,
    publicKey: publicBytes(publicKeyOf(jwk)),
    ...(retiresAt === undefined ? {} : { retiresAtSeconds: seconds(retiresAt) }),
  }))

/** What anybody may know of the root keys. */
export function publishedRootKeys({ current, others }: RootKeys): PublishedRootKeys {
  const jwkOf = (key: KeyObject) =>
    publicJwkSchema.parse({ kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key) })
  return {
    current: current.id,
    keys: [
      { id: current.id, jwk: jwkOf(current.privateKey) },
      ...others.map(({ id, publicKey, retiresAtSeconds }) => {
        return { id, jwk: jwkOf(publicKey), retiresAt: retiresAtSeconds }
      }),
    ],
  }
}
