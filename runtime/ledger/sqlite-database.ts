/**
 * One connection to the ledger's file. Everything that `node:sqlite` would let pass is checked here: the number of
 * bound values, their types (a JavaScript number would be bound as REAL), integers beyond 2^53, and at each open that
 * the file is in WAL mode with `synchronous=FULL` and has exactly the tables and triggers of this program: whoever wants
 * to change an event has to take its trigger away first. A second file, locked for as long as this one is open, keeps every
 * other writer out; the lock ends with the process, however it ends.
 */
import { closeSync, existsSync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Fault } from '../core/errors.ts'
import { APPLICATION_ID, migrationFrom, SCHEMA_VERSION } from './sqlite-schema.ts'

export type Value = string | number
export type Row = Readonly<Record<string, Value>>

export interface DatabaseOptions {
  readonly path: string
  /** How long another process's lock is waited for, milliseconds. */
  readonly lockMs: number
  /** The file may grow to this many pages of 4 KiB; then the store refuses, as on a full disk. */
  readonly maxPages?: number
}

interface Prepared {
  readonly statement: StatementSync
  readonly places: number
}

export class Database {
  readonly #db: DatabaseSync
  readonly #lock: DatabaseSync
  readonly #prepared = new Map<string, Prepared>()

  constructor(options: DatabaseOptions) {
    this.#lock = takeLock(options)
    try {
      this.#db = openFile(options)
    } catch (error) {
      this.#lock.close()
      throw asFault(error)
    }
  }

  get isTransaction(): boolean {
    return this.#db.isTransaction
  }

  /** The first row, or undefined. */
  get(sql: string, ...values: readonly Value[]): Row | undefined {
    const statement = this.#prepare(sql, values)
    const row = read(() => statement.get(...values.map(bind)))
    return row === undefined ? undefined : readRow(row)
  }

  all(sql: string, ...values: readonly Value[]): Row[] {
    const statement = this.#prepare(sql, values)
    return read(() => statement.all(...values.map(bind))).map(readRow)
  }

  run(sql: string, ...values: readonly Value[]): void {
    this.#prepare(sql, values).run(...values.map(bind))
  }

  /**
   * Leaves nothing of what was deleted or overwritten: the file is written anew from what is in it, and the log beside it
   * emptied. Freed bytes are overwritten anyway, but a page that was put together anew may keep old ones in its gap.
   */
  scrub(): void {
    this.#db.exec('VACUUM')
    const { busy } = this.get('PRAGMA wal_checkpoint(TRUNCATE)') ?? {}
    if (busy !== 0) {
      throw new Fault('store_unavailable', 'somebody reads the store, so old pages are kept')
    }
  }

  close(): void {
    this.#db.close()
    this.#lock.close()
  }

  #prepare(sql: string, values: readonly Value[]): StatementSync {
    const prepared = this.#prepared.get(sql) ?? this.#add(sql)
    if (prepared.places !== values.length) {
      throw new TypeError(`expected ${prepared.places} bound values, not ${values.length}`)
    }
    return prepared.statement
  }

  #add(sql: string): Prepared {
    const statement = this.#db.prepare(sql)
    const prepared = { statement, places: sql.split('?').length - 1 }
    this.#prepared.set(sql, prepared)
    return prepared
  }
}

function bind(value: Value): string | bigint {
  if (typeof value === 'string') return value
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  throw new TypeError('expected a string or a safe integer to bind')
}

/** Integers are read as numbers, and SQLite's driver refuses those that are none (ERR_OUT_OF_RANGE). */
function read<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof RangeError ? unreadable() : error
  }
}

function readRow(row: Readonly<Record<string, unknown>>): Row {
  for (const name in row) {
    const value = row[name]
    if (typeof value !== 'string' && !Number.isSafeInteger(value)) throw unreadable()
  }
  return row as Row
}

const unreadable = (): Fault =>
  new Fault('ledger_corrupt', 'expected text or a safe integer in the store', { retryable: false })

/** Whoever may read the file may lock it, and so keep us from starting; SQLite would leave its mode to the umask. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch {
    // SQLite says why it cannot be used.
  }
}

function takeLock({ path, lockMs }: DatabaseOptions): DatabaseSync {
  let lock: DatabaseSync | undefined
  try {
    makePrivate(`${path}.lock`)
    lock = new DatabaseSync(`${path}.lock`, { timeout: lockMs })
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock?.close()
    throw isBusy(error)
      ? new Fault('store_locked', 'another process has this store open', { cause: error })
      : asFault(error)
  }
}

/**
 * SQLite opens a file that it may only read without a word, and fails at the first payment. Before it opens the file,
 * because closing it afterwards would end SQLite's own locks (POSIX).
 */
