/**
 * One planner's part of the walk: plan, judge the plan, split, carry the parts out side by side, and once more for
 * what only lacked money, out of what came home. Recursive: a branch is walked the same way one level down. Each
 * planner writes down what became of it before it closes, so a resumed walk passes over what has ended.
 */
import { z } from 'zod'
import type { PartOutcome, Plan, PlanPart, PlanRequest } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import { partOutcomeSchema, planSchema } from '../core/plan.ts'
import type { Account, NodeRecord } from '../core/records.ts'
import { BranchEnded, type Walk } from './context.ts'
import { closeNode, makeChild } from './nodes.ts'
import { nodeShares, objectionTo } from './plan.ts'
import { needOf, purchase } from './purchase.ts'
import { askAgent, once, usageNote } from './steps.ts'

/** What became of a planner's task. */
export interface WalkResult {
  readonly bought: number
  readonly unmet: readonly PartOutcome[]
  /** Why the task could not be read: a sentence for a person. */
  readonly unreadable?: string
  /** What ended this branch before its parts could be carried out: a short code of ours. */
  readonly ended?: string
}

const resultSchema: z.ZodType<WalkResult> = z.strictObject({
  bought: z.number().int().min(0),
  unmet: z.array(partOutcomeSchema),
  unreadable: z.string().exactOptional(),
  ended: z.string().exactOptional(),
})

const ROUNDS = 2

/** Walks one planner to its end and writes the result down; what it did not spend then goes home. */
export const walkPlanner = (walk: Walk, node: NodeRecord, task: string): Promise<WalkResult> =>
  once(walk, {
    node: node.id,
    name: 'result',
    schema: resultSchema,
    work: async () => {
      const value = await bounded(walk, () => rounds(walk, node, task))
      const isWorthSaying = value.unmet.length > 0 && value.ended === undefined
      const data = { bought: value.bought, unmet: value.unmet.length }
      return { value, ...(isWorthSaying ? { note: { type: 'unmet', data } } : {}) }
    },
  })

const NOTHING: WalkResult = { bought: 0, unmet: [] }

/**
 * A bound, a stop or a bug that ends this branch ends nothing else, and its money goes home. A fault is not the
 * branch's doing: it passes through, and the walk is taken up again.
 */
async function bounded(walk: Walk, work: () => Promise<WalkResult>): Promise<WalkResult> {
  try {
    return await work()
  } catch (error) {
    walk.signal.throwIfAborted()
    if (error instanceof Fault) throw error
    if (error instanceof BranchEnded) return { ...NOTHING, ended: error.reason }
    walk.onFault?.(error)
    return { ...NOTHING, ended: 'internal' }
  }
}

async function rounds(walk: Walk, node: NodeRecord, task: string): Promise<WalkResult> {
  let result = NOTHING
  for (let round = 1; round <= ROUNDS; round += 1) {
    const account = await accountOf(walk, node)
    if (round > 1 && !couldHelp(result, account)) break
    const request = requestOf(walk, node, {
      task,
      account,
      unmet: round > 1 ? result.unmet : undefined,
    })
    const plan = await planOnce(walk, node, { round, request })
    if (plan.kind === 'unreadable') {
      return round === 1 ? { ...NOTHING, unreadable: plan.reason } : result
    }
    if (plan.parts.length === 0) break
    const shares = nodeShares(plan.parts, account.nodesLeft)
    const ends = await allEnded(
      plan.parts.map((part, i) =>
        carryOut(walk, node, { part, step: `r${round}-p${i + 1}`, nodes: shares[i] ?? 0 }),
      ),
    )
    result = merge(result, plan.parts, ends)
  }
  return result
}

/** Waits for every branch before a fault of one is passed on, so that no branch is ever walked twice at a time. */
async function allEnded(branches: readonly Promise<WalkResult>[]): Promise<WalkResult[]> {
  const ends = await Promise.allSettled(branches)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}

