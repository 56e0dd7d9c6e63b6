/** Writes the log out as text: one line of JSON for each event, stream by stream, each with its exact hashed bytes. */
import type { RunId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { sidesOf } from './sides.ts'

/**
 * Lines `{"hash":…,"body":"<exact text>"}` without line ends, of one run or of everything. Each stream is read up to
 * the head that it had when the export began. The gateway's own stream is part of a whole export only.
 */
export async function* exportLog(ledger: Ledger, run?: RunId): AsyncGenerator<string, void> {
  for (const { stream, head } of await ledger.heads(run)) {
    for (let after = 0; after < head.seq; ) {
      const limit = Math.min(LIMITS.pageItems, head.seq - after)
      const events = await ledger.events(stream, after, limit)
      for (const { hash, body } of events) yield JSON.stringify({ hash, body })
      if (events.length === 0) break
      after += events.length
    }
  }
}

/** Lines `{"side":{of, what, salt, value}}` without line ends: what belongs to no log that is handed on without need. */
export async function* exportSides(
  ledger: Ledger,
  runs: AsyncIterable<RunId> | Iterable<RunId>,
): AsyncGenerator<string, void> {
  for await (const run of runs) {
    for await (const side of sidesOf(ledger, run)) yield JSON.stringify({ side })
  }
}
