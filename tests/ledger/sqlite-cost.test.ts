/** What a command asks of the embedded store: counted, never timed. */
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CommandName, Commands } from '../../runtime/core/ledger.ts'
import type { NodeRecord } from '../../runtime/core/records.ts'
import { keyText } from '../../runtime/ledger/draft.ts'
import { readFrom } from '../../runtime/ledger/reads.ts'
import { Database, type Row, type Value } from '../../runtime/ledger/sqlite-database.ts'
import { SqliteRows } from '../../runtime/ledger/sqlite-rows.ts'
import { decide } from '../../runtime/ledger/transitions.ts'
import { aChild, accepted, aPayment, aReserve, aRun, aSplit, NOW } from '../support/ledger.ts'
import { temporaryFolder } from '../support/sqlite.ts'

/** Remembers what it is asked. */
class Recording extends Database {
  readonly asked: string[] = []

  override get(sql: string, ...values: readonly Value[]): Row | undefined {
    this.asked.push(sql)
    return super.get(sql, ...values)
  }

  override all(sql: string, ...values: readonly Value[]): Row[] {
    this.asked.push(sql)
    return super.all(sql, ...values)
  }

  override run(sql: string, ...values: readonly Value[]): void {
    this.asked.push(sql)
    super.run(sql, ...values)
  }
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let db: Recording
let rows: SqliteRows

beforeEach(async () => {
  folder = await temporaryFolder()
  db = new Recording({ path: join(folder.path, 'ledger.db'), lockMs: 50 })
  rows = new SqliteRows(db, 'acme')
  // One transaction for all: what is counted is not what is durable.
  db.run('BEGIN IMMEDIATE')
})
afterEach(async () => {
  db.run('ROLLBACK')
  db.close()
  await folder.remove()
})

function execute<K extends CommandName>(name: K, input: Commands[K]['input']) {
  const { result, draft } = decide<K>(name, input, { organisation: 'acme', load: rows.load })
  if (draft) rows.apply(draft)
  return accepted(result)
}

function split(parent: NodeRecord, step: string, kind: NodeRecord['kind'] = 'leaf'): NodeRecord {
  const ceiling = kind === 'planner' ? 10_000 : 10
  const child = aChild(parent, step, { kind, ceiling })
  execute('split', aSplit(child, { fanOut: 1_000, nodes: kind === 'planner' ? 500 : 0 }))
  return child
}

function root(): NodeRecord {
  const { run, root: node } = aRun()
  execute('createRun', { run, root: node, token: 'root token', nodes: 5_000, now: NOW })
  return node
}

/** One leaf's whole payment with what the gateway reads for it; the statements in order. */
function payFor(leaf: NodeRecord): readonly string[] {
  const { id } = aPayment(leaf)
  const from = db.asked.length
  const request = { node: leaf.id, payment: id, claim: { issuer: 'corner-shop', jti: 'q' } }
  readFrom(rows, 'snapshot', [request])
  execute('reserve', aReserve(leaf, { nonce: 'n', uses: [{ key: 'day' }] }))
  const amount = aPayment(leaf).amount
  execute('settle', { payment: id, amount, railReference: 'r', now: NOW })
  return db.asked.slice(from)
}

describe('a payment', () => {
  it('asks the same, word for word, beside one sibling and beside three hundred', () => {
    const planner = split(root(), 'planner', 'planner')
    const first = split(planner, 'first')
    split(planner, 'sibling')
    const beside = payFor(first)
    for (let i = 0; i < 300; i += 1) split(planner, `sibling ${i}`)
    expect(payFor(split(planner, 'last'))).toEqual(beside)
    // A bound with room for one more document of a kind: whoever passes it should know.
    expect(beside.length).toBeLessThan(50)
  })

  it('finds every row by an index', () => {
    const planner = split(root(), 'planner', 'planner')
    const leaf = split(planner, 'leaf')
    payFor(leaf)
    execute('close', { node: leaf.id, by: 'op', now: NOW })
    const asked = new Set(db.asked.filter((sql) => !/^(BEGIN|COMMIT|ROLLBACK)/.test(sql)))
    expect(asked.size).toBeGreaterThan(20)
    for (const sql of asked) {
      const plan = db.all(`EXPLAIN QUERY PLAN ${sql.replaceAll('?', '0')}`)
      const scans = plan.filter(({ detail }) => /^SCAN (?!CONSTANT ROW)/.test(String(detail)))
      expect({ sql, scans }).toEqual({ sql, scans: [] })
    }
  })
})

describe('a split', () => {
  it('asks the same from a parent of one child and from one of three hundred', () => {
    const planner = split(root(), 'planner', 'planner')
    split(planner, 'first')
    const asked = (step: string) => {
      const from = db.asked.length
      split(planner, step)
      return db.asked.slice(from)
    }
    const second = asked('second')
    for (let i = 0; i < 300; i += 1) split(planner, `sibling ${i}`)
    expect(asked('last')).toEqual(second)
  })
})

describe('the texts of keys', () => {
  it('meet only where every part is the same', () => {
    const parts = ['', ' ', 'a', '1', '1 a', 'a 1 a', ' 1 a', 'a 1', '3 a 1', '\u{1f600}', '\n']
    const ids = parts.flatMap((one) => [[one], ...parts.map((two) => [one, two])])
    const texts = ids.map((id) => keyText({ doc: 'claim', id }))
    expect(new Set(texts).size).toBe(ids.length)
  })
})
