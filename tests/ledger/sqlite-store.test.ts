import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { deny } from '../../runtime/core/codes.ts'
import type { PaymentId } from '../../runtime/core/ids.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import { openSqliteLedger, startWorker, threadOf } from '../../runtime/ledger/sqlite.ts'
import { Database } from '../../runtime/ledger/sqlite-database.ts'
import type { WorkerOptions } from '../../runtime/ledger/sqlite-protocol.ts'
import { migrationFrom, SCHEMA_VERSION } from '../../runtime/ledger/sqlite-schema.ts'
import {
  aChild,
  accepted,
  addChild,
  allPassed,
  aProof,
  aReserve,
  aRun,
  aSplit,
  aSubmit,
  NOW,
  paySubmitted,
  startChain,
  startRun,
} from '../support/ledger.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let path: string
const opened: Ledger[] = []

beforeEach(async () => {
  folder = await temporaryFolder()
  path = join(folder.path, 'ledger.db')
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((ledger) => ledger.close()))
  await folder.remove()
})

async function open(options: Partial<Parameters<typeof openSqliteLedger>[0]> = {}) {
  const ledger = await openSqliteLedger({
    path,
    organisation: 'acme',
    spawn: withoutThread,
    lockMs: 50,
    ...options,
  })
  opened.push(ledger)
  return ledger
}

