/** A ledger in memory: for simulation, tests and demonstrations that need no durability. Lost with the process. */
import type { AuthorisationRecord } from '../core/authorisation.ts'
import { Fault } from '../core/errors.ts'
import type { NodeId, OrganisationId, PaymentId, RunId } from '../core/ids.ts'
import type { MessageRecord, OutsideRecord } from '../core/inbox.ts'
import type { HeadsOf, Ledger, Page } from '../core/ledger.ts'
import type {
  EventRecord,
  FeedEntry,
  Head,
  HoldRecord,
  NodeRecord,
  PaymentRecord,
  RunRecord,
  StreamId,
} from '../core/records.ts'
import { type Seconds, seconds } from '../core/time.ts'
import { isOverAuthorisation } from './authorisations.ts'
import type { Draft, Key, Load, Loaded, LoadKind, ProofsKept } from './draft.ts'
import { railNamesOf } from './rail-names.ts'
import {
  type AuthorisationQuery,
  feedListeners,
  type HoldQuery,
  ledgerOf,
  type PaymentQuery,
  type Rows,
  readFrom,
} from './reads.ts'
import { decide, type Transitions } from './transitions.ts'

class MemoryRows implements Rows {
  readonly #docs = new Map<LoadKind, Map<string, unknown>>()
  readonly #runs = new Set<RunId>()
  readonly #payments = new Map<PaymentId, PaymentRecord>()
  readonly #latest = new Map<NodeId, PaymentId>()
  readonly #holds = new Map<string, HoldRecord>()
  readonly #proofs = new Map<string, Seconds>()
  #forgottenUntil = seconds(0)
  readonly #nodesOf = new Map<RunId, NodeRecord[]>()
  readonly #steps = new Map<NodeId, Set<string>>()
  readonly #events = new Map<StreamId, EventRecord[]>()
  readonly #feeds = new Map<RunId, FeedEntry[]>()
  readonly #named = new Map<string, Set<PaymentId>>()

  readonly load: Load = <K extends LoadKind>(key: Key<K>) =>
    this.#view(key) as Loaded<K> | undefined

