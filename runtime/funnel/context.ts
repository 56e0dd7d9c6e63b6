/** What a walk is made of: the ports, the bounds, and one run's own state in this process. */
import type { KeyObject } from 'node:crypto'
import type { Client } from '../client/client.ts'
import type { Agents, Budgets, ModelFailure, ModelRequest, Usage } from '../core/agents.ts'
import type { HolderKeys, TokenEngine } from '../core/engine.ts'
import type { FaultCode } from '../core/errors.ts'
import type { MerchantId, PayeeId, RunId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Agent, Mandate } from '../core/mandate.ts'
import type { Merchants } from '../core/merchants.ts'
import type { RunRecord, RunState } from '../core/records.ts'
import type { Signatures } from '../core/signatures.ts'
import type { Clock, Timers } from '../core/time.ts'
import type { RunMeter, Spent } from './meter.ts'
import type { Places } from './places.ts'

export interface FunnelBounds {
  /** Purchases under way at once in one run, from the first search to the end of the payment. */
  readonly purchases: number
  /** Fresh looks for one purchase: the first one, and those after a quote that no longer held. */
  readonly looks: number
  /** Times one call is tried again while the gateway or a model is at fault. */
  readonly tries: number
  /**
   * One question to a planner or a chooser, with all tries of its adapter, which gives up first and says what it may
   * have used; and one look, which is several questions.
   */
  readonly modelMs: number
  readonly lookMs: number
  /** Searches, products and quotes that one look may ask for. */
  readonly searches: number
  readonly reads: number
  readonly quotes: number
  /** One run from its creation on, however often it was resumed. */
  readonly wallMs: number
  /** Longest pause between two such tries; the first is a tenth of a second, and each is twice the one before. */
  readonly backOffMs: number
  /** Longest pause between two looks at something that somebody else decides. */
  readonly pauseMs: number
  /** How long a purchase waits for the rail's word before the rest goes on without it; its money stays reserved. */
  readonly outcomeMs: number
}

export const BOUNDS: FunnelBounds = {
  purchases: 4,
  looks: 3,
  tries: 8,
  modelMs: LIMITS.modelMs + 5_000,
  lookMs: 5 * 60_000,
  searches: 12,
  reads: 12,
  quotes: 12,
  wallMs: 30 * 24 * 3_600_000,
  backOffMs: 5_000,
  pauseMs: 1_000,
  outcomeMs: 10 * 60_000,
}

export interface FunnelDeps {
  readonly ledger: Ledger
  readonly engine: TokenEngine
  readonly holderKeys: HolderKeys
  readonly agents: Agents
  /** Plans where the agents have no plan; of an engine that costs nothing. Absent where the agents are that engine. */
  readonly fallback?: Pick<Agents, 'plan'>
  /** What the agents are: a run whose mandate names others is not carried out by them. Absent: any. */
  readonly agent?: Agent
  readonly budgets?: Budgets
  /** For the merchants' pinned keys, and to hand receipts over. */
  readonly merchants: Pick<Merchants, 'ids' | 'keys' | 'keyById' | 'order'>
  /** The gateway as a node's holder reaches it: the same door that outsiders use. */
  readonly connect: (of: {
    readonly token: string
    readonly holder: KeyObject
  }) => Pick<Client, 'search' | 'product' | 'quote' | 'pay'>
  /** Public names of payees. */
  readonly payees: readonly { readonly id: PayeeId; readonly name: string }[]
  readonly payeeOf: (merchant: MerchantId) => PayeeId
  /** Seals and finishes a run whose root is closed; unfinished while its root is not. */
  readonly finish: (
    run: RunId,
    state: Exclude<RunState, 'running' | 'cancelling'>,
    reason?: string,
  ) => Promise<RunRecord>
  readonly clock: Clock
  /** For pauses and deadlines; the machine's own if absent. */
  readonly timers?: Timers
  /** As the gateway's. */
  readonly signatures?: Signatures
  readonly bounds?: Partial<FunnelBounds>
  /** Who this process is, where several walk over one store; absent: nobody else does. */
  readonly holder?: string
  /** Told of each question that models were asked. Must not throw. */
  readonly onAsked?: (asked: AskedModel) => void
  /** Told of what ended a branch or stopped a walk for a reason of ours. Must not throw. */
  readonly onFault?: (error: unknown) => void
}

export type Role = Exclude<ModelRequest<unknown>['role'], 'monitor'>

/** Why there was no decision: a model's failure, a fault of ours, or a plan that cannot be followed. */
export type Unanswered = ModelFailure | FaultCode | 'bad_plan' | 'interrupted'

export interface AskedModel {
  readonly role: Role
  readonly usage: Usage
  /** Absent where there is a decision. */
  readonly failure?: Unanswered
}

/** One run being walked. */
export interface Walk extends Omit<FunnelDeps, 'bounds' | 'timers' | 'budgets'> {
  readonly timers: Timers
  readonly bounds: FunnelBounds
  readonly run: RunRecord
  readonly mandate: Mandate
  /** Aborted when this process stops walking; the run goes on elsewhere or later. */
  readonly signal: AbortSignal
  /** Before each step: throws once this walk has to stop, or the run may be another process’s. */
  readonly assertOurs: () => void
  /** One for each purchase that may be under way. */
  readonly places: Places
  /**
   * Resolves when the run's feed moves, or after `ms`, or at once when the walk is stopped. Within a purchase it
   * leaves the purchase's place to another meanwhile.
   */
  readonly change: (ms: number) => Promise<void>
  readonly meter: RunMeter
}

/** This branch cannot go on; its siblings can. `reason` is a short code of ours. */
export class BranchEnded extends Error {
  readonly reason: string

  constructor(reason: string) {
    super(`a branch ended: ${reason}`)
    this.name = 'BranchEnded'
    this.reason = reason
  }
}

/** No agent decides this: the model gave no usable answer for good, or a budget has no room for the question. */
export class NoDecision extends BranchEnded {
  override readonly reason: 'model_failed' | 'bad_plan' | Spent

  constructor(reason: 'model_failed' | 'bad_plan' | Spent) {
    super(reason)
    this.name = 'NoDecision'
    this.reason = reason
  }
}
