/** The planner’s role: a task in words becomes parts with ceilings. It names no payee, amount of a price, or URL. */
import type { Model, Plan, PlanRequest } from '../runtime/core/agents.ts'
import { EXPONENTS } from '../runtime/core/money.ts'
import { planSchema } from '../runtime/core/plan.ts'
import { type Asked, ask } from './ask.ts'
import { INSTRUCTIONS } from './instructions.ts'
import type { PlanInput } from './shapes.ts'

/** Asks for a plan; whether it can be followed is the funnel's to judge. */
export function plan(
  model: Model,
  request: PlanRequest,
  signal: AbortSignal,
): Promise<Asked<Plan>> {
  return ask<Plan>(model, {
    role: 'planner',
    instructions: INSTRUCTIONS.planner,
    input: inputOf(request),
    schema: planSchema,
    signal,
  })
}

/** Field by field: what else a request may come to carry is not shown by accident. No page’s text is among it. */
function inputOf(request: PlanRequest): PlanInput {
  const { task, currency, available, depthLeft, nodesLeft, fanOut, payees } = request
  const { outcomes, used, objection } = request
  return {
    task,
    currency,
    minorPerMajor: 10 ** EXPONENTS[currency],
    available,
    depthLeft,
    nodesLeft,
    fanOut,
    payees: payees.map(({ id, name }) => ({ id, name })),
    ...(outcomes === undefined ? {} : { outcomes: outcomes.map(shownOutcome) }),
    ...(used === undefined ? {} : { used }),
    ...(objection === undefined ? {} : { objection }),
  }
}

type Outcome = NonNullable<PlanInput['outcomes']>[number]

const shownOutcome = ({
  label,
  need,
  reason,
  cheapest,
  code,
}: NonNullable<PlanRequest['outcomes']>[number]): Outcome => ({
  label,
  need: { ...need, prefer: [...need.prefer] },
  reason,
  ...(cheapest === undefined ? {} : { cheapest }),
  ...(code === undefined ? {} : { code }),
})
