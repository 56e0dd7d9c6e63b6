/**
 * The nine checks, their codes, and what each code advises: the contract with agents. Extend, never rename.
 * The README's table is held equal to `CHECKS` by a test.
 */

/** In their public order. */
export const CHECK_NAMES = [
  'shape',
  'authenticity',
  'standing',
  'depth',
  'capability',
  'quote',
  'policy',
  'funds',
  'monitor',
] as const
export type CheckName = (typeof CHECK_NAMES)[number]

export const CHECK_STATUSES = ['passed', 'failed', 'held', 'not-reached', 'not-applicable'] as const
export type CheckStatus = (typeof CHECK_STATUSES)[number]

/** What the caller should do next. */
export const ADVICE = ['requote', 'ask_parent', 'wait_for_person', 'retry', 'stop'] as const
export type Advice = (typeof ADVICE)[number]

interface CodeSpec {
  readonly check: CheckName
  readonly advice: Advice
  readonly message: string
}

/** Every denial code, the check that gives it, what to do next, and a sentence that holds no caller's text. */
export const CODES = {
  malformed: {
    check: 'shape',
    advice: 'stop',
    message: 'expected a JSON object with exactly the documented fields',
  },
  too_large: {
    check: 'shape',
    advice: 'stop',
    message: 'the request is larger than the documented limit',
  },
  ambiguous: {
    check: 'shape',
    advice: 'stop',
    message: 'expected one token, one proof and one body, each given once',
  },
  token_invalid: {
    check: 'authenticity',
    advice: 'stop',
    message: 'the token does not verify as a recorded chain',
  },
  root_unknown: {
    check: 'authenticity',
    advice: 'stop',
    message: 'the token names no root key that is in force',
  },
  grammar: {
    check: 'authenticity',
    advice: 'stop',
    message: 'a block of the token holds something other than the closed grammar',
  },
  signer: {
    check: 'authenticity',
    advice: 'stop',
    message: 'a block is not signed by the holder that the block before it declares',
  },
  proof_invalid: {
    check: 'authenticity',
    advice: 'retry',
    message: 'expected a fresh DPoP proof by the node’s holder over this method, URL and token',
  },
  proof_replayed: {
    check: 'authenticity',
    advice: 'retry',
    message: 'this proof was used before; sign a new one',
  },
  mandate_invalid: {
    check: 'standing',
    advice: 'stop',
    message: 'the mandate of this run no longer verifies',
  },
  expired: {
    check: 'standing',
    advice: 'ask_parent',
    message: 'the node, an ancestor or the mandate has expired',
  },
  revoked: { check: 'standing', advice: 'stop', message: 'the node or an ancestor was revoked' },
  frozen: {
    check: 'standing',
    advice: 'wait_for_person',
    message: 'the node, an ancestor or the gateway is frozen',
  },
  run_closed: {
    check: 'standing',
    advice: 'stop',
    message: 'the run, the node or an ancestor is closing or closed',
  },
  depth: {
    check: 'depth',
    advice: 'ask_parent',
    message: 'the chain is deeper than the mandate allows',
  },
  widened: {
    check: 'depth',
    advice: 'stop',
    message: 'a block of the chain claims more than the block above it allows',
  },
  not_a_leaf: {
    check: 'capability',
    advice: 'ask_parent',
    message: 'this kind of node may not do this',
  },
  capability: {
    check: 'capability',
    advice: 'ask_parent',
    message: 'the token’s own checks do not permit this request',
  },
  quote_invalid: {
    check: 'quote',
    advice: 'requote',
    message: 'the quote does not verify under its issuer’s keys',
  },
  quote_expired: { check: 'quote', advice: 'requote', message: 'the quote has expired' },
  quote_spent: {
    check: 'quote',
    advice: 'stop',
    message: 'this quote has been paid or is being paid',
  },
  quote_mismatch: {
    check: 'quote',
    advice: 'requote',
    message: 'the quote is not the one this leaf was made for',
  },
  payee: {
    check: 'quote',
    advice: 'stop',
    message: 'the payee is not one this run may pay, or its account has changed since the mandate',
  },
  policy: {
    check: 'policy',
    advice: 'stop',
    message: 'a rule of the operator forbids this payment',
  },
  approval_required: {
    check: 'policy',
    advice: 'wait_for_person',
    message: 'a person must approve this payment; send it again afterwards',
  },
  insufficient: {
    check: 'funds',
    advice: 'ask_parent',
    message: 'the node has less than this left',
  },
  per_payment: {
    check: 'funds',
    advice: 'ask_parent',
    message: 'the amount is over the mandate’s limit for one payment',
  },
  window: {
    check: 'funds',
    advice: 'retry',
    message: 'the mandate’s limit for this hour or day is reached',
  },
  duplicate: { check: 'funds', advice: 'stop', message: 'this payment has been made' },
  monitor_objects: {
    check: 'monitor',
    advice: 'stop',
    message: 'the monitor objects to this payment',
  },
  monitor_unavailable: {
    check: 'monitor',
    advice: 'wait_for_person',
    message: 'the monitor gave no usable answer, so a person must decide',
  },
  not_expressible: {
    check: 'quote',
    advice: 'stop',
    message: 'the rail cannot express this amount or currency',
  },
  payee_from_untrusted: {
    check: 'policy',
    advice: 'wait_for_person',
    message: 'the payee does not come from where this run looked, so a person must approve it',
  },
  amount_from_untrusted: {
    check: 'policy',
    advice: 'wait_for_person',
    message: 'the amount does not come from where this run looked, so a person must approve it',
  },
} as const satisfies Record<string, CodeSpec>

