/** Judging a plan before any money is split: a plan is data from a model, and believed only as far as it adds up. */
import type { Plan, PlanPart, PlanRequest } from '../core/agents.ts'
import { planSchema } from '../core/plan.ts'

/** Nodes, and children, that one purchase makes: a looker and a leaf. */
const PURCHASE_NODES = 2

type Room = Pick<PlanRequest, 'fanOut' | 'nodesLeft'>

export interface Judged {
  readonly plan: Plan
  /** Why the planner should think again, as a sentence for it. */
  readonly objection?: string
}

/** The plan as data with what is wrong with it, if anything; undefined where it cannot be followed at all. */
export function judge(answer: unknown, request: PlanRequest): Judged | string {
  const read = planSchema.safeParse(answer)
  if (!read.success) return 'expected a plan of the documented shape'
  const plan = read.data
  if (plan.kind === 'unreadable') return { plan }
  const { parts } = plan
  if (parts.length === 0 && request.outcomes === undefined) return 'expected at least one part'
  const sum = parts.reduce((total, { ceiling }) => total + ceiling, 0)
  if (sum > request.available) return 'expected the ceilings to add up to no more than available'
  const isTooDeep = request.depthLeft < 2 && parts.some(({ kind }) => kind === 'branch')
  if (isTooDeep) return 'expected only purchases at this depth'
  const fits = withinRoom(parts, request)
  if (fits < parts.length) {
    return { plan, objection: 'expected no more parts than fanOut and nodesLeft allow' }
  }
  return { plan }
}

const childrenOf = ({ kind }: PlanPart): number => (kind === 'branch' ? 1 : PURCHASE_NODES)

const leastNodes = (part: PlanPart): number =>
  part.kind === 'branch' ? 1 + (part.nodes ?? PURCHASE_NODES) : PURCHASE_NODES

/** How many parts, from the first on, have the children and the nodes that they need. */
export function withinRoom(parts: readonly PlanPart[], { fanOut, nodesLeft }: Room): number {
  let [children, nodes] = [0, 0]
  const over = parts.findIndex((part) => {
    children += childrenOf(part)
    nodes += leastNodes(part)
    return children > fanOut || nodes > nodesLeft
  })
  return over < 0 ? parts.length : over
}

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
