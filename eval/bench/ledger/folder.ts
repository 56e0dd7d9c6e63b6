/** Stores of the bench's own in a temporary folder, where the bare commits that they are compared with are made too. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { openSqliteLedger } from '../../../runtime/ledger/sqlite.ts'

/** Gives a folder that is gone, with all that is in it, when the work has ended. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The product's embedded store, on its own thread. */
export const openStore = (path: string): Promise<Ledger> =>
  openSqliteLedger({ path, organisation: 'acme' })

export interface Bare {
  /** One row, one commit: what no durable payment can be cheaper than. */
  commit(): void
  close(): void
}

/** A file of one table in the same mode as the ledger's: WAL, `synchronous=FULL`. */
export function openBare(path: string): Bare {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT`)
  const insert = db.prepare('INSERT INTO rows (text) VALUES (?)')
  const text = 'x'.repeat(100)
  return {
    commit: () => {
      db.exec('BEGIN IMMEDIATE')
      insert.run(text)
      db.exec('COMMIT')
    },
    close: () => db.close(),
  }
}
