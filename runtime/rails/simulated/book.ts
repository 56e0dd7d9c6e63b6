/**
 * The simulated rail's durable book: what it says about money is committed before it is said. Invariants: one
 * payout for one key, whatever is sent again; a payout never leaves the book; a return is recorded once.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sha256 } from '../../core/ids.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Minor } from '../../core/money.ts'
import { addStray, STATEMENT_SCHEMA, statementOf } from './statement.ts'
import {
  type BookView,
  type Payout,
  type PayoutBody,
  payoutSchema,
  type Refund,
  type RefundBody,
  refundSchema,
  type StatementView,
  type Stray,
} from './wire.ts'

const SCHEMA = `
CREATE TABLE IF NOT EXISTS payout (
  key TEXT NOT NULL PRIMARY KEY,
  body_digest TEXT NOT NULL,
  reference TEXT NOT NULL UNIQUE,
  account TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount > 0),
  currency TEXT NOT NULL,
  note TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('settled', 'declined', 'returned')),
  reason TEXT,
  created_at_seconds INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE TABLE IF NOT EXISTS refund (
  key TEXT NOT NULL PRIMARY KEY,
  body_digest TEXT NOT NULL,
  payout TEXT NOT NULL REFERENCES payout (key),
  reference TEXT NOT NULL UNIQUE,
  amount INTEGER NOT NULL CHECK (amount > 0),
  currency TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('refunded', 'declined')),
  reason TEXT,
  created_at_seconds INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE TABLE IF NOT EXISTS tally (
  name TEXT NOT NULL PRIMARY KEY,
  count INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO tally (name, count) VALUES ('calls', 0), ('unauthorised', 0);
`

const COLUMNS = `key, account, amount, currency, note, reference, state, reason,
  created_at_seconds AS createdAtSeconds`

const REFUND_COLUMNS = `key, payout, amount, currency, reference, state, reason,
  created_at_seconds AS createdAtSeconds`

/** What the rail decides about a new payout: what really moves, or why nothing does. */
export type Decision = Pick<Payout, 'state' | 'amount' | 'currency' | 'reason'>

export type Booked =
  | { readonly kind: 'new' | 'again'; readonly payout: Payout }
  /** The key belongs to another request. */
  | { readonly kind: 'conflict' }

export type BookedRefund =
  | { readonly kind: 'new' | 'again'; readonly refund: Refund }
  | { readonly kind: 'conflict' | 'no_payout' }

export interface RefundToBook {
  readonly payout: string
  readonly body: RefundBody
  /** What a script says in the place of the book's own rules. */
  readonly decision?: { readonly amount: Minor } | { readonly reason: string }
}

interface Job {
  readonly work: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export class Book {
  readonly #db: DatabaseSync
  #queue: Job[] = []
  #calls: number

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    this.#db = new DatabaseSync(join(directory, 'rail.sqlite'), { timeout: 5_000 })
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;')
    const mode = this.#db.prepare('PRAGMA journal_mode').get()?.journal_mode
    const sync = this.#db.prepare('PRAGMA synchronous').get()?.synchronous
    if (mode !== 'wal' || sync !== 2) throw new Error('expected a WAL store with full sync')
    this.#db.exec(SCHEMA + STATEMENT_SCHEMA)
    this.#calls = Number(this.#tally('calls'))
  }

  /** Counts a payout request that arrived; durable with the next write of that request. */
  arrive(): number {
    this.#calls += 1
    return this.#calls
  }

  count(name: 'calls' | 'unauthorised'): Promise<void> {
    return this.#write(() => this.#add(name))
  }

