/**
 * What the Firestore store answers: it gathers the documents of one read, as of one instant, and lets `readFrom` put the answer together as for every other store.
 */
import {
  type DocumentReference,
  type DocumentSnapshot,
  FieldPath,
  type Firestore,
  type Query,
  type Timestamp,
  type Transaction,
} from '@google-cloud/firestore'
import type { NodeId, PaymentId, RunId } from '../core/ids.ts'
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
import type { HoldQuery, PaymentQuery, ReadArgs, ReadName, Rows } from './reads.ts'

/** Answers of one instant. */
interface Source {
  all(query: Query): Promise<readonly DocumentSnapshot[]>
  get(refs: readonly DocumentReference[]): Promise<readonly DocumentSnapshot[]>
}

/** Gathers the rows of one read. */
export type Gather = <K extends ReadName>(name: K, args: ReadArgs<K>) => Promise<Rows>

export function gatherFrom(db: Firestore, place: Place): Gather {
  return (name, args) => {
    const gather = GATHER[name] as (from: Gathering, ...args: readonly unknown[]) => Promise<Rows>
    return gather(new Gathering(sourceOf(db), place), ...args)
  }
}

/**
 * The first question is answered as of now, every later one as of the instant of that answer. The client's read-only
 * transactions would say the same; but where the first read of one fails, a promise that nobody can reach is
 * rejected, and with that Node ends the process.
 */
function sourceOf(db: Firestore): Source {
  let instant: Promise<Timestamp> | undefined
  const ask = async <T>(
    first: () => Promise<{ value: T; readTime: Timestamp }>,
    then: (transaction: Transaction) => Promise<T>,
  ): Promise<T> => {
    if (instant !== undefined) {
      return db.runTransaction(then, { readOnly: true, readTime: await instant })
    }
    const asked = first()
    instant = asked.then(({ readTime }) => readTime)
    instant.catch(() => undefined)
    return (await asked).value
  }
  return {
    all: (query) =>
      ask(
        async () => {
          const { docs, readTime } = await query.get()
          return { value: docs, readTime }
        },
        async (transaction) => (await transaction.get(query)).docs,
      ),
    get: async (refs) => {
      if (refs.length === 0) return []
      return ask(
        async () => {
          const docs = await db.getAll(...refs)
          return { value: docs, readTime: docs[0]?.readTime ?? never('a time of the read') }
        },
        (transaction) => transaction.getAll(...refs),
      )
    },
  }
}

const never = (what: string): never => {
  throw new TypeError(`expected ${what}`)
}

type Gatherers = {
  readonly [K in ReadName]: (from: Gathering, ...args: ReadArgs<K>) => Promise<Rows>
}

const GATHER: Gatherers = {
  snapshot: async (from, request) => {
    const { node: id, payment, claim, counters = [] } = request
    await from.load([
      keys.node(id),
      keys.account(id),
      keys.standing('gateway'),
      ...(payment ? [keys.payment(payment)] : []),
      ...(claim ? [keys.claim(claim.issuer, claim.jti)] : []),
      ...counters.map(keys.counter),
    ])
    const node = from.value(keys.node(id))
    if (node === undefined) return from.rows({})
    await from.load([
      keys.run(node.run),
      ...node.path.flatMap((above) => [keys.node(above), keys.standing(above)]),
    ])
    const holds = payment ? await from.holdsOf(payment) : []
    return from.rows({ holdsOf: () => holds })
  },
  run: (from, id) => from.one(keys.run(id)),
  runByMandate: async (from, principal, jti) => {
    await from.load([keys.mandate(principal, jti)])
    const id = from.value(keys.mandate(principal, jti))
    return id === undefined ? from.rows({}) : from.one(keys.run(id))
  },
  runs: async (from, page) => {
    const runs = await from.runs(page)
    return from.rows({ runs: () => runs })
  },
  node: (from, id) => from.one(keys.node(id)),
  account: (from, id) => from.one(keys.account(id)),
  standing: (from, id) => from.one(keys.standing(id)),
  token: (from, id) => from.one(keys.token(id)),
  tree: (from, run) => from.states('run', run),
  children: (from, node) => from.states('parent', node),
  payment: (from, id) => from.one(keys.payment(id)),
  payments: async (from, query) => {
    const payments = await from.payments(query)
    return from.rows({ payments: () => payments })
  },
  refunding: async (from, limit) => {
    const payments = await from.refunding(limit)
    return from.rows({ refunding: () => payments })
  },
  hold: (from, id) => from.one(keys.hold(id)),
  holds: async (from, query) => {
    const holds = await from.holds(query)
    return from.rows({ holds: () => holds })
  },
  step: (from, node, name) => from.one(keys.step(node, name)),
  steps: async (from, node) => {
    const names = await from.steps(node)
    return from.rows({ steps: () => names })
  },
  events: async (from, stream, after, limit) => {
    const events = await from.events(stream, after, limit)
    return from.rows({ events: () => events })
  },
  feed: async (from, run, after, limit) => {
    const entries = await from.feed(run, after, limit)
    return from.rows({ feed: () => entries })
  },
  heads: async (from, of) => {
    const heads = await from.heads(of)
    return from.rows({ heads: () => heads })
  },
}

