/**
 * Bringing ends about: what expired, was revoked or belongs to a cancelled run is closed, and a run whose root is closed
 * is sealed. Every step is a command that may be sent again, so a sweep that is cut short is simply repeated. What one
 * run cannot do keeps no other waiting.
 */
import type { NodeId, RunId } from '../core/ids.ts'
import type { NodeState } from '../core/ledger.ts'
import type { RunRecord } from '../core/records.ts'
import { nowSeconds, type Seconds } from '../core/time.ts'
import { closeSubtree } from '../ledger/closing.ts'
import { everyRun } from '../ledger/reads.ts'
import { finishIfClosed } from './finish.ts'
import type { Gate } from './gate.ts'
import { unexpected } from './unexpected.ts'

export interface Swept {
  /** Tops of the subtrees whose closing was begun or carried on. */
  readonly closed: readonly NodeId[]
  readonly finished: readonly RunId[]
}

type SweepGate = Pick<Gate, 'ledger' | 'clock' | 'signer' | 'halted'>

/** One sweep over all runs that have not ended. Throws the first fault after having tried every run. */
export async function sweep(gate: SweepGate): Promise<Swept> {
  const closed: NodeId[] = []
  const finished: RunId[] = []
  const halted: RunId[] = []
  const faults: unknown[] = []
  for await (const run of everyRun(gate.ledger)) {
    if (run.halted !== undefined) halted.push(run.id)
    if (run.seal !== undefined) continue
    try {
      for (const top of await endingTops(gate, run)) {
        const result = await closeSubtree(gate.ledger, top, 'sweeper', gate.clock)
        if (!result.ok) throw unexpected('close', result.code)
        closed.push(top)
      }
      if (await finishSwept(gate, run)) finished.push(run.id)
    } catch (error) {
      // Of a run that was halted it is known, and told as an alarm.
      if (run.halted === undefined) faults.push(error)
    }
  }
  gate.halted.replace(halted)
  if (faults.length > 0) throw faults[0]
  return { closed, finished }
}

/** Runs that the last sweep found halted, for whoever asks often. */
export function haltedRuns() {
  let last: readonly RunId[] = []
  return {
    get runs(): readonly RunId[] {
      return last
    },
    replace(runs: readonly RunId[]): void {
      last = runs
    },
  }
}

/** The funnel finishes its own runs with the reasons that it knows; all others end here. */
async function finishSwept(gate: SweepGate, run: RunRecord): Promise<boolean> {
  const isExpired = run.expiresAtSeconds <= nowSeconds(gate.clock)
  const root = await gate.ledger.node(run.root)
  const isOurs = run.state === 'cancelling' || isExpired || root?.custody === 'outside'
  if (!isOurs) return false
  const after = isExpired
    ? await finishIfClosed(gate, run.id, 'completed', 'the mandate has expired')
    : await finishIfClosed(gate, run.id)
  return after.seal !== undefined
}

/** The topmost nodes that must end: below them everything ends with them. */
async function endingTops(gate: SweepGate, run: RunRecord): Promise<readonly NodeId[]> {
  const now = nowSeconds(gate.clock)
  const states = await gate.ledger.tree(run.id)
  const ending = new Set(states.filter((state) => mustEnd(state, run, now)).map(idOf))
  return states
    .filter(
      (state) =>
        ending.has(idOf(state)) && !state.node.path.slice(0, -1).some((id) => ending.has(id)),
    )
    .map(idOf)
}

const idOf = ({ node }: NodeState): NodeId => node.id

function mustEnd({ node, standing }: NodeState, run: RunRecord, now: Seconds): boolean {
  if (standing.state === 'closed') return false
  const isCancelled = run.state === 'cancelling' && node.parent === undefined
  const isStopped = standing.state === 'revoked' || standing.state === 'closing'
  return isCancelled || isStopped || node.expiresAtSeconds <= now
}
