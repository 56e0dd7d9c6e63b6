/** What is sent to the ledger to erase the personal values of a run. */
import type { AuthorisationId, HoldId, NodeId, PaymentId, RunId } from './ids.ts'
import type { Seconds } from './time.ts'

/** Clear copies of personal values to wipe, of a run that is over; which ones there are, the caller lists. */
export interface EraseParts {
  readonly run: RunId
  readonly nodes: readonly NodeId[]
  readonly payments: readonly PaymentId[]
  readonly holds: readonly HoldId[]
  readonly steps: readonly StepName[]
  readonly authorisations?: readonly AuthorisationId[]
  readonly now: Seconds
}

export interface StepName {
  readonly node: NodeId
  readonly name: string
}

/** Ends the erasure of a run: wipes what its own record says in clear, and tells of all of it. */
export interface Erase {
  readonly run: RunId
  readonly by: string
  /** How many there were. */
  readonly nodes: number
  readonly payments: number
  readonly holds: number
  readonly now: Seconds
}
