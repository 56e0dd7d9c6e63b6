/**
 * A past that nobody has time to pay for: copies of one run that the store itself has written, row by row and in every
 * table, by SQL inside the file. Tables, indexes and triggers are the real ones, and so are the rows, but for two things
 * at which no payment looks: hashes are those of the prototype and not made anew, but for the gateway's last, and the
 * leaves of the copied runs are still open.
 */
import { DatabaseSync } from 'node:sqlite'
import { eventBody, eventHash, parseEvent } from '../../../runtime/core/events.ts'
import { TAG, tagOf } from './prototype.ts'

const COPIED = [
  ...['runs', 'nodes', 'accounts', 'standings', 'tokens', 'payments', 'claims', 'attempts'],
  ...['events', 'feed'],
]

/** Text in which no id stands. */
const PLAIN = new Set(['organisation', 'principal', 'state', 'issuer', 'prev', 'hash', 'head_hash'])

/** Copied runs' events in the gateway's stream: each behind the last, and chained to it by a hash that is a number. */
const GATEWAY_EVENTS = `INSERT INTO events
  SELECT organisation, 'gateway', 1 + i, iif(i = ?1, ?3, printf('%043d', i - 1)),
    printf('%043d', i), replace(body, '${TAG}', tag)
  FROM copies CROSS JOIN proto.events WHERE stream = 'gateway' AND i >= ?1 AND i < ?2`

export interface Past {
  /** Makes the copies of these numbers, from 1; each call goes on where the last one ended. */
  add(from: number, to: number): void
  close(): void
}

/** Of a closed store in which the prototype is and nothing else. */
export function openPast(path: string): Past {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(`PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -32000;
    ATTACH ':memory:' AS proto;
    CREATE TABLE proto.copies (i INTEGER PRIMARY KEY, tag TEXT NOT NULL)`)
  for (const table of COPIED) db.exec(`CREATE TABLE proto.${table} AS SELECT * FROM main.${table}`)
  const tag = db.prepare('INSERT INTO proto.copies VALUES (?, ?)')
  const statements = COPIED.map((table) => db.prepare(copyOf(db, table)))
  const gateway = gatewayOf(db)
  return {
    add: (from, to) => {
      db.exec('BEGIN')
      for (let i = from; i <= to; i += 1) tag.run(BigInt(i), tagOf(i))
      gateway(from, to)
      for (const statement of statements) statement.run(BigInt(from), BigInt(to))
      db.exec('COMMIT')
    },
    close: () => {
      db.exec('PRAGMA journal_mode = WAL')
      db.close()
    },
  }
}

/** Continues the gateway's stream; the last event of each call is a real one, because the next real one looks at it. */
function gatewayOf(db: DatabaseSync): (from: number, to: number) => void {
  const events = db.prepare(GATEWAY_EVENTS)
  const proto = db
    .prepare(`SELECT organisation, hash, body FROM proto.events WHERE stream = 'gateway'`)
    .get()
  const { v: _v, ...first } = parseEvent(String(proto?.body))
  const last = db.prepare(`INSERT INTO events VALUES (?, 'gateway', ?, ?, ?, ?)`)
  const head = db.prepare('UPDATE gateway_heads SET seq = ?, hash = ?')
  let before = String(proto?.hash)
  return (from, to) => {
    events.run(BigInt(from), BigInt(to), before)
    const prev = from === to ? before : String(to - 1).padStart(43, '0')
    const body = eventBody({ ...first, seq: 1 + to, prev })
    before = eventHash(body)
    last.run(String(proto?.organisation), BigInt(1 + to), prev, before, body)
    head.run(BigInt(1 + to), before)
  }
}

/** The prototype's rows of one table, each with its text changed, and its number of creation after all others. */
function copyOf(db: DatabaseSync, table: string): string {
  const values = db
    .prepare(`PRAGMA table_info(${table})`)
    .all()
    .map(({ name, type }) => {
      if (name === 'ordinal') return `ordinal + i * (SELECT max(ordinal) FROM proto.${table})`
      if (name === 'seq' && table === 'feed') return `iif(stream = 'gateway', seq + i, seq)`
      return type === 'TEXT' && !PLAIN.has(String(name)) ? `replace(${name}, '${TAG}', tag)` : name
    })
  const own = table === 'events' ? `stream <> 'gateway' AND` : ''
  return `INSERT INTO main.${table} SELECT ${values.join(', ')}
    FROM copies CROSS JOIN proto.${table} WHERE ${own} i BETWEEN ? AND ?`
}
