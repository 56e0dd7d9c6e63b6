/** Check 5: this kind of node may do this, and the token's own Datalog checks permit exactly this request. */
import type { NodeKind, Operation } from '../../core/block.ts'
import { deny } from '../../core/codes.ts'
import type { Attempt } from '../attempt.ts'
import type { Facts, Judgement } from '../facts.ts'

/** Those who pay never read the untrusted world, and those who read it never pay. */
const MAY: { readonly [O in Operation]: NodeKind } = {
  pay: 'leaf',
  search: 'looker',
  quote: 'looker',
  delegate: 'planner',
  read: 'planner',
}

export function capability({ operation }: Attempt, { token, quote }: Facts): Judgement {
  if (!token?.ok) return deny('capability')
  if (token.token.blocks.at(-1)?.kind !== MAY[operation]) return deny('not_a_leaf')
  // Without an amount there is no request to put before the token's checks; check 6 refuses such a quote.
  if (operation === 'pay' && quote !== undefined && quote.claims === undefined) {
    return 'not-applicable'
  }
  return token.token.authorised === true ? undefined : deny('capability')
}
