/** Closes a node with everything below it, step by step: each step is a command of its own and may be sent again. */
import type { NodeId } from '../core/ids.ts'
import type { Ledger, Result } from '../core/ledger.ts'
import type { Standing } from '../core/records.ts'
import { type Clock, nowSeconds } from '../core/time.ts'

export type Closed = Result<{
  /** `closed`, or `closing` while money below is reserved and waits for the rail's word. */
  readonly standing: Standing
  /** Nodes at or below that are not closed yet; call again when their payments have ended. */
  readonly waiting: readonly NodeId[]
}>

/**
 * Sweeps bottom-up until everything is closed or only waits. The top is marked first: from then on nothing below
 * it is split or reserved, so one pass over the tree as read afterwards is enough.
 */
export async function closeSubtree(
  ledger: Ledger,
  node: NodeId,
  by: string,
  clock: Clock,
): Promise<Closed> {
  const close = (id: NodeId) => ledger.execute('close', { node: id, by, now: nowSeconds(clock) })
  const top = await close(node)
  if (!top.ok) return top
  const record = await ledger.node(node)
  if (top.standing.state === 'closed' || record === undefined) {
    return { ok: true, standing: top.standing, waiting: [] }
  }
  const below = (await ledger.tree(record.run))
    .filter(({ node: { path, id } }) => id !== node && path.includes(node))
    .filter(({ standing }) => standing.state !== 'closed')
    .sort((a, b) => b.node.path.length - a.node.path.length)
  const waiting: NodeId[] = []
  for (const { node: child } of below) {
    const result = await close(child.id)
    if (!result.ok) return result
    if (result.standing.state !== 'closed') waiting.push(child.id)
  }
  const end = await close(node)
  if (!end.ok) return end
  if (end.standing.state !== 'closed') waiting.push(node)
  return { ok: true, standing: end.standing, waiting }
}
