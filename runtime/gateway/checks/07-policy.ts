/** Check 7: no rule of the operator forbids the payment, and where one asks for a person, that person has said yes. */
import { type Denial, deny, hold } from '../../core/codes.ts'
import type { RuleVerdict } from '../../core/judges.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

/** Stands where a rule's id would: a person was asked and said no. */
export const REFUSED_BY_PERSON = 'refused_by_person'

export function policy({ operation }: Attempt, { policy: facts, approved }: Facts): Judgement {
  if (operation !== 'pay') return 'not-applicable'
  if (facts === undefined) return deny('policy')
  const { verdicts } = facts.decision
  const forbids = verdicts.find(({ effect }) => effect !== 'hold')
  if (forbids !== undefined) return deny('policy', forbids.rule)
  if (facts.refusedByPerson) return deny('policy', REFUSED_BY_PERSON)
  const asks = verdicts[0]
  return asks === undefined || approved === true ? undefined : askedBy(asks)
}

/** The hold that a rule asks for, in the words that an agent may know. */
export const askedBy = ({ code, rule }: Partial<RuleVerdict>): Denial =>
  hold(code ?? 'approval_required', rule)
