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

function signedBlock(
  { payload, signer, nextSecret }: FixedBlock,
  above: { readonly signature: Uint8Array; readonly secret: Uint8Array } | undefined,
): SignedBlock {
  const nextKey = publicTokenKey(ed25519FromSeed(nextSecret))
  if (above === undefined) {
    const signature = signed(signer, firstBlockParts(payload, nextKey))
    return { payload, nextKey, signature, version: FIRST_BLOCK_VERSION }
  }
  const external = {
    signature: signed(signer, externalParts(payload, above.signature)),
    key: publicTokenKey(signer),
  }
  const parts = blockParts(payload, nextKey, above.signature, external.signature)
  const signature = signed(ed25519FromSeed(above.secret), parts)
  return { payload, nextKey, signature, external, version: THIRD_PARTY_VERSION }
}

/** A token of these blocks, the first one's signer being the root key; `sealed` closes it. */
export function signFixed(
  rootKeyId: number,
  chain: readonly FixedBlock[],
  sealed: boolean,
): Minted {
  const blocks: SignedBlock[] = []
  let above: { signature: Uint8Array; secret: Uint8Array } | undefined
  for (const each of chain) {
    const block = signedBlock(each, above)
    blocks.push(block)
    above = { signature: block.signature, secret: each.nextSecret }
  }
  const last = blocks.at(-1)
  if (last === undefined || above === undefined) throw new Error('expected a block')
  const proof = sealed
    ? { finalSignature: signed(ed25519FromSeed(above.secret), sealParts(last)) }
    : { nextSecret: above.secret }
  const envelope: Envelope = { rootKeyId, blocks, proof }
  return {
    token: writeEnvelope(envelope).toString('base64url'),
    revocationIds: revocationIdsOf(envelope),
  }
}
