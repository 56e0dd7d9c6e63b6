/** The command that records a decision without a payment. */
import type { CheckResult, Denial } from './codes.ts'
import type { NodeId, PaymentId, RunId } from './ids.ts'
import type { CounterUse, ProofUse } from './ledger.ts'
import type { Provenance } from './provenance.ts'
import type { Seconds } from './time.ts'

/**
 * Records what a payment would have been answered, with its proof consumed: an event in the leaf's stream, and one more
 * of so many that a leaf may ask for. Nothing else is written.
 */
export interface Decided {
  readonly node: NodeId
  readonly run: RunId
  readonly payment: PaymentId
  /** Absent: it would have been allowed. */
  readonly denial?: Denial
  readonly checks: readonly CheckResult[]
  readonly provenance?: Provenance
  /** Counts this leaf's decisions, up to `maxCount`. */
  readonly count: CounterUse
  readonly proof: ProofUse
  readonly now: Seconds
}
