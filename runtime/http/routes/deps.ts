/** What the routes are served from: ports and rooms to the left, wired by `compose.ts`. */
import type { GatewaySigner } from '../../audit/signer.ts'
import type { RunId } from '../../core/ids.ts'
import type { PublicJwk, PublishedRootKeys } from '../../core/keys.ts'
import type { Ledger } from '../../core/ledger.ts'
import type { RunRecord } from '../../core/records.ts'
import type { Clock } from '../../core/time.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Reconciler, Round } from '../../gateway/reconcile.ts'
import type { Feeds } from '../feed.ts'
import type { Operator, Operators } from '../operators.ts'
import type { Route } from '../route.ts'
import type { LogEntry } from '../server.ts'
import type { Streams } from '../stream.ts'
import type { Views } from '../views.ts'

export interface RouteDeps {
  readonly gateway: Gateway
  readonly ledger: Ledger
  readonly clock: Clock
  readonly feeds: Feeds
  readonly streams: Streams
  readonly views: Views
  readonly operators: Operators
  readonly signer: GatewaySigner
  /** Keys that receipts and seals verify under. */
  readonly publicKeys: readonly PublicJwk[]
  /** Keys that block 0 of a token verifies under. */
  readonly rootKeys: PublishedRootKeys
  /** A payee's name for people, or its id where the configuration knows it no more. */
  readonly payeeName: (payee: string) => string
  /** The public origin of this gateway. */
  readonly url: string
  /** Lets the funnel carry out a run that has just been made, or go on with one. Must not throw or wait. */
  readonly carryOut: (run: RunRecord) => void
  readonly reconcile: () => Promise<Round>
  readonly settlement: Reconciler['settlement']
  /** The rail's name, and where its messages go; absent at a rail that sends none. */
  readonly railName: string
  readonly hear?: Reconciler['hear']
  /** The rail’s own list against the ledger. */
  readonly compare: Reconciler['compare']
  /** Names of the parts that cannot work now; empty when ready. */
  readonly failing: () => Promise<readonly string[]>
  /** Prometheus' text format. */
  readonly metrics: () => Promise<string>
  /** Begins a demonstration run; absent where there is none. */
  readonly demo?: () => Promise<RunId>
  /** The operator's log. */
  readonly log: (entry: LogEntry) => void
  /** The finished table, for the document that describes it. */
  readonly table: () => readonly Route[]
}

/** Who is named in a record of what an operator did. */
export const nameOf = (operator: Operator | undefined): string =>
  `operator:${operator?.name ?? 'unknown'}`
