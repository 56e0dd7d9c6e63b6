/**
 * The documents of one read of the Firestore store, and what each list of them is: which query it is, in which order, and
 * what stands level where a limit cuts it.
 */
import { type DocumentSnapshot, FieldPath } from '@google-cloud/firestore'
import type { AuthorisationRecord } from '../core/authorisation.ts'
import type { NodeId, PaymentId, RunId } from '../core/ids.ts'
import type { MessageRecord, OutsideRecord } from '../core/inbox.ts'
import type { HeadsOf, Page } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type {
  Account,
  EventRecord,
  FeedEntry,
  Head,
  HoldRecord,
  NodeRecord,
  PaymentRecord,
  RunRecord,
  StreamId,
} from '../core/records.ts'
import { type DocKind, type Key, keys, keyText, type Loaded, type LoadKind } from './draft.ts'
import {
  documentId,
  documentValue,
  END,
  eventId,
  eventOf,
  feedId,
  type Place,
  textOf,
} from './firestore-documents.ts'
import type { Source } from './firestore-instant.ts'
import type { AuthorisationQuery, HoldQuery, PaymentQuery, Rows } from './reads.ts'

/** What is shown of a node besides its record. */
const OF_NODE = ['account', 'standing', 'attempt'] as const
type OfNode = (typeof OF_NODE)[number]

const created = (doc: DocumentSnapshot): string => doc.createTime?.valueOf() ?? ''

const byCreation = (a: DocumentSnapshot, b: DocumentSnapshot): number =>
  created(a) < created(b) ? -1 : created(a) > created(b) ? 1 : 0

const recordOf = <T>(doc: DocumentSnapshot): T => documentValue(doc) as T

/** The documents of one read, gathered step by step as of one instant. */
export class Gathering {
  readonly #source: Source
  readonly #place: Place
  readonly #values = new Map<string, unknown>()

  constructor(source: Source, place: Place) {
    this.#source = source
    this.#place = place
  }

  /** The rows that were gathered; whatever else is asked of them is a mistake of ours. */
  rows(lists: Partial<Omit<Rows, 'load'>>): Rows {
    const missing = (): never => {
      throw new TypeError('expected a read to gather what it needs')
    }
    return {
      load: (key) => this.value(key),
      runs: missing,
      nodes: missing,
      children: missing,
      latestPayment: missing,
      holdsOf: missing,
      steps: missing,
      payments: missing,
      refunding: missing,
      holds: missing,
      authorisations: missing,
      events: missing,
      feed: missing,
      heads: missing,
      named: missing,
      parked: missing,
      unacknowledged: missing,
      ...lists,
    }
  }

  async load(wanted: readonly Key<DocKind>[]): Promise<void> {
    const found = await this.#source.get(wanted.map((key) => this.#place.ref(key)))
    for (const [i, key] of wanted.entries()) {
      const doc = found[i]
      this.#values.set(keyText(key), doc && documentValue(doc))
    }
  }

  async one(key: Key<DocKind>): Promise<Rows> {
    await this.load([key])
    return this.rows({})
  }

