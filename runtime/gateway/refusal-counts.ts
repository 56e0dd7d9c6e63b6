/**
 * Refusals by checks 1 and 2: whoever caused them has proved nothing, so each is only counted. The counts are flushed
 * as one note to the gateway's stream; a flood of bad requests lengthens no chain and fills no disk.
 */
import type { DenialCode } from '../core/codes.ts'
import type { Ledger } from '../core/ledger.ts'
import type { Seconds } from '../core/time.ts'
import { noteAct } from './acts.ts'

export interface RefusalCounts {
  add(code: DenialCode): void
  /** Counted since the start, by code. */
  readonly totals: ReadonlyMap<DenialCode, number>
  /** Counted and not flushed yet, by code. */
  readonly pending: ReadonlyMap<DenialCode, number>
  /** Writes what was counted as one note, or nothing; what could not be written is kept. */
  flush(ledger: Ledger, now: Seconds): Promise<void>
}

export function refusalCounts(): RefusalCounts {
  const pending = new Map<DenialCode, number>()
  const totals = new Map<DenialCode, number>()
  const add = (code: DenialCode, n: number) => pending.set(code, (pending.get(code) ?? 0) + n)
  return {
    pending,
    totals,
    add: (code) => {
      add(code, 1)
      totals.set(code, (totals.get(code) ?? 0) + 1)
    },
    flush: async (ledger, now) => {
      const counted = [...pending]
      if (counted.length === 0) return
      pending.clear()
      try {
        const data = { act: 'refused_before_identity', ...Object.fromEntries(counted) }
        await noteAct(ledger, data, now)
      } catch (error) {
        for (const [code, n] of counted) add(code, n)
        throw error
      }
    },
  }
}
