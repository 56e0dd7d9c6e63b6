/** Judging a plan before any money is split: a plan is data from a model, and believed only as far as it adds up. */
import type { Plan, PlanPart, PlanRequest } from '../core/agents.ts'
import { planSchema } from '../core/plan.ts'

/** Nodes that one purchase makes: a looker and a leaf. */
const PURCHASE_NODES = 2

/** Why a plan cannot be followed, as a sentence for the planner; undefined when it can. */
export function objectionTo(plan: Plan, request: PlanRequest): string | undefined {
  const shape = planSchema.safeParse(plan)
  if (!shape.success) return 'expected a plan of the documented shape'
  if (plan.kind === 'unreadable') return undefined
  const { parts } = plan
  if (parts.length === 0 && request.outcomes === undefined) return 'expected at least one part'
  if (parts.some(({ ceiling }) => ceiling < 1)) return 'expected every ceiling to be at least 1'
  const sum = parts.reduce((total, { ceiling }) => total + ceiling, 0)
  if (sum > request.available) return 'expected the ceilings to add up to no more than available'
  const children = parts.reduce(
    (total, part) => total + (part.kind === 'branch' ? 1 : PURCHASE_NODES),
    0,
  )
  if (children > request.fanOut) return 'expected no more parts than fanOut allows'
  const nodes = parts.reduce((total, part) => total + leastNodes(part), 0)
  if (nodes > request.nodesLeft) return 'expected no more nodes than nodesLeft'
  const isTooDeep = request.depthLeft < 2 && parts.some(({ kind }) => kind === 'branch')
  return isTooDeep ? 'expected only purchases at this depth' : undefined
}

const leastNodes = (part: PlanPart): number =>
  part.kind === 'branch' ? 1 + (part.nodes ?? PURCHASE_NODES) : PURCHASE_NODES

/**
 * Nodes for each part of a plan out of what is left: what a branch asked for, and of the rest an equal share, so
 * that fresh looks after an expired quote have room. A purchase makes its nodes at the planner itself.
 */
export function nodeShares(parts: readonly PlanPart[], nodesLeft: number): readonly number[] {
  const least = parts.reduce((total, part) => total + leastNodes(part), 0)
  const branches = parts.filter(({ kind }) => kind === 'branch').length
  // Half of what is spare stays here: for a second round, and for purchases of this planner's own.
  const spare = branches === 0 ? 0 : Math.floor(Math.max(0, nodesLeft - least) / 2 / branches)
  return parts.map((part) => (part.kind === 'branch' ? leastNodes(part) - 1 + spare : 0))
}