export type DenialCode = keyof typeof CODES

export const isDenialCode = (code: string): code is DenialCode => Object.hasOwn(CODES, code)

/** Every code there is, for schemas. */
export const DENIAL_CODES = Object.keys(CODES) as [DenialCode, ...DenialCode[]]

export interface CheckSpec {
  readonly n: number
  readonly name: CheckName
  readonly refusesWhen: string
}

/** The nine checks in their public order. */
export const CHECKS: readonly CheckSpec[] = [
  {
    n: 1,
    name: 'shape',
    refusesWhen: 'size, JSON (duplicate or dangerous keys), closed schema, more than one token',
  },
  { n: 2, name: 'authenticity', refusesWhen: 'chain or proof of possession does not verify' },
  {
    n: 3,
    name: 'standing',
    refusesWhen:
      'mandate no longer verifies, node or any ancestor expired, revoked or frozen, run not live',
  },
  {
    n: 4,
    name: 'depth',
    refusesWhen: 'depth from the chain is over the mandate’s limit, zero, or the chain widens',
  },
  {
    n: 5,
    name: 'capability',
    refusesWhen: 'the node’s kind or the Biscuit authorizer does not permit this operation',
  },
  {
    n: 6,
    name: 'quote',
    refusesWhen:
      'merchant unknown, signature bad, expired, already paid, anything in it differs from the leaf, or the rail cannot express it',
  },
  { n: 7, name: 'policy', refusesWhen: 'an operator rule forbids, or asks for a person' },
  { n: 8, name: 'funds', refusesWhen: 'the ledger refuses the reservation' },
  {
    n: 9,
    name: 'monitor',
    refusesWhen: 'the monitor objects, is silent, late, malformed or over quota',
  },
]

/** A refusal by one check: expected, a value, never thrown. `rule` is the operator's and stays off the wire. */
export interface Denial {
  readonly verdict: 'deny' | 'hold'
  readonly code: DenialCode
  readonly rule?: string
}

export const deny = (code: DenialCode, rule?: string): Denial =>
  rule === undefined ? { verdict: 'deny', code } : { verdict: 'deny', code, rule }

export const hold = (code: DenialCode, rule?: string): Denial =>
  rule === undefined ? { verdict: 'hold', code } : { verdict: 'hold', code, rule }

/** One check's line in a decision record. */
export interface CheckResult {
  readonly n: number
  readonly name: CheckName
  readonly status: CheckStatus
  readonly ms: number
}
