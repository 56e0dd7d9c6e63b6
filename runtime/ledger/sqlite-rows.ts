/** The embedded store's lookups and its one way of writing: a whole draft, inside the caller's transaction. */
import type { AuthorisationRecord } from '../core/authorisation.ts'
import type { NodeId, OrganisationId, PaymentId, RunId } from '../core/ids.ts'
import type { MessageRecord, OutsideRecord } from '../core/inbox.ts'
import type { HeadsOf, Page } from '../core/ledger.ts'
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
import { seconds } from '../core/time.ts'
import type { Draft, Key, Load, Loaded, LoadKind, ProofsKept } from './draft.ts'
import type { AuthorisationQuery, HoldQuery, PaymentQuery, Rows } from './reads.ts'
import type { Database, Row, Value } from './sqlite-database.ts'
import { eventOf, loadDocument, record, saveDocument, text, whole } from './sqlite-documents.ts'

const INSERT_EVENT = `INSERT INTO events (organisation, stream, seq, prev, hash, body)
  VALUES (?, ?, ?, ?, ?, ?)`

const INSERT_FEED = `INSERT INTO feed (organisation, run, position, stream, seq)
  VALUES (?, ?, ?, ?, ?)`

const LAST_POSITION = `SELECT coalesce(max(position), 0) AS position FROM feed
  WHERE organisation = ? AND run = ?`

const FEED = `SELECT feed.position, events.stream, events.seq, events.hash, events.body
  FROM feed JOIN events USING (organisation, stream, seq)
  WHERE feed.organisation = ? AND feed.run = ? AND feed.position > ?
  ORDER BY feed.position LIMIT ?`

const HEADS = `SELECT node AS stream, head_seq AS seq, head_hash AS hash
  FROM accounts JOIN nodes ON nodes.organisation = accounts.organisation
    AND nodes.id = accounts.node
  WHERE accounts.organisation = ?`

const UNSEALED = `AND nodes.run IN (SELECT id FROM runs
  WHERE organisation = ? AND json_extract(record, '$.seal') IS NULL)`

const SUBMITTED = `SELECT payments.id, nodes.record FROM payments
  JOIN nodes ON nodes.organisation = payments.organisation AND nodes.id = payments.node
  WHERE payments.organisation = ? AND payments.state = 'submitted'
  ORDER BY payments.ordinal`

/** Of the partial index, in its own words. */
const REFUNDING = `SELECT record FROM payments
  WHERE organisation = ? AND json_extract(record, '$.refunding') = 1
  ORDER BY created_at, ordinal LIMIT ?`

const NAMED = `SELECT record FROM rail_names JOIN payments
    ON payments.organisation = rail_names.organisation AND payments.id = rail_names.payment
  WHERE rail_names.organisation = ? AND rail_names.name = ? LIMIT 2`

const PARKED = `SELECT record FROM messages WHERE organisation = ? AND state = 'parked'
  ORDER BY due_at, rail, id LIMIT ?`

const UNACKNOWLEDGED = `SELECT record FROM outsides WHERE organisation = ? AND open = 1
  ORDER BY heard_at, id LIMIT ?`

/** `?, ?, …`, one for each. */
const places = (values: readonly unknown[]): string => values.map(() => '?').join(', ')

export class SqliteRows implements Rows {
  readonly #db: Database
  readonly #organisation: OrganisationId

  constructor(db: Database, organisation: OrganisationId) {
    this.#db = db
    this.#organisation = organisation
  }

  readonly load: Load = <K extends LoadKind>(key: Key<K>) =>
    this.#view(key) as Loaded<K> | undefined

  /** Writes a draft; returns the runs whose feeds grew, with their last positions. */
  apply(draft: Draft): ReadonlyMap<RunId, number> {
    for (const write of draft.writes) saveDocument(this.#db, this.#organisation, write)
    const grown = new Map<RunId, number>()
    for (const { stream, seq, prev, hash, body, run } of draft.events) {
      this.#db.run(INSERT_EVENT, this.#organisation, stream, seq, prev, hash, body)
      if (run === undefined) continue
      const position = (grown.get(run) ?? this.#lastPosition(run)) + 1
      this.#db.run(INSERT_FEED, this.#organisation, run, position, stream, seq)
      grown.set(run, position)
    }
    return grown
  }

  runs({ after, limit }: Page): readonly RunRecord[] {
    const below =
      after === undefined
        ? ''
        : 'AND ordinal < (SELECT ordinal FROM runs WHERE organisation = ? AND id = ?)'
    const values = after === undefined ? [] : [this.#organisation, after]
    return this.#all(
      `SELECT record FROM runs WHERE organisation = ? ${below} ORDER BY ordinal DESC LIMIT ?`,
      [...values, limit],
      record<RunRecord>,
    )
  }

  nodes(run: RunId): readonly NodeId[] {
    return this.#all(
      'SELECT id FROM nodes WHERE organisation = ? AND run = ? ORDER BY ordinal',
      [run],
      (row) => text(row, 'id') as NodeId,
    )
  }

  children(node: NodeId): readonly NodeId[] {
    return this.#all(
      'SELECT id FROM nodes WHERE organisation = ? AND parent = ? ORDER BY ordinal',
      [node],
      (row) => text(row, 'id') as NodeId,
    )
  }

