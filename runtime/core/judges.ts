/** The ports of check 7 (the operator’s rules) and check 9 (the monitor). */
import type { Digest, MerchantId, PayeeId } from './ids.ts'
import type { Currency, Minor } from './money.ts'
import type { Provenance } from './provenance.ts'

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

/**
 * What a monitor is told of a payment: numbers, identifiers of the operator's and of ours, the principal's own words.
 * No merchant's word is in it, not even an item's number: whoever builds a prompt of it leaves `lines[].sku` out.
 */
export interface MonitorFacts extends PaymentFacts {
  /** The mandate's task: the principal's words. */
  readonly task: string
  /** What the leaf is for, in the words of a planner of ours, which reads no page; absent of an outside planner. */
  readonly label?: string
  /** The operator's name for the payee. */
  readonly payeeName: string
  /** Of the whole run, in minor units of `currency`. */
  readonly ceiling: Minor
  readonly perPayment?: Minor
  readonly provenance: Provenance
}

/** Why a monitor objects, in closed words; they are the operator's and reach no agent. */
export const CONCERNS = [
  'not_in_task',
  'too_much',
  'too_many',
  'unusual_payee',
  'repeated',
  'recurring',
  'untrusted_origin',
] as const
export type Concern = (typeof CONCERNS)[number]

export type MonitorAnswer =
  | { readonly kind: 'allow' }
  | { readonly kind: 'object'; readonly concerns?: readonly Concern[] }
  /** Silent, late, malformed, over quota, another model than configured: `why` is a short code of ours. */
  | { readonly kind: 'unavailable'; readonly why: string }

/** May tighten a verdict, never loosen one. Never throws: whatever goes wrong is `unavailable`. */
export interface Monitor {
  judge(facts: MonitorFacts, signal: AbortSignal): Promise<MonitorAnswer>
}
