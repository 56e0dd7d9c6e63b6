/**
 * Holder keys of the nodes that the runtime keeps custody of. They are derived (HKDF, RFC 5869) from one secret and
 * the node's id, so they are stored nowhere, and a run that resumes after a crash has them again.
 */
import { hkdfSync, type KeyObject } from 'node:crypto'
import type { HolderKeys } from '../core/engine.ts'
import type { NodeId } from '../core/ids.ts'
import { ed25519FromSeed, rawPublicKey } from '../core/keys.ts'

const LEAST_SECRET_BYTES = 32

/** `secret` is the runtime's, at least 32 random bytes; throws RangeError for less. */
export function createHolderKeys(secret: Uint8Array): HolderKeys {
  if (secret.length < LEAST_SECRET_BYTES) throw new RangeError('expected a secret of 32 bytes')
  const kept = Uint8Array.from(secret)
  const privateKey = (node: NodeId): KeyObject => {
    const seed = hkdfSync('sha256', kept, '', `headgate holder ${node}`, 32)
    return ed25519FromSeed(new Uint8Array(seed))
  }
  return { privateKey, publicKey: (node) => rawPublicKey(privateKey(node)) }
}
