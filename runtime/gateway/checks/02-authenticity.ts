/** Check 2: the chain verifies, its holder signed this request, and the chain is the one that was recorded. */
import { deny } from '../../core/codes.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

export function authenticity(_attempt: Attempt, facts: Facts): Judgement {
  if (facts.token === undefined) return deny('token_invalid')
  if (!facts.token.ok) return deny(facts.token.code)
  if (facts.proofHolds !== true) return deny('proof_invalid')
  return facts.chainRecorded === true ? undefined : deny('token_invalid')
}
