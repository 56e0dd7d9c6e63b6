/** The ports of check 7 (the operator’s rules) and check 9 (the monitor). */
import type { Digest, MerchantId, PayeeId } from './ids.ts'
import type { Currency, Minor } from './money.ts'

/** Facts about one payment, computed by the gateway, that rules and monitors may read. No outsider's free text. */
export interface PaymentFacts {
  readonly payee: PayeeId
  readonly merchant: MerchantId
  readonly currency: Currency
  readonly amount: Minor
  readonly lines: readonly {
    readonly sku: string
    readonly quantity: number
    readonly unitAmount: Minor
  }[]
  readonly recurring: boolean
  readonly depth: number
  /** From the mandate. */
  readonly approvalAbove?: Minor
  /** Counters as of the snapshot, by rule key. */
  readonly payeeCount: number
  readonly hourCount: number
  readonly duplicateCount: number
}

export interface RuleVerdict {
  readonly rule: string
  readonly effect: 'deny' | 'hold'
}

/** Which counters a payment enters because a rule counts it, and the bounds to hold when reserving. */
export interface RuleCounters {
  readonly payee: string
  readonly hour: string
  readonly duplicate: string
}

export interface PolicyDecision {
  /** Every rule that objects. Empty: nothing forbids. */
  readonly verdicts: readonly RuleVerdict[]
  /** Bounds that must still hold inside the reserving transaction, with the rule that set them. */
  readonly bounds: readonly {
    readonly counter: keyof RuleCounters
    readonly maxCount: number
    readonly rule: string
    readonly effect: 'deny' | 'hold'
  }[]
}

/** The operator's standing rules. A rule that cannot be evaluated is a thrown Fault, never an allow. */
export interface Policy {
  readonly version: Digest
  decide(facts: PaymentFacts): Promise<PolicyDecision>
}

export type MonitorAnswer =
  | { readonly kind: 'allow' }
  | { readonly kind: 'object' }
  /** Silent, late, malformed or over quota. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** May tighten a verdict, never loosen one. Never throws: whatever goes wrong is `unavailable`. */
export interface Monitor {
  judge(facts: PaymentFacts, signal: AbortSignal): Promise<MonitorAnswer>
}
