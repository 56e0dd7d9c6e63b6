/**
 * Check 2: the holder signed this request, the chain verifies, and it is the one that was recorded. The proof's code
 * comes first, as it is judged first: of a request whose proof does not hold the token is never looked at.
 */
import { deny } from '../../core/codes.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

export function authenticity(_attempt: Attempt, facts: Facts): Judgement {
  if (facts.proofHolds !== true) return deny('proof_invalid')
  if (facts.token === undefined) return deny('token_invalid')
  if (!facts.token.ok) return deny(facts.token.code)
  return facts.chainRecorded === true ? undefined : deny('token_invalid')
}
