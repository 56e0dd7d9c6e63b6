/**
 * A copy of the embedded store while a gateway writes to it. The live file is opened for reading only, and all pages
 * are taken under one read lock, so the copy is the store of one instant; in WAL mode no writer waits for that. A copy
 * is kept only once it is whole, on the disk, and nowhere ahead of the store that it was taken of.
 */
import { existsSync } from 'node:fs'
import { type FileHandle, open, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { Fault } from '../core/errors.ts'
import { asFault } from './sqlite-database.ts'
import { APPLICATION_ID } from './sqlite-schema.ts'

export interface Backup {
  readonly bytes: number
  readonly streams: number
  readonly events: number
  /** Of the gateway's own stream; 0 if there is none yet. */
  readonly gatewaySeq: number
}

/** More pages than SQLite's largest file has: all of them in one step. */
const ALL_PAGES = 0x7fff_fffe

const HEADS = `SELECT organisation, node AS stream, head_seq AS seq, head_hash AS hash FROM accounts
  UNION ALL SELECT organisation, 'gateway', seq, hash FROM gateway_heads`

const EVENT_AT = `SELECT hash FROM events WHERE organisation = ? AND stream = ? AND seq = ?`

/**
 * Copies the store at `from` to the new file `to`, for its owner alone. Throws Fault: `store_unavailable` where either
 * cannot be used or `to` exists, `ledger_corrupt` for a copy that is not sound. Then nothing is left at `to`.
 */
export async function backupStore(from: string, to: string): Promise<Backup> {
  if (!existsSync(from)) throw unusable('expected a store to back up')
  await makeNew(to)
  try {
    const live = new DatabaseSync(from, { readOnly: true, timeout: 5_000 })
    try {
      await backup(live, to, { rate: ALL_PAGES })
      const found = assertCopy(to, live)
      await settle(to)
      return { bytes: (await stat(to)).size, ...found }
    } finally {
      live.close()
    }
  } catch (error) {
    for (const end of ['', '-wal', '-shm', '-journal']) await rm(to + end, { force: true })
    throw asFault(error)
  }
}

/** Whole by SQLite's own check, each stream as its head says, each head a part of the live store's log; or throws Fault. */
export function assertCopy(to: string, live: DatabaseSync): Omit<Backup, 'bytes'> {
  const copy = new DatabaseSync(to, { timeout: 0 })
  try {
    const isWhole = Object.values(copy.prepare('PRAGMA integrity_check(1)').get() ?? {})[0] === 'ok'
    const { application_id: id } = copy.prepare('PRAGMA application_id').get() ?? {}
    if (!isWhole || id !== APPLICATION_ID) throw unsound()
    const [own, lives] = [copy.prepare(EVENT_AT), live.prepare(EVENT_AT)]
    let [streams, gatewaySeq] = [0, 0]
    for (const { organisation, stream, seq, hash } of copy.prepare(HEADS).iterate()) {
      const key = [String(organisation), String(stream), BigInt(Number(seq))] as const
      const isPart = own.get(...key)?.hash === hash && lives.get(...key)?.hash === hash
      if (!isPart) throw unsound()
      streams += 1
      if (stream === 'gateway') gatewaySeq = Number(seq)
    }
    const { events } = copy.prepare('SELECT count(*) AS events FROM events').get() ?? {}
    return { streams, events: Number(events), gatewaySeq }
  } finally {
    // The last connection to a file in WAL mode takes its companions away.
    copy.close()
  }
}

const unsound = (): Fault =>
  new Fault(
    'ledger_corrupt',
    'the copy is not sound: expected every stream whole, up to its head',
    {
      retryable: false,
    },
  )

const unusable = (why: string, cause?: unknown): Fault =>
  new Fault('store_unavailable', why, { retryable: false, cause })

async function makeNew(file: string): Promise<void> {
  try {
    const made = await open(file, 'wx', 0o600)
    await made.close()
  } catch (cause) {
    throw unusable('expected the name of a new file in a folder that can be written', cause)
  }
}

async function settle(file: string): Promise<void> {
  for (const name of [file, dirname(file)]) {
    const handle: FileHandle = await open(name, 'r')
    await handle.sync().finally(() => handle.close())
  }
}
