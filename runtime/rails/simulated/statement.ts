/** The simulated rail's list of what moved on its account, oldest first: payouts, what came back of them, and strays. */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { type StatementView, type Stray, statementSchema } from './wire.ts'

export const STATEMENT_SCHEMA = `
CREATE TABLE IF NOT EXISTS return (
  key TEXT NOT NULL PRIMARY KEY REFERENCES payout (key),
  created_at_seconds INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE TABLE IF NOT EXISTS stray (
  id TEXT NOT NULL PRIMARY KEY,
  direction TEXT NOT NULL CHECK (direction IN ('out', 'in')),
  amount INTEGER NOT NULL CHECK (amount > 0),
  currency TEXT NOT NULL,
  created_at_seconds INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
`

const PAGE = 100

/** What came back of itself is what had not been refunded; of before returns were dated, with the payout's own date. */
const ENTRIES = `
  SELECT reference AS id, 'payout' AS type, key, 'out' AS direction, amount, currency,
    'SETTLED' AS status, created_at_seconds AS at FROM payout WHERE state <> 'declined'
  UNION ALL
  SELECT reference, 'refund', key, 'in', amount, currency, 'REFUNDED', created_at_seconds
    FROM refund WHERE state = 'refunded'
  UNION ALL
  SELECT * FROM (
    SELECT payout.reference || '.returned', 'reversal', payout.key, 'in', payout.amount - (
        SELECT coalesce(sum(refund.amount), 0) FROM refund
        WHERE refund.payout = payout.key AND refund.state = 'refunded'
      ) AS amount, payout.currency, 'RETURNED',
      coalesce(return.created_at_seconds, payout.created_at_seconds)
    FROM payout LEFT JOIN return ON return.key = payout.key WHERE payout.state = 'returned'
  ) WHERE amount > 0
  UNION ALL
  SELECT id, 'other', NULL, direction, amount, currency, 'MOVED', created_at_seconds FROM stray`

export function addStray(db: DatabaseSync, { direction, amount, currency }: Stray): string {
  const id = `stray_${randomBytes(12).toString('base64url')}`
  db.prepare('INSERT INTO stray (id, direction, amount, currency) VALUES (?, ?, ?, ?)').run(
    ...([id, direction, BigInt(amount), currency] as const),
  )
  return id
}

/** Whole up to the second that goes on now: nothing is booked with an earlier date. */
export function statementOf(
  db: DatabaseSync,
  of: { readonly from: number; readonly to: number; readonly after?: string | undefined },
): StatementView {
  const [at = 0, id = ''] =
    of.after === undefined
      ? []
      : [Number(of.after.split(' ')[0]), of.after.slice(of.after.indexOf(' ') + 1)]
  const now = Number(db.prepare('SELECT unixepoch() AS now').get()?.now ?? 0)
  const completeUntilSeconds = Math.min(of.to, now)
  const rows = db
    .prepare(
      `SELECT * FROM (${ENTRIES}) WHERE at >= ? AND at < ? AND (at, id) > (?, ?)
       ORDER BY at, id LIMIT ?`,
    )
    .all(of.from, completeUntilSeconds, at, id, PAGE)
  const entries = rows.map(({ at: atSeconds, key, ...row }) => ({
    ...row,
    ...(key === null ? {} : { key }),
    atSeconds,
  }))
  const last = rows.length < PAGE ? undefined : rows.at(-1)
  return statementSchema.parse({
    entries,
    completeUntilSeconds,
    ...(last === undefined ? {} : { next: `${last.at} ${last.id}` }),
  })
}
