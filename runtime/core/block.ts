/**
 * What one block of a token says, as typed values. Minting writes exactly this,
 * verification reads exactly this, and nothing else may stand in a block.
 */
import type { Digest, HolderKey, NodeId, PayeeId, RunId } from './ids.ts'
import type { Currency, Minor } from './money.ts'
import type { Seconds } from './time.ts'

export const NODE_KINDS = ['planner', 'looker', 'leaf'] as const
export type NodeKind = (typeof NODE_KINDS)[number]

export interface BlockClaims {
  readonly node: NodeId
  readonly kind: NodeKind
  readonly currency: Currency
  /** The most that this node and all below it may spend, minor units; 0 for a looker. */
  readonly ceiling: Minor
  /** The key whose owner may use this token and sign the next block. */
  readonly holder: HolderKey
  readonly expiresAtSeconds: Seconds
  /** 1 to 32, sorted, each once; a leaf has one. */
  readonly payees: readonly PayeeId[]
  /** A leaf's quote: SHA-256 of the quote's compact JWS text. */
  readonly quote?: Digest
  /** Only in block 0: SHA-256 of the mandate's compact JWS text. */
  readonly mandate?: Digest
  /** Only in block 0. */
  readonly run?: RunId
}

export const OPERATIONS = ['search', 'quote', 'pay', 'delegate', 'read'] as const

/** What a caller wants to do with a token. */
export type Operation = (typeof OPERATIONS)[number]

/** The facts of a request that the Biscuit authorizer sees, one of each. A search has amount 0. */
export interface RequestFacts {
  readonly operation: Operation
  readonly amount: Minor
  readonly currency: Currency
  readonly payee: PayeeId
  readonly quote?: Digest
  readonly nowSeconds: Seconds
}
