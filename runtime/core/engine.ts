/** The token engine’s port, and where holder keys come from. */
import type { KeyObject } from 'node:crypto'
import type { BlockClaims, RequestFacts } from './block.ts'
import type { DenialCode } from './codes.ts'
import type { HolderKey, NodeId } from './ids.ts'

/** What a token proves, read only after its signatures held. */
export interface VerifiedToken {
  readonly rootKeyId: number
  /** Block 0 first; each is exactly the closed grammar. */
  readonly blocks: readonly BlockClaims[]
  /** Hex, block 0 first. */
  readonly revocationIds: readonly string[]
  readonly sealed: boolean
  /** The first block that claims more than the one before it; undefined when the chain narrows. */
  readonly widenedAt?: number
  /** Whether the Biscuit authorizer permits `request`; undefined when none was given. */
  readonly authorised?: boolean
}

export type TokenRefusal = Extract<
  DenialCode,
  'too_large' | 'token_invalid' | 'root_unknown' | 'grammar' | 'signer' | 'proof_invalid'
>

export type TokenVerdict =
  | { readonly ok: true; readonly token: VerifiedToken }
  | { readonly ok: false; readonly code: TokenRefusal }

export interface Minted {
  readonly token: string
  readonly revocationIds: readonly string[]
}

/**
 * The only door to the Biscuit engine. Obligations: every call ends within `LIMITS.engineMs` with an answer or a
 * thrown retryable Fault (`engine_timeout`, `engine_busy`, `engine_failed`); hostile input never stops it.
 */
export interface TokenEngine {
  /**
   * `holder` is the key of a proof that held: refused as `proof_invalid` unless the last block declares it, and of
   * what waits only a part may be one holder's, so that none fills the way for the others.
   */
  verify(token: string, request?: RequestFacts, holder?: HolderKey): Promise<TokenVerdict>
  /**
   * This is the holder of a recorded node: while calls wait, its own go before those of keys never heard of, which
   * anybody makes in any number. A hint, bounded and forgotten at a restart; no verdict depends on it.
   */
  recognise(holder: HolderKey): void
  /** Block 0, signed by the current root key. */
  mintRoot(claims: BlockClaims): Promise<Minted>
  /** A third-party block signed by the parent's holder; lookers and leaves are sealed. */
  mintChild(parentToken: string, parentHolder: KeyObject, claims: BlockClaims): Promise<Minted>
  close(): Promise<void>
}

/** Derives the holder keys of nodes that the runtime keeps custody of; the same node always gets the same key. */
export interface HolderKeys {
  privateKey(node: NodeId): KeyObject
  publicKey(node: NodeId): HolderKey
}
