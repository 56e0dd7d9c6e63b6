/** Who signs for the gateway: its id, its Ed25519 key (deterministic, RFC 8032) and that key's id in the key set. */
import type { KeyObject } from 'node:crypto'
import type { PublicJwk } from '../core/keys.ts'
import type { Signatures } from '../core/signatures.ts'

export interface GatewaySigner {
  readonly gateway: string
  readonly key: KeyObject
  readonly kid: string
  /** Public halves of the keys that signed before it, the newest first: what they signed is still good. */
  readonly before?: readonly PublicJwk[]
  /** `SIGNATURES` if absent. */
  readonly signatures?: Signatures | undefined
}
