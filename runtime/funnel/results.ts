/** What becomes of parts: bought, unmet with a reason, or unsure while the rail has not spoken. */
import { z } from 'zod'
import type { PartOutcome, PlanPart } from '../core/agents.ts'
import { type PaymentId, paymentIdSchema } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { partOutcomeSchema } from '../core/plan.ts'
import type { Walk } from './context.ts'

/** What was not bought. */
export interface Unmet extends PartOutcome {
  /** A planner's sentence about a task that it could not read: for people, never for another planner. */
  readonly sentence?: string
  /** Of a branch that came to nothing before any part of it was carried out, and the task that it had. */
  readonly isBranch?: true
  readonly task?: string
  /** It was put to a planner again, whatever came of that: other words are tried once. */
  readonly isReplanned?: true
}

/** A payment whose outcome the walk did not wait for; the rail's word decides what it was. */
export interface Unsure {
  readonly payment: PaymentId
  readonly unmet: Unmet
}

/** What became of a planner's task. */
export interface WalkResult {
  readonly bought: number
  readonly unmet: readonly Unmet[]
  readonly unsure: readonly Unsure[]
  /** Why the task could not be read: a sentence for a person. */
  readonly unreadable?: string
  /** What ended this branch before its parts could be carried out: a short code of ours. */
  readonly ended?: string
}

const unmetSchema = partOutcomeSchema.extend({
  sentence: z.string().max(500).exactOptional(),
  isBranch: z.literal(true).exactOptional(),
  task: z.string().max(LIMITS.taskChars).exactOptional(),
  isReplanned: z.literal(true).exactOptional(),
})

export const resultSchema: z.ZodType<WalkResult> = z.strictObject({
  bought: z.number().int().min(0),
  unmet: z.array(unmetSchema),
  unsure: z.array(z.strictObject({ payment: paymentIdSchema, unmet: unmetSchema })),
  unreadable: z.string().exactOptional(),
  ended: z.string().exactOptional(),
})

export const NOTHING: WalkResult = { bought: 0, unmet: [], unsure: [] }

/** As a planner is told of it: typed fields only, and none that are our own. */
export function outcomeOf(unmet: Unmet): PartOutcome {
  const { label, need, reason, cheapest, code } = unmet
  return {
    label,
    need,
    reason,
    ...(cheapest === undefined ? {} : { cheapest }),
    ...(code === undefined ? {} : { code }),
  }
}

/** A part that was never carried out as a purchase. */
function failed(part: PlanPart, code: string): Unmet {
  const { label } = part
  if (part.kind === 'purchase') return { label, need: part.need, reason: 'failed', code }
  const need = { text: label, quantity: 1, prefer: [] }
  return { label, need, reason: 'failed', code, isBranch: true, task: part.task }
}

/** A branch that ended early or could not be read is one part that failed, beside what failed below it. */
function unmetOf({ unmet, ended, unreadable }: WalkResult, part: PlanPart): readonly Unmet[] {
  if (ended !== undefined) return [...unmet, failed(part, ended)]
  if (unreadable === undefined) return unmet
  return [...unmet, { ...failed(part, 'unreadable'), sentence: unreadable }]
}

/** What came of the parts of a first plan. */
export function firstResult(parts: readonly PlanPart[], ends: readonly WalkResult[]): WalkResult {
  return {
    bought: ends.reduce((sum, end) => sum + end.bought, 0),
    unmet: ends.flatMap((end, i) => {
      const part = parts[i]
      return part === undefined ? [] : unmetOf(end, part)
    }),
    unsure: ends.flatMap(({ unsure }) => unsure),
  }
}

/** The sum of a further round: what came before, less what it tried again, and what came of its parts. */
export function merge(
  before: WalkResult,
  parts: readonly PlanPart[],
  ends: readonly WalkResult[],
): WalkResult {
  const now = firstResult(parts, ends)
  const left = [...before.unmet]
  for (const { label } of parts) {
    const same = left.filter((unmet) => unmet.label === label)
    const open = same.find(({ reason, isReplanned }) => reason === 'over_budget' || !isReplanned)
    const tried = open ?? same[0]
    if (tried !== undefined) left.splice(left.indexOf(tried), 1)
  }
  const unmet = [...left, ...now.unmet].map((part): Unmet => ({ ...part, isReplanned: true }))
  return { bought: before.bought + now.bought, unmet, unsure: [...before.unsure, ...now.unsure] }
}

/** Once nothing is reserved any more, what was unsure is either bought or unmet. */
export async function resolved(walk: Walk, result: WalkResult): Promise<WalkResult> {
  const unmet = [...result.unmet]
  let { bought } = result
  for (const unsure of result.unsure) {
    const payment = await walk.ledger.payment(unsure.payment)
    if (payment?.state === 'settled') bought += 1
    else unmet.push(unsure.unmet)
  }
  return { ...result, bought, unmet, unsure: [] }
}
