/** What a file of the embedded store still holds after an erasure, byte by byte. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { eraseRun } from '../../runtime/ledger/erasing.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { accepted, addChild, fixedClock, NOW, startRun } from '../support/ledger.ts'
import { aPersonalRun, endPersonalRun, PLANTED, plantedIn } from '../support/personal.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let ledger: Ledger
const open = () =>
  openSqliteLedger({
    path: join(folder.path, 'ledger.db'),
    organisation: 'acme',
    lockMs: 50,
    spawn: withoutThread,
  })
beforeEach(async () => {
  folder = await temporaryFolder()
  ledger = await open()
})
afterEach(async () => {
  await ledger.close()
  await folder.remove()
})

/** Planted strings in any file of the folder: the store, its log, its index of that. */
async function planted(): Promise<string[]> {
  const names = await readdir(folder.path)
  const texts = await Promise.all(names.map((name) => readFile(join(folder.path, name), 'latin1')))
  return plantedIn(texts.join('\n')).sort()
}

const ALL = Object.values(PLANTED).sort()

/** Enough others around it that pages are split and filled again. */
async function crowd(of: Ledger, jti: string): Promise<void> {
  const { root } = await startRun(of, { jti })
  for (let n = 0; n < 40; n += 1) await addChild(of, root, `child-${n}`)
}

it('holds everything that was planted until it is erased, and then nothing, while it is still open', async () => {
  await crowd(ledger, 'before')
  const made = await aPersonalRun(ledger)
  await crowd(ledger, 'after')
  const run = await endPersonalRun(ledger, made)
  expect(await planted()).toEqual(ALL)
  accepted(await eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock))
  expect(await planted()).toEqual([])
  // The store goes on: events still continue their streams after the file was written anew.
  await crowd(ledger, 'later')
  await ledger.close()
  ledger = await open()
  expect(await planted()).toEqual([])
  expect((await ledger.run(run.id))?.erasedAtSeconds).toBe(NOW)
})

it('cleans up also after a process that died between the erasure and the cleaning', async () => {
  const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
  accepted(await eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock))
  const other = await endPersonalRun(ledger, await aPersonalRun(ledger, 'other'))
  // Sent again for the run that is erased already, the command changes nothing and cleans all the same.
  const counts = { nodes: 3, payments: 1, holds: 1 }
  const part = { nodes: [], payments: [], holds: [], steps: [], run: other.id, now: NOW }
  const payments = (await ledger.payments({ run: other.id, limit: 10 })).map(({ id }) => id)
  accepted(await ledger.execute('eraseParts', { ...part, payments }))
  expect(await planted()).toContain(PLANTED.title)
  accepted(await ledger.execute('erase', { run: run.id, by: 'op', ...counts, now: NOW }))
  const left = await planted()
  expect(left).not.toContain(PLANTED.title)
  expect(left).toContain(PLANTED.task)
})

it('does not say that it is done while somebody else still reads old pages', async () => {
  const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
  const reader = new DatabaseSync(join(folder.path, 'ledger.db'), { readOnly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM runs').get()
  const erase = () => eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock)
  await expect(erase()).rejects.toMatchObject({ code: 'store_unavailable' })
  reader.exec('COMMIT')
  reader.close()
  accepted(await erase())
  expect(await planted()).toEqual([])
})

it('finds also what a program that overwrote nothing left behind in freed space', async () => {
  const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
  await ledger.close()
  const raw = new DatabaseSync(join(folder.path, 'ledger.db'))
  raw.exec('PRAGMA secure_delete = OFF')
  const insert = raw.prepare(
    'INSERT INTO steps (organisation, node, name, value) VALUES (?, ?, ?, ?)',
  )
  const left = 'left-behind-by-an-older-program'
  for (let n = 0; n < 50; n += 1) insert.run('acme', 'nd_old', `step-${n}`, JSON.stringify(left))
  raw.exec("DELETE FROM steps WHERE node = 'nd_old'")
  raw.close()
  const file = () => readFile(join(folder.path, 'ledger.db'), 'latin1')
  expect(await file()).toContain(left)
  ledger = await open()
  accepted(await eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock))
  expect(await file()).not.toContain(left)
})
