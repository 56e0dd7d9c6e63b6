/**
 * The second round, within what came back: parts that failed for want of money are planned again, the smallest first, and a
 * thing that no shop knew is asked for once more by another name. Nothing else would help: a refusal stays one.
 */
import type { PartOutcome, Plan, PlanPart, PlanRequest } from '../../runtime/core/agents.ts'
import { type Minor, minor } from '../../runtime/core/money.ts'
import { limitOf, shares } from './budget.ts'
import { otherName } from './stems.ts'
import type { TaskReading } from './task.ts'

type Lines = Extract<TaskReading, { kind: 'lines' }>

/** Nodes, and children, of one purchase. */
const PURCHASE = 2

interface Short {
  readonly outcome: PartOutcome
  readonly price: number
}

/** Only purchases, and no more of them than there is room for. */
export function replan(request: PlanRequest, reading: Lines): Plan {
  const used = request.used ?? 0
  const cap = reading.most === undefined ? request.available : Math.max(0, reading.most - used)
  const available = Math.min(request.available, cap)
  const outcomes = (request.outcomes ?? []).filter((outcome) => !isCapped(outcome, reading))
  const dear = funded(outcomes, available)
  const left = dear.reduce((sum, { ceiling }) => sum - ceiling, available)
  const parts = [...dear, ...renamed(outcomes, reading, left)]
  const room = Math.floor(Math.min(request.fanOut, request.nodesLeft) / PURCHASE)
  return { kind: 'parts', parts: parts.slice(0, room) }
}

/** Purchases at the price that was seen, with a tenth to spare where there is some: a quote may have moved. */
function funded(outcomes: readonly PartOutcome[], available: number): PlanPart[] {
  let left = available
  const chosen: Short[] = []
  for (const short of shortOnes(outcomes)) {
    if (short.price > left) break
    left -= short.price
    chosen.push(short)
  }
  return chosen.map(({ outcome: { label, need }, price }) => {
    const room = (limitOf(need) ?? Number.MAX_SAFE_INTEGER) - price
    const spare = Math.max(0, Math.min(left, room, Math.ceil(price / 10)))
    left -= spare
    return { kind: 'purchase', label, need, ceiling: minor(price + spare) }
  })
}

/** Failed for money, by an offer that its own limits allow. */
const shortOnes = (outcomes: readonly PartOutcome[]): readonly Short[] =>
  outcomes
    .flatMap((outcome): Short[] => {
      const { reason, cheapest, need } = outcome
      if (reason !== 'over_budget' || cheapest === undefined || cheapest < 1) return []
      if (cheapest > (limitOf(need) ?? Number.MAX_SAFE_INTEGER)) return []
      return [{ outcome, price: cheapest }]
    })
    .sort((a, b) => a.price - b.price)

/** Under another name, once: a need that is not in the task’s own words has had its second name. */
function renamed(outcomes: readonly PartOutcome[], { lines }: Lines, left: number): PlanPart[] {
  const again = outcomes.flatMap(({ reason, label, need }) => {
    const isOwn = lines.some((line) => isLine(line, need))
    const text = reason === 'nothing_found' && isOwn ? otherName(need.text) : undefined
    return text === undefined ? [] : [{ label, need: { ...need, text } }]
  })
  const money = shares(
    again.map(({ need }) => ({ ...need, path: [] })),
    [],
    left,
  )
  return again.flatMap(({ label, need }, i): PlanPart[] => {
    const ceiling: Minor = money[i] ?? minor(0)
    return ceiling < 1 ? [] : [{ kind: 'purchase', label, need, ceiling }]
  })
}

const isLine = (line: Lines['lines'][number], need: PartOutcome['need']): boolean =>
  line.text === need.text && line.quantity === need.quantity

/** Under a heading with a cap only that heading’s planner may plan again. */
const isCapped = ({ need }: PartOutcome, { lines, caps }: Lines): boolean =>
  lines
    .filter((line) => isLine(line, need))
    .some((line) => caps.some((cap) => cap.path.every((name, i) => line.path[i] === name)))