/** What is shown of a node besides its record. */
const OF_NODE = ['account', 'standing', 'attempt'] as const
type OfNode = (typeof OF_NODE)[number]

const created = (doc: DocumentSnapshot): string => doc.createTime?.valueOf() ?? ''

const byCreation = (a: DocumentSnapshot, b: DocumentSnapshot): number =>
  created(a) < created(b) ? -1 : created(a) > created(b) ? 1 : 0

const recordOf = <T>(doc: DocumentSnapshot): T => documentValue(doc) as T

class Gathering {
  readonly #source: Source
  readonly #place: Place
  readonly #values = new Map<string, unknown>()

  constructor(source: Source, place: Place) {
    this.#source = source
    this.#place = place
  }

  /** The rows that were gathered; whatever else is asked of them is a mistake of ours. */
  rows(lists: Partial<Omit<Rows, 'load'>>): Rows {
    const missing = () => never('a read to gather what it needs')
    return {
      load: (key) => this.value(key),
      ...{
        runs: missing,
        nodes: missing,
        children: missing,
        latestPayment: missing,
        holdsOf: missing,
        steps: missing,
      },
      refunding: missing,
      ...{ payments: missing, holds: missing, events: missing, feed: missing, heads: missing },
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
    return (await this.#source.all(query)).map((doc) => recordOf<HoldRecord>(doc))
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
    const nodes = [...nodeDocs].sort(byCreation).map((doc) => recordOf<NodeRecord>(doc))
    for (const node of nodes) this.#values.set(keyText(keys.node(node.id)), node)
    const ids = nodes.map(({ id }) => id)
    if (field === 'run') await Promise.all(OF_NODE.map((kind) => this.#ofRun(kind, of, ids)))
    else await this.load(ids.flatMap((id) => OF_NODE.map((kind) => keys[kind](id))))
    const latest = new Map(
      [...paymentDocs]
        .sort(byCreation)
        .map((doc) => recordOf<PaymentRecord>(doc))
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
    if (after === undefined) {
      return (await this.#source.all(newest)).map((doc) => recordOf<RunRecord>(doc))
    }
    const [last] = await this.#source.get([this.#place.doc('run', documentId([after]))])
    if (!last?.exists) return []
    const older = newest.where('order', '<', textOf(last, 'order'))
    return (await this.#source.all(older)).map((doc) => recordOf<RunRecord>(doc))
  }

  async payments(query: PaymentQuery): Promise<readonly PaymentRecord[]> {
    const docs = await this.#list('payment', query)
    return docs.map((doc) => recordOf<PaymentRecord>(doc))
  }

  async refunding(limit: number): Promise<readonly PaymentRecord[]> {
    const open = this.#place.of('payment').where('refunding', '>', '').orderBy('refunding')
    const docs = await this.#source.all(open.limit(limit))
    return docs.map((doc) => recordOf<PaymentRecord>(doc))
  }

  async holds(query: HoldQuery): Promise<readonly HoldRecord[]> {
    const docs = await this.#list('hold', query)
    return docs.map((doc) => recordOf<HoldRecord>(doc))
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
