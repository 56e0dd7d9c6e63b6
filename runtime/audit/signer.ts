/** Who signs for the gateway: its id, its Ed25519 key (deterministic, RFC 8032) and that key's id in the key set. */
import type { KeyObject } from 'node:crypto'
import type { Signatures } from '../core/signatures.ts'

export interface GatewaySigner {
  readonly gateway: string
  readonly key: KeyObject
  readonly kid: string
  /** `SIGNATURES` if absent. */
  readonly signatures?: Signatures | undefined
}
