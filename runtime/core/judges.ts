/** The ports of check 7 (the operator’s rules) and check 9 (the monitor). */
import { MODEL_FAILURES, type Usage } from './agents.ts'
import type { DenialCode } from './codes.ts'
import type { Digest, MerchantId, PayeeId } from './ids.ts'
import type { Currency, Minor } from './money.ts'
import type { Provenance, Source } from './provenance.ts'

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
  /** Absent: nothing is known of it, which is as good as the least trusted. */
  readonly origins?: OriginFacts
}

/** How far what is to be paid is the run's own finding, and what the principal said of money. */
export interface OriginFacts {
  /** The least trusted source of each. */
  readonly payee: Source
  readonly amount: Source
  /** How many payees the mandate allows: with one alone nobody can choose another. */
  readonly payees: number
  /** The largest amount for one thing that the principal wrote, limits and task; absent where none was written. */
  readonly written?: Minor
}

export interface RuleVerdict {
  readonly rule: string
  readonly effect: 'deny' | 'hold'
  /** What an agent is told of a hold; `approval_required` if absent. */
  readonly code?: Extract<DenialCode, 'payee_from_untrusted' | 'amount_from_untrusted'>
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

/** Why a monitor has no answer: a model's reasons, and ours. */
export const MONITOR_FAILURES = [
  ...MODEL_FAILURES,
  /** A leaf, a run or this hour has used up its questions. */
  'over_quota',
  /** It lets through what is known to be bad, or has caught none of it yet. */
  'below_floor',
  /** What it would have been told, or what it said, held a secret. */
  'secret_withheld',
  /** A script that says nothing of this payment. */
  'unscripted',
  /** It broke, or said a reason that is none of these. */
  'failed',
] as const
export type MonitorFailure = (typeof MONITOR_FAILURES)[number]

export type MonitorAnswer = (
  | { readonly kind: 'allow' }
  | { readonly kind: 'object'; readonly concerns?: readonly Concern[] }
  /** Silent, late, malformed, over quota, another model than configured: `why` is one of `MONITOR_FAILURES`. */
  | { readonly kind: 'unavailable'; readonly why: string }
) & {
  /** What the answer cost, or the want of one. */
  readonly usage?: Usage
}

/** Which model answers, asked in which words: another of either is another judge. */
export interface MonitorIdentity {
  readonly engine: string
  readonly model: string
  /** Version of the instructions, and the digest of their text. */
  readonly prompt: string
  readonly promptDigest: Digest
}

/** May tighten a verdict, never loosen one. Never throws: whatever goes wrong is `unavailable`. */
export interface Monitor {
  /** Absent of one that is no model. */
  readonly identity?: MonitorIdentity
  /** What of the facts it is told, and nothing else: the same again is the same question. Absent: all of them. */
  told?(facts: MonitorFacts): unknown
  judge(facts: MonitorFacts, signal: AbortSignal): Promise<MonitorAnswer>
}

/** How often a monitor may be asked. Past it a person decides. */
export interface MonitorQuota {
  readonly perLeaf: number
  readonly perRun: number
  readonly perHour: number
}

/** Payments that are known to be bad: one is put to the monitor in so many questions, and of the last ones so many have to be caught. */
export interface CanaryTerms {
  readonly every: number
  readonly window: number
  readonly floorPercent: number
  /** Decides where they stand and which they are; absent: drawn anew by each process, so that nobody can tell. */
  readonly key?: string
}

/** What came of check 9, as operators read it of a payment. `words` are concerns, or why there was no answer. */
export interface MonitorWord {
  readonly answer: MonitorAnswer['kind']
  readonly words: readonly (Concern | MonitorFailure)[]
}