  /** Commits a draft; returns the runs whose feeds grew, with their last positions. */
  apply(draft: Draft): ReadonlyMap<RunId, number> {
    for (const write of draft.writes) {
      const { doc, id } = write.key
      const text = idText(id)
      if (write.value === undefined) this.#docs.get(doc)?.delete(text)
      else mapOf(this.#docs, doc).set(text, write.value)
      this.#index(text, doc, write.value)
      if (doc === 'step') this.#indexStep(write.key, write.value !== undefined)
    }
    const grown = new Map<RunId, number>()
    for (const { stream, seq, hash, body, run } of draft.events) {
      const event = { stream, seq, hash, body }
      listOf(this.#events, stream).push(event)
      if (run === undefined) continue
      const feed = listOf(this.#feeds, run)
      const position = feed.length + 1
      feed.push({ ...event, position })
      grown.set(run, position)
    }
    return grown
  }

  runs({ after, limit }: Page): readonly RunRecord[] {
    const newest = [...this.#runs].reverse()
    const from = after === undefined ? 0 : newest.indexOf(after as RunId) + 1
    if (after !== undefined && from === 0) return []
    return newest.slice(from, from + limit).flatMap((id) => {
      const run = this.load({ doc: 'run', id: [id] })
      return run === undefined ? [] : [run]
    })
  }

  nodes(run: RunId): readonly NodeId[] {
    return (this.#nodesOf.get(run) ?? []).map(({ id }) => id)
  }

  children(node: NodeId): readonly NodeId[] {
    const run = this.load({ doc: 'node', id: [node] })?.run
    const nodes = run === undefined ? [] : (this.#nodesOf.get(run) ?? [])
    return nodes.filter(({ parent }) => parent === node).map(({ id }) => id)
  }

  latestPayment(node: NodeId): PaymentRecord | undefined {
    const id = this.#latest.get(node)
    return id === undefined ? undefined : this.#payments.get(id)
  }

  holdsOf(payment: PaymentId): readonly HoldRecord[] {
    return [...this.#holds.values()].filter((hold) => hold.payment === payment)
  }

  steps(node: NodeId): readonly string[] {
    return [...(this.#steps.get(node) ?? [])]
  }

  payments({ run, states, limit }: PaymentQuery): readonly PaymentRecord[] {
    return [...this.#payments.values()]
      .filter((payment) => run === undefined || payment.run === run)
      .filter(({ state }) => states === undefined || states.includes(state))
      .sort((a, b) => a.createdAtSeconds - b.createdAtSeconds)
      .slice(0, limit)
  }

  refunding(limit: number): readonly PaymentRecord[] {
    return [...this.#payments.values()]
      .filter(({ refunding }) => refunding === true)
      .sort((a, b) => a.createdAtSeconds - b.createdAtSeconds)
      .slice(0, limit)
  }

  holds({ run, states, limit }: HoldQuery): readonly HoldRecord[] {
    return [...this.#holds.values()]
      .filter((hold) => run === undefined || hold.run === run)
      .filter(({ state }) => states === undefined || states.includes(state))
      .sort((a, b) => a.expiresAtSeconds - b.expiresAtSeconds)
      .slice(0, limit)
  }

  authorisations({ run, limit }: AuthorisationQuery): readonly AuthorisationRecord[] {
    const all = mapOf(this.#docs, 'authorisation').values() as Iterable<AuthorisationRecord>
    return [...all]
      .filter((each) => (run === undefined ? !isOverAuthorisation(each) : each.run === run))
      .sort((a, b) => a.createdAtSeconds - b.createdAtSeconds)
      .slice(0, limit)
  }

  events(stream: StreamId, after: number, limit: number): readonly EventRecord[] {
    return (this.#events.get(stream) ?? []).slice(after, after + limit)
  }

  feed(run: RunId, after: number, limit: number): readonly FeedEntry[] {
    return (this.#feeds.get(run) ?? []).slice(after, after + limit)
  }

  heads(of?: HeadsOf): readonly { stream: StreamId; head: Head }[] {
    const own = of === undefined ? undefined : this.#streamsOf(of)
    return [...this.#events].flatMap(([stream, events]) => {
      const last = events.at(-1)
      if (last === undefined || own?.has(stream) === false) return []
      return [{ stream, head: { seq: last.seq, hash: last.hash } }]
    })
  }

  named(name: string): readonly PaymentRecord[] {
    const ids = [...(this.#named.get(name) ?? [])].slice(0, 2)
    return ids.flatMap((id) => this.#payments.get(id) ?? [])
  }

  parked(limit: number): readonly MessageRecord[] {
    return this.#all('message')
      .filter(({ state }) => state === 'parked')
      .sort((a, b) => a.dueAtSeconds - b.dueAtSeconds)
      .slice(0, limit)
  }

  unacknowledged(limit: number): readonly OutsideRecord[] {
    return this.#all('outside')
      .filter(({ acknowledged }) => acknowledged === undefined)
      .sort((a, b) => a.heardAtSeconds - b.heardAtSeconds)
      .slice(0, limit)
  }

  #all<K extends LoadKind>(kind: K): Loaded<K>[] {
    return [...(this.#docs.get(kind)?.values() ?? [])] as Loaded<K>[]
  }

  #streamsOf(of: HeadsOf): Set<StreamId> {
    if (of !== 'unsealed') return new Set(this.nodes(of))
    const isSealed = (id: RunId) => this.load({ doc: 'run', id: [id] })?.seal !== undefined
    const runs = [...this.#runs].filter((id) => !isSealed(id))
    return new Set<StreamId>(['gateway', ...runs.flatMap((id) => this.nodes(id))])
  }

  #view({ doc, id }: Key): unknown {
    const [first, second] = id
    switch (doc) {
      case 'lastEvent':
        return this.#events.get(first as StreamId)?.at(-1)
      case 'proofs':
        return this.#proofsAt(Number(first))
      case 'openHolds':
        return [...this.#holds.values()].filter(
          (hold) =>
            hold.run === first && hold.state === 'open' && hold.expiresAtSeconds > Number(second),
        ).length
      case 'submittedBelow':
        return this.#submittedBelow(first as StreamId)
      default:
        return this.#docs.get(doc)?.get(idText(id))
    }
  }

  /** Forgets what has expired: a proof older than its age is refused before anyone looks for it. */
  #proofsAt(now: number): ProofsKept {
    for (const [text, expiresAtSeconds] of this.#proofs) {
      if (expiresAtSeconds >= now) continue
      this.#proofs.delete(text)
      this.#docs.get('proof')?.delete(text)
      if (expiresAtSeconds > this.#forgottenUntil) this.#forgottenUntil = expiresAtSeconds
    }
    return { count: this.#proofs.size, forgottenUntilSeconds: this.#forgottenUntil }
  }

  #submittedBelow(node: StreamId): readonly PaymentId[] {
    return [...this.#payments.values()]
      .filter(({ state }) => state === 'submitted')
      .filter((payment) => {
        const path = this.load({ doc: 'node', id: [payment.node] })?.path
        return node === 'gateway' || path?.includes(node) === true
      })
      .map(({ id }) => id)
  }

  #index(text: string, doc: LoadKind, value: unknown): void {
    if (doc === 'payment') {
      const payment = value as PaymentRecord
      if (!this.#payments.has(payment.id)) this.#latest.set(payment.node, payment.id)
      this.#payments.set(payment.id, payment)
      for (const name of railNamesOf(payment)) {
        this.#named.set(name, (this.#named.get(name) ?? new Set()).add(payment.id))
      }
    }
    if (doc === 'hold') this.#holds.set(text, value as HoldRecord)
    if (doc === 'proof') this.#proofs.set(text, (value as Loaded<'proof'>).expiresAtSeconds)
    if (doc === 'run') this.#runs.add((value as RunRecord).id)
    if (doc === 'node') {
      const node = value as NodeRecord
      const nodes = listOf(this.#nodesOf, node.run)
      const at = nodes.findIndex(({ id }) => id === node.id)
      if (at < 0) nodes.push(node)
      else nodes[at] = node
    }
  }

  #indexStep({ id: [node, name = ''] }: Key, isThere: boolean): void {
    const names = this.#steps.get(node as NodeId) ?? new Set()
    this.#steps.set(node as NodeId, names)
    if (isThere) names.add(name)
    else names.delete(name)
  }
}

/** Unlike for each id of one kind of document: one part is itself, of more each stands behind its length. */
const idText = (id: readonly string[]): string =>
  id.length === 1 ? String(id[0]) : id.map((part) => `${part.length}:${part}`).join()

/** Commands are data: nothing but plain objects, lists and values. */
function copied<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copied) as T
  const copy: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) copy[name] = copied(field)
  return copy as T
}

function mapOf<K, I, T>(map: Map<K, Map<I, T>>, key: K): Map<I, T> {
  const of = map.get(key) ?? new Map<I, T>()
  map.set(key, of)
  return of
}

function listOf<K, T>(map: Map<K, T[]>, key: K): T[] {
  const list = map.get(key) ?? []
  map.set(key, list)
  return list
}

export interface MemoryLedgerOptions {
  readonly organisation: OrganisationId
  /** The ledger's rules; a simulation puts a broken one in the place of one of them. */
  readonly transitions?: Transitions
}

/** An empty ledger for one organisation; after `close` every call is a Fault. */
export function createMemoryLedger({ organisation, transitions }: MemoryLedgerOptions): Ledger {
  const rows = new MemoryRows()
  const listeners = feedListeners()
  let isClosed = false
  const assertOpen = () => {
    if (isClosed) throw new Fault('store_unavailable', 'the ledger is closed')
  }
  return ledgerOf({
    execute: async (name, input) => {
      assertOpen()
      // Copied, so that a caller who changes its object later changes no record.
      const { result, draft } = decide(name, copied(input), {
        organisation,
        load: rows.load,
        ...(transitions === undefined ? {} : { transitions }),
      })
      if (draft === undefined) return result
      for (const [run, position] of rows.apply(draft)) listeners.tell(run, position)
      return result
    },
    read: (name, ...args) =>
      new Promise((resolve) => {
        assertOpen()
        resolve(readFrom(rows, name, args))
      }),
    onFeed: listeners.on,
    ping: async () => assertOpen(),
    close: async () => {
      isClosed = true
    },
  })
}
