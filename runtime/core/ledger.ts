/**
 * The ledger's port. A store loads, applies a pure transition and commits atomically, or changes nothing; each
 * command is safe to send again, because it first reads whether its step is already recorded.
 */
import type {
  AskAuthorisation,
  AuthorisationRecord,
  Authorised,
  DrawFrom,
  MoveAuthorisation,
} from './authorisation.ts'
import type { CheckResult, Denial } from './codes.ts'
import type { Decided } from './decided.ts'
import type { Complete, MarkUnknown, Release, Settle } from './ending.ts'
import type { Erase, EraseParts } from './erase.ts'
import type {
  AuthorisationId,
  Digest,
  HoldId,
  NodeId,
  PaymentId,
  PrincipalId,
  RunId,
} from './ids.ts'
import type { Hearing, InboxCommands, InboxReads } from './inbox.ts'
import type { MonitorWord } from './judges.ts'
import type { Lease, MarkedOverdue, MarkOverdue, Regain, Resolve, Reverse } from './late.ts'
import type { Minor } from './money.ts'
import type { Provenance } from './provenance.ts'
import type {
  Account,
  Counter,
  EventRecord,
  FeedEntry,
  Head,
  HoldRecord,
  NodeRecord,
  PaymentRecord,
  RunRecord,
  RunState,
  Sighting,
  Standing,
  StreamId,
} from './records.ts'
import type { AskedRefund, Refund, RefundEnd, RefundMade } from './refund.ts'
import type { Seconds } from './time.ts'

/** Why a transition refuses. The gateway maps each to a denial code, an HTTP status or a retry. */
export type LedgerRefusal =
  | 'not_found'
  | 'conflict'
  | 'insufficient'
  | 'node_limit'
  | 'fan_out'
  | 'expired'
  | 'frozen'
  | 'revoked'
  | 'run_closed'
  | 'proof_replayed'
  | 'proofs_full'
  | 'quote_spent'
  | 'counter'
  | 'hold_limit'
  | 'stale'
  | 'same_operator'
  | 'run_live'
  | 'money_waiting'

export interface Refused {
  readonly ok: false
  readonly code: LedgerRefusal
  /** Of `counter`: the key of the counter that is at its bound. */
  readonly counter?: string
}

export type Result<T> = ({ readonly ok: true } & T) | Refused

/** A one-time proof identifier: consumed in the transaction that records the verdict. */
export interface ProofUse {
  readonly jti: string
  readonly holder: string
  /** Kept until then; a proof older than its age is refused anyway. */
  readonly expiresAtSeconds: Seconds
  /** This attempt's own mark: a store callback that runs again recognises its own use. */
  readonly attempt: string
}

/** A bound to hold while counting: adding this payment may reach it and not pass it. */
export interface CounterUse {
  readonly key: string
  readonly maxCount?: number
  readonly maxAmount?: Minor
}

export interface CreateRun {
  readonly run: RunRecord
  readonly root: NodeRecord
  /** The root's token, kept so that a resumed run has it; worthless without the derived holder key. */
  readonly token: string
  readonly nodes: number
  readonly now: Seconds
}

export interface Split {
  readonly child: NodeRecord
  /** Kept only for `funnel` custody. */
  readonly token?: string
  /** Nodes that the child may still make below itself. */
  readonly nodes: number
  readonly fanOut: number
  readonly now: Seconds
}

export interface Reserve {
  readonly payment: PaymentRecord
  readonly path: readonly NodeId[]
  /** The earliest expiry among mandate, path and quote: judged again here. */
  readonly expiresAtSeconds: Seconds
  readonly proof: ProofUse
  readonly counters: readonly CounterUse[]
  /** An approved hold that answers this payment's hold; consumed here or the reserve is `stale`. */
  readonly approval?: { readonly hold: HoldId; readonly digest: Digest }
  /** Set when no monitor is to be asked: reserved and submitted are then one transaction. */
  readonly submit?: { readonly nonce: string; readonly nowMs: number }
  readonly now: Seconds
}

