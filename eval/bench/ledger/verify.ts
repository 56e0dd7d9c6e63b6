/**
 * The verifier over a long log beside the hashing of the same texts, ten thousand lines of one and then of the other.
 * The log is made while it is read and what that takes is nobody's time, so its lines are never all in memory.
 */
import { hash } from 'node:crypto'
import { resourceUsage } from 'node:process'
import { type AuditVerdict, verifyExport } from '../../../runtime/audit/verify.ts'
import { copiesOf, writeRun } from './log.ts'

export interface VerifyOrder {
  readonly events: number
  readonly links: boolean
}

export interface Verified {
  readonly events: number
  readonly streams: number
  readonly verifySeconds: number
  readonly hashSeconds: number
  readonly bytes: number
  /** Of the whole process, with what it takes to make the log. */
  readonly peakBytes: number
}

/** Leaves of each run. */
const LEAVES = 50
const CHUNK = 10_000

export async function measureVerify({ events, links }: VerifyOrder): Promise<Verified> {
  const run = await writeRun(LEAVES)
  // Whole runs: a log that ends within one has nodes whose parents do not know of their end.
  const total = Math.ceil(events / run.length) * run.length
  const source = copiesOf(run)
  let [hashMs, madeMs, bytes] = [0, 0, 0]
  function* lines(): Generator<string, void> {
    for (let left = total; left > 0; left -= CHUNK) {
      const started = performance.now()
      const chunk = Array.from({ length: Math.min(CHUNK, left) }, () => source.next().value)
      const hashing = performance.now()
      for (const { body } of chunk) hash('sha256', body, 'base64url')
      const hashed = performance.now()
      hashMs += hashed - hashing
      for (const { body } of chunk) bytes += body.length
      madeMs += performance.now() - started
      for (const { line } of chunk) yield line
    }
  }
  const started = performance.now()
  const verdict = verifyExport(lines(), { links })
  const verifyMs = performance.now() - started - madeMs
  assertHolds(verdict, total)
  return {
    events: verdict.events,
    streams: verdict.streams,
    verifySeconds: verifyMs / 1000,
    hashSeconds: hashMs / 1000,
    bytes,
    peakBytes: resourceUsage().maxRSS * 1024,
  }
}

function assertHolds({ ok, events, broken }: AuditVerdict, total: number): void {
  if (ok && events === total) return
  throw new Error(`expected a log that verifies, not one that is broken: ${broken?.why ?? events}`)
}
