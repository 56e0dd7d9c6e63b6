/**
 * Erases the clear values of a run, part by part: each part is a command of its own and may be sent again, and the
 * event that tells of it comes last, so that it is only said once it is so.
 */
import type { EraseParts } from '../core/erase.ts'
import type { RunId } from '../core/ids.ts'
import type { Ledger, Result } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { RunRecord } from '../core/records.ts'
import { type Clock, nowSeconds } from '../core/time.ts'
import { isMoneyWaiting, isSealed } from './erasure.ts'
import { refused } from './rules.ts'

export type ErasedRun = Result<{ readonly run: RunRecord }>

/** Records of one command: as many as one transaction of every store holds with room to spare. */
const PART = 40

type Item = Partial<Pick<EraseParts, 'nodes' | 'payments' | 'holds' | 'steps'>>

/** Refused with `money_waiting` or `run_live`, and then nothing is touched. Again on an erased run it changes nothing. */
export async function eraseRun(
  ledger: Ledger,
  { run: id, by }: { readonly run: RunId; readonly by: string },
  clock: Clock,
): Promise<ErasedRun> {
  const limit = LIMITS.nodes
  const payments = await ledger.payments({ run: id, limit })
  if (payments.some(isMoneyWaiting)) return refused('money_waiting')
  const run = await ledger.run(id)
  if (run === undefined) return refused('not_found')
  if (!isSealed(run)) return refused('run_live')
  const tree = await ledger.tree(id)
  const holds = await ledger.holds({ run: id, limit: LIMITS.nodes * LIMITS.openHolds })
  const items: Item[] = []
  for (const { node } of tree) {
    const names = await ledger.steps(node.id)
    items.push(...names.map((name) => ({ steps: [{ node: node.id, name }] })))
  }
  items.push(
    ...holds.map((hold) => ({ holds: [hold.id] })),
    ...payments.map((payment) => ({ payments: [payment.id] })),
    ...tree.map(({ node }) => ({ nodes: [node.id] })),
  )
  for (let from = 0; from < items.length; from += PART) {
    const part = items.slice(from, from + PART)
    const wiped = await ledger.execute('eraseParts', {
      run: id,
      nodes: part.flatMap(({ nodes = [] }) => nodes),
      payments: part.flatMap(({ payments: some = [] }) => some),
      holds: part.flatMap(({ holds: some = [] }) => some),
      steps: part.flatMap(({ steps = [] }) => steps),
      now: nowSeconds(clock),
    })
    if (!wiped.ok) return wiped
  }
  const counts = { nodes: tree.length, payments: payments.length, holds: holds.length }
  return ledger.execute('erase', { run: id, by, ...counts, now: nowSeconds(clock) })
}
