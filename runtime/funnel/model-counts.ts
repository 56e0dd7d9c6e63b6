/** What models were asked since the start of this process, for a scrape: by role, in closed words. */
import { addUsage, NO_USAGE, type Usage } from '../core/agents.ts'
import type { AskedModel, Role, Unanswered } from './context.ts'

export interface ModelCount {
  readonly engine: string
  readonly role: Role
  readonly usage: Usage
  /** Questions without a decision, by why. */
  readonly failures: ReadonlyMap<Unanswered, number>
}

export interface ModelCounts {
  add(asked: AskedModel): void
  all(): readonly ModelCount[]
}

/** Counts for the agents of one engine. */
export function createModelCounts(engine: string): ModelCounts {
  const counts = new Map<Role, { usage: Usage; readonly failures: Map<Unanswered, number> }>()
  return {
    add: ({ role, usage, failure }) => {
      const count = counts.get(role) ?? { usage: NO_USAGE, failures: new Map() }
      count.usage = addUsage(count.usage, usage)
      if (failure !== undefined) {
        count.failures.set(failure, (count.failures.get(failure) ?? 0) + 1)
      }
      counts.set(role, count)
    },
    all: () => [...counts].map(([role, count]) => ({ engine, role, ...count })),
  }
}
