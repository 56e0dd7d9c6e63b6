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
import { isOverAuthorisation } from './authorisations.ts'
import { isMoneyWaiting, isSealed } from './erasure.ts'
import { refused } from './rules.ts'

export type ErasedRun = Result<{ readonly run: RunRecord }>

/** Records of one command: as many as one transaction of every store holds with room to spare. */
const PART = 40

type Item = Partial<Pick<EraseParts, 'nodes' | 'payments' | 'holds' | 'steps' | 'authorisations'>>

/**
 * Refused with `money_waiting` or `run_live`, and then nothing is touched; only a refund that is asked for meanwhile ends
 * it half done, and sent again after that it goes on. Again on an erased run it changes nothing.
 */
export async function eraseRun(
  ledger: Ledger,
  { run: id, by }: { readonly run: RunId; readonly by: string },
  clock: Clock,
): Promise<ErasedRun> {
  const limit = LIMITS.nodes
  const payments = await ledger.payments({ run: id, limit })
  const authorisations = await ledger.authorisations({ run: id, limit })
  const isWaiting = payments.some(isMoneyWaiting) || !authorisations.every(isOverAuthorisation)
  if (isWaiting) return refused('money_waiting')
  const run = await ledger.run(id)
  if (run === undefined) return refused('not_found')
  if (!isSealed(run)) return refused('run_live')
  const tree = await ledger.tree(id)
  const wipe = (items: readonly Item[]) => wipeParts(ledger, id, items, clock)
  // Nodes first: from then on nobody writes a step or a hold of one, so what is listed afterwards is all there is.
  const first = await wipe(tree.map(({ node }) => ({ nodes: [node.id] })))
  if (!first.ok) return first
  const holds = await ledger.holds({ run: id, limit: LIMITS.nodes * LIMITS.openHolds })
  const items: Item[] = []
  for (const { node } of tree) {
    const names = await ledger.steps(node.id)
    items.push(...names.map((name) => ({ steps: [{ node: node.id, name }] })))
  }
  items.push(
    ...holds.map((hold) => ({ holds: [hold.id] })),
    ...payments.map((payment) => ({ payments: [payment.id] })),
    ...authorisations.map((each) => ({ authorisations: [each.id] })),
  )
  const rest = await wipe(items)
  if (!rest.ok) return rest
  const counts = { nodes: tree.length, payments: payments.length, holds: holds.length }
  return ledger.execute('erase', { run: id, by, ...counts, now: nowSeconds(clock) })
}

async function wipeParts(
  ledger: Ledger,
  run: RunId,
  items: readonly Item[],
  clock: Clock,
): Promise<Result<object>> {
  for (let from = 0; from < items.length; from += PART) {
    const part = items.slice(from, from + PART)
    const wiped = await ledger.execute('eraseParts', {
      run,
      nodes: part.flatMap(({ nodes = [] }) => nodes),
      payments: part.flatMap(({ payments = [] }) => payments),
      holds: part.flatMap(({ holds = [] }) => holds),
      steps: part.flatMap(({ steps = [] }) => steps),
      authorisations: part.flatMap((each) => each.authorisations ?? []),
      now: nowSeconds(clock),
    })
    if (!wiped.ok) return wiped
  }
  return { ok: true }
}
