/** What a ledger answers without changing anything, written once over the few lookups that each store offers. */
import type { AuthorisationRecord } from '../core/authorisation.ts'
import { Fault } from '../core/errors.ts'
import type { NodeId, PaymentId, RunId } from '../core/ids.ts'
import type { MessageRecord, OutsideRecord } from '../core/inbox.ts'
import type {
  CommandName,
  Commands,
  HeadsOf,
  Ledger,
  NodeState,
  Page,
  Snapshot,
  SnapshotRequest,
} from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { ZERO } from '../core/money.ts'
import type {
  EventRecord,
  FeedEntry,
  Head,
  HoldRecord,
  PaymentRecord,
  RunRecord,
  Standing,
  StreamId,
} from '../core/records.ts'
import { keys, type Load } from './draft.ts'
import { nameText } from './rail-names.ts'

export type PaymentQuery = Parameters<Ledger['payments']>[0]
export type HoldQuery = Parameters<Ledger['holds']>[0]
export type AuthorisationQuery = Parameters<Ledger['authorisations']>[0]

/** The lookups of one store, all as of one instant. Lists are complete unless a limit is given. */
export interface Rows {
  readonly load: Load
  /** Newest first, after the given run. */
  runs(page: Page): readonly RunRecord[]
  /** In order of creation. */
  nodes(run: RunId): readonly NodeId[]
  children(node: NodeId): readonly NodeId[]
  latestPayment(node: NodeId): PaymentRecord | undefined
  holdsOf(payment: PaymentId): readonly HoldRecord[]
  /** Names of a node's steps. */
  steps(node: NodeId): readonly string[]
  payments(query: PaymentQuery): readonly PaymentRecord[]
  /** Payments with a refund that has no end yet, the oldest first. */
  refunding(limit: number): readonly PaymentRecord[]
  holds(query: HoldQuery): readonly HoldRecord[]
  /** Of a run all of them; of no run those that have no end yet, the oldest first. */
  authorisations(query: AuthorisationQuery): readonly AuthorisationRecord[]
  events(stream: StreamId, after: number, limit: number): readonly EventRecord[]
  feed(run: RunId, after: number, limit: number): readonly FeedEntry[]
  heads(of?: HeadsOf): readonly { stream: StreamId; head: Head }[]
  /** At most two with this name, as `nameText` writes it. */
  named(name: string): readonly PaymentRecord[]
  parked(limit: number): readonly MessageRecord[]
  unacknowledged(limit: number): readonly OutsideRecord[]
}

export type ReadName = Exclude<keyof Ledger, 'execute' | 'onFeed' | 'ping' | 'close'>
export type ReadArgs<K extends ReadName> = Parameters<Ledger[K]>
export type ReadResult<K extends ReadName> = Awaited<ReturnType<Ledger[K]>>

type Reads = { readonly [K in ReadName]: (rows: Rows, ...args: ReadArgs<K>) => ReadResult<K> }

const READS: Reads = {
  snapshot: snapshotOf,
  run: (rows, id) => rows.load(keys.run(id)),
  runByMandate: (rows, principal, jti) => {
    const id = rows.load(keys.mandate(principal, jti))
    return id === undefined ? undefined : rows.load(keys.run(id))
  },
  runs: (rows, page) => rows.runs(page),
  node: (rows, id) => rows.load(keys.node(id)),
  account: (rows, id) => rows.load(keys.account(id)),
  standing: (rows, id) => standingOf(rows, id),
  token: (rows, id) => rows.load(keys.token(id)),
  tree: (rows, run) => statesOf(rows, rows.nodes(run)),
  children: (rows, node) => statesOf(rows, rows.children(node)),
  payment: (rows, id) => rows.load(keys.payment(id)),
  payments: (rows, query) => rows.payments(query),
  refunding: (rows, limit) => rows.refunding(limit),
  hold: (rows, id) => rows.load(keys.hold(id)),
  holds: (rows, query) => rows.holds(query),
  step: (rows, node, name) => {
    const text = rows.load(keys.step(node, name))
    return text === undefined ? undefined : JSON.parse(text)
  },
  steps: (rows, node) => rows.steps(node),
  events: (rows, stream, after, limit) => rows.events(stream, after, limit),
  feed: (rows, run, after, limit) => rows.feed(run, after, limit),
  heads: (rows, of) => rows.heads(of),
  authorisation: (rows, id) => rows.load(keys.authorisation(id)),
  authorisations: (rows, query) => rows.authorisations(query),
  paymentNamed: (rows, name) => {
    const [payment, ...more] = rows.named(nameText(name))
    return more.length === 0 ? payment : undefined
  },
  message: (rows, key) => rows.load(keys.message(key)),
  parked: (rows, limit) => rows.parked(limit),
  outside: (rows, id) => rows.load(keys.outside(id)),
  unacknowledged: (rows, limit) => rows.unacknowledged(limit),
  walk: (rows, rail) => rows.load(keys.walk(rail)),
}

/** Answers one read as of now. */
export function readFrom<K extends ReadName>(
  rows: Rows,
  name: K,
  args: ReadArgs<K>,
): ReadResult<K> {
  return READS[name](rows, ...args)
}

/** A node that nobody split off is `closed`, so that a caller who forgets to look it up is refused. */
function standingOf(rows: Rows, node: StreamId): Standing {
  const state = node === 'gateway' ? 'live' : 'closed'
  return rows.load(keys.standing(node)) ?? { node, state, version: 1 }
}

