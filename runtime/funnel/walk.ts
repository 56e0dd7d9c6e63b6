/**
 * One planner's part of the walk: plan, judge the plan, split, carry the parts out side by side, and once more for
 * what only lacked money, out of what came home. Recursive: a branch is walked the same way one level down. Each
 * planner writes down what became of it before it closes, so a resumed walk passes over what has ended.
 */
import { z } from 'zod'
import type { PlanPart, PlanRequest } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import { minus } from '../core/money.ts'
import { planSchema } from '../core/plan.ts'
import type { Account, NodeRecord } from '../core/records.ts'
import { BranchEnded, type Walk } from './context.ts'
import { closeNode, makeChild, waitWhileFrozen } from './nodes.ts'
import { judge, nodeShares, withinRoom } from './plan.ts'
import { purchase } from './purchase.ts'
import { merge, NOTHING, outcomeOf, resultSchema, type WalkResult } from './results.ts'
import { askAgent, once, usageNote } from './steps.ts'

const ROUNDS = 2

/** A secret where a model would have read or written it: the log says so of every planner above. */
const WITHHELD = 'secret_withheld'

/** Walks one planner to its end and writes the result down; what it did not spend then goes home. */
export const walkPlanner = (walk: Walk, node: NodeRecord, task: string): Promise<WalkResult> =>
  once(walk, {
    node: node.id,
    name: 'result',
    schema: resultSchema,
    work: async () => {
      const value = await bounded(walk, () => rounds(walk, node, task))
      const { bought, unmet, ended } = value
      const isWithheld = [ended, ...unmet.map(({ code }) => code)].includes(WITHHELD)
      const isWorthSaying = isWithheld || (unmet.length > 0 && ended === undefined)
      const data = { bought, unmet: unmet.length, ...(isWithheld ? { code: WITHHELD } : {}) }
      return { value, ...(isWorthSaying ? { note: { type: 'unmet', data } } : {}) }
    },
  })

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
    const work = await planOnce(walk, node, { round, task, result })
    if (work === undefined) break
    if (work.plan.kind === 'unreadable') {
      return round === 1 ? { ...NOTHING, unreadable: work.plan.reason } : result
    }
    const { parts } = work.plan
    const shares = nodeShares(parts, work.nodesLeft)
    const fits = withinRoom(parts, work)
    const ends = await allEnded(
      parts.map((part, i) => {
        const step = `r${round}-p${i + 1}`
        if (i >= fits) return Promise.resolve({ ...NOTHING, ended: 'no_room' })
        return carryOut(walk, node, { part, step, nodes: shares[i] ?? 0 })
      }),
    )
    const labels = parts.map(({ label }) => label)
    result = merge(result, labels, ends)
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

interface ToPlan {
  readonly round: number
  readonly task: string
  /** What the round before came to. */
  readonly result: WalkResult
}

function requestOf(
  walk: Walk,
  node: NodeRecord,
  account: Account,
  { round, task, result }: ToPlan,
): PlanRequest {
  const { depth, fanOut } = walk.mandate.limits
  const { available, nodesLeft, children } = account
  const again = {
    outcomes: result.unmet.map(outcomeOf),
    used: minus(account.ceiling, available),
  }
  return {
    task,
    currency: node.currency,
    available,
    depthLeft: depth - (node.path.length - 1),
    nodesLeft,
    fanOut: Math.max(0, fanOut - children),
    payees: walk.payees.filter(({ id }) => node.payees.includes(id)),
    ...(round === 1 ? {} : again),
  }
}

/** A plan that can be followed, with the room that there was for it when it was asked for. */
const plannedSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('plan'),
    plan: planSchema,
    fanOut: z.number().int(),
    nodesLeft: z.number().int(),
  }),
  z.strictObject({ kind: z.literal('objection'), objection: z.string() }),
])
type Planned = z.output<typeof plannedSchema>

/** The plan of this round, asked for once more with the reason if it cannot be followed; undefined without need of one. */
async function planOnce(
  walk: Walk,
  node: NodeRecord,
  what: ToPlan,
): Promise<Extract<Planned, { kind: 'plan' }> | undefined> {
  const name = `plan-${what.round}`
  const isAnswered = (await walk.ledger.step(node.id, name)) !== undefined
  const account = await accountOf(walk, node)
  if (!isAnswered && what.round > 1 && !couldHelp(what.result, account)) return undefined
  const request = requestOf(walk, node, account, what)
  const first = await answer(walk, node, { name, request, isLast: false })
  if (first.kind === 'plan') return first
  const { objection } = first
  const asked = { name: `${name}-again`, request: { ...request, objection }, isLast: true }
  const second = await answer(walk, node, asked)
  if (second.kind === 'plan') return second
  throw new BranchEnded('bad_plan')
}

/** One answer of the planner, written down with what came of judging it: it is judged against that moment's money. */
const answer = (
  walk: Walk,
  node: NodeRecord,
  asked: { readonly name: string; readonly request: PlanRequest; readonly isLast: boolean },
): Promise<Planned> =>
  once(walk, {
    node: node.id,
    name: asked.name,
    schema: plannedSchema,
    work: async () => {
      await waitWhileFrozen(walk, node)
      const { request } = asked
      const { plan, usage, model } = await askAgent(walk, (signal) =>
        walk.agents.plan(request, signal),
      )
      const judged = judge(plan, request)
      const objection = typeof judged === 'string' ? judged : judged.objection
      const isFollowed = typeof judged !== 'string' && (objection === undefined || asked.isLast)
      const { fanOut, nodesLeft } = request
      const value = isFollowed
        ? { kind: 'plan', plan: judged.plan, fanOut, nodesLeft }
        : { kind: 'objection', objection }
      const parts = isFollowed && judged.plan.kind === 'parts' ? judged.plan.parts.length : 0
      const data = { ...usageNote(usage, model), step: asked.name, parts }
      return { value, note: { type: 'planned', data } }
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
      const { places, change } = walk
      const resting: Walk = { ...walk, change: (ms) => places.lend(() => change(ms)) }
      return places.take(() => purchase(resting, node, { step, label, need, ceiling }))
    }
    const child = await makeChild(walk, node, { step, kind: 'planner', label, ceiling, nodes })
    const result = await walkPlanner(walk, child, part.task)
    await closeNode(walk, child.id)
    return result
  })
}