export interface Submit {
  readonly payment: PaymentId
  readonly path: readonly NodeId[]
  readonly expiresAtSeconds: Seconds
  readonly nonce: string
  readonly nowMs: number
  readonly checks: readonly CheckResult[]
  /** What the monitor said. */
  readonly monitor?: MonitorWord
  readonly now: Seconds
}

/** Records a refusal or a hold of checks 3 to 9 in the leaf's stream, with its proof consumed. */
export interface Refuse {
  readonly node: NodeId
  readonly run: RunId
  readonly denial: Denial
  readonly checks: readonly CheckResult[]
  readonly proof: ProofUse
  /** Of what was refused; absent where the request never named a payment. */
  readonly payment?: PaymentId
  /** Opened when the verdict is `hold`; an open one of the same id is kept, a refused one is `stale`. */
  readonly hold?: HoldRecord
  /** Where what was to be paid came from, as far as it was known. */
  readonly provenance?: Provenance
  readonly now: Seconds
}

export interface DecideHold {
  readonly hold: HoldId
  /** What the person saw: must equal the hold's. */
  readonly digest: Digest
  readonly decision: 'approved' | 'refused'
  readonly by: string
  readonly now: Seconds
}

export interface SetStanding {
  /** `gateway` freezes or resumes everything. */
  readonly node: NodeId | 'gateway'
  readonly state: 'live' | 'frozen' | 'revoked'
  readonly by: string
  readonly now: Seconds
}

/** Starts or continues closing one node; the caller goes bottom-up and calls again until `closed`. */
export interface Close {
  readonly node: NodeId
  readonly by: string
  readonly now: Seconds
}

/** An event without money: what a looker read, what a model answered, or why not. `data` holds no free text. */
export interface Note {
  readonly stream: StreamId
  readonly type:
    | 'read'
    | 'planned'
    | 'looked'
    | 'chose'
    | 'unanswered'
    | 'unmet'
    | 'delivered'
    | 'judged'
    | 'operator'
  readonly data: { readonly [key: string]: string | number | boolean | readonly string[] }
  readonly proof?: ProofUse
  /** The quote that was read, to be known again when a leaf of the stream's run presents it; the first one stays. */
  readonly seen?: Sighting
  readonly now: Seconds
}

/** Writes a step once; what was there before wins and is returned. */
export interface SaveStep {
  readonly node: NodeId
  readonly name: string
  readonly value: unknown
  /** Appended to the node's stream in the same transaction, only if the step is new. */
  readonly note?: Omit<Note, 'now' | 'stream'>
  readonly now: Seconds
}

export interface FinishRun {
  readonly run: RunId
  readonly state: RunState
  readonly reason?: string
  /** Set when the root is closed: the seal over its final head. */
  readonly seal?: string
  readonly now: Seconds
}

