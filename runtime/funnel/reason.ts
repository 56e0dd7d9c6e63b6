/** What a person is told about how a run ended. */
import { assertNever } from '../core/errors.ts'
import { type Currency, formatMoney } from '../core/money.ts'
import type { Unmet, WalkResult } from './results.ts'

const MOST_NAMED = 10

/** A sentence, or undefined when everything was bought. */
export function reasonOf(result: WalkResult, currency: Currency): string | undefined {
  const { bought, unmet, unreadable, ended } = result
  if (unreadable !== undefined) return unreadable
  // Who cancelled it knows, and the log says so.
  if (ended === 'run_closed') return undefined
  if (ended !== undefined) return `The run ended early: ${wordsOf(ended)}.`
  if (unmet.length === 0) return undefined
  const named = unmet.slice(0, MOST_NAMED).map((part) => `${part.label} (${why(part, currency)})`)
  const more = unmet.length - named.length
  const rest = more > 0 ? ` and ${more} more` : ''
  return `${bought} bought, ${unmet.length} not: ${named.join('; ')}${rest}.`
}

function why({ reason, cheapest, code, sentence }: Unmet, currency: Currency): string {
  const detail = code === undefined ? '' : `: ${wordsOf(code)}`
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
      return sentence?.replace(/\.$/, '') ?? `it could not be carried out${detail}`
    default:
      return assertNever(reason, 'reason')
  }
}

/** The codes that say little to somebody who did not write them. */
const WORDS: Readonly<Record<string, string>> = {
  bad_plan: 'the planner gave no plan that adds up',
  no_room: 'the mandate allows no more nodes or children here',
  fan_out: 'the mandate allows no more children of one planner',
  node_limit: 'the mandate allows no more nodes',
  insufficient: 'no money was left for it',
  model_calls: 'the budget of model calls is used up',
  model_tokens: 'the budget of model tokens is used up',
  model_cost: 'the budget of money for models is used up',
  another_agent: 'the mandate names another engine or model than this gateway runs',
  model_failed: 'the model gave no usable answer',
  secret_withheld: 'a text for a model, or from one, held a secret',
  merchant_unavailable: 'no merchant answered',
  unavailable: 'the gateway or its merchants did not answer',
  wall_time: 'the run took longer than it may',
  expired: 'its time was over',
  hold_refused: 'a person refused it',
  hold_expired: 'no person decided in time',
  hold_limit: 'it was held too often',
  approval_required: 'too many payments wait for a person',
  per_payment: 'it is over the limit for one payment',
  window: 'the limit for this hour or day is reached',
  policy: 'a rule of the operator forbids it',
  monitor_objects: 'the monitor objects',
  payee: 'the payee’s account has changed since the mandate',
  quotes_did_not_hold: 'no quote held until it could be paid',
  outcome_unknown: 'the rail never said that it was paid',
}

const wordsOf = (code: string): string =>
  Object.hasOwn(WORDS, code) ? (WORDS[code] ?? code) : code.replaceAll('_', ' ')
