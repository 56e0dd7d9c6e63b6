/** What becomes of a payment's money by the nine checks, where everything before the rules has passed. */
import type { MonitorAnswer, PolicyDecision } from '../../runtime/core/judges.ts'
import { type Clock, nowSeconds } from '../../runtime/core/time.ts'
import type { Attempt } from '../../runtime/gateway/attempt.ts'
import { CHECK_LIST, type Check, Trial } from '../../runtime/gateway/pipeline.ts'

/** From the loosest to the strictest. */
export const OUTCOMES = ['paid', 'held', 'denied'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** What the operator's rules say of it. */
export const RULINGS = ['none', 'hold', 'deny'] as const
export type Ruling = (typeof RULINGS)[number]

const EARLIER = new Set(['shape', 'authenticity', 'standing', 'depth', 'capability', 'quote'])

const CHECKS: readonly Check[] = CHECK_LIST.map((check) =>
  EARLIER.has(check.name) ? { ...check, judge: () => undefined } : check,
)

const decisionOf = (ruling: Ruling): PolicyDecision => ({
  verdicts: ruling === 'none' ? [] : [{ rule: 'a-rule', effect: ruling }],
  bounds: [],
})

export function outcomeOf(answer: MonitorAnswer | 'none', ruling: Ruling, clock: Clock): Outcome {
  const attempt: Attempt = {
    operation: 'pay',
    parsed: { ok: false, code: 'malformed' },
    now: nowSeconds(clock),
  }
  const refusal = new Trial(CHECKS, clock).judge('monitor', attempt, {
    policy: { decision: decisionOf(ruling), refusedByPerson: false },
    funds: { kind: 'reserved' },
    monitor: answer,
  })
  if (refusal === undefined) return 'paid'
  return refusal.verdict === 'hold' ? 'held' : 'denied'
}

export const isStricter = (a: Outcome, b: Outcome): boolean =>
  OUTCOMES.indexOf(a) > OUTCOMES.indexOf(b)