  latestPayment(node: NodeId): PaymentRecord | undefined {
    return this.#all(
      `SELECT record FROM payments WHERE organisation = ? AND node = ?
       ORDER BY ordinal DESC LIMIT 1`,
      [node],
      record<PaymentRecord>,
    )[0]
  }

  holdsOf(payment: PaymentId): readonly HoldRecord[] {
    return this.#all(
      'SELECT record FROM holds WHERE organisation = ? AND payment = ?',
      [payment],
      record<HoldRecord>,
    )
  }

  steps(node: NodeId): readonly string[] {
    return this.#all(
      'SELECT name FROM steps WHERE organisation = ? AND node = ? ORDER BY name',
      [node],
      (row) => text(row, 'name'),
    )
  }

  payments(query: PaymentQuery): readonly PaymentRecord[] {
    return this.#list('payments', 'created_at, ordinal', query, record<PaymentRecord>)
  }

  refunding(limit: number): readonly PaymentRecord[] {
    return this.#all(REFUNDING, [limit], record<PaymentRecord>)
  }

  holds(query: HoldQuery): readonly HoldRecord[] {
    return this.#list('holds', 'expires_at, id', query, record<HoldRecord>)
  }

  authorisations({ run, limit }: AuthorisationQuery): readonly AuthorisationRecord[] {
    // Of the partial index, in its own words.
    const which = run === undefined ? "state IN ('placing', 'open', 'voiding')" : 'run = ?'
    return this.#all(
      `SELECT record FROM authorisations WHERE organisation = ? AND ${which}
       ORDER BY ordinal LIMIT ?`,
      [...(run === undefined ? [] : [run]), limit],
      record<AuthorisationRecord>,
    )
  }

  events(stream: StreamId, after: number, limit: number): readonly EventRecord[] {
    return this.#all(
      `SELECT stream, seq, hash, body FROM events
       WHERE organisation = ? AND stream = ? AND seq > ? ORDER BY seq LIMIT ?`,
      [stream, after, limit],
      eventOf,
    )
  }

  feed(run: RunId, after: number, limit: number): readonly FeedEntry[] {
    return this.#all(FEED, [run, after, limit], (row) => ({
      ...eventOf(row),
      position: whole(row, 'position'),
    }))
  }

  heads(of?: HeadsOf): readonly { stream: StreamId; head: Head }[] {
    const isOfRun = of !== undefined && of !== 'unsealed'
    const some = of === 'unsealed' ? UNSEALED : isOfRun ? 'AND nodes.run = ?' : ''
    const nodes = this.#all(
      `${HEADS} ${some} ORDER BY nodes.ordinal`,
      of === 'unsealed' ? [this.#organisation] : isOfRun ? [of] : [],
      (row) => ({
        stream: text(row, 'stream') as StreamId,
        head: { seq: whole(row, 'seq'), hash: text(row, 'hash') },
      }),
    )
    const head = this.load({ doc: 'gatewayHead', id: [] })
    return !isOfRun && head ? [{ stream: 'gateway', head }, ...nodes] : nodes
  }

  named(name: string): readonly PaymentRecord[] {
    return this.#all(NAMED, [name], record<PaymentRecord>)
  }

  parked(limit: number): readonly MessageRecord[] {
    return this.#all(PARKED, [limit], record<MessageRecord>)
  }

  unacknowledged(limit: number): readonly OutsideRecord[] {
    return this.#all(UNACKNOWLEDGED, [limit], record<OutsideRecord>)
  }

  #list<T>(
    table: 'payments' | 'holds',
    order: string,
    query: { run?: RunId; states?: readonly string[]; limit: number },
    read: (row: Row) => T,
  ): readonly T[] {
    const { run, states, limit } = query
    if (states?.length === 0) return []
    const ofRun = run === undefined ? '' : 'AND run = ?'
    const inState = states === undefined ? '' : `AND state IN (${places(states)})`
    return this.#all(
      `SELECT record FROM ${table} WHERE organisation = ? ${ofRun} ${inState}
       ORDER BY ${order} LIMIT ?`,
      [...(run === undefined ? [] : [run]), ...(states ?? []), limit],
      read,
    )
  }

  #all<T>(sql: string, values: readonly Value[], read: (row: Row) => T): T[] {
    return this.#db.all(sql, this.#organisation, ...values).map(read)
  }

  #view({ doc, id }: Key): unknown {
    const [first = '', second = ''] = id
    switch (doc) {
      case 'proofs':
        return this.#proofsAt(Number(first))
      case 'openHolds':
        return this.#count(
          `SELECT count(*) AS count FROM holds
           WHERE organisation = ? AND run = ? AND state = 'open' AND expires_at > ?`,
          [first, Number(second)],
        )
      case 'submittedBelow':
        return this.#submittedBelow(first as StreamId)
      default:
        return loadDocument(this.#db, this.#organisation, { doc, id })
    }
  }

  /** Forgets what has expired: a proof older than its age is refused before anyone looks for it. */
  #proofsAt(now: number): ProofsKept {
    const forget = 'DELETE FROM proofs WHERE organisation = ? AND expires_at < ?'
    this.#db.run(forget, this.#organisation, now)
    const kept = this.#all('SELECT * FROM proof_counts WHERE organisation = ?', [], (row) => ({
      count: whole(row, 'count'),
      forgottenUntilSeconds: seconds(whole(row, 'forgotten_until')),
    }))
    return kept[0] ?? { count: 0, forgottenUntilSeconds: seconds(0) }
  }

  #count(sql: string, values: readonly Value[]): number {
    return this.#all(sql, values, (row) => whole(row, 'count'))[0] ?? 0
  }

  #submittedBelow(node: StreamId): readonly PaymentId[] {
    return this.#all(SUBMITTED, [], (row) => ({
      id: text(row, 'id') as PaymentId,
      path: record<NodeRecord>(row).path,
    }))
      .filter(({ path }) => node === 'gateway' || path.includes(node))
      .map(({ id }) => id)
  }

  #lastPosition(run: RunId): number {
    return this.#all(LAST_POSITION, [run], (row) => whole(row, 'position'))[0] ?? 0
  }
}