function assertWritable(path: string): void {
  if (!existsSync(path)) return
  try {
    closeSync(openSync(path, 'r+'))
  } catch (cause) {
    throw new Fault('store_unavailable', 'expected a store file that can be written', { cause })
  }
}

/**
 * Ids are spread over whole tables, so each payment touches pages that lie apart: 64 MiB of them are kept at hand, and
 * taken over from the WAL once it has 64 MiB, when most of its pages have been written several times.
 */
const SPEED = ['temp_store = MEMORY', 'cache_size = -65536', 'wal_autocheckpoint = 16384']

function openFile({ path, maxPages }: DatabaseOptions): DatabaseSync {
  assertWritable(path)
  const db = new DatabaseSync(path, {
    timeout: 5_000,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
  })
  try {
    const version = pragma(db, 'user_version')
    assertOurs(db, version)
    db.exec('PRAGMA journal_mode = WAL')
    db.exec('PRAGMA synchronous = FULL')
    db.exec('PRAGMA fullfsync = ON')
    db.exec('PRAGMA secure_delete = ON')
    for (const setting of SPEED) db.exec(`PRAGMA ${setting}`)
    if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${Math.floor(maxPages)}`)
    if (version < SCHEMA_VERSION) db.exec(migrationFrom(version))
    assertDurable(db)
    assertWhole(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

const pragma = (db: DatabaseSync, name: string): unknown =>
  Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]

function assertOurs(db: DatabaseSync, version: unknown): asserts version is number {
  if (typeof version !== 'number') throw new Fault('store_unavailable', 'expected a schema version')
  const isNew = version === 0 && pragma(db, 'schema_version') === 0
  if (!isNew && pragma(db, 'application_id') !== APPLICATION_ID) {
    throw new Fault('store_unavailable', 'the file is not a ledger of Headgate', {
      retryable: false,
    })
  }
  if (version > SCHEMA_VERSION) {
    const sentence = `the store has schema ${version} and this program knows ${SCHEMA_VERSION}; use the newer program`
    throw new Fault('store_newer', sentence, { retryable: false })
  }
}

function assertDurable(db: DatabaseSync): void {
  const isDurable =
    pragma(db, 'journal_mode') === 'wal' &&
    pragma(db, 'synchronous') === 2 &&
    pragma(db, 'foreign_keys') === 1
  if (!isDurable) {
    throw new Fault('store_unavailable', 'expected WAL with synchronous FULL and foreign keys', {
      retryable: false,
    })
  }
}

/** Every table, index and trigger with the text that made it, layout aside. */
function schemaOf(db: DatabaseSync): Map<string, string> {
  const rows = db.prepare(
    "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'",
  )
  return new Map(
    rows.all().map(({ type, name, sql }) => {
      return [`${type} ${name}`, String(sql).replaceAll(/\s+/g, '')]
    }),
  )
}

let expected: Map<string, string> | undefined

function expectedSchema(): Map<string, string> {
  if (expected !== undefined) return expected
  const db = new DatabaseSync(':memory:')
  try {
    db.exec(migrationFrom(0))
    expected = schemaOf(db)
    return expected
  } finally {
    db.close()
  }
}

/** The tables refuse what the rules would never write; a file that lost such a refusal may have lost events as well. */
function assertWhole(db: DatabaseSync): void {
  const [wanted, found] = [expectedSchema(), schemaOf(db)]
  const names = new Set([...wanted.keys(), ...found.keys()])
  const other = [...names].find((name) => wanted.get(name) !== found.get(name))
  if (other === undefined) return
  // A name that is not ours is somebody else's text.
  const what = wanted.has(other) ? other : 'something that this program did not make'
  const sentence = `the tables of the store were changed: ${what}; verify the log and restore a backup`
  throw new Fault('ledger_corrupt', sentence, { retryable: false })
}

/** SQLite's primary result code (https://www.sqlite.org/rescode.html), if the error is SQLite's. */
function resultCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  return typeof code === 'number' ? code & 0xff : undefined
}

const isBusy = (error: unknown): boolean => [5, 6].includes(resultCode(error) ?? 0)

/** SQLITE_CONSTRAINT and SQLITE_MISMATCH: the rules and the tables disagree, which is never the disk's doing. */
const isConstraint = (error: unknown): boolean => [19, 20].includes(resultCode(error) ?? 0)

/** What SQLite threw, as a fault of ours; anything else is passed on as it is. */
export function asFault(error: unknown): unknown {
  if (error instanceof Fault || resultCode(error) === undefined) return error
  if (isConstraint(error)) {
    return new Fault('ledger_corrupt', 'a constraint of the store refused a change', {
      retryable: false,
      cause: error,
    })
  }
  return new Fault('store_unavailable', 'the store cannot be opened and written', { cause: error })
}
