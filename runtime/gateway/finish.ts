/** The end of a run whose root is closed: the gateway seals the root's last hash, and the run gets its final state. */
import { signSeal } from '../audit/seal.ts'
import { Fault } from '../core/errors.ts'
import type { RunId } from '../core/ids.ts'
import type { RunRecord, RunState } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import { closeSubtree } from '../ledger/closing.ts'
import type { Gate } from './gate.ts'
import { unexpected } from './unexpected.ts'

type FinishGate = Pick<Gate, 'ledger' | 'clock' | 'signer'>

/** The root's head may move between reading and sealing, by a note; the seal is then signed again. */
const TRIES = 5

/**
 * Seals and finishes a run if its root is closed: `cancelled` where it was cancelling, otherwise `state`. Returns the
 * run as it is afterwards, unfinished while money below waits for the rail's word.
 */
export async function finishIfClosed(
  gate: FinishGate,
  id: RunId,
  state: Exclude<RunState, 'running' | 'cancelling'> = 'completed',
  reason?: string,
): Promise<RunRecord> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const run = await gate.ledger.run(id)
    if (run === undefined) throw new Fault('ledger_corrupt', 'a run is missing')
    const root = await gate.ledger.account(run.root)
    const { state: standing } = await gate.ledger.standing(run.root)
    if (run.seal !== undefined || root === undefined || standing !== 'closed') return run
    const now = nowSeconds(gate.clock)
    const result = await gate.ledger.execute('finishRun', {
      run: id,
      state: run.state === 'cancelling' ? 'cancelled' : run.state === 'running' ? state : run.state,
      ...(reason === undefined ? {} : { reason }),
      seal: signSeal(run, root, gate.signer, now),
      now,
    })
    if (result.ok) return result.run
    if (result.code !== 'stale' && result.code !== 'conflict') {
      throw unexpected('finishRun', result.code)
    }
  }
  throw new Fault('internal', 'the root’s head kept moving while its run was sealed')
}

/** Stops a run for good: nothing new from now on, and all that is free comes home. */
export async function cancelRun(gate: FinishGate, id: RunId, by: string) {
  const now = nowSeconds(gate.clock)
  const result = await gate.ledger.execute('finishRun', { run: id, state: 'cancelling', now })
  // A run that has finished some other way stays as it is.
  if (!result.ok) return result
  const closed = await closeSubtree(gate.ledger, result.run.root, by, gate.clock)
  if (!closed.ok) throw unexpected('close', closed.code)
  return { ok: true as const, run: await finishIfClosed(gate, id), waiting: closed.waiting }
}
