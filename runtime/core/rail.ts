/** The rail’s port: what moves money. */
import type { PaymentId } from './ids.ts'
import type { Currency, Minor } from './money.ts'

export interface RailOrder {
  readonly payment: PaymentId
  /** The rail's idempotency key. */
  readonly key: string
  readonly account: string
  readonly amount: Minor
  readonly currency: Currency
  /** Shown to the payee. */
  readonly note: string
}

/** Money of a settled payment that came back: the rail took it, or the payee gave it. */
export interface RailReversal {
  readonly id: string
  readonly kind: 'reversed' | 'refunded'
  readonly amount: Minor
}

/** `unknown` is everything that is not the rail's own definite word; `notSent` only when no byte could have left. */
export type RailOutcome =
  | {
      readonly kind: 'settled'
      readonly reference: string
      readonly amount: Minor
      readonly currency: Currency
      /** Set by a lookup when the money came back after it had settled; it still counts as spent. */
      readonly returned?: true
      /** Set by a lookup for what came back in parts, each with the rail's own id: all of it, at each look-up. */
      readonly back?: readonly RailReversal[]
    }
  | { readonly kind: 'declined'; readonly reason: string }
  | { readonly kind: 'notSent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** What is asked back of a settled payment: to where it was paid from, never to an account that somebody names. */
export interface RailRefund {
  readonly payment: PaymentId
  /** The rail's idempotency key of this refund. */
  readonly key: string
  /** The key and the rail's reference of the payment. */
  readonly paymentKey: string
  readonly paymentReference: string
  /** Always stated: a rail may take a missing amount for the whole. */
  readonly amount: Minor
  readonly currency: Currency
}

export type RailRefundOutcome =
  | {
      readonly kind: 'refunded'
      /** The rail's own id, the same by which a look-up of the payment says what came back. */
      readonly reference: string
      readonly amount: Minor
      readonly currency: Currency
    }
  | Extract<RailOutcome, { kind: 'declined' | 'notSent' | 'unknown' }>

/** `absent` is proof only after the rail's visibility delay. */
export type RailLookup = RailOutcome | { readonly kind: 'absent' }

export interface RailTruth {
  readonly lookupByReference: boolean
  readonly keyLifeSeconds: number
  /** After this long without a trace, `absent` proves that the payment does not exist. */
  readonly visibilitySeconds: number
  readonly afterSuccess: readonly ('returned' | 'reversed')[]
}

/** What moves money. `pay` never throws: an exception would hide whether money moved. */
export interface Rail {
  readonly name: string
  readonly truth: RailTruth
  pay(order: RailOrder): Promise<RailOutcome>
  lookup(key: string): Promise<RailLookup>
  /** As `pay`, never throws. Absent, with `lookupRefund`, at a rail that makes no refunds. */
  refund?(order: RailRefund): Promise<RailRefundOutcome>
  /** What became of one; `absent` is proof only after the visibility delay. */
  lookupRefund?(order: RailRefund): Promise<RailRefundOutcome | { readonly kind: 'absent' }>
  /** Throws a Fault when the rail cannot be used as configured. */
  ready(): Promise<void>
}
