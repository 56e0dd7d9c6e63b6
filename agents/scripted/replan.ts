/** The second round: parts that failed for want of money are planned again, the smallest first, within what came back. */
import type { PartOutcome, Plan, PlanPart, PlanRequest } from '../../runtime/core/agents.ts'
import { minor } from '../../runtime/core/money.ts'
import { limitOf } from './budget.ts'
import type { TaskReading } from './task.ts'

interface Short {
  readonly outcome: PartOutcome
  readonly price: number
}

/** Purchases at the price that was seen, with a tenth to spare where there is some: a quote may have moved. */
export function replan(
  request: PlanRequest,
  reading: Extract<TaskReading, { kind: 'lines' }>,
): Plan {
  const used = request.used ?? 0
  const cap = reading.most === undefined ? request.available : Math.max(0, reading.most - used)
  let left = Math.min(request.available, cap)
  const chosen: { short: Short; ceiling: number }[] = []
  for (const short of shortOnes(request.outcomes ?? [], reading)) {
    if (short.price > left) break
    left -= short.price
    chosen.push({ short, ceiling: short.price })
  }
  const parts = chosen.map(({ short, ceiling }): PlanPart => {
    const room = Math.min(limitOf(short.outcome.need) ?? Number.MAX_SAFE_INTEGER) - ceiling
    const spare = Math.max(0, Math.min(left, room, Math.ceil(short.price / 10)))
    left -= spare
    const { label, need } = short.outcome
    return { kind: 'purchase', label, need, ceiling: minor(ceiling + spare) }
  })
  return { kind: 'parts', parts }
}

/** Failed for money, by an offer that its own limits allow; under a heading with a cap only that heading’s planner may. */
function shortOnes(
  outcomes: readonly PartOutcome[],
  reading: Extract<TaskReading, { kind: 'lines' }>,
): readonly Short[] {
  return outcomes
    .flatMap((outcome): Short[] => {
      const { cheapest, need } = outcome
      if (outcome.reason !== 'over_budget' || cheapest === undefined || cheapest < 1) return []
      if (cheapest > (limitOf(need) ?? Number.MAX_SAFE_INTEGER)) return []
      return isCapped(outcome, reading) ? [] : [{ outcome, price: cheapest }]
    })
    .sort((a, b) => a.price - b.price)
}

const isCapped = (
  { need }: PartOutcome,
  { lines, caps }: Extract<TaskReading, { kind: 'lines' }>,
): boolean =>
  lines
    .filter((line) => line.text === need.text && line.quantity === need.quantity)
    .some((line) => caps.some((cap) => cap.path.every((name, i) => line.path[i] === name)))
