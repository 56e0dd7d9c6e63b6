/** Check 6: the quote is its issuer's word, still good, unpaid, the leaf's own, and leads to the account that was pinned. */
import { deny } from '../../core/codes.ts'
import { paymentIdOf } from '../../core/ids.ts'
import { LIMITS } from '../../core/limits.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

export function quote({ operation, now }: Attempt, facts: Facts): Judgement {
  if (operation !== 'pay') return 'not-applicable'
  const { snapshot, mandate, token, quote: presented } = facts
  const leaf = token?.ok ? token.token.blocks.at(-1) : undefined
  if (!snapshot || !mandate || !leaf || !presented?.claims) return deny('quote_invalid')
  const { claims, digest, binding } = presented
  if (!presented.signed || claims.iat > now + LIMITS.skewSeconds) return deny('quote_invalid')
  if (now >= claims.exp) return deny('quote_expired')
  const { claimedBy, run } = snapshot
  if (claimedBy !== undefined && claimedBy !== paymentIdOf(leaf.node, digest)) {
    return deny('quote_spent')
  }
  const isTheLeafs =
    leaf.quote === digest &&
    claims.currency === leaf.currency &&
    claims.amount <= leaf.ceiling &&
    leaf.payees.length === 1 &&
    leaf.payees[0] === claims.payee
  if (!isTheLeafs) return deny('quote_mismatch')
  const pinned = Object.hasOwn(run.bindings, claims.payee) ? run.bindings[claims.payee] : undefined
  const isPinned = binding !== undefined && binding === pinned
  if (!isPinned || !mandate.payees.includes(claims.payee)) return deny('payee')
  const { inexpressible } = presented
  if (inexpressible === undefined) return undefined
  return deny(inexpressible === 'account' ? 'payee' : 'not_expressible')
}
