/** The keys of the shops, each in a file of its own that only its owner can read, made at the first start. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Jwks,
  type PrivateJwk,
  privateJwkSchema,
  privateKeyOf,
  publicJwkOf,
  thumbprint,
} from '../runtime/core/keys.ts'

export interface ShopKeys {
  readonly kid: string
  readonly key: KeyObject
  /** What the shop publishes. */
  readonly jwks: Jwks
}

/** The Ed25519 key of one shop; the same directory always gives the same key. */
export function openShopKeys(directory: string, shop: string): ShopKeys {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const jwk = readOrMake(join(directory, `${shop}.jwk`), shop)
  const kid = jwk.kid ?? thumbprint(publicJwkOf(jwk))
  return { kid, key: privateKeyOf(jwk), jwks: { keys: [{ ...publicJwkOf(jwk), kid }] } }
}

function readOrMake(file: string, shop: string): PrivateJwk {
  const fresh = generate(shop)
  try {
    writeFileSync(file, `${JSON.stringify(fresh)}\n`, { mode: 0o600, flag: 'wx', flush: true })
    return fresh
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return privateJwkSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
}

function generate(shop: string): PrivateJwk {
  const { privateKey } = generateKeyPairSync('ed25519')
  const jwk = privateJwkSchema.parse(privateKey.export({ format: 'jwk' }))
  return { ...jwk, kid: `${shop}-${thumbprint(publicJwkOf(jwk)).slice(0, 8)}`, alg: 'EdDSA' }
}