const raw = <T>(work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(path)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/** Everything that is in the file, in the tables of the first version of all. */
function asVersionOne() {
  const old = `${path}.old`
  const db = new DatabaseSync(old)
  db.exec(migrationFrom(0, 1))
  db.exec(`PRAGMA foreign_keys = OFF; ATTACH '${path}' AS newer`)
  const tables = db.prepare(`SELECT name FROM main.sqlite_schema WHERE type = 'table'`).all()
  for (const { name } of tables) {
    const columns = db.prepare(`PRAGMA main.table_info(${name})`).all()
    const list = columns.map((column) => column.name).join(', ')
    // Kept by a trigger of the table of proofs.
    if (name !== 'proof_counts') {
      db.exec(`INSERT INTO main.${name} (${list}) SELECT ${list} FROM newer.${name}`)
    }
  }
  db.close()
  renameSync(old, path)
}

const NOBODY = 65_534

/** As somebody whom modes bind: root may write what nobody may write. */
async function asSomebody(file: string, work: () => Promise<void>) {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) {
    for (const name of [file, `${file}.lock`]) chownSync(name, NOBODY, NOBODY)
    process.seteuid?.(NOBODY)
  }
  try {
    await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

async function verified(ledger: Ledger) {
  const lines: string[] = []
  for await (const line of exportLog(ledger)) lines.push(line)
  const verdict = verifyExport(lines)
  expect(verdict.broken).toBeUndefined()
  return verdict
}

/** On a thread of its own, as everybody but these tests runs it. */
const onThread = {
  spawn: (options: WorkerOptions) => threadOf(startWorker(options)),
}

describe('on its own thread', () => {
  it('fails the one command that cannot be passed to it, and none that was asked beside it', async () => {
    const ledger = await open(onThread)
    const { root } = await startRun(ledger)
    const [fine, strange] = await Promise.allSettled([
      ledger.execute('split', aSplit(aChild(root, 'fine'))),
      ledger.execute('split', { ...aSplit(aChild(root, 'strange')), token: (() => 0) as never }),
    ])
    expect(fine).toMatchObject({ value: { ok: true } })
    expect(strange).toMatchObject({ status: 'rejected' })
    await ledger.ping()
  })

  it('pays, tells of it, and has everything again when it is opened again', async () => {
    const ledger = await open(onThread)
    const told = new Map<string, number>()
    ledger.onFeed((run, position) => told.set(run, position))
    const { run, leaf } = await startChain(ledger)
    const { id } = await paySubmitted(ledger, leaf)
    const input = { payment: id, amount: minor(900), railReference: 'r', now: NOW }
    accepted(await ledger.execute('settle', input))
    await ledger.ping()
    const tree = await ledger.tree(run.id)
    const feed = await ledger.feed(run.id, 0, 100)
    expect(told.get(run.id)).toBe(feed.length)
    await ledger.close()
    const again = await open(onThread)
    expect(await again.tree(run.id)).toEqual(tree)
    expect(await again.feed(run.id, 0, 100)).toEqual(feed)
    expect(accepted(await again.execute('settle', input)).payment.state).toBe('settled')
    await verified(again)
  })

  it('refuses everything once its thread has died, what was waiting included', async () => {
    let worker: Worker | undefined
    const ledger = await open({
      spawn: (workerData) => {
        worker = startWorker(workerData)
        return threadOf(worker)
      },
    })
    const { root } = await startRun(ledger)
    const waiting = Array.from({ length: 20 }, (_, i) =>
      ledger.execute('split', aSplit(aChild(root, `c${i}`))).then(
        ({ ok }) => ok,
        (error: { code: string }) => error.code,
      ),
    )
    await worker?.terminate()
    for (const answer of await Promise.all(waiting)) {
      expect([true, 'store_unavailable']).toContain(answer)
    }
    await expect(ledger.ping()).rejects.toMatchObject({ code: 'store_unavailable' })
    await expect(ledger.run('run_x')).rejects.toMatchObject({ code: 'store_unavailable' })
    await ledger.close()
  })

  it('says why it could not open', async () => {
    await expect(open({ path: join(path, 'below'), ...onThread })).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })
})

describe('opening', () => {
  it('refuses a second writer while the first has the file', async () => {
    const first = await open()
    await expect(open()).rejects.toMatchObject({ code: 'store_locked' })
    await first.ping()
    await first.close()
    await open()
  })

  it('lets nobody but the owner touch the file by which others are kept out', async () => {
    await open()
    expect(statSync(`${path}.lock`).mode & 0o777).toBe(0o600)
  })

  it('refuses a file of a newer program in one sentence, and leaves it as it is', async () => {
    await (await open()).close()
    raw((db) => db.exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`))
    const error = await open().catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'store_newer', retryable: false })
    const said = `schema ${SCHEMA_VERSION + 1} and this program knows ${SCHEMA_VERSION};`
    expect(String(error)).toContain(`${said} use the newer program`)
    expect(raw((db) => db.prepare('PRAGMA user_version').get())).toEqual({
      user_version: SCHEMA_VERSION + 1,
    })
  })

  it('brings a file of an older program up to its own tables and keeps all that is in it', async () => {
    const first = await open()
    const { leaf, run } = await startChain(first)
    const feed = await first.feed(run.id, 0, 100)
    const refusal = { node: leaf.id, run: run.id, denial: deny('quote_expired'), now: NOW }
    const refused = { ...refusal, checks: allPassed, proof: aProof(leaf) }
    accepted(await first.execute('refuse', refused))
    const [state] = (await first.tree(run.id)).filter(({ node }) => node.id === leaf.id)
    await first.close()
    asVersionOne()
    const again = await open()
    expect(await again.node(leaf.id)).toEqual(leaf)
    expect((await again.account(leaf.id))?.reversed).toBe(0)
    expect(await again.refunding(1)).toEqual([])
    expect((await again.feed(run.id, 0, 100)).slice(0, feed.length)).toEqual(feed)
    expect((await again.tree(run.id)).find(({ node }) => node.id === leaf.id)).toEqual(state)
    const proof = aProof(leaf)
    const note = { stream: leaf.id, type: 'read', data: {}, proof, now: NOW } as const
    accepted(await again.execute('note', note))
    await verified(again)
    await again.close()
    expect(raw((db) => db.prepare('PRAGMA foreign_key_check').all())).toEqual([])
    const version = raw((db) => db.prepare('PRAGMA user_version').get())
    expect(version).toEqual({ user_version: SCHEMA_VERSION })
  })

  it.each([
    ['below a file', () => join(path, 'ledger.db')],
    ['in a folder that does not exist', () => join(folder.path, 'none', 'ledger.db')],
    ['that is a folder', () => join(folder.path, 'folder')],
  ])('refuses a path %s', async (_name, where) => {
    writeFileSync(path, '')
    mkdirSync(join(folder.path, 'folder'))
    await expect(open({ path: where() })).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  it('refuses a file that it may only read, at once and not at the first payment', async () => {
    const first = await open()
    await startRun(first)
    await first.close()
    chmodSync(path, 0o400)
    chmodSync(folder.path, 0o777)
    const written = statSync(path).size
    await asSomebody(path, async () => {
      await expect(open()).rejects.toMatchObject({ code: 'store_unavailable' })
    })
    expect(statSync(path).size).toBe(written)
    chmodSync(path, 0o600)
    await verified(await open())
  })

  it('refuses a folder in which it may write no more, and serves from it again when it may', async () => {
    const first = await open()
    const { leaf } = await startChain(first)
    await first.close()
    chmodSync(folder.path, 0o555)
    await asSomebody(path, async () => {
      const error = await open().catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'store_unavailable' })
      expect(String(error)).toMatch(/the store cannot be opened and written$/)
    })
    chmodSync(folder.path, 0o755)
    const again = await open()
    expect((await paySubmitted(again, leaf)).state).toBe('submitted')
    await verified(again)
  })

  it('refuses a file that is no ledger', async () => {
    writeFileSync(path, 'words, many words, and no pages of SQLite at all')
    await expect(open()).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(existsSync(path)).toBe(true)
  })

  it('refuses somebody else’s database', async () => {
    raw((db) => db.exec('CREATE TABLE recipes (name TEXT)'))
    await expect(open()).rejects.toMatchObject({ code: 'store_unavailable' })
  })

  it('keeps WAL and frees the lock when it is closed', async () => {
    await (await open()).close()
    expect(raw((db) => db.prepare('PRAGMA journal_mode').get())).toEqual({ journal_mode: 'wal' })
  })
})

describe('one commit for many commands', () => {
  it('undoes a refusal and nothing beside it', async () => {
    const ledger = await open()
    const { root } = await startRun(ledger, { ceiling: 100 })
    const ceilings = [60, 50, 30, 20, 10, 1]
    const results = await Promise.all(
      ceilings.map((ceiling, i) =>
        ledger.execute('split', aSplit(aChild(root, `c${i}`, { ceiling }))),
      ),
    )
    expect(results.map(({ ok }) => ok)).toEqual([true, false, true, false, true, false])
    await verified(ledger)
  })

  it('decides the same id twice in one commit once', async () => {
    const ledger = await open()
    const { root, leaf } = await startChain(ledger)
    const split = aSplit(aChild(root, 'twin'))
    const { run, root: other } = aRun({ jti: 'm2' })
    const create = { run, root: other, token: 't', nodes: 1, now: NOW }
    const answers = await Promise.all([
      ledger.execute('split', split),
      ledger.execute('split', split),
      ledger.execute('createRun', create),
      ledger.execute('createRun', create),
      ledger.execute('reserve', aReserve(leaf, { nonce: 'a' })),
      ledger.execute('reserve', aReserve(leaf, { nonce: 'b' })),
      ledger.execute('submit', aSubmit(leaf, 'b')),
    ])
    expect(answers.map(({ ok }) => ok)).toEqual([true, true, true, true, true, false, false])
    await verified(ledger)
  })

  it('answers a read with what was committed before it', async () => {
    const ledger = await open()
    const { root } = await startRun(ledger)
    const child = aChild(root, 'child')
    const split = ledger.execute('split', aSplit(child))
    const node = await ledger.node(child.id)
    expect(node).toEqual(child)
    accepted(await split)
  })

  it('lets a fault of one command touch no other', async () => {
    const ledger = await open()
    const { root, planner, leaf } = await startChain(ledger)
    const healthy = await addChild(ledger, planner, 'healthy')
    raw((db) =>
      db.exec(`UPDATE accounts SET available = available + 5, ceiling = ceiling + 5
        WHERE node = '${leaf.id}'`),
    )
    const [broken, fine, split] = await Promise.allSettled([
      ledger.execute('reserve', aReserve(leaf)),
      ledger.execute('reserve', aReserve(healthy)),
      ledger.execute('split', aSplit(aChild(root, 'more'))),
    ])
    expect(broken).toMatchObject({ status: 'rejected', reason: { code: 'ledger_corrupt' } })
    expect(fine).toMatchObject({ value: { ok: true } })
    expect(split).toMatchObject({ value: { ok: true } })
  })

  it('undoes what one has half written, and does the others all the same', async () => {
    const ledger = await open()
    const { run, root } = await startRun(ledger, { ceiling: 100 })
    const [first, broken, last] = ['first', 'broken', 'last'].map((step) =>
      aChild(root, step, { ceiling: 10 }),
    )
    if (!first || !broken || !last) throw new Error('expected three')
    raw((db) => db.exec(`INSERT INTO tokens VALUES ('acme', '${broken.id}', 'in its place')`))
    const told: number[] = []
    ledger.onFeed((_run, position) => told.push(position))
    const results = await Promise.allSettled(
      [first, broken, last].map((child) => ledger.execute('split', aSplit(child))),
    )
    expect(results).toMatchObject([
      { value: { ok: true } },
      { reason: { code: 'ledger_corrupt' } },
      { value: { ok: true } },
    ])
    expect(await ledger.node(broken.id)).toBeUndefined()
    expect((await ledger.account(root.id))?.allotted).toBe(20)
    expect(Math.max(...told)).toBe((await ledger.feed(run.id, 0, 100)).length)
    await verified(ledger)
  })

  it('loses nothing on a full disk: what does not fit has not happened', async () => {
    const ledger = await open()
    const { root } = await startRun(ledger, { nodes: 10_000 })
    await ledger.close()
    const pages = raw((db) => Number(db.prepare('PRAGMA page_count').get()?.page_count))
    const tight = await open({ maxPages: pages + 8 })
    const give = (i: number) =>
      tight.execute('split', aSplit(aChild(root, `c${i}`, { ceiling: 1 }), { fanOut: 1_000 }))
    let done = 0
    let fault: unknown
    for (; fault === undefined && done < 400; done += 1) {
      fault = await give(done).then(
        () => undefined,
        (reason: unknown) => reason,
      )
    }
    done -= 1
    expect(done).toBeGreaterThan(0)
    const full = { code: 'store_unavailable', retryable: true }
    expect(fault).toMatchObject(full)
    await expect(Promise.all([give(500), give(501)])).rejects.toMatchObject(full)
    await verified(tight)
    await tight.close()
    const roomy = await open()
    expect((await roomy.account(root.id))?.allotted).toBe(done)
    accepted(await roomy.execute('split', aSplit(aChild(root, 'after'), { fanOut: 1_000 })))
    await verified(roomy)
  })
})

describe('what the tables refuse whoever writes', () => {
  const attempts: readonly [string, string][] = [
    ['changes an event', `UPDATE events SET body = '{}'`],
    ['deletes an event', 'DELETE FROM events'],
    ['replaces an event', 'INSERT OR REPLACE INTO events SELECT * FROM events LIMIT 1'],
    [
      'replaces an event or adds to it',
      `INSERT INTO events SELECT * FROM events WHERE true ORDER BY seq DESC LIMIT 1
       ON CONFLICT DO UPDATE SET body = '{}'`,
    ],
    ['replaces an event by changing another', 'UPDATE OR REPLACE events SET seq = 1'],
    [
      'puts a next event in the place of the first, by its rowid',
      `PRAGMA foreign_keys = OFF;
       INSERT OR REPLACE INTO events (rowid, organisation, stream, seq, prev, hash, body)
       SELECT (SELECT min(rowid) FROM events), organisation, stream, seq + 1, hash,
         'x' || substr(hash, 2), body FROM events ORDER BY seq DESC LIMIT 1`,
    ],
    [
      'leaves out an event',
      `INSERT INTO events SELECT organisation, stream, seq + 5, hash, hash, body FROM events`,
    ],
    [
      'forks a chain',
      `INSERT INTO events SELECT organisation, stream, seq + 1, prev, hash, body FROM events
       ORDER BY seq DESC LIMIT 1`,
    ],
    ['changes an event by another name', `WITH e AS (SELECT 1) UPDATE events SET hash = prev`],
    ['moves an event to another row', 'UPDATE events SET rowid = rowid + 100'],
    [
      'writes an event anew with what it had',
      'INSERT OR REPLACE INTO events (rowid, organisation, stream, seq, prev, hash, body) SELECT rowid, * FROM events',
    ],
    ['changes the feed', 'UPDATE feed SET position = position + 1'],
    ['deletes from the feed', 'DELETE FROM feed'],
    [
      'skips a position',
      `INSERT INTO feed SELECT organisation, run, position + 9, stream, seq FROM feed`,
    ],
    ['makes money', 'UPDATE accounts SET available = available + 1'],
    [
      'goes below nothing',
      'UPDATE accounts SET available = -1, reserved = reserved + available + 1',
    ],
    ['sets a state that does not exist', `UPDATE standings SET state = 'fine'`],
    ['stores a fraction', 'UPDATE accounts SET spent = 0.5'],
    ['pays nothing', 'UPDATE payments SET amount = 0'],
    ['orphans a node', `UPDATE nodes SET run = 'run_none'`],
    [
      'claims a quote twice',
      'INSERT INTO claims SELECT organisation, issuer, jti, payment FROM claims',
    ],
    [
      'uses a proof twice',
      `INSERT INTO proofs SELECT organisation, holder, jti, 'x', 1 FROM proofs`,
    ],
  ]

  it.each(attempts)('refuses one who %s', async (_name, sql) => {
    const ledger = await open()
    const { leaf } = await startChain(ledger)
    await paySubmitted(ledger, leaf)
    const { events } = await verified(ledger)
    expect(() => raw((db) => db.exec(sql))).toThrow(/constraint|never|must|REAL/)
    expect((await verified(ledger)).events).toBe(events)
  })
})

describe('a file whose refusals were taken away', () => {
  const schema = (sql: string) => {
    const db = new DatabaseSync(path, { defensive: false })
    try {
      db.exec(sql)
    } finally {
      db.close()
    }
  }

  it.each([
    ['a trigger was dropped', 'DROP TRIGGER events_kept', 'trigger events_kept'],
    [
      'the schema was written to',
      `PRAGMA writable_schema = ON;
       DELETE FROM sqlite_master WHERE name = 'events_unchanged'`,
      'trigger events_unchanged',
    ],
    [
      'a constraint was edited away',
      `PRAGMA writable_schema = ON;
       UPDATE sqlite_master SET sql = replace(sql, 'available >= 0', '1') WHERE name = 'accounts'`,
      'table accounts',
    ],
    [
      'a trigger was made that deletes',
      `CREATE TRIGGER quiet AFTER INSERT ON feed BEGIN
         DELETE FROM proofs;
       END`,
      'something that this program did not make',
    ],
  ])('is refused at the start where %s', async (_what, sql, named) => {
    const ledger = await open()
    await startChain(ledger)
    await ledger.close()
    schema(sql)
    const error = await open().catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'ledger_corrupt', retryable: false })
    expect(String(error)).toContain(`were changed: ${named}; verify the log`)
  })

  it('and whose last event was then deleted stops its run while it is served', async () => {
    const ledger = await open()
    const { run, leaf } = await startChain(ledger)
    const other = await startChain(ledger, { jti: 'other' })
    raw((db) =>
      db.exec(`PRAGMA foreign_keys = OFF;
        DROP TRIGGER events_kept; DROP TRIGGER feed_kept;
        DELETE FROM events WHERE stream = '${leaf.id}'`),
    )
    await expect(ledger.execute('reserve', aReserve(leaf))).rejects.toMatchObject({
      code: 'ledger_corrupt',
    })
    expect((await ledger.run(run.id))?.halted?.stream).toBe(leaf.id)
    expect((await paySubmitted(ledger, other.leaf)).state).toBe('submitted')
  })

  it('of the gateway’s own stream takes no new runs, and lets those that there are go on', async () => {
    const ledger = await open()
    const { leaf } = await startChain(ledger)
    raw((db) => db.exec('UPDATE gateway_heads SET seq = seq + 1'))
    await expect(startRun(ledger, { jti: 'other' })).rejects.toMatchObject({
      code: 'ledger_corrupt',
    })
    expect((await paySubmitted(ledger, leaf)).state).toBe('submitted')
  })
})

describe('a clock that went back an hour while nobody served', () => {
  it('lets no proof and no quote be used again, and breaks no chain', async () => {
    const back = later(NOW, -3600)
    const first = await open()
    const { leaf } = await startChain(first)
    const paid = aReserve(leaf)
    accepted(await first.execute('reserve', paid))
    accepted(await first.execute('submit', aSubmit(leaf, 'n')))
    await first.close()
    const second = await open()
    expect(await second.execute('reserve', { ...paid, now: back })).toMatchObject({
      payment: { state: 'submitted' },
    })
    const other = { ...aReserve(leaf).proof, jti: paid.proof.jti, attempt: 'another' }
    const note = { stream: leaf.id, type: 'read', data: {}, proof: other, now: back } as const
    expect(await second.execute('note', note)).toEqual({ ok: false, code: 'proof_replayed' })
    const settle = { payment: paid.payment.id, amount: minor(900), railReference: 'r', now: back }
    accepted(await second.execute('settle', settle))
    expect(await verified(second)).toMatchObject({ ok: true, runs: [{ spent: 900 }] })
  })
})

describe('a store that somebody edited', () => {
  it('stops a leaf whose account differs from its last event', async () => {
    const ledger = await open()
    const { planner, leaf } = await startChain(ledger)
    raw((db) =>
      db.exec(`UPDATE accounts SET ceiling = ceiling + 9, available = available + 9
        WHERE node IN ('${leaf.id}', '${planner.id}')`),
    )
    const corrupt = { code: 'ledger_corrupt', retryable: false }
    await expect(ledger.execute('reserve', aReserve(leaf))).rejects.toMatchObject(corrupt)
    const split = aSplit(aChild(planner, 'x'))
    await expect(ledger.execute('split', split)).rejects.toMatchObject(corrupt)
  })

  it('stops a submit from an account that was edited after it was reserved', async () => {
    const ledger = await open()
    const { leaf } = await startChain(ledger)
    accepted(await ledger.execute('reserve', aReserve(leaf)))
    raw((db) =>
      db.exec(`UPDATE accounts SET spent = 0, reserved = 999, available = 1
        WHERE node = '${leaf.id}'`),
    )
    await expect(ledger.execute('submit', aSubmit(leaf, 'n'))).rejects.toMatchObject({
      code: 'ledger_corrupt',
    })
  })

  it('stops where the event itself was edited by somebody who removed the triggers', async () => {
    const ledger = await open()
    const { leaf } = await startChain(ledger)
    raw((db) =>
      db.exec(`DROP TRIGGER events_unchanged;
        UPDATE events SET body = replace(body, '"available":1000', '"available":9000')
        WHERE stream = '${leaf.id}';
        UPDATE accounts SET ceiling = 9000, available = 9000 WHERE node = '${leaf.id}'`),
    )
    await expect(ledger.execute('reserve', aReserve(leaf))).rejects.toMatchObject({
      code: 'ledger_corrupt',
    })
  })
})

describe('organisations', () => {
  it('see nothing of each other in one file', async () => {
    const first = await open({ organisation: 'acme' })
    const { run, root, leaf } = await startChain(first)
    const proof = aProof(leaf)
    const { id } = await paySubmitted(first, leaf, { quoteJti: 'q', proof })
    await first.execute('setStanding', { node: 'gateway', state: 'frozen', by: 'op', now: NOW })
    await first.close()
    const second = await open({ organisation: 'rival' })
    expect(await second.runs({ limit: 10 })).toEqual([])
    expect(await second.run(run.id)).toBeUndefined()
    expect(await second.runByMandate(run.principal, run.jti)).toBeUndefined()
    expect(await second.node(root.id)).toBeUndefined()
    expect(await second.account(root.id)).toBeUndefined()
    expect(await second.token(root.id)).toBeUndefined()
    expect(await second.payment(id)).toBeUndefined()
    expect(await second.payments({ limit: 10 })).toEqual([])
    expect(await second.tree(run.id)).toEqual([])
    expect(await second.feed(run.id, 0, 10)).toEqual([])
    expect(await second.heads()).toEqual([])
    expect(await second.snapshot({ node: leaf.id })).toBeUndefined()
    expect((await second.standing('gateway')).state).toBe('live')
    const own = await startChain(second)
    await paySubmitted(second, own.leaf, { quoteJti: 'q', proof })
    const frozen = { node: 'gateway', state: 'frozen', by: 'op', now: NOW } as const
    expect(accepted(await second.execute('setStanding', frozen)).onTheirWay).toEqual([id])
    await verified(second)
  })
})

describe('proofs', () => {
  it('refuses rather than forgets when it keeps as many as it may', async () => {
    const ledger = await open()
    const { planner, leaf } = await startChain(ledger)
    const other = await addChild(ledger, planner, 'other')
    accepted(await ledger.execute('reserve', aReserve(leaf)))
    raw((db) => db.exec(`UPDATE proof_counts SET count = ${LIMITS.seenProofs - 1}`))
    const proof = aProof(other, 'last')
    accepted(
      await ledger.execute('note', { stream: other.id, type: 'read', data: {}, proof, now: NOW }),
    )
    const full = { ok: false, code: 'proofs_full' }
    expect(await ledger.execute('reserve', aReserve(other))).toEqual(full)
  })
})

describe('the one way to bind and read values', () => {
  const use = <T>(work: (db: Database) => T): T => {
    const db = new Database({ path, lockMs: 50 })
    try {
      return work(db)
    } finally {
      db.close()
    }
  }

  it('refuses a missing value, one too many, and what is neither text nor a whole number', () => {
    use((db) => {
      const sql = 'SELECT ? AS a, ? AS b'
      expect(db.get(sql, 'x', 7)).toEqual({ a: 'x', b: 7 })
      expect(() => db.get(sql, 'x')).toThrow(TypeError)
      expect(() => db.get(sql, 'x', 7, 8)).toThrow(TypeError)
      for (const value of [1.5, Number.NaN, 2 ** 53, undefined, null, new Date(0), {}, true]) {
        expect(() => db.get(sql, 'x', value as never)).toThrow(TypeError)
      }
    })
  })

  it('binds a number as an integer', () => {
    use((db) => {
      expect(db.get('SELECT typeof(?) AS t, ? AS n', 100, 100)).toEqual({ t: 'integer', n: 100 })
    })
  })

  it('refuses to read what it would have to round', () => {
    use((db) => {
      expect(() => db.get('SELECT 9007199254740993 AS n')).toThrow(/safe integer/)
      expect(() => db.get('SELECT NULL AS n')).toThrow(/safe integer/)
      expect(() => db.get('SELECT 0.5 AS n')).toThrow(/safe integer/)
    })
  })
})

describe('killed in the middle of writing', () => {
  const writer = fileURLToPath(new URL('./writer.ts', import.meta.url))

  /** Runs the writer until it has settled some payments, then kills it; what it had acknowledged by then. */
  async function killAfter(count: number, round: number): Promise<PaymentId[]> {
    const args = ['--disable-warning=ExperimentalWarning', writer, path, String(round)]
    const child: ChildProcess = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const acknowledged: PaymentId[] = []
    if (!child.stdout) throw new Error('expected output')
    for await (const line of createInterface({ input: child.stdout })) {
      if (line === 'open') {
        await expect(open()).rejects.toMatchObject({ code: 'store_locked' })
        continue
      }
      if (line.startsWith('pay_') && line.length === 31) acknowledged.push(line as PaymentId)
      if (acknowledged.length === count) child.kill('SIGKILL')
    }
    return acknowledged
  }

  it('keeps every acknowledged payment, and the log verifies', { timeout: 120_000 }, async () => {
    for (const [round, count] of [15, 3, 30].entries()) {
      const acknowledged = await killAfter(count, round)
      expect(acknowledged.length).toBeGreaterThanOrEqual(count)
      const ledger = await open({ lockMs: 5_000 })
      for (const id of acknowledged) {
        expect(await ledger.payment(id)).toMatchObject({ state: 'settled', settledAmount: 7 })
      }
      const { runs } = await verified(ledger)
      expect(runs).toHaveLength(round + 1)
      for (const { ceiling, available, reserved, spent } of runs) {
        expect(available + reserved + spent).toBe(ceiling)
      }
      await ledger.close()
    }
  })
})