const present = <T>(value: T | undefined): value is T => value !== undefined

function snapshotOf(rows: Rows, request: SnapshotRequest): Snapshot | undefined {
  const node = rows.load(keys.node(request.node))
  const run = node && rows.load(keys.run(node.run))
  const account = rows.load(keys.account(request.node))
  if (!node || !run || !account) return undefined
  const payment = request.payment && rows.load(keys.payment(request.payment))
  const { claim } = request
  const claimedBy = claim && rows.load(keys.claim(claim.issuer, claim.jti))
  const seen = request.seen && rows.load(keys.sighting(node.run, request.seen))
  return {
    run,
    path: node.path.map((id) => rows.load(keys.node(id))).filter(present),
    standings: node.path.map((id) => standingOf(rows, id)),
    gateway: standingOf(rows, 'gateway'),
    account,
    ...(payment ? { payment } : {}),
    ...(claimedBy ? { claimedBy } : {}),
    ...(seen ? { seen } : {}),
    holds: request.payment ? rows.holdsOf(request.payment) : [],
    counters: (request.counters ?? []).map(
      (key) => rows.load(keys.counter(key)) ?? { key, count: 0, amount: ZERO },
    ),
  }
}

const statesOf = (rows: Rows, nodes: readonly NodeId[]): readonly NodeState[] =>
  nodes.map((id) => stateOf(rows, id)).filter(present)

function stateOf(rows: Rows, id: NodeId): NodeState | undefined {
  const node = rows.load(keys.node(id))
  const account = rows.load(keys.account(id))
  if (!node || !account) return undefined
  const payment = node.kind === 'leaf' ? rows.latestPayment(id) : undefined
  const attempt = rows.load(keys.attempt(id))
  const lastChecks = attempt?.checks ?? payment?.checks
  return {
    node,
    account,
    standing: standingOf(rows, id),
    ...(payment ? { payment } : {}),
    ...(lastChecks ? { lastChecks } : {}),
    ...(attempt?.code ? { lastCode: attempt.code } : {}),
  }
}

/** What a store adds to its rows to be a ledger. */
export interface Backend {
  execute: Ledger['execute']
  read<K extends ReadName>(name: K, ...args: ReadArgs<K>): Promise<ReadResult<K>>
  readonly onFeed: Ledger['onFeed']
  ping(): Promise<void>
  close(): Promise<void>
}

/** The whole run stops for good before anybody hears why; whoever cannot even do that finds the difference again. */
async function executeOrHalt<K extends CommandName>(
  backend: Backend,
  name: K,
  input: Commands[K]['input'],
): Promise<Commands[K]['result']> {
  try {
    return await backend.execute(name, input)
  } catch (error) {
    if (error instanceof Fault && error.corrupt !== undefined) {
      const { now } = input
      await backend.execute('haltRun', { ...error.corrupt, now }).catch(() => undefined)
    }
    throw error
  }
}

export function ledgerOf(backend: Backend): Ledger {
  const { read } = backend
  return {
    execute: (name, input) => executeOrHalt(backend, name, input),
    snapshot: (request) => read('snapshot', request),
    run: (id) => read('run', id),
    runByMandate: (principal, jti) => read('runByMandate', principal, jti),
    runs: (page) => read('runs', page),
    node: (id) => read('node', id),
    account: (id) => read('account', id),
    standing: (id) => read('standing', id),
    token: (id) => read('token', id),
    tree: (run) => read('tree', run),
    children: (node) => read('children', node),
    payment: (id) => read('payment', id),
    payments: (query) => read('payments', query),
    refunding: (limit) => read('refunding', limit),
    hold: (id) => read('hold', id),
    holds: (query) => read('holds', query),
    step: (node, name) => read('step', node, name),
    steps: (node) => read('steps', node),
    events: (stream, after, limit) => read('events', stream, after, limit),
    feed: (run, after, limit) => read('feed', run, after, limit),
    heads: (of) => read('heads', of),
    authorisation: (id) => read('authorisation', id),
    authorisations: (query) => read('authorisations', query),
    paymentNamed: (name) => read('paymentNamed', name),
    message: (key) => read('message', key),
    parked: (limit) => read('parked', limit),
    outside: (id) => read('outside', id),
    unacknowledged: (limit) => read('unacknowledged', limit),
    walk: (rail) => read('walk', rail),
    onFeed: (listener) => backend.onFeed(listener),
    ping: () => backend.ping(),
    close: () => backend.close(),
  }
}

/** All runs, newest first, read a page at a time. */
export async function* everyRun(ledger: Pick<Ledger, 'runs'>): AsyncGenerator<RunRecord> {
  const limit = LIMITS.pageItems
  for (let after: RunId | undefined; ; ) {
    const page = await ledger.runs(after === undefined ? { limit } : { after, limit })
    yield* page
    after = page.at(-1)?.id
    if (page.length < limit) return
  }
}

/** Listeners are told in a task of their own, so that none can fail a command that has happened. */
export function feedListeners(): {
  readonly on: Ledger['onFeed']
  readonly tell: (run: RunId, position: number) => void
} {
  const listeners = new Set<(run: RunId, position: number) => void>()
  return {
    on: (listener) => {
      const own = (run: RunId, position: number) => listener(run, position)
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    tell: (run, position) => {
      for (const listener of listeners) queueMicrotask(() => listener(run, position))
    },
  }
}