  /** Books a payout, or finds what was booked under its key; counts the call in the same transaction. */
  book(body: PayoutBody, decision: Decision): Promise<Booked> {
    return this.#write(() => {
      this.#add('calls')
      return this.#insert(body, decision)
    })
  }

  /** As `book`, for a request that was counted when it arrived. */
  bookLate(body: PayoutBody, decision: Decision): Promise<Booked> {
    return this.#write(() => this.#insert(body, decision))
  }

  /** Records that the money came back: undefined when there is no such payout, false when it never settled. */
  giveBack(key: string): Promise<Payout | false | undefined> {
    return this.#write(() => {
      const payout = this.find(key)
      if (!payout || payout.state === 'returned') return payout
      if (payout.state !== 'settled') return false
      this.#db.prepare("UPDATE payout SET state = 'returned' WHERE key = ?").run(key)
      this.#db.prepare('INSERT OR IGNORE INTO return (key) VALUES (?)').run(key)
      return { ...payout, state: 'returned' as const }
    })
  }

  /** Books a refund, or finds what was booked under its key: never more of a payout than it moved. */
  refund(asked: RefundToBook): Promise<BookedRefund> {
    return this.#write(() => this.#insertRefund(asked))
  }

  findRefund(key: string): Refund | undefined {
    const row = this.#db.prepare(`SELECT ${REFUND_COLUMNS} FROM refund WHERE key = ?`).get(key)
    return row ? toRefund(row) : undefined
  }

  /** Of one payout, or of all. */
  refunds(payout?: string): readonly Refund[] {
    const rows = this.#db
      .prepare(
        `SELECT ${REFUND_COLUMNS} FROM refund WHERE ?1 IS NULL OR payout = ?1 ORDER BY rowid`,
      )
      .all(payout ?? null)
    return rows.map(toRefund)
  }

  find(key: string): Payout | undefined {
    const row = this.#db.prepare(`SELECT ${COLUMNS} FROM payout WHERE key = ?`).get(key)
    return row ? toPayout(row) : undefined
  }

  view(): BookView {
    const rows = this.#db.prepare(`SELECT ${COLUMNS} FROM payout ORDER BY rowid`).all()
    const sums = this.#db
      .prepare(
        `SELECT currency, sum(amount - (
           SELECT coalesce(sum(refund.amount), 0) FROM refund
           WHERE refund.payout = payout.key AND refund.state = 'refunded'
         )) AS n FROM payout WHERE state = 'settled' GROUP BY 1`,
      )
      .all()
    return {
      calls: this.#tally('calls'),
      unauthorised: this.#tally('unauthorised'),
      payouts: rows.map(toPayout),
      refunds: [...this.refunds()],
      totals: Object.fromEntries(sums.map((row) => [String(row.currency), Number(row.n)])),
    }
  }

  /** Money moves without a request; returns the rail's id of it. */
  stray(of: Stray): Promise<string> {
    return this.#write(() => addStray(this.#db, of))
  }

  statement(of: Parameters<typeof statementOf>[1]): StatementView {
    return statementOf(this.#db, of)
  }

  close(): void {
    this.#flush()
    this.#db.close()
  }

  #insert(body: PayoutBody, decision: Decision): Booked {
    const digest = sha256(canonicalJson(body))
    const known = this.#db.prepare('SELECT body_digest FROM payout WHERE key = ?').get(body.key)
    if (known && known.body_digest !== digest) return { kind: 'conflict' }
    if (!known) {
      this.#db
        .prepare(
          `INSERT INTO payout (key, body_digest, reference, account, amount, currency, note, state, reason)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          body.key,
          digest,
          `sim_${randomBytes(12).toString('base64url')}`,
          body.account,
          BigInt(decision.amount),
          decision.currency,
          body.note,
          decision.state,
          decision.reason ?? null,
        )
    }
    const payout = this.find(body.key)
    if (!payout) throw new Error('expected the payout that was just booked')
    return { kind: known ? 'again' : 'new', payout }
  }

  #insertRefund({ payout: key, body, decision }: RefundToBook): BookedRefund {
    const payout = this.find(key)
    if (!payout) return { kind: 'no_payout' }
    const digest = sha256(canonicalJson({ ...body, payout: key }))
    const row = this.#db.prepare('SELECT body_digest FROM refund WHERE key = ?').get(body.key)
    if (row && row.body_digest !== digest) return { kind: 'conflict' }
    const known = row && this.findRefund(body.key)
    if (known) return { kind: 'again', refund: known }
    const moved = decision !== undefined && 'amount' in decision ? decision.amount : body.amount
    const scripted = decision !== undefined && 'reason' in decision ? decision.reason : undefined
    const reason = scripted ?? this.#whyNot(payout, { ...body, amount: moved })
    this.#db
      .prepare(
        `INSERT INTO refund (key, body_digest, payout, reference, amount, currency, state, reason)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        body.key,
        digest,
        key,
        `simr_${randomBytes(12).toString('base64url')}`,
        BigInt(moved),
        body.currency,
        reason === undefined ? 'refunded' : 'declined',
        reason ?? null,
      )
    const refund = this.findRefund(body.key)
    if (!refund) throw new Error('expected the refund that was just booked')
    return { kind: 'new', refund }
  }

  /** The rail's own reasons against a refund. */
  #whyNot(payout: Payout, { amount, currency }: RefundBody): string | undefined {
    if (payout.state !== 'settled') return 'not_settled'
    if (currency !== payout.currency) return 'another_currency'
    const made = this.refunds(payout.key).filter(({ state }) => state === 'refunded')
    const sum = made.reduce((total, each) => total + each.amount, amount as number)
    return sum > payout.amount ? 'more_than_paid' : undefined
  }

  #add(name: 'calls' | 'unauthorised'): void {
    this.#db.prepare('UPDATE tally SET count = count + 1 WHERE name = ?').run(name)
  }

  #tally(name: string): number {
    return Number(this.#db.prepare('SELECT count FROM tally WHERE name = ?').get(name)?.count ?? 0)
  }

  /** Group commit: what arrives in one turn of the loop shares one sync to disk; each answers only after it. */
  #write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: (value) => resolve(value as T), reject })
      if (this.#queue.length === 1) setImmediate(() => this.#flush())
    })
  }

  #flush(): void {
    const jobs = this.#queue
    this.#queue = []
    if (jobs.length === 0) return
    const answers: (() => void)[] = []
    try {
      this.#db.exec('BEGIN IMMEDIATE')
      for (const job of jobs) answers.push(this.#run(job))
      this.#db.exec('COMMIT')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      for (const job of jobs) job.reject(error)
      return
    }
    for (const answer of answers) answer()
  }

  #run({ work, resolve, reject }: Job): () => void {
    this.#db.exec('SAVEPOINT job')
    try {
      const value = work()
      this.#db.exec('RELEASE job')
      return () => resolve(value)
    } catch (error) {
      this.#db.exec('ROLLBACK TO job; RELEASE job')
      return () => reject(error)
    }
  }
}

const toRefund = ({ reason, ...rest }: Record<string, unknown>): Refund =>
  refundSchema.parse(reason === null ? rest : { ...rest, reason })

/** The store refuses anything else, so a row that does not parse is a bug. */
function toPayout(row: Record<string, unknown>): Payout {
  const { reason, ...rest } = row
  return payoutSchema.parse(reason === null ? rest : { ...rest, reason })
}
