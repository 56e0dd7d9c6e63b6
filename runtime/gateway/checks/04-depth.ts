/** Check 4: the depth, counted from the chain alone, is allowed, and each block claims no more than the one above it. */
import type { BlockClaims } from '../../core/block.ts'
import { deny } from '../../core/codes.ts'
import type { Mandate } from '../../core/mandate.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

export function depth({ operation }: Attempt, { token, mandate }: Facts): Judgement {
  if (!token?.ok || !mandate) return deny('widened')
  const { blocks, widenedAt } = token.token
  const root = blocks[0]
  const deep = blocks.length - 1
  if (widenedAt !== undefined || root === undefined) return deny('widened')
  if (isWiderThan(root, mandate)) return deny('widened')
  const isByPlanner = operation === 'delegate' || operation === 'read'
  if (deep === 0 && !isByPlanner) return deny('depth')
  return deep > mandate.limits.depth ? deny('depth') : undefined
}

/** The first block is signed by our own key, and still it may not say more than the mandate. */
function isWiderThan(root: BlockClaims, mandate: Mandate): boolean {
  return (
    root.currency !== mandate.currency ||
    root.ceiling > mandate.ceiling ||
    root.expiresAtSeconds > mandate.exp ||
    root.payees.some((payee) => !mandate.payees.includes(payee))
  )
}
