/**
 * Signs blocks as the Biscuit specification says (its signature formats 0 and 1), Ed25519 only, with node:crypto.
 * A first block is signed by a root key; every later one is a third-party block: its payload is signed by the holder
 * whom the block before it declares, and the whole by the secret that the token carries.
 */
import { type KeyObject, randomBytes, sign } from 'node:crypto'
import type { Minted } from '../core/engine.ts'
import { ed25519FromSeed, rawPublicKey } from '../core/keys.ts'
import {
  ED25519,
  type Envelope,
  revocationIdsOf,
  type SignedBlock,
  type TokenKey,
  type TokenProof,
  writeEnvelope,
} from './envelope.ts'

/** Third-party blocks are signed in format 1, which binds them to the signature before them. */
export const THIRD_PARTY_VERSION = 1

/** A first block is signed in format 0, as the reference library does. */
export const FIRST_BLOCK_VERSION = 0

const le32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32LE(n)
  return bytes
}

const label = (name: string): Buffer => Buffer.from(`\0${name}\0`)

const keyParts = (key: TokenKey): Uint8Array[] => [le32(key.algorithm), key.bytes]

const signParts = (key: KeyObject, parts: readonly Uint8Array[]): Buffer =>
  sign(null, Buffer.concat(parts), key)

/** The public half of an Ed25519 key as a token carries it. */
export const publicTokenKey = (key: KeyObject): TokenKey => ({
  algorithm: ED25519,
  bytes: Buffer.from(rawPublicKey(key), 'base64url'),
})

/** What the root key signs of a first block. */
export const firstBlockParts = (payload: Uint8Array, nextKey: TokenKey): Uint8Array[] => [
  payload,
  ...keyParts(nextKey),
]

/** What a holder signs of a block that it adds. */
export function externalParts(payload: Uint8Array, previousSignature: Uint8Array): Uint8Array[] {
  return [
    label('EXTERNAL'),
    label('VERSION'),
    le32(THIRD_PARTY_VERSION),
    label('PAYLOAD'),
    payload,
    label('PREVSIG'),
    previousSignature,
  ]
}

/** What the secret of the token before it signs of a block that a holder has signed. */
export function blockParts(
  payload: Uint8Array,
  nextKey: TokenKey,
  previousSignature: Uint8Array,
  externalSignature: Uint8Array,
): Uint8Array[] {
  return [
    label('BLOCK'),
    label('VERSION'),
    le32(THIRD_PARTY_VERSION),
    label('PAYLOAD'),
    payload,
    label('ALGORITHM'),
    le32(nextKey.algorithm),
    label('NEXTKEY'),
    nextKey.bytes,
    label('PREVSIG'),
    previousSignature,
    label('EXTERNALSIG'),
    externalSignature,
  ]
}

/** What the last secret signs when a token is sealed. */
export const sealParts = ({ payload, nextKey, signature }: SignedBlock): Uint8Array[] => [
  payload,
  ...keyParts(nextKey),
  signature,
]

/** The proof of a token whose last block is `block` and whose next secret is `seed`. */
const proofOf = (block: SignedBlock, seed: Uint8Array, sealed: boolean): TokenProof =>
  sealed
    ? { finalSignature: signParts(ed25519FromSeed(seed), sealParts(block)) }
    : { nextSecret: seed }

const minted = (envelope: Envelope): Minted => ({
  token: writeEnvelope(envelope).toString('base64url'),
  revocationIds: revocationIdsOf(envelope),
})

export interface FirstBlock {
  readonly rootKey: KeyObject
  readonly rootKeyId: number
  readonly payload: Uint8Array
}

/** A new token of one block. */
export function signFirstBlock({ rootKey, rootKeyId, payload }: FirstBlock): Minted {
  const seed = randomBytes(32)
  const nextKey = publicTokenKey(ed25519FromSeed(seed))
  const signature = signParts(rootKey, firstBlockParts(payload, nextKey))
  const block = { payload, nextKey, signature, version: FIRST_BLOCK_VERSION }
  return minted({ rootKeyId, blocks: [block], proof: proofOf(block, seed, false) })
}

export interface NextBlock {
  /** Open: its proof holds the next secret. */
  readonly parent: Envelope
  readonly holder: KeyObject
  readonly payload: Uint8Array
  readonly sealed: boolean
}

/** The parent's token with one more block. Throws TypeError when the parent is sealed. */
export function signNextBlock({ parent, holder, payload, sealed }: NextBlock): Minted {
  const last = parent.blocks.at(-1)
  if (last === undefined || !('nextSecret' in parent.proof)) {
    throw new TypeError('expected a token that is not sealed')
  }
  const seed = randomBytes(32)
  const nextKey = publicTokenKey(ed25519FromSeed(seed))
  const externalSignature = signParts(holder, externalParts(payload, last.signature))
  const signer = ed25519FromSeed(parent.proof.nextSecret)
  const parts = blockParts(payload, nextKey, last.signature, externalSignature)
  const block = {
    payload,
    nextKey,
    signature: signParts(signer, parts),
    external: { signature: externalSignature, key: publicTokenKey(holder) },
    version: THIRD_PARTY_VERSION,
  }
  return minted({
    ...(parent.rootKeyId !== undefined && { rootKeyId: parent.rootKeyId }),
    blocks: [...parent.blocks, block],
    proof: proofOf(block, seed, sealed),
  })
}