async function accountOf(walk: Walk, node: NodeRecord): Promise<Account> {
  const account = await walk.ledger.account(node.id)
  if (account === undefined) throw new Fault('ledger_corrupt', 'a node has no account')
  return account
}

/** Only money helps a second round, and only where a price is known that what came home can meet. */
const couldHelp = ({ unmet }: WalkResult, { available }: Account): boolean =>
  unmet.some(
    ({ reason, cheapest }) =>
      reason === 'over_budget' && cheapest !== undefined && cheapest <= available,
  )

function requestOf(
  walk: Walk,
  node: NodeRecord,
  {
    task,
    account,
    unmet,
  }: { task: string; account: Account; unmet: WalkResult['unmet'] | undefined },
): PlanRequest {
  const { depth, fanOut } = walk.mandate.limits
  return {
    task,
    currency: node.currency,
    available: account.available,
    depthLeft: depth - (node.path.length - 1),
    nodesLeft: account.nodesLeft,
    fanOut: Math.max(0, fanOut - account.children),
    payees: walk.payees.filter(({ id }) => node.payees.includes(id)),
    ...(unmet === undefined ? {} : { outcomes: unmet }),
  }
}

/** The plan of this round, asked for once more with the reason if it cannot be followed. */
const planOnce = (
  walk: Walk,
  node: NodeRecord,
  { round, request }: { round: number; request: PlanRequest },
): Promise<Plan> =>
  once(walk, {
    node: node.id,
    name: `plan-${round}`,
    schema: planSchema,
    work: async () => {
      const first = await askAgent(walk, (signal) => walk.agents.plan(request, signal))
      const objection = objectionTo(first.plan, request)
      const again =
        objection === undefined
          ? first
          : await askAgent(walk, (signal) => walk.agents.plan({ ...request, objection }, signal))
      if (objection !== undefined && objectionTo(again.plan, request) !== undefined) {
        throw new BranchEnded('bad_plan')
      }
      const parts = again.plan.kind === 'parts' ? again.plan.parts.length : 0
      const data = { ...usageNote(again.usage, again.model), round, parts }
      return { value: again.plan, note: { type: 'planned', data } }
    },
  })

interface ToCarryOut {
  readonly part: PlanPart
  readonly step: string
  readonly nodes: number
}

async function carryOut(
  walk: Walk,
  node: NodeRecord,
  { part, step, nodes }: ToCarryOut,
): Promise<WalkResult> {
  const { label, ceiling } = part
  return bounded(walk, async () => {
    if (part.kind === 'purchase') {
      const { need } = part
      const unmet = await walk.gate.hold(() => purchase(walk, node, { step, label, need, ceiling }))
      return unmet === undefined ? { bought: 1, unmet: [] } : { bought: 0, unmet: [unmet] }
    }
    const child = await makeChild(walk, node, { step, kind: 'planner', label, ceiling, nodes })
    const result = await walkPlanner(walk, child, part.task)
    await closeNode(walk, child.id)
    return result
  })
}

/** What is unmet after a round: what it did not try again, and what it tried in vain. */
function merge(
  before: WalkResult,
  parts: readonly PlanPart[],
  ends: readonly WalkResult[],
): WalkResult {
  const tried = new Set(parts.map(({ label }) => label))
  const left = before.unmet.filter(({ label }) => !tried.has(label))
  const failed = ends.flatMap((end, i) => unmetOf(end, parts[i]?.label ?? ''))
  const bought = ends.reduce((sum, end) => sum + end.bought, before.bought)
  return { bought, unmet: [...left, ...failed] }
}

/** A branch that ended early or could not be read counts as one part that failed. */
function unmetOf({ unmet, ended, unreadable }: WalkResult, label: string): readonly PartOutcome[] {
  const code = ended ?? (unreadable === undefined ? undefined : 'unreadable')
  return code === undefined
    ? unmet
    : [...unmet, { label, need: needOf(label), reason: 'failed', code }]
}
