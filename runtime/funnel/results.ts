/** What becomes of parts: bought, unmet with a reason, or unsure while the rail has not spoken. */
import { z } from 'zod'
import type { PartOutcome } from '../core/agents.ts'
import { type PaymentId, paymentIdSchema } from '../core/ids.ts'
import { partOutcomeSchema } from '../core/plan.ts'
import type { Walk } from './context.ts'

/** What was not bought. */
export interface Unmet extends PartOutcome {
  /** A planner's sentence about a task that it could not read: for people, never for another planner. */
  readonly sentence?: string
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

const unmetSchema = partOutcomeSchema.extend({ sentence: z.string().max(500).exactOptional() })

export const resultSchema: z.ZodType<WalkResult> = z.strictObject({
  bought: z.number().int().min(0),
  unmet: z.array(unmetSchema),
  unsure: z.array(z.strictObject({ payment: paymentIdSchema, unmet: unmetSchema })),
  unreadable: z.string().exactOptional(),
  ended: z.string().exactOptional(),
})

export const NOTHING: WalkResult = { bought: 0, unmet: [], unsure: [] }

/** As a planner is told of it: typed fields only. */
export const outcomeOf = ({ sentence: _sentence, ...outcome }: Unmet): PartOutcome => outcome

/** A part that was never a purchase is named by its label. */
export const failed = (label: string, code: string): Unmet => ({
  label,
  need: { text: label, quantity: 1, prefer: [] },
  reason: 'failed',
  code,
})

/** A branch that ended early or could not be read is one part that failed, beside what failed below it. */
function unmetOf({ unmet, ended, unreadable }: WalkResult, label: string): readonly Unmet[] {
  if (ended !== undefined) return [...unmet, failed(label, ended)]
  if (unreadable === undefined) return unmet
  return [...unmet, { ...failed(label, 'unreadable'), sentence: unreadable }]
}

/** The sum of a round: what came before, less what it tried again, and what came of its parts. */
export function merge(
  before: WalkResult,
  labels: readonly string[],
  ends: readonly WalkResult[],
): WalkResult {
  const tried = [...labels]
  const left = before.unmet.filter(({ label, reason }) => {
    const at = reason === 'over_budget' ? tried.indexOf(label) : -1
    if (at >= 0) tried.splice(at, 1)
    return at < 0
  })
  return {
    bought: ends.reduce((sum, end) => sum + end.bought, before.bought),
    unmet: [...left, ...ends.flatMap((end, i) => unmetOf(end, labels[i] ?? ''))],
    unsure: [...before.unsure, ...ends.flatMap(({ unsure }) => unsure)],
  }
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
