/**
 * What one block may say and what a child may say below its parent, as pure functions over typed claims. Minting
 * asks before it signs and verification asks after it has read, so both follow one definition.
 */
import type { BlockClaims } from '../core/block.ts'
import { NODE_KINDS } from '../core/block.ts'
import {
  digestSchema,
  holderKeySchema,
  IDENTIFIER,
  nodeIdSchema,
  runIdSchema,
} from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { CURRENCIES } from '../core/money.ts'
import { LAST_SECOND } from '../core/time.ts'

const wholeUpTo = (n: number, most: number): boolean =>
  Number.isSafeInteger(n) && n >= 0 && n <= most

/** 1 to 32 identifiers, each once, in ascending order of their characters. */
function payeesHold(payees: readonly string[]): boolean {
  if (payees.length < 1 || payees.length > LIMITS.payees) return false
  return payees.every((id, i) => IDENTIFIER.test(id) && (i === 0 || id > (payees[i - 1] ?? '')))
}

/** 32 bytes have 43 characters of base64url, and one such text: the last character's spare bits are zero. */
const isCanonical32 = (text: string): boolean =>
  Buffer.from(text, 'base64url').toString('base64url') === text

/** The first claim that a block at this place of a chain may not hold so, or undefined when all stand. */
export function badClaim(claims: BlockClaims, index: number): keyof BlockClaims | undefined {
  const { kind, payees, quote, mandate, run } = claims
  if (!nodeIdSchema.safeParse(claims.node).success) return 'node'
  if (!NODE_KINDS.includes(kind)) return 'kind'
  if (!CURRENCIES.includes(claims.currency)) return 'currency'
  if (!wholeUpTo(claims.ceiling, Number.MAX_SAFE_INTEGER)) return 'ceiling'
  if (!isCanonicalKey(claims.holder)) return 'holder'
  if (!wholeUpTo(claims.expiresAtSeconds, LAST_SECOND)) return 'expiresAtSeconds'
  if (!payeesHold(payees) || (kind === 'leaf' && payees.length !== 1)) return 'payees'
  if ((quote !== undefined) !== (kind === 'leaf')) return 'quote'
  if (quote !== undefined && !isDigest(quote)) return 'quote'
  if (index === 0) return badRoot(claims)
  if (mandate !== undefined) return 'mandate'
  return run === undefined ? undefined : 'run'
}

/** Block 0 alone says which mandate and which run it comes from, and it is a planner. */
function badRoot({ kind, mandate, run }: BlockClaims): keyof BlockClaims | undefined {
  if (kind !== 'planner') return 'kind'
  if (mandate === undefined || !isDigest(mandate)) return 'mandate'
  return run !== undefined && runIdSchema.safeParse(run).success ? undefined : 'run'
}

const isDigest = (text: string): boolean =>
  digestSchema.safeParse(text).success && isCanonical32(text)

const isCanonicalKey = (text: string): boolean =>
  holderKeySchema.safeParse(text).success && isCanonical32(text)

/** The first claim by which a child would have more than its parent, or undefined when it narrows. */
export function widenedClaim(
  parent: BlockClaims,
  child: BlockClaims,
): keyof BlockClaims | undefined {
  if (parent.kind !== 'planner') return 'kind'
  if (child.currency !== parent.currency) return 'currency'
  if (child.ceiling > parent.ceiling) return 'ceiling'
  if (child.kind === 'looker' && child.ceiling !== 0) return 'ceiling'
  if (child.expiresAtSeconds > parent.expiresAtSeconds) return 'expiresAtSeconds'
  if (child.payees.some((payee) => !parent.payees.includes(payee))) return 'payees'
  return undefined
}

/** Lookers and leaves end a chain: their tokens are sealed, and only theirs. */
export const isTerminal = (kind: BlockClaims['kind']): boolean => kind !== 'planner'
