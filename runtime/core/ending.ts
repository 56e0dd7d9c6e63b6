/** What is sent to the ledger of a submitted payment: its end, or that the rail has no final word yet. */
import type { PaymentId } from './ids.ts'
import type { MonitorWord } from './judges.ts'
import type { Minor } from './money.ts'
import type { RailSaid } from './records.ts'
import type { Seconds } from './time.ts'

/** The rail's word on a submitted or unknown payment. */
export interface Settle {
  readonly payment: PaymentId
  readonly amount: Minor
  readonly railReference: string
  readonly railStatus?: string
  readonly now: Seconds
}

export interface Release {
  readonly payment: PaymentId
  /** From `reserved`: it was never submitted. From `submitted` or `unknown`: the rail's own word. */
  readonly from: 'reserved' | 'submitted'
  readonly reason: string
  readonly railStatus?: string
  /** Why it was never submitted, where the monitor has a part in it. */
  readonly monitor?: MonitorWord
  readonly now: Seconds
}

export interface MarkUnknown {
  readonly payment: PaymentId
  readonly reason: string
  /** What the rail said, if it said anything; the same again appends nothing. */
  readonly said?: RailSaid
  readonly now: Seconds
}

/** Judges once more, before what a payer agreed to is taken, whatever has been stopped or has ended since. */
export interface Complete {
  readonly payment: PaymentId
  readonly now: Seconds
}