  value<K extends LoadKind>(key: Key<K>): Loaded<K> | undefined {
    const text = keyText(key)
    if (!this.#values.has(text)) throw new Error(`a read did not gather its ${key.doc}`)
    return this.#values.get(text) as Loaded<K> | undefined
  }

  async holdsOf(payment: PaymentId): Promise<readonly HoldRecord[]> {
    const query = this.#place.of('hold').where('payment', '==', payment)
    return (await this.#source.all(query)).map(recordOf<HoldRecord>)
  }

  async steps(node: NodeId): Promise<readonly string[]> {
    const of = documentId([node, ''])
    const docs = await this.#range('step', [of, `${of}${END}`], LIMITS.nodes)
    return docs.map(({ id }) => decodeURIComponent(id.slice(of.length)))
  }

  /** The nodes of a run or below a parent, with everything that a person is shown of each. */
  async states(field: 'run' | 'parent', of: RunId | NodeId): Promise<Rows> {
    const where = (kind: 'node' | 'payment') =>
      this.#source.all(this.#place.of(kind).where(field, '==', of))
    const [nodeDocs, paymentDocs] = await Promise.all([where('node'), where('payment')])
    const nodes = [...nodeDocs].sort(byCreation).map(recordOf<NodeRecord>)
    for (const node of nodes) this.#values.set(keyText(keys.node(node.id)), node)
    const ids = nodes.map(({ id }) => id)
    if (field === 'run') await Promise.all(OF_NODE.map((kind) => this.#ofRun(kind, of, ids)))
    else await this.load(ids.flatMap((id) => OF_NODE.map((kind) => keys[kind](id))))
    const latest = new Map(
      [...paymentDocs]
        .sort(byCreation)
        .map(recordOf<PaymentRecord>)
        .map((payment) => [payment.node, payment]),
    )
    return this.rows({
      nodes: () => ids,
      children: () => ids,
      latestPayment: (node) => latest.get(node),
    })
  }

  async #ofRun(kind: OfNode, run: string, ids: readonly NodeId[]): Promise<void> {
    const docs = await this.#source.all(this.#place.of(kind).where('run', '==', run))
    const found = new Map(docs.map((doc) => [doc.id, documentValue(doc)]))
    for (const id of ids) {
      this.#values.set(keyText(keys[kind](id)), found.get(documentId([id])))
    }
  }

  async runs({ after, limit }: Page): Promise<readonly RunRecord[]> {
    const newest = this.#place.of('run').orderBy('order', 'desc').limit(limit)
    if (after === undefined) return (await this.#source.all(newest)).map(recordOf<RunRecord>)
    const [last] = await this.#source.get([this.#place.doc('run', documentId([after]))])
    if (!last?.exists) return []
    const older = newest.where('order', '<', textOf(last, 'order'))
    return (await this.#source.all(older)).map(recordOf<RunRecord>)
  }

  async payments(query: PaymentQuery): Promise<readonly PaymentRecord[]> {
    return (await this.#list('payment', query)).map(recordOf<PaymentRecord>)
  }

  async refunding(limit: number): Promise<readonly PaymentRecord[]> {
    const open = this.#place.of('payment').where('refunding', '>', '').orderBy('refunding')
    return (await this.#source.all(open.limit(limit))).map(recordOf<PaymentRecord>)
  }

  async authorisations({
    run,
    limit,
  }: AuthorisationQuery): Promise<readonly AuthorisationRecord[]> {
    const all = this.#place.of('authorisation')
    const some = run === undefined ? all.where('open', '>', '').orderBy('open') : undefined
    const found = await this.#source.all((some ?? all.where('run', '==', run)).limit(limit))
    const records = found.map(recordOf<AuthorisationRecord>)
    return records.sort((a, b) => a.createdAtSeconds - b.createdAtSeconds)
  }

  async named(name: string): Promise<readonly PaymentRecord[]> {
    const query = this.#place.of('payment').where('names', 'array-contains', name).limit(2)
    return (await this.#source.all(query)).map(recordOf<PaymentRecord>)
  }

  async parked(limit: number): Promise<readonly MessageRecord[]> {
    const parked = this.#place.of('message').where('parked', '>', '').orderBy('parked')
    return (await this.#source.all(parked.limit(limit))).map(recordOf<MessageRecord>)
  }

  async unacknowledged(limit: number): Promise<readonly OutsideRecord[]> {
    const open = this.#place.of('outside').where('open', '>', '').orderBy('open')
    return (await this.#source.all(open.limit(limit))).map(recordOf<OutsideRecord>)
  }

  async holds(query: HoldQuery): Promise<readonly HoldRecord[]> {
    return (await this.#list('hold', query)).map(recordOf<HoldRecord>)
  }

  async events(stream: StreamId, after: number, limit: number): Promise<readonly EventRecord[]> {
    const docs = await this.#range('events', [eventId(stream, after), eventId(stream, LAST)], limit)
    return docs.flatMap((doc, i) => eventOf(doc, stream, after + i + 1) ?? [])
  }

  async feed(run: RunId, after: number, limit: number): Promise<readonly FeedEntry[]> {
    const entries = await this.#range('feed', [feedId(run, after), feedId(run, LAST)], limit)
    const events = await this.#source.get(
      entries.map((doc) => this.#place.doc('events', eventId(streamOf(doc), seqOf(doc)))),
    )
    return entries.flatMap((doc, i) => {
      const found = events[i]
      const event = found && eventOf(found, streamOf(doc), seqOf(doc))
      return event ? [{ ...event, position: after + i + 1 }] : []
    })
  }

  async heads(of?: HeadsOf): Promise<readonly { stream: StreamId; head: Head }[]> {
    const docs = await this.#accounts(of)
    const nodes = [...docs].sort(byCreation).map((doc) => {
      const { node, head } = recordOf<Account>(doc)
      return { stream: node, head }
    })
    if (of !== undefined && of !== 'unsealed') return nodes
    await this.load([keys.gatewayHead()])
    const head = this.value(keys.gatewayHead())
    return head ? [{ stream: 'gateway', head }, ...nodes] : nodes
  }

  async #accounts(of?: HeadsOf): Promise<readonly DocumentSnapshot[]> {
    const accounts = this.#place.of('account')
    if (of === undefined) return this.#source.all(accounts)
    if (of !== 'unsealed') return this.#source.all(accounts.where('run', '==', of))
    const runs = await this.#source.all(this.#place.of('run').where('seal', '==', 'none'))
    const ids = runs.map((doc) => recordOf<RunRecord>(doc).id)
    const lists = ids.map((id) => this.#source.all(accounts.where('run', '==', id)))
    return (await Promise.all(lists)).flat()
  }

  /** Documents whose ids come after the first and up to the last. */
  #range(
    kind: 'events' | 'feed' | 'step',
    [after, last]: readonly [string, string],
    limit: number,
  ): Promise<readonly DocumentSnapshot[]> {
    const id = FieldPath.documentId()
    const query = this.#place.of(kind).where(id, '>', after).where(id, '<=', last)
    return this.#source.all(query.orderBy(id).limit(limit))
  }

  /** By run, states, both or neither, in the order of the list's number, then of creation. */
  async #list(
    kind: 'payment' | 'hold',
    { run, states, limit }: PaymentQuery | HoldQuery,
  ): Promise<readonly DocumentSnapshot[]> {
    const field = run === undefined ? (states ? 'byState' : 'all') : states ? 'byRunState' : 'byRun'
    const ofRun = run === undefined ? '' : `${run}|`
    const prefixes = states ? [...new Set(states)].map((state) => `${ofRun}${state}|`) : [ofRun]
    const lists = await Promise.all(
      prefixes.map((prefix) => this.#ordered({ kind, field, prefix, limit })),
    )
    return lists
      .flat()
      .map((doc) => ({ doc, order: `${textOf(doc, 'all')}|${created(doc)}` }))
      .sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0))
      .slice(0, limit)
      .map(({ doc }) => doc)
  }

  /** The first ones, and everything that stands level with the last of them: which of those comes first is seen later. */
  async #ordered({ kind, field, prefix, limit }: Ordered): Promise<readonly DocumentSnapshot[]> {
    const of = this.#place.of(kind)
    const first = await this.#source.all(
      of
        .where(field, '>=', prefix)
        .where(field, '<', `${prefix}${END}`)
        .orderBy(field)
        .limit(limit),
    )
    const last = first.at(-1)
    if (last === undefined || first.length < limit) return first
    const edge = textOf(last, field)
    const level = await this.#source.all(of.where(field, '==', edge))
    return [...first.filter((doc) => doc.get(field) !== edge), ...level]
  }
}

interface Ordered {
  readonly kind: 'payment' | 'hold'
  readonly field: string
  readonly prefix: string
  readonly limit: number
}

const LAST = Number.MAX_SAFE_INTEGER

const streamOf = (doc: DocumentSnapshot): StreamId => textOf(doc, 'stream') as StreamId

const seqOf = (doc: DocumentSnapshot): number => Number(textOf(doc, 'seq'))
