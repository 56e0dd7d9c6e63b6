/** Documents to rows of the embedded store and back: how each is loaded and saved by its key. */
import { Fault } from '../core/errors.ts'
import type { NodeId, OrganisationId, PaymentId, RunId } from '../core/ids.ts'
import { minor } from '../core/money.ts'
import type { EventRecord, StandingState, StreamId } from '../core/records.ts'
import { seconds } from '../core/time.ts'
import type { DocKind, Docs, Key, Loaded, LoadKind, Write } from './draft.ts'
import { railNamesOf } from './rail-names.ts'
import type { Database, Row, Value } from './sqlite-database.ts'

export const text = (row: Row, column: string): string => {
  const value = row[column]
  if (typeof value === 'string') return value
  throw new Fault('ledger_corrupt', `expected text in ${column}`, { retryable: false })
}

export const whole = (row: Row, column: string): number => {
  const value = row[column]
  if (typeof value === 'number') return value
  throw new Fault('ledger_corrupt', `expected an integer in ${column}`, { retryable: false })
}

/** The store holds only what the transitions wrote, so a record's shape is not judged again. */
export const record = <T>(row: Row): T => JSON.parse(text(row, 'record')) as T

export const eventOf = (row: Row): EventRecord => ({
  stream: text(row, 'stream') as StreamId,
  seq: whole(row, 'seq'),
  hash: text(row, 'hash'),
  body: text(row, 'body'),
})

/** The row of a document by organisation and key, and how it reads. */
type Reader<K extends LoadKind> = readonly [sql: string, read: (row: Row) => Loaded<K>]

const byId = <K extends LoadKind>(table: string): Reader<K> => [
  `SELECT record FROM ${table} WHERE organisation = ? AND id = ?`,
  (row) => record<Loaded<K>>(row),
]

const READERS: { readonly [K in DocKind | 'lastEvent']: Reader<K> } = {
  run: byId('runs'),
  node: byId('nodes'),
  payment: byId('payments'),
  hold: byId('holds'),
  authorisation: byId('authorisations'),
  mandate: [
    'SELECT id FROM runs WHERE organisation = ? AND principal = ? AND jti = ?',
    (row) => text(row, 'id') as RunId,
  ],
  token: [
    'SELECT token FROM tokens WHERE organisation = ? AND node = ?',
    (row) => text(row, 'token'),
  ],
  account: [
    'SELECT * FROM accounts WHERE organisation = ? AND node = ?',
    (row) => ({
      node: text(row, 'node') as NodeId,
      run: text(row, 'run') as RunId,
      ceiling: minor(whole(row, 'ceiling')),
      available: minor(whole(row, 'available')),
      reserved: minor(whole(row, 'reserved')),
      spent: minor(whole(row, 'spent')),
      allotted: minor(whole(row, 'allotted')),
      reversed: minor(whole(row, 'reversed')),
      nodesLeft: whole(row, 'nodes_left'),
      children: whole(row, 'children'),
      openChildren: whole(row, 'open_children'),
      head: { seq: whole(row, 'head_seq'), hash: text(row, 'head_hash') },
    }),
  ],
  standing: [
    'SELECT node, state, version FROM standings WHERE organisation = ? AND node = ?',
    (row) => ({
      node: text(row, 'node') as StreamId,
      state: text(row, 'state') as StandingState,
      version: whole(row, 'version'),
    }),
  ],
  claim: [
    'SELECT payment FROM claims WHERE organisation = ? AND issuer = ? AND jti = ?',
    (row) => text(row, 'payment') as PaymentId,
  ],
  proof: [
    'SELECT * FROM proofs WHERE organisation = ? AND holder = ? AND jti = ?',
    (row) => ({
      jti: text(row, 'jti'),
      holder: text(row, 'holder'),
      attempt: text(row, 'attempt'),
      expiresAtSeconds: seconds(whole(row, 'expires_at')),
    }),
  ],
  counter: [
    'SELECT key, count, amount FROM counters WHERE organisation = ? AND key = ?',
    (row) => ({
      key: text(row, 'key'),
      count: whole(row, 'count'),
      amount: minor(whole(row, 'amount')),
    }),
  ],
  step: [
    'SELECT value FROM steps WHERE organisation = ? AND node = ? AND name = ?',
    (row) => text(row, 'value'),
  ],
  attempt: [
    'SELECT record FROM attempts WHERE organisation = ? AND node = ?',
    (row) => record<Docs['attempt']>(row),
  ],
  gatewayHead: [
    'SELECT seq, hash FROM gateway_heads WHERE organisation = ?',
    (row) => ({ seq: whole(row, 'seq'), hash: text(row, 'hash') }),
  ],
  message: [
    'SELECT record FROM messages WHERE organisation = ? AND rail = ? AND id = ?',
    (row) => record<Docs['message']>(row),
  ],
  outside: byId('outsides'),
  walk: [
    'SELECT record FROM walks WHERE organisation = ? AND rail = ?',
    (row) => record<Docs['walk']>(row),
  ],
  sighting: [
    'SELECT * FROM sightings WHERE organisation = ? AND run = ? AND quote = ?',
    (row) => ({
      run: text(row, 'run') as RunId,
      quote: text(row, 'quote'),
      node: text(row, 'node') as NodeId,
      merchant: text(row, 'merchant'),
      atSeconds: seconds(whole(row, 'seen_at')),
    }),
  ],
  lastEvent: [
    `SELECT stream, seq, hash, body FROM events WHERE organisation = ? AND stream = ?
     ORDER BY seq DESC LIMIT 1`,
    eventOf,
  ],
}

