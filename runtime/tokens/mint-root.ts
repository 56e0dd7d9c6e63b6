/** Minting the first block of a run, by the gateway's root key. Later blocks are minted by `client/mint.ts`. */
import type { KeyObject } from 'node:crypto'
import { badClaim } from '../client/claims.ts'
import { encodeBlock } from '../client/encode.ts'
import { signFirstBlock } from '../client/sign.ts'
import type { BlockClaims } from '../core/block.ts'
import type { Minted } from '../core/engine.ts'
import { Rejected } from '../core/errors.ts'

export interface RootKey {
  /** An unsigned 32-bit number that names the key in every token that it signs. */
  readonly id: number
  readonly privateKey: KeyObject
}

/** Throws Rejected (`claims`, with the claim's name) for what block 0 may not say. */
export function mintRoot(root: RootKey, claims: BlockClaims): Minted {
  const bad = badClaim(claims, 0)
  if (bad !== undefined) throw new Rejected('claims', 'expected a claim that block 0 may hold', bad)
  return signFirstBlock({
    rootKey: root.privateKey,
    rootKeyId: root.id,
    payload: encodeBlock(claims, 0),
  })
}