export interface Commands extends InboxCommands {
  createRun: { input: CreateRun; result: Result<{ run: RunRecord; created: boolean }> }
  split: { input: Split; result: Result<{ child: NodeRecord; account: Account }> }
  reserve: { input: Reserve; result: Result<{ payment: PaymentRecord; account: Account }> }
  submit: { input: Submit; result: Result<{ payment: PaymentRecord }> }
  settle: { input: Settle; result: Result<{ payment: PaymentRecord }> }
  release: { input: Release; result: Result<{ payment: PaymentRecord }> }
  markUnknown: { input: MarkUnknown; result: Result<{ payment: PaymentRecord }> }
  /** `conflict` while somebody else holds it. */
  lease: { input: Lease; result: Result<{ payment: PaymentRecord }> }
  markOverdue: { input: MarkOverdue; result: Result<MarkedOverdue> }
  /** `same_operator` where the first says it again, `stale` where it was ended meanwhile; a proposal ends nothing. */
  resolve: { input: Resolve; result: Result<{ payment: PaymentRecord }> }
  /** `insufficient` where more would have come back than was settled; `noted` is false for an id that was there. */
  reverse: { input: Reverse; result: Result<{ payment: PaymentRecord; noted: boolean }> }
  /** `conflict` where there is nothing to regain, `run_closed` once the run's root is closing. */
  regain: { input: Regain; result: Result<{ payment: PaymentRecord }> }
  /** `insufficient` where more would come back than was settled; `created` for the attempt that may call the rail. */
  refund: { input: Refund; result: Result<AskedRefund> }
  refunded: { input: RefundMade; result: Result<{ payment: PaymentRecord }> }
  refundFailed: { input: RefundEnd; result: Result<{ payment: PaymentRecord }> }
  refundUnknown: { input: RefundEnd; result: Result<{ payment: PaymentRecord }> }
  refuse: { input: Refuse; result: Result<{ hold?: HoldRecord }> }
  /** `counter` once the leaf has asked for as many as it may. */
  decided: { input: Decided; result: Result<object> }
  decideHold: { input: DecideHold; result: Result<{ hold: HoldRecord }> }
  setStanding: {
    input: SetStanding
    /** `onTheirWay`: payments below that were already `submitted` when this was acknowledged. */
    result: Result<{ standing: Standing; onTheirWay: readonly PaymentId[] }>
  }
  close: { input: Close; result: Result<{ standing: Standing; account: Account }> }
  note: { input: Note; result: Result<{ head: Head }> }
  saveStep: { input: SaveStep; result: Result<{ value: unknown; created: boolean }> }
  /** Sent by a store itself, before it throws `ledger_corrupt`; `halted` is false where that had been known. */
  haltRun: {
    input: { run: RunId; stream: StreamId; now: Seconds }
    result: Result<{ run: RunRecord; halted: boolean }>
  }
  /** Nobody else carries the run out until then; 0 seconds give it back. `conflict` while somebody else holds it. */
  leaseRun: {
    input: { run: RunId; holder: string; seconds: number; now: Seconds }
    result: Result<{ run: RunRecord }>
  }
  finishRun: { input: FinishRun; result: Result<{ run: RunRecord }> }
  /** `run_live` before the run is sealed, `money_waiting` where a payment waits for the rail's word. */
  eraseParts: { input: EraseParts; result: Result<object> }
  /** As `eraseParts`. A store that has answered keeps no byte of what was wiped, in freed space neither. */
  erase: { input: Erase; result: Result<{ run: RunRecord }> }
  /** `frozen` is to be waited for; `revoked`, `run_closed` and `expired` will not pass; `conflict` where nothing waits. */
  complete: { input: Complete; result: Result<{ payment: PaymentRecord }> }
  /** `created` for the one attempt that may call the rail; `insufficient` over the run's ceiling. */
  askAuthorisation: {
    input: AskAuthorisation
    result: Result<{ authorisation: AuthorisationRecord; created: boolean }>
  }
  /** `insufficient` for more than was asked. */
  authorised: { input: Authorised; result: Result<{ authorisation: AuthorisationRecord }> }
  /** `insufficient` where more would be drawn than was authorised, `expired` where the rail does not honour it any more. */
  draw: { input: DrawFrom; result: Result<{ payment: PaymentRecord }> }
  moveAuthorisation: {
    input: MoveAuthorisation
    result: Result<{ authorisation: AuthorisationRecord }>
  }
}

export type CommandName = keyof Commands

/** Everything that the checks of one attempt read, as of one instant. */
export interface Snapshot {
  readonly run: RunRecord
  /** Root first; the node itself last. */
  readonly path: readonly NodeRecord[]
  readonly standings: readonly Standing[]
  readonly gateway: Standing
  readonly account: Account
  readonly payment?: PaymentRecord
  /** Who holds the claim on (issuer, quote jti), if anyone. */
  readonly claimedBy?: PaymentId
  readonly holds: readonly HoldRecord[]
  readonly counters: readonly Counter[]
  /** Of the quote that was asked about, if a looker of the node's own run was given it. */
  readonly seen?: Sighting
}

