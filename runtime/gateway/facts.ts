/**
 * What the nine checks read, gathered outside them. Every fact is optional, because an attempt may be refused before
 * it was gathered; a check whose facts are missing refuses.
 */
import type { Denial } from '../core/codes.ts'
import type { TokenVerdict } from '../core/engine.ts'
import type { Digest } from '../core/ids.ts'
import type { MonitorAnswer, PolicyDecision } from '../core/judges.ts'
import type { Snapshot } from '../core/ledger.ts'
import type { Mandate } from '../core/mandate.ts'
import type { Quote } from '../core/quote.ts'
import type { Inexpressible } from '../core/rail.ts'

export interface Facts {
  /** The engine's word on the token, with `authorised` where the request could be stated. */
  readonly token?: TokenVerdict
  readonly proofHolds?: boolean
  /** Whether the presented chain is, link by link, the one that was recorded. */
  readonly chainRecorded?: boolean
  readonly snapshot?: Snapshot
  /** The mandate as verified just now from the run's stored bytes; absent when it does not verify. */
  readonly mandate?: Mandate
  readonly quote?: QuoteFacts
  readonly policy?: PolicyFacts
  readonly funds?: FundsFacts
  readonly monitor?: MonitorAnswer | 'none'
  /** A person approved exactly this payment, and the approval is still good. */
  readonly approved?: boolean
}

export interface QuoteFacts {
  /** SHA-256 of the text as presented. */
  readonly digest: Digest
  /** Absent when the text is no quote. Not to be believed unless `signed`. */
  readonly claims?: Quote
  /** By a key that the operator pinned for the issuer. */
  readonly signed: boolean
  /** Digest of the payee's account binding now; absent when the payee is not registered. */
  readonly binding?: Digest
  /** Why the rail cannot carry exactly this order, if it cannot. */
  readonly inexpressible?: Inexpressible
}

export interface PolicyFacts {
  readonly decision: PolicyDecision
  /** A person was asked about this payment and said no. */
  readonly refusedByPerson: boolean
}

/** What came of the reservation, before it is put into an agent's words. */
export type FundsFacts =
  | { readonly kind: 'reserved' }
  | { readonly kind: 'refused'; readonly why: FundsRefusal }
  /** A counter is at its bound; `denial` is what the rule or the window that set the bound says. */
  | { readonly kind: 'counted_out'; readonly denial: Denial }

export type FundsRefusal =
  | 'per_payment'
  | 'insufficient'
  | 'expired'
  | 'frozen'
  | 'revoked'
  | 'run_closed'
  | 'quote_spent'
  | 'quote_expired'
  /** The approval that was counted on is gone. */
  | 'stale'

/** A check's word: a refusal, or that it has nothing to judge here, or nothing at all, which lets the attempt pass. */
export type Judgement = Denial | 'not-applicable' | undefined
