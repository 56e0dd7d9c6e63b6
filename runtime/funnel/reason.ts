/** What a person is told about how a run ended. */
import type { PartOutcome } from '../core/agents.ts'
import { assertNever } from '../core/errors.ts'
import { type Currency, formatMoney } from '../core/money.ts'
import type { WalkResult } from './walk.ts'

const MOST_NAMED = 10

/** A sentence, or undefined when everything was bought. */
export function reasonOf(result: WalkResult, currency: Currency): string | undefined {
  const { bought, unmet, unreadable, ended } = result
  if (unreadable !== undefined) return unreadable
  // Who cancelled it knows, and the log says so.
  if (ended === 'run_closed') return undefined
  if (ended !== undefined) return `The run ended early: ${ended.replaceAll('_', ' ')}.`
  if (unmet.length === 0) return undefined
  const named = unmet.slice(0, MOST_NAMED).map((part) => `${part.label} (${why(part, currency)})`)
  const more = unmet.length - named.length
  const rest = more > 0 ? ` and ${more} more` : ''
  return `${bought} bought, ${unmet.length} not: ${named.join('; ')}${rest}.`
}

function why({ reason, cheapest, code }: PartOutcome, currency: Currency): string {
  const detail = code === undefined ? '' : `: ${code.replaceAll('_', ' ')}`
  switch (reason) {
    case 'over_budget':
      return cheapest === undefined
        ? 'over budget'
        : `over budget: the cheapest was ${formatMoney(cheapest, currency)}`
    case 'nothing_found':
      return 'nothing suitable was offered'
    case 'refused':
      return `the payment was refused${detail}`
    case 'failed':
      return `it could not be carried out${detail}`
    default:
      return assertNever(reason, 'reason')
  }
}