type Stored = DocKind | 'lastEvent'

export function loadDocument<K extends Stored>(
  db: Database,
  organisation: OrganisationId,
  { doc, id }: Key<K>,
): Loaded<K> | undefined {
  const [sql, read] = READERS[doc]
  const row = db.get(sql, organisation, ...id)
  return row && read(row)
}

/** The next place in a table's order of creation, within the organisation. */
const next = (table: string): string =>
  `(SELECT coalesce(max(ordinal), 0) + 1 FROM ${table} WHERE organisation = ?)`

const SAVE_RUN = `INSERT INTO runs (organisation, id, ordinal, principal, jti, state, record)
  VALUES (?, ?, ${next('runs')}, ?, ?, ?, ?)
  ON CONFLICT (organisation, id) DO UPDATE SET state = excluded.state, record = excluded.record`

const SAVE_NODE = `INSERT INTO nodes (organisation, id, ordinal, run, parent, record)
  VALUES (?, ?, ${next('nodes')}, ?, ?, ?)
  ON CONFLICT (organisation, id) DO UPDATE SET record = excluded.record`

const SAVE_ACCOUNT = `INSERT INTO accounts (organisation, node, run, ceiling, available, reserved,
    spent, allotted, reversed, nodes_left, children, open_children, head_seq, head_hash)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (organisation, node) DO UPDATE SET ceiling = excluded.ceiling,
    available = excluded.available, reserved = excluded.reserved, spent = excluded.spent,
    allotted = excluded.allotted, reversed = excluded.reversed,
    nodes_left = excluded.nodes_left,
    children = excluded.children, open_children = excluded.open_children,
    head_seq = excluded.head_seq, head_hash = excluded.head_hash`

const SAVE_STANDING = `INSERT INTO standings (organisation, node, state, version)
  VALUES (?, ?, ?, ?)
  ON CONFLICT (organisation, node) DO UPDATE
    SET state = excluded.state, version = excluded.version`

const SAVE_PAYMENT = `INSERT INTO payments
    (organisation, id, ordinal, run, node, state, amount, created_at, record)
  VALUES (?, ?, ${next('payments')}, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (organisation, id) DO UPDATE SET state = excluded.state,
    created_at = excluded.created_at, record = excluded.record`

const SAVE_NAME = `INSERT OR IGNORE INTO rail_names (organisation, name, payment)
  VALUES (?, ?, ?)`

const SAVE_HOLD = `INSERT INTO holds
    (organisation, id, run, node, payment, state, expires_at, record)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (organisation, id) DO UPDATE SET state = excluded.state,
    expires_at = excluded.expires_at, record = excluded.record`

const SAVE_AUTHORISATION = `INSERT INTO authorisations
    (organisation, id, ordinal, run, state, amount, drawn, record)
  VALUES (?, ?, ${next('authorisations')}, ?, ?, ?, ?, ?)
  ON CONFLICT (organisation, id) DO UPDATE SET state = excluded.state,
    amount = excluded.amount, drawn = excluded.drawn, record = excluded.record`

type Writer<K extends DocKind> = (
  value: Docs[K],
  organisation: OrganisationId,
  id: readonly string[],
) => readonly [sql: string, ...values: Value[]] | undefined

