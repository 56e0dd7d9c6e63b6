/**
 * How often a monitor is asked. A leaf's questions are written down before they are put, so that neither a restart nor
 * two attempts at once give it more; those of a run and of an hour are counted by this process, for its own bill.
 */
import { Fault } from '../core/errors.ts'
import { freshId, type NodeId, type RunId } from '../core/ids.ts'
import type { MonitorQuota } from '../core/judges.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { type Clock, nowSeconds } from '../core/time.ts'

export interface Quota {
  /** Takes one question of this leaf's; false where somebody's are used up. Throws Fault. */
  take(of: { readonly run: RunId; readonly node: NodeId }): Promise<boolean>
}

const QUESTION = 'monitor-question-'
const HOUR_SECONDS = 3600

export function createQuota(
  { perLeaf, perRun, perHour }: MonitorQuota,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
): Quota {
  // The run that was asked about longest ago stands first.
  const runs = new Map<RunId, number>()
  let hour = { at: 0, count: 0 }

  const thisHour = () => {
    const at = Math.floor(nowSeconds(clock) / HOUR_SECONDS)
    if (at !== hour.at) hour = { at, count: 0 }
    return hour
  }
  const ofRun = (run: RunId): number => runs.get(run) ?? 0

  return {
    async take({ run, node }) {
      if (ofRun(run) >= perRun || thisHour().count >= perHour) return false
      // Counted before the wait below, so that attempts at once do not pass the bound together.
      const used = ofRun(run) + 1
      runs.delete(run)
      runs.set(run, used)
      for (const oldest of runs.keys()) {
        if (runs.size <= LIMITS.monitorRuns) break
        runs.delete(oldest)
      }
      const taken = thisHour()
      taken.count += 1
      if (await takeOfLeaf(ledger, clock, node, perLeaf)) return true
      // A leaf that has none left uses up nobody else's.
      runs.set(run, ofRun(run) - 1)
      taken.count -= 1
      return false
    },
  }
}

async function takeOfLeaf(
  ledger: Ledger,
  clock: Clock,
  node: NodeId,
  perLeaf: number,
): Promise<boolean> {
  const attempt = freshId()
  const names = await ledger.steps(node)
  const before = names.filter((name) => name.startsWith(QUESTION)).length
  for (let n = before + 1; n <= perLeaf; n += 1) {
    const saved = await ledger.execute('saveStep', {
      node,
      name: `${QUESTION}${n}`,
      value: { attempt },
      now: nowSeconds(clock),
    })
    if (!saved.ok && saved.code === 'run_closed') return false
    if (!saved.ok) throw new Fault('internal', `a monitor’s question was refused: ${saved.code}`)
    if (saved.created || isOurs(saved.value, attempt)) return true
  }
  return false
}

/** A store that ran its callback twice finds its own first write. */
const isOurs = (value: unknown, attempt: string): boolean =>
  typeof value === 'object' && value !== null && 'attempt' in value && value.attempt === attempt
