import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { assertCopy, backupStore } from '../../runtime/ledger/sqlite-backup.ts'
import { NOW, paySubmitted, startChain, startRun } from '../support/ledger.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let live: string
let copy: string
const opened: Ledger[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
  live = join(folder.path, 'live.db')
  copy = join(folder.path, 'copy.db')
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((ledger) => ledger.close()))
  await folder.remove()
})

/** On a thread of its own, so that it writes while the copy is made. */
async function open(path = live, options: object = {}) {
  const ledger = await openSqliteLedger({ path, organisation: 'acme', lockMs: 50, ...options })
  opened.push(ledger)
  return ledger
}

const alone = { spawn: withoutThread }

async function eventsIn(ledger: Ledger) {
  const lines: string[] = []
  for await (const line of exportLog(ledger)) lines.push(line)
  const verdict = verifyExport(lines)
  expect(verdict.broken).toBeUndefined()
  return verdict.events
}

const raw = (path: string, sql: string) => {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false })
  db.exec(sql)
  db.close()
}

describe('a backup', () => {
  it('is a whole store of its own, its owner’s alone, and says what is in it', async () => {
    const ledger = await open(live, alone)
    const { leaf } = await startChain(ledger)
    await paySubmitted(ledger, leaf)
    const made = await backupStore(live, copy)
    expect(made).toEqual({
      bytes: statSync(copy).size,
      streams: 4,
      events: await eventsIn(ledger),
      gatewaySeq: 1,
    })
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder.path).filter((name) => name.startsWith('copy'))).toEqual(['copy.db'])
    const again = await open(copy, alone)
    expect(await again.heads()).toEqual(await ledger.heads())
    expect(await eventsIn(again)).toBe(made.events)
  })

  it('is of one instant, however much is written meanwhile', async () => {
    const ledger = await open()
    const { root } = await startRun(ledger)
    let isDone = false
    let written = 0
    const writing = (async () => {
      while (!isDone) {
        await ledger.execute('note', { stream: root.id, type: 'read', data: { written }, now: NOW })
        written += 1
      }
    })()
    const made = await backupStore(live, copy)
    isDone = true
    await writing
    const copied = await open(copy, alone)
    expect(await eventsIn(copied)).toBe(made.events)
    expect(await eventsIn(ledger)).toBe(written + 2)
    expect(made.events).toBeLessThanOrEqual(written + 2)
  })

  it('is made of a store that nobody serves', async () => {
    const ledger = await open(live, alone)
    await startRun(ledger)
    await ledger.close()
    expect((await backupStore(live, copy)).events).toBe(2)
  })

  it('overwrites nothing, and leaves nothing where it cannot be made', async () => {
    const ledger = await open(live, alone)
    await startRun(ledger)
    writeFileSync(copy, 'mine')
    await expect(backupStore(live, copy)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(statSync(copy).size).toBe(4)
    const nowhere = join(folder.path, 'none', 'copy.db')
    await expect(backupStore(live, nowhere)).rejects.toMatchObject({ code: 'store_unavailable' })
    const other = join(folder.path, 'other.db')
    await expect(backupStore(join(folder.path, 'x'), other)).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    const strange = join(folder.path, 'strange.db')
    writeFileSync(strange, 'words, many words, and no pages of SQLite at all'.repeat(100))
    await expect(backupStore(strange, other)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(existsSync(other)).toBe(false)
  })

  it.each([
    [
      'whose heads are not what its log says',
      `UPDATE accounts SET head_hash = '${'x'.repeat(43)}'`,
    ],
    ['whose log was cut', 'DROP TRIGGER events_kept; DELETE FROM events WHERE seq > 1'],
    [
      'that is broken inside',
      'PRAGMA ignore_check_constraints = ON; UPDATE accounts SET available = -5',
    ],
    ['that is no ledger', 'PRAGMA application_id = 7'],
  ])('is not kept of a store %s', async (_name, sql) => {
    const ledger = await open(live, alone)
    const { root } = await startRun(ledger)
    await ledger.execute('note', { stream: root.id, type: 'read', data: {}, now: NOW })
    await ledger.close()
    raw(live, sql)
    await expect(backupStore(live, copy)).rejects.toMatchObject({
      code: expect.stringMatching(/^(ledger_corrupt|store_unavailable)$/),
    })
    expect(existsSync(copy)).toBe(false)
  })

  it('is no copy of a store that it is ahead of, nor with a log that ends before its heads', async () => {
    const ledger = await open(live, alone)
    const { root } = await startRun(ledger)
    await backupStore(live, copy)
    const db = new DatabaseSync(live, { readOnly: true })
    expect(assertCopy(copy, db)).toEqual({ streams: 2, events: 2, gatewaySeq: 1 })
    raw(copy, `DROP TRIGGER events_kept; DELETE FROM events WHERE stream = 'gateway'`)
    expect(() => assertCopy(copy, db)).toThrow(/not sound/)
    const older = join(folder.path, 'older.db')
    await backupStore(live, older)
    await ledger.execute('note', { stream: root.id, type: 'read', data: {}, now: NOW })
    const newer = join(folder.path, 'newer.db')
    await backupStore(live, newer)
    db.close()
    const behind = new DatabaseSync(older, { readOnly: true })
    expect(() => assertCopy(newer, behind)).toThrow(/not sound/)
    behind.close()
  })
})
