/**
 * One plan of a planner, written down before it is followed. An answer that cannot be followed is asked for once more
 * with the reason; after that, and where the model has no answer at all, the scripted planner takes over, and the log
 * says so. It costs nothing, so it plans even where a budget is used up: a person then sees what was not bought.
 */
import { z } from 'zod'
import { ModelFault, NO_USAGE, type Plan, type PlanRequest } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import { type Minor, minus } from '../core/money.ts'
import { planSchema } from '../core/plan.ts'
import type { Account, NodeRecord } from '../core/records.ts'
import { heldTo, worthPlanning } from './again.ts'
import { askAgent, unanswered, usageNote } from './asking.ts'
import { BranchEnded, NoDecision, type Walk } from './context.ts'
import { waitWhileFrozen } from './nodes.ts'
import { type Judged, judge } from './plan.ts'
import { outcomeOf, type Unmet, type WalkResult } from './results.ts'
import { once, unlessAborted } from './steps.ts'

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

export interface ToPlan {
  readonly round: number
  readonly task: string
  /** What the rounds before came to. */
  readonly result: WalkResult
}

interface Asked {
  readonly name: string
  readonly request: PlanRequest
  /** What a further plan may be for; absent in the first round. */
  readonly outcomes?: readonly Unmet[]
  readonly isLast: boolean
}

/** The plan of this round; undefined where there is nothing that another one could help. Throws BranchEnded without one. */
export async function planOnce(
  walk: Walk,
  node: NodeRecord,
  what: ToPlan,
): Promise<Extract<Planned, { kind: 'plan' }> | undefined> {
  const name = `plan-${what.round}`
  const isAnswered = (await walk.ledger.step(node.id, name)) !== undefined
  const account = await accountOf(walk, node)
  const isFirst = what.round === 1
  const outcomes = isFirst ? undefined : worthPlanning(what.result.unmet, account.available)
  if (!isAnswered && outcomes?.length === 0) return undefined
  const request = requestOf(walk, node, account, what.task, outcomes)
  const asked = { name, request, isLast: false, ...(outcomes === undefined ? {} : { outcomes }) }
  const first = await answer(walk, node, asked)
  if (first.kind === 'plan') return first
  const { objection } = first
  const again = { name: `${name}-again`, request: { ...request, objection }, isLast: true }
  const second = await answer(walk, node, { ...asked, ...again })
  if (second.kind === 'plan') return second
  throw new BranchEnded('bad_plan')
}

async function accountOf(walk: Walk, node: NodeRecord): Promise<Account> {
  const account = await walk.ledger.account(node.id)
  if (account === undefined) throw new Fault('ledger_corrupt', 'a node has no account')
  return account
}

function requestOf(
  walk: Walk,
  node: NodeRecord,
  account: Account,
  task: string,
  outcomes: readonly Unmet[] | undefined,
): PlanRequest {
  const { depth, fanOut } = walk.mandate.limits
  const { available, nodesLeft, children } = account
  const used: Minor = minus(account.ceiling, available)
  return {
    task,
    currency: node.currency,
    available,
    depthLeft: depth - (node.path.length - 1),
    nodesLeft,
    fanOut: Math.max(0, fanOut - children),
    payees: walk.payees.filter(({ id }) => node.payees.includes(id)),
    ...(outcomes === undefined ? {} : { outcomes: outcomes.map(outcomeOf), used }),
  }
}

/** One answer, written down with what came of judging it: it is judged against that moment's money. */
const answer = (walk: Walk, node: NodeRecord, asked: Asked): Promise<Planned> =>
  once(walk, {
    node: node.id,
    name: asked.name,
    schema: plannedSchema,
    work: async () => {
      await waitWhileFrozen(walk, node)
      const decided = await modelsAnswer(walk, node, asked)
      return typeof decided === 'string' ? scriptedAnswer(walk, asked, decided) : decided
    },
  })

type NoPlan = NoDecision['reason']

/** What the model says, or why the scripted planner has to say it. */
async function modelsAnswer(walk: Walk, node: NodeRecord, asked: Asked) {
  const { request, isLast } = asked
  let answered: Awaited<ReturnType<typeof ask>>
  const ask = () =>
    askAgent(walk, {
      node: node.id,
      role: 'planner',
      ask: (signal) => walk.agents.plan(request, signal),
    })
  try {
    answered = await ask()
  } catch (error) {
    if (error instanceof NoDecision) return error.reason
    throw error
  }
  const { plan, ...by } = answered
  const judged = judgeAll(plan, asked)
  const objection = typeof judged === 'string' ? judged : judged.objection
  if (typeof judged !== 'string' && (objection === undefined || isLast)) {
    return followed(asked, judged.plan, usageNote(by))
  }
  if (isLast) {
    await unanswered(walk, { node: node.id, role: 'planner', failure: 'bad_plan', ...by })
    return 'bad_plan'
  }
  const data = { ...usageNote(by), step: asked.name, parts: 0 }
  return { value: { kind: 'objection', objection }, note: { type: 'planned', data } } as const
}

async function scriptedAnswer(walk: Walk, asked: Asked, reason: NoPlan) {
  if (walk.fallback === undefined) throw new BranchEnded(reason)
  const { plan, model } = await scriptedPlan(walk, walk.fallback, asked.request, reason)
  const judged = judgeAll(plan, asked)
  if (typeof judged === 'string') throw new BranchEnded('bad_plan')
  return followed(asked, judged.plan, {
    ...usageNote({ usage: NO_USAGE, model }),
    fallback: reason,
  })
}

async function scriptedPlan(
  walk: Walk,
  fallback: NonNullable<Walk['fallback']>,
  request: PlanRequest,
  reason: NoPlan,
) {
  try {
    return await unlessAborted(fallback.plan(request, walk.signal), walk.signal)
  } catch (error) {
    walk.signal.throwIfAborted()
    if (!(error instanceof Fault)) throw error
    walk.onFault?.(error)
    throw new BranchEnded(error instanceof ModelFault ? reason : error.code)
  }
}

function followed(
  { name, request }: Asked,
  plan: Plan,
  by: ReturnType<typeof usageNote> & { readonly fallback?: string },
) {
  const { fanOut, nodesLeft } = request
  const parts = plan.kind === 'parts' ? plan.parts.length : 0
  const note = { type: 'planned', data: { ...by, step: name, parts } } as const
  return { value: { kind: 'plan', plan, fanOut, nodesLeft }, note } as const
}

/** Also whether a further plan is for what it may be for. */
function judgeAll(answered: unknown, { request, outcomes }: Asked): Judged | string {
  const judged = judge(answered, request)
  if (outcomes === undefined || typeof judged === 'string' || judged.plan.kind !== 'parts') {
    return judged
  }
  const held = heldTo(judged.plan, outcomes)
  const objection = judged.objection ?? held.objection
  return { plan: held.plan, ...(objection === undefined ? {} : { objection }) }
}
