/** Check 8: the ledger has set the money aside. What it refused is put into the words of the check that it belongs to. */
import { deny } from '../../core/codes.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'
import { askedBy } from './07-policy.ts'

export function funds({ operation }: Attempt, { funds: facts, policy }: Facts): Judgement {
  if (operation !== 'pay') return 'not-applicable'
  if (facts === undefined) return deny('insufficient')
  switch (facts.kind) {
    case 'reserved':
      return undefined
    case 'counted_out':
      return facts.denial
    case 'refused':
      if (facts.why !== 'stale') return deny(facts.why)
      return askedBy(policy?.decision.verdicts[0] ?? {})
  }
}
