/**
 * Clear values beside the log, for whoever may see them: one line for each, with the salt by which it is held against the
 * digest that an event has of it. What was erased has no line.
 */
import type { RunId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { ERASED, linesText, type SideRecord, saltOf } from '../core/personal.ts'
import type { NodeRecord, PaymentRecord, RunRecord } from '../core/records.ts'

/** The side records of one run, of the root's mandate first. Nodes of before salts have only what carries its own. */
export async function* sidesOf(ledger: Ledger, id: RunId): AsyncGenerator<SideRecord, void> {
  const run = await ledger.run(id)
  if (run === undefined) return
  if (run.erasedAtSeconds === undefined) yield mandateOf(run)
  const nodes = new Map<string, NodeRecord>()
  for (const { node } of await ledger.tree(id)) {
    nodes.set(node.id, node)
    yield* salted(node, node.id, 'label', node.label)
  }
  for (const payment of await ledger.payments({ run: id, limit: LIMITS.nodes })) {
    yield* ofPayment(payment, nodes.get(payment.node))
  }
}

const mandateOf = ({ id, mandate }: RunRecord): SideRecord => ({
  of: id,
  what: 'mandate',
  salt: '',
  value: mandate,
})

function* salted(
  { salt }: Pick<NodeRecord, 'salt'>,
  of: string,
  what: 'label' | 'account' | 'lines',
  value: string,
): Generator<SideRecord, void> {
  if (salt !== undefined) yield { of, what, salt: saltOf(salt, what), value }
}

function* ofPayment(
  payment: PaymentRecord,
  node: NodeRecord | undefined,
): Generator<SideRecord, void> {
  const { id, account, resolution, regained } = payment
  if (account === ERASED) return
  if (node !== undefined) {
    yield* salted(node, id, 'account', account)
    yield* salted(node, id, 'lines', linesText(payment))
  }
  for (const said of [resolution, regained]) {
    if (said !== undefined) {
      yield { of: id, what: 'evidence', salt: said.salt, value: said.evidence }
    }
  }
}
