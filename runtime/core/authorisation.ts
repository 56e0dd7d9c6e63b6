/** What the ledger keeps of an authorisation, and what is sent to it about one. */
import type { AuthorisationId, NodeId, PayeeId, PaymentId, RunId } from './ids.ts'
import type { Currency, Minor } from './money.ts'
import type { Seconds } from './time.ts'

/** `placing` from before the rail is called; `voiding` from when nothing more is drawn; the last two are ends. */
export const AUTHORISATION_STATES = ['placing', 'open', 'voiding', 'voided', 'failed'] as const
export type AuthorisationState = (typeof AUTHORISATION_STATES)[number]

/**
 * Money that the rail holds of a payer for one payee of one run. It is no spending and moves no balance: what is drawn from
 * it is what payments have reserved. `drawn` never exceeds `amount`, whatever the rail would allow.
 */
export interface AuthorisationRecord {
  readonly id: AuthorisationId
  readonly run: RunId
  readonly payee: PayeeId
  /** The payment that it was placed for, and the leaf in whose stream its events are. */
  readonly payment: PaymentId
  readonly node: NodeId
  readonly rail: string
  /** As told to the rail; once the run is erased, no more. */
  readonly account: string
  readonly key: string
  readonly currency: Currency
  readonly amount: Minor
  readonly drawn: Minor
  readonly state: AuthorisationState
  /** The rail's own name of it. */
  readonly reference?: string
  /** The rail honours it until then. */
  readonly untilSeconds?: Seconds
  /** Of the attempt that may place it, and when that was recorded. */
  readonly nonce: string
  readonly submittedAtMs: number
  /** Since when nothing more is drawn. */
  readonly voidingAtSeconds?: Seconds
  /** Why it failed, or was ended. */
  readonly reason?: string
  readonly createdAtSeconds: Seconds
}

/** Of a payment that was drawn: from which, and the rail's name of it. */
export interface Drawn {
  readonly authorisation: AuthorisationId
  readonly reference: string
}

/** Takes the right to place the one authorisation of a run and payee, for an attempt that may call the rail. */
export interface AskAuthorisation {
  readonly authorisation: AuthorisationId
  readonly payment: PaymentId
  readonly amount: Minor
  readonly key: string
  /** Of the payment's own attempt. */
  readonly nonce: string
  readonly nowMs: number
  readonly now: Seconds
}

/** The rail's word that it holds so much, at most what was asked. */
export interface Authorised {
  readonly authorisation: AuthorisationId
  readonly amount: Minor
  readonly reference: string
  readonly untilSeconds: Seconds
  readonly now: Seconds
}

/** Takes a submitted payment's amount out of what is authorised, before the rail is asked for it. */
export interface DrawFrom {
  readonly authorisation: AuthorisationId
  readonly payment: PaymentId
  readonly nonce: string
  readonly now: Seconds
}

/** `placing` only notes a reference that was learned early. */
export interface MoveAuthorisation {
  readonly authorisation: AuthorisationId
  readonly to: 'placing' | 'voiding' | 'voided' | 'failed'
  readonly reference?: string
  readonly reason: string
  readonly now: Seconds
}
