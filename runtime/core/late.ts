/** Commands on payments that the rail has no word on, and on money that comes back after it has settled. */
import type { PaymentId } from './ids.ts'
import type { Minor } from './money.ts'
import type { PaymentRecord } from './records.ts'
import type { Seconds } from './time.ts'

/** For whoever asks the rail: nobody else asks about this payment until the lease ends. */
export interface Lease {
  readonly payment: PaymentId
  /** Whose it is: one gateway, from its start to its end. */
  readonly holder: string
  readonly seconds: number
  readonly now: Seconds
}

/** The alarm about a payment on which the rail has no word, once. */
export interface MarkOverdue {
  readonly payment: PaymentId
  /** This call's own mark: only the one that raised the alarm tells of it. */
  readonly attempt: string
  readonly now: Seconds
}

/** `raised` for the one call that raised it. */
export interface MarkedOverdue {
  readonly payment: PaymentRecord
  readonly raised: boolean
}

/** One operator's word on an `unknown` payment: the first proposes, a second who says exactly the same decides. */
export interface Resolve {
  readonly payment: PaymentId
  readonly outcome: 'settled' | 'released'
  /** Of `settled`: what moved, at most what is reserved. Of `released`: what is reserved. */
  readonly amount: Minor
  readonly evidence: string
  /** A person, not a session: two of one person are one. */
  readonly by: string
  /** This call's own mark: sent again it is the same word, not a second one. */
  readonly attempt: string
  readonly now: Seconds
}

/** The rail's word that money of a settled payment came back. It stays spent, and is noted, once for each id. */
export interface Reverse {
  readonly payment: PaymentId
  /** The rail's own id of this reversal or refund. */
  readonly id: string
  readonly kind: 'reversed' | 'refunded'
  readonly amount: Minor
  readonly now: Seconds
}

/** A person's word that what came back may be used again: what was not yet regained goes to `available`. */
export interface Regain {
  readonly payment: PaymentId
  /** All that has come back, as the person saw it; anything else is `stale`. */
  readonly reversedAmount: Minor
  readonly evidence: string
  readonly by: string
  /** This call's own mark, and the salt of the evidence's digest. */
  readonly attempt: string
  readonly now: Seconds
}
