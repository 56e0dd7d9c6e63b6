/**
 * Planning anew for what was not bought. Only parts that another plan can help are put to the planner again, and what
 * it answers is held to them: each once, by its label, in no greater number and within the limits that the task set,
 * and never the same question twice. What was bought, or may have been, is no part of it.
 */
import type { Need, Plan, PlanPart } from '../core/agents.ts'
import { canonicalJson } from '../core/json.ts'
import { type Minor, minor } from '../core/money.ts'
import type { Unmet } from './results.ts'

/**
 * Ends of a part that other words for it can help. Not among them: what a person, a rule, the monitor or a limit has
 * refused. A plan around a no is what those are there to stop.
 */
const OTHER_WORDS_HELP: Readonly<Record<Unmet['reason'], ReadonlySet<string> | 'all' | undefined>> =
  {
    over_budget: undefined,
    nothing_found: 'all',
    // This payee cannot be paid; another may be.
    refused: new Set(['payee', 'declined']),
    failed: new Set(['bad_plan', 'unreadable', 'model_failed']),
  }

/** Money helps where a price is known that it can meet; other words help once. */
function couldHelp({ reason, cheapest, code, isReplanned }: Unmet, available: Minor): boolean {
  if (reason === 'over_budget') return cheapest !== undefined && cheapest <= available
  const codes = OTHER_WORDS_HELP[reason]
  if (isReplanned === true || available < 1) return false
  return codes === 'all' || (code !== undefined && codes?.has(code) === true)
}

/** What a planner may plan again, with so much money. */
export const worthPlanning = (unmet: readonly Unmet[], available: Minor): readonly Unmet[] =>
  unmet.filter((part) => couldHelp(part, available))

const OBJECTION =
  'expected parts of the outcomes only: each once, by its label, and asked for otherwise than before'

/** The parts of a further plan that may be carried out, narrowed to what they are for, and what is wrong with the rest. */
export function heldTo(
  plan: Extract<Plan, { kind: 'parts' }>,
  outcomes: readonly Unmet[],
): { readonly plan: Plan; readonly objection?: string } {
  const open = [...outcomes]
  const parts = plan.parts.flatMap((part): PlanPart[] => {
    const at = open.findIndex((outcome) => isFor(part, outcome))
    const outcome = open[at]
    if (outcome === undefined) return []
    const held = narrowed(part, outcome)
    if (isSame(held, outcome)) return []
    open.splice(at, 1)
    return [held]
  })
  const isWhole = parts.length === plan.parts.length
  return { plan: { kind: 'parts', parts }, ...(isWhole ? {} : { objection: OBJECTION }) }
}

/** A branch that came to nothing can become a branch again, with another task; a purchase, a purchase. */
const isFor = (part: PlanPart, { label, isBranch }: Unmet): boolean =>
  part.label === label && (part.kind === 'branch') === (isBranch === true)

const least = (a: Minor | undefined, b: Minor | undefined): Minor | undefined =>
  a === undefined || b === undefined ? (a ?? b) : minor(Math.min(a, b))

function narrowed(part: PlanPart, { need: before }: Unmet): PlanPart {
  if (part.kind === 'branch') return part
  const { maxUnit: unit, maxTotal: total, ...need } = part.need
  const maxUnit = least(unit, before.maxUnit)
  const maxTotal = least(total, before.maxTotal)
  return {
    ...part,
    need: {
      ...need,
      quantity: before.quantity,
      ...(maxUnit === undefined ? {} : { maxUnit }),
      ...(maxTotal === undefined ? {} : { maxTotal }),
    },
  }
}

const plain = (text: string): string => text.toLowerCase().replace(/\s+/g, ' ').trim()

const wordsOf = ({ text, prefer }: Need): string =>
  canonicalJson([plain(text), prefer.map(plain).sort()])

/** The same words again; for what was too dear that is the same only without the money for it. */
function isSame(part: PlanPart, outcome: Unmet): boolean {
  if (part.kind === 'branch')
    return outcome.task !== undefined && plain(part.task) === plain(outcome.task)
  if (wordsOf(part.need) !== wordsOf(outcome.need)) return false
  return outcome.reason !== 'over_budget' || part.ceiling < (outcome.cheapest ?? 0)
}
