/**
 * Tokens as an attacker makes them: the parts are right, the whole is not. Everything here works on bytes that the
 * attacker may hold (any token seen in transit) and keys that the attacker may have (its own, and those of nodes
 * that it was honestly given). Nothing asks whether the result makes sense; that is what is being tried.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { encodeBlock } from '../../../runtime/client/encode.ts'
import {
  type Envelope,
  readEnvelope,
  type SignedBlock,
  tokenBytes,
  writeEnvelope,
} from '../../../runtime/client/envelope.ts'
import { signFirstBlock, signNextBlock } from '../../../runtime/client/sign.ts'
import type { BlockClaims } from '../../../runtime/core/block.ts'
import type { Minted } from '../../../runtime/core/engine.ts'

export const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey

export function envelopeOf(token: string): Envelope {
  const bytes = tokenBytes(token)
  const envelope = bytes === undefined ? 'malformed' : readEnvelope(bytes)
  if (typeof envelope === 'string') throw new Error('expected a readable token to start from')
  return envelope
}

export const tokenOf = (envelope: Envelope): string => writeEnvelope(envelope).toString('base64url')

/** The same token with its list of blocks changed and everything else, its proof too, as it was. */
export function withBlocks(
  token: string,
  change: (blocks: readonly SignedBlock[]) => readonly SignedBlock[],
): string {
  const envelope = envelopeOf(token)
  return tokenOf({ ...envelope, blocks: change(envelope.blocks) })
}

/** One more block with any payload at all, signed by `holder` as a third party. */
export function append(
  token: string,
  { holder, payload, sealed = true }: { holder: KeyObject; payload: Uint8Array; sealed?: boolean },
): Minted {
  return signNextBlock({ parent: envelopeOf(token), holder, payload, sealed })
}

/** One more block that says exactly `claims`: the right grammar, whatever the values and whoever signs. */
export function appendClaims(
  token: string,
  { holder, claims, sealed }: { holder: KeyObject; claims: BlockClaims; sealed?: boolean },
): Minted {
  const payload = encodeBlock(claims, envelopeOf(token).blocks.length)
  return append(token, { holder, payload, sealed: sealed ?? claims.kind !== 'planner' })
}

/** A first block that says `claims` under any key and any root key id. */
export const forgeRoot = (rootKey: KeyObject, rootKeyId: number, claims: BlockClaims): Minted =>
  signFirstBlock({ rootKey, rootKeyId, payload: encodeBlock(claims, 0) })

/** The token's own bytes with others behind them: for the library the same token, for a naive register another. */
export const withTail = (token: string, tail: Uint8Array): string =>
  Buffer.concat([Buffer.from(token, 'base64url'), tail]).toString('base64url')

/** Renames the root key that the token says it was signed with; the signatures stay. */
export const withRootKeyId = (token: string, rootKeyId: number): string =>
  tokenOf({ ...envelopeOf(token), rootKeyId })