export interface SnapshotRequest {
  readonly node: NodeId
  readonly payment?: PaymentId
  readonly claim?: { readonly issuer: string; readonly jti: string }
  readonly counters?: readonly string[]
  /** A quote's digest. */
  readonly seen?: Digest
}

export interface Page {
  readonly after?: string
  readonly limit: number
}

/** Whose heads are asked for. */
export type HeadsOf = RunId | 'unsealed'

/** One node with everything a person is shown about it. */
export interface NodeState {
  readonly node: NodeRecord
  readonly account: Account
  readonly standing: Standing
  /** The latest payment attempt's record, if the node is a leaf that has tried. */
  readonly payment?: PaymentRecord
  /** The nine cells of its last attempt, refused ones included. */
  readonly lastChecks?: readonly CheckResult[]
  readonly lastCode?: string
}

/**
 * Obligations of a store: `execute` is atomic and durable when it resolves; a refusal changes nothing; an
 * operating failure is a thrown Fault and then either nothing or the whole command happened; commands may be
 * sent again; feed positions are contiguous and assigned in commit order. Before anything is appended to a stream its
 * account is compared with its last event; a difference halts the run, in a command of its own, and is thrown.
 */
export interface Ledger extends InboxReads {
  execute<K extends CommandName>(
    name: K,
    input: Commands[K]['input'] & Hearing,
  ): Promise<Commands[K]['result']>

  snapshot(request: SnapshotRequest): Promise<Snapshot | undefined>
  run(id: RunId): Promise<RunRecord | undefined>
  runByMandate(principal: PrincipalId, jti: string): Promise<RunRecord | undefined>
  /** Newest first. */
  runs(page: Page): Promise<readonly RunRecord[]>
  node(id: NodeId): Promise<NodeRecord | undefined>
  account(id: NodeId): Promise<Account | undefined>
  standing(id: NodeId | 'gateway'): Promise<Standing>
  /** The kept token of a `funnel` node. */
  token(id: NodeId): Promise<string | undefined>
  /** In order of creation, parents before children. */
  tree(run: RunId): Promise<readonly NodeState[]>
  children(node: NodeId): Promise<readonly NodeState[]>
  payment(id: PaymentId): Promise<PaymentRecord | undefined>
  /** Oldest first. */
  payments(query: {
    run?: RunId
    states?: readonly PaymentRecord['state'][]
    limit: number
  }): Promise<readonly PaymentRecord[]>
  /** With a refund that has no end yet, the oldest payment first. */
  refunding(limit: number): Promise<readonly PaymentRecord[]>
  authorisation(id: AuthorisationId): Promise<AuthorisationRecord | undefined>
  /** Of a run all of them; of no run those that have no end yet, the oldest first. */
  authorisations(query: { run?: RunId; limit: number }): Promise<readonly AuthorisationRecord[]>
  hold(id: HoldId): Promise<HoldRecord | undefined>
  /** Oldest deadline first. */
  holds(query: {
    run?: RunId
    states?: readonly HoldRecord['state'][]
    limit: number
  }): Promise<readonly HoldRecord[]>
  step(node: NodeId, name: string): Promise<unknown>
  /** Names of the steps that are recorded of a node. */
  steps(node: NodeId): Promise<readonly string[]>
  events(stream: StreamId, after: number, limit: number): Promise<readonly EventRecord[]>
  feed(run: RunId, after: number, limit: number): Promise<readonly FeedEntry[]>
  /**
   * Of a run: gateway-stream events of that run excluded. Streams in use, for export. `unsealed`: the gateway's and
   * those of every run that has no seal yet, for a checkpoint.
   */
  heads(of?: HeadsOf): Promise<readonly { stream: StreamId; head: Head }[]>
  /** Called after each commit that added to the run's feed; the listener must not throw. Returns unsubscribe. */
  onFeed(listener: (run: RunId, position: number) => void): () => void
  /** Throws a Fault when the store cannot be written now. */
  ping(): Promise<void>
  close(): Promise<void>
}