const WRITERS: { readonly [K in DocKind]: Writer<K> } = {
  run: (run, org) => [
    SAVE_RUN,
    ...[org, run.id, org, run.principal, run.jti, run.state, JSON.stringify(run)],
  ],
  // The run's own row is unique by principal and jti.
  mandate: () => undefined,
  node: (node, org) => [
    SAVE_NODE,
    ...[org, node.id, org, node.run, node.parent ?? '', JSON.stringify(node)],
  ],
  token: (token, org, id) => [
    'INSERT INTO tokens (organisation, node, token) VALUES (?, ?, ?)',
    ...[org, ...id, token],
  ],
  account: (account, org) => [
    SAVE_ACCOUNT,
    ...[org, account.node, account.run],
    ...[account.ceiling, account.available, account.reserved, account.spent, account.allotted],
    account.reversed,
    ...[account.nodesLeft, account.children, account.openChildren],
    ...[account.head.seq, account.head.hash],
  ],
  standing: ({ node, state, version }, org) => [SAVE_STANDING, org, node, state, version],
  payment: (payment, org) => [
    SAVE_PAYMENT,
    ...[org, payment.id, org, payment.run, payment.node, payment.state, payment.amount],
    ...[payment.createdAtSeconds, JSON.stringify(payment)],
  ],
  claim: (payment, org, id) => [
    `INSERT INTO claims (organisation, issuer, jti, payment) VALUES (?, ?, ?, ?)
     ON CONFLICT (organisation, issuer, jti) DO UPDATE SET payment = excluded.payment`,
    ...[org, ...id, payment],
  ],
  proof: ({ holder, jti, attempt, expiresAtSeconds }, org) => [
    `INSERT INTO proofs (organisation, holder, jti, attempt, expires_at)
     VALUES (?, ?, ?, ?, ?)`,
    ...[org, holder, jti, attempt, expiresAtSeconds],
  ],
  counter: ({ key, count, amount }, org) => [
    `INSERT INTO counters (organisation, key, count, amount) VALUES (?, ?, ?, ?)
     ON CONFLICT (organisation, key) DO UPDATE
       SET count = excluded.count, amount = excluded.amount`,
    ...[org, key, count, amount],
  ],
  hold: (hold, org) => [
    SAVE_HOLD,
    ...[org, hold.id, hold.run, hold.node, hold.payment, hold.state, hold.expiresAtSeconds],
    JSON.stringify(hold),
  ],
  step: (value, org, id) => [
    'INSERT INTO steps (organisation, node, name, value) VALUES (?, ?, ?, ?)',
    ...[org, ...id, value],
  ],
  attempt: (attempt, org, id) => [
    `INSERT INTO attempts (organisation, node, record) VALUES (?, ?, ?)
     ON CONFLICT (organisation, node) DO UPDATE SET record = excluded.record`,
    ...[org, ...id, JSON.stringify(attempt)],
  ],
  authorisation: (of, org) => [
    SAVE_AUTHORISATION,
    ...[org, of.id, org, of.run, of.state, of.amount, of.drawn, JSON.stringify(of)],
  ],
  gatewayHead: ({ seq, hash }, org) => [
    `INSERT INTO gateway_heads (organisation, seq, hash) VALUES (?, ?, ?)
     ON CONFLICT (organisation) DO UPDATE SET seq = excluded.seq, hash = excluded.hash`,
    ...[org, seq, hash],
  ],
  message: (message, org) => [
    `INSERT INTO messages (organisation, rail, id, state, due_at, record) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (organisation, rail, id) DO UPDATE SET state = excluded.state,
       due_at = excluded.due_at, record = excluded.record`,
    ...[org, message.rail, message.id, message.state, message.dueAtSeconds],
    JSON.stringify(message),
  ],
  outside: (outside, org) => [
    `INSERT INTO outsides (organisation, id, open, heard_at, record) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (organisation, id) DO UPDATE SET open = excluded.open, record = excluded.record`,
    ...[org, outside.id, outside.acknowledged === undefined ? 1 : 0, outside.heardAtSeconds],
    JSON.stringify(outside),
  ],
  walk: (walk, org) => [
    `INSERT INTO walks (organisation, rail, record) VALUES (?, ?, ?)
     ON CONFLICT (organisation, rail) DO UPDATE SET record = excluded.record`,
    ...[org, walk.rail, JSON.stringify(walk)],
  ],
  sighting: ({ run, quote, node, merchant, atSeconds }, org) => [
    `INSERT INTO sightings (organisation, run, quote, node, merchant, seen_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    ...[org, run, quote, node, merchant, atSeconds],
  ],
}

/** What may be given up: a claim of a payment that was released, a step of a run that is erased. */
const REMOVERS: { readonly [K in DocKind]?: string } = {
  claim: 'DELETE FROM claims WHERE organisation = ? AND issuer = ? AND jti = ?',
  step: 'DELETE FROM steps WHERE organisation = ? AND node = ? AND name = ?',
}

/** Saves one write of a draft. */
export function saveDocument(db: Database, organisation: OrganisationId, write: Write): void {
  const { key, value } = write
  if (value === undefined) {
    const sql = REMOVERS[key.doc]
    if (sql === undefined) throw new TypeError(`a ${key.doc} is never removed`)
    db.run(sql, organisation, ...key.id)
    return
  }
  const writer = WRITERS[key.doc] as Writer<DocKind>
  const statement = writer(value, organisation, key.id)
  if (statement !== undefined) db.run(...statement)
  if (key.doc !== 'payment') return
  const payment = value as Docs['payment']
  for (const name of railNamesOf(payment)) db.run(SAVE_NAME, organisation, name, payment.id)
}
