/** What the monitor is told: the facts of the rules, and the principal's, the operator's and our own planner's words. */
import type { MonitorFacts } from '../core/judges.ts'
import type { Caller } from './identify.ts'
import type { Purchase } from './purchase.ts'

export function monitorFactsOf(
  { snapshot, node }: Pick<Caller<unknown>, 'snapshot' | 'node'>,
  { facts, mandate, binding, provenance }: Purchase,
): MonitorFacts {
  const record = snapshot.path.find(({ id }) => id === node.node)
  return {
    ...facts,
    task: mandate.task,
    // An outside planner may have read a page, and its words with it.
    ...(record?.custody === 'funnel' ? { label: record.label } : {}),
    payeeName: binding.name,
    ceiling: mandate.ceiling,
    ...(mandate.perPayment === undefined ? {} : { perPayment: mandate.perPayment }),
    provenance,
  }
}
