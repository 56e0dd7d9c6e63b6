/** What the pool and its workers say to each other. Keys cross as raw bytes; nothing else secret does. */
import type { BlockClaims, RequestFacts } from '../core/block.ts'
import type { Minted, TokenVerdict } from '../core/engine.ts'
import type { FaultCode } from '../core/errors.ts'
import type { HolderKey } from '../core/ids.ts'
import type { Seconds } from '../core/time.ts'

/** A root key by its id; one that retires is in force before that second. */
export interface RingEntry {
  readonly id: number
  readonly publicKey: Uint8Array
  readonly retiresAtSeconds?: Seconds
}

export interface Setup {
  readonly kind: 'setup'
  /** Absent: this engine verifies and signs no root. */
  readonly root?: { readonly id: number; readonly seed: Uint8Array }
  /** Every root key that may be in force, the current one among them. */
  readonly ring: readonly RingEntry[]
}

export type Task =
  | {
      readonly kind: 'verify'
      readonly token: string
      readonly request?: RequestFacts
      /** Whose proof came with the token. */
      readonly holder?: HolderKey
    }
  | { readonly kind: 'mint_root'; readonly claims: BlockClaims }
  | {
      readonly kind: 'mint_child'
      readonly token: string
      readonly holderSeed: Uint8Array
      readonly claims: BlockClaims
    }

export interface ToDo {
  readonly kind: 'task'
  readonly id: number
  readonly task: Task
  /** The gateway's clock: which root keys are in force. */
  readonly now: Seconds
}

export type ToWorker = Setup | ToDo

export type Outcome =
  | { readonly kind: 'verdict'; readonly verdict: TokenVerdict }
  | { readonly kind: 'minted'; readonly minted: Minted }
  | {
      readonly kind: 'rejected'
      readonly code: string
      readonly message: string
      readonly claim?: string
    }
  | { readonly kind: 'fault'; readonly code: FaultCode; readonly message: string }
  /** The library no longer works in this worker, whatever this task was. */
  | { readonly kind: 'broken' }

export type FromWorker =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done'
      readonly id: number
      readonly outcome: Outcome
      readonly memoryBytes: number
    }
