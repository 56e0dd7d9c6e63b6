/**
 * Signs chains whose every secret is chosen, so that the same chain has the same bytes in every run: for vectors that
 * others compare with and for measurements. A secret that is not fresh is none, so the product has no such door.
 */
import { type KeyObject, sign } from 'node:crypto'
import {
  type Envelope,
  revocationIdsOf,
  type SignedBlock,
  writeEnvelope,
} from '../../../runtime/client/envelope.ts'
import {
  blockParts,
  externalParts,
  FIRST_BLOCK_VERSION,
  firstBlockParts,
  publicTokenKey,
  sealParts,
  THIRD_PARTY_VERSION,
} from '../../../runtime/client/sign.ts'
import type { Minted } from '../../../runtime/core/engine.ts'
import { ed25519FromSeed } from '../../../runtime/core/keys.ts'

export interface FixedBlock {
  readonly payload: Uint8Array
  /** Signs it: the root key for a first block, the holder above for every other. */
  readonly signer: KeyObject
  /** 32 bytes: the secret that the next block needs. */
  readonly nextSecret: Uint8Array
}

const signed = (key: KeyObject, parts: readonly Uint8Array[]): Buffer =>
  sign(null, Buffer.concat(parts), key)

const opened = (rootKeyId: number | undefined, blocks: SignedBlock[], secret: Uint8Array) => ({
  ...(rootKeyId !== undefined && { rootKeyId }),
  blocks,
  proof: { nextSecret: secret },
})

/** An open token of one block, which the root key signs. */
export function fixedRoot(
  rootKeyId: number,
  { payload, signer, nextSecret }: FixedBlock,
): Envelope {
  const nextKey = publicTokenKey(ed25519FromSeed(nextSecret))
  const signature = signed(signer, firstBlockParts(payload, nextKey))
  const block = { payload, nextKey, signature, version: FIRST_BLOCK_VERSION }
  return opened(rootKeyId, [block], nextSecret)
}

/** The same open token with one more block. Throws when it is sealed. */
export function fixedChild(
  { rootKeyId, blocks, proof }: Envelope,
  { payload, signer, nextSecret }: FixedBlock,
): Envelope {
  const above = blocks.at(-1)
  if (above === undefined || !('nextSecret' in proof)) throw new Error('expected an open token')
  const nextKey = publicTokenKey(ed25519FromSeed(nextSecret))
  const external = {
    signature: signed(signer, externalParts(payload, above.signature)),
    key: publicTokenKey(signer),
  }
  const parts = blockParts(payload, nextKey, above.signature, external.signature)
  const signature = signed(ed25519FromSeed(proof.nextSecret), parts)
  const block = { payload, nextKey, signature, external, version: THIRD_PARTY_VERSION }
  return opened(rootKeyId, [...blocks, block], nextSecret)
}

/** The token's text and ids; `sealed` closes an open one. */
export function fixedToken(envelope: Envelope, sealed: boolean): Minted {
  const { blocks, proof } = envelope
  const last = blocks.at(-1)
  if (last === undefined || !('nextSecret' in proof)) throw new Error('expected an open token')
  const closed = () => ({
    finalSignature: signed(ed25519FromSeed(proof.nextSecret), sealParts(last)),
  })
  const whole = sealed ? { ...envelope, proof: closed() } : envelope
  return {
    token: writeEnvelope(whole).toString('base64url'),
    revocationIds: revocationIdsOf(whole),
  }
}

/** A token of these blocks, the first one's signer being the root key. */
export function signFixed(
  rootKeyId: number,
  [root, ...rest]: readonly FixedBlock[],
  sealed: boolean,
): Minted {
  if (root === undefined) throw new Error('expected a block')
  return fixedToken(rest.reduce(fixedChild, fixedRoot(rootKeyId, root)), sealed)
}
