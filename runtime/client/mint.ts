/**
 * Minting a child: what a planner does in its own process, with its own key, without asking anybody. The token that
 * comes out is worth nothing until the gateway has recorded the split; and the gateway verifies all of it again.
 */
import type { KeyObject } from 'node:crypto'
import type { BlockClaims } from '../core/block.ts'
import type { Minted } from '../core/engine.ts'
import { Rejected } from '../core/errors.ts'
import { type PrivateJwk, privateKeyOf, rawPublicKey } from '../core/keys.ts'
import { badClaim, isTerminal, widenedClaim } from './claims.ts'
import { decodeBlock } from './decode.ts'
import { encodeBlock } from './encode.ts'
import { type Envelope, readEnvelope, tokenBytes } from './envelope.ts'
import { signNextBlock } from './sign.ts'

/** A node's private key, Ed25519: as a key object or as a JSON Web Key. */
export type Holder = KeyObject | PrivateJwk

export const holderKeyObject = (holder: Holder): KeyObject =>
  'kty' in holder ? privateKeyOf(holder) : holder

function openEnvelope(token: string): Envelope {
  const bytes = tokenBytes(token)
  const envelope = bytes === undefined ? 'malformed' : readEnvelope(bytes)
  if (typeof envelope === 'string') throw new Rejected('token_invalid', 'expected a token', 'token')
  return envelope
}

function chainOf(envelope: Envelope): readonly BlockClaims[] {
  return envelope.blocks.map((block, i) => {
    const claims = decodeBlock(block.payload, i)
    if (claims === undefined) {
      throw new Rejected('grammar', 'expected blocks of the closed grammar', 'token')
    }
    return claims
  })
}

/**
 * What a token says of each node from the root down, read without verifying any signature: for a holder who wants
 * to know its own ceiling, expiry and payees. Throws Rejected (`token_invalid`, `grammar`).
 */
export const readToken = (token: string): readonly BlockClaims[] => chainOf(openEnvelope(token))

function assertMintable(chain: readonly BlockClaims[], holder: KeyObject, claims: BlockClaims) {
  const parent = chain.at(-1)
  if (parent === undefined || rawPublicKey(holder) !== parent.holder) {
    throw new Rejected('signer', 'expected the key that the token names as its holder')
  }
  if (chain.some((above) => above.holder === claims.holder)) {
    throw new Rejected('signer', 'expected a key that no node above holds', 'holder')
  }
  const bad = badClaim(claims, chain.length)
  if (bad !== undefined) throw new Rejected('claims', 'expected a claim that a block may hold', bad)
  const widened = widenedClaim(parent, claims)
  if (widened !== undefined) {
    throw new Rejected('widened', 'expected no more than the parent has', widened)
  }
}

/**
 * The parent's token with a block for `claims`, signed by the parent's holder; lookers and leaves are sealed.
 * Throws Rejected: `token_invalid`, `grammar`, `sealed`, `signer` (not the holder's key, or a key used above),
 * `claims` or `widened` (with the claim's name).
 */
export function mintChild(parentToken: string, parentHolder: Holder, claims: BlockClaims): Minted {
  const parent = openEnvelope(parentToken)
  const holder = holderKeyObject(parentHolder)
  if ('finalSignature' in parent.proof) {
    throw new Rejected('sealed', 'expected a token that is not sealed', 'token')
  }
  const chain = chainOf(parent)
  assertMintable(chain, holder, claims)
  const payload = encodeBlock(claims, chain.length)
  return signNextBlock({ parent, holder, payload, sealed: isTerminal(claims.kind) })
}
