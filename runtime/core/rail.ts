/**
 * The rail’s port: what moves money. Every answer is a closed union, and only the rail's own definite, whole and
 * matching word is `settled` or `declined`. A rail's words for people never pass: of its texts only a status does.
 */
import { z } from 'zod'
import type { PaymentId } from './ids.ts'
import type { Currency, Minor } from './money.ts'

export interface RailOrder {
  readonly payment: PaymentId
  /** The rail's idempotency key, and the reference that the rail shows us again. */
  readonly key: string
  readonly account: string
  readonly amount: Minor
  readonly currency: Currency
  /** Shown to the payee. */
  readonly note: string
}

/** The rail's own word for where something stands: `[A-Z_]{1,40}`, or `UNRECOGNISED` for what is not such a word. */
export type RailStatus = string

export const UNRECOGNISED: RailStatus = 'UNRECOGNISED'

export const railStatusSchema = z.string().regex(/^[A-Z_]{1,40}$/)

/** What a rail says of a state, upper case; nothing else that a rail writes reaches anybody. */
export const railStatusOf = (word: unknown): RailStatus => {
  const status = typeof word === 'string' ? word.toUpperCase() : ''
  return railStatusSchema.safeParse(status).data ?? UNRECOGNISED
}

/** The name of a message as a rail gives it, lower case; `unrecognised` for what is no such word. */
export const messageNameOf = (word: string): string => {
  const name = word.toLowerCase().replaceAll('-', '_')
  return /^[a-z0-9_.]{1,60}$/.test(name) ? name : 'unrecognised'
}

/** Money of a settled payment that came back: the rail took it, or the payee gave it. */
export interface RailReversal {
  readonly id: string
  readonly kind: 'reversed' | 'refunded'
  readonly amount: Minor
}

/**
 * `unknown` is everything that is not the rail's own definite word; `notSent` only when no byte could have left; `pending`
 * is the rail's word that it has the payment and that it is not final: the money stays reserved.
 */
export type RailOutcome =
  | {
      readonly kind: 'settled'
      readonly reference: string
      readonly amount: Minor
      readonly currency: Currency
      readonly status?: RailStatus
      /** Set by a lookup when the money came back after it had settled; it still counts as spent. */
      readonly returned?: true
      /** Set by a lookup for what came back in parts, each with the rail's own id: all of it, at each look-up. */
      readonly back?: readonly RailReversal[]
    }
  | { readonly kind: 'declined'; readonly reason: string; readonly status?: RailStatus }
  | { readonly kind: 'notSent'; readonly reason: string }
  | RailPending
  | {
      readonly kind: 'unknown'
      readonly reason: string
      readonly status?: RailStatus
      /** Of the rail's object, where it was learned before the word was lost. */
      readonly reference?: string
    }

/** One kind of outcome, or several. */
export type RailOutcomeOf<K extends RailOutcome['kind']> = Extract<RailOutcome, { kind: K }>

export interface RailPending {
  readonly kind: 'pending'
  /** Whose turn it is: a person's, at `approveUrl`; the rail's own; or ours, because the payer has agreed: `complete`. */
  readonly awaits: 'payer' | 'rail' | 'capture'
  /** Of the rail's object: a look-up is given it again. */
  readonly reference: string
  readonly status?: RailStatus
  /** https, on one of the rail's own hosts; nothing else is ever told. */
  readonly approveUrl?: string
}

/** What is asked back of a settled payment: to where it was paid from, never to an account that somebody names. */
export interface RailRefund {
  readonly payment: PaymentId
  /** The rail's idempotency key of this refund. */
  readonly key: string
  /** The key, account and rail's reference of the payment. */
  readonly paymentKey: string
  readonly paymentAccount: string
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
  | RailOutcomeOf<'declined' | 'notSent' | 'unknown'>

export interface RailRefunds {
  /** As `Rail.pay`, never throws. */
  make(refund: RailRefund): Promise<RailRefundOutcome>
  /** What became of one; `absent` is proof only after the visibility delay. */
  lookup(refund: RailRefund): Promise<RailRefundOutcome | { readonly kind: 'absent' }>
}

/** `absent` is proof only after the rail's visibility delay. */
export type RailLookup = RailOutcome | { readonly kind: 'absent' }

/** What the ledger knows of a payment that is looked up, for a rail that cannot find it by its key alone. */
export interface RailKnown {
  readonly order: RailOrder
  readonly submittedAtSeconds: number
  /** What a `pending`, `unknown` or `settled` outcome said last. */
  readonly reference?: string
  /** The rail's reference of the authorisation that it was drawn from. */
  readonly authorisation?: string
}

export interface RailTruth {
  readonly lookupByReference: boolean
  readonly keyLifeSeconds: number
  /** After this long without a trace, `absent` proves that the payment does not exist. */
  readonly visibilitySeconds: number
  readonly afterSuccess: readonly ('returned' | 'reversed')[]
}

/** Why an order cannot be expressed on a rail at all: known before any money is set aside, never rounded. */
export type Inexpressible = 'account' | 'currency' | 'amount'

/** One authorisation: money of a payer held for one payee, drawn from in parts, the rest given back. */
export interface RailAuthorisation {
  readonly key: string
  readonly account: string
  readonly amount: Minor
  readonly currency: Currency
}

export type RailAuthorised =
  | {
      readonly kind: 'authorised'
      readonly reference: string
      readonly amount: Minor
      readonly currency: Currency
      /** The rail honours it until then, UTC seconds. */
      readonly untilSeconds: number
    }
  | RailOutcomeOf<'declined' | 'notSent' | 'pending' | 'unknown'>

export interface RailAuthorisations {
  /** False where this account's payments are not drawn from an authorisation. */
  takes(order: Pick<RailOrder, 'account' | 'currency'>): boolean
  place(authorisation: RailAuthorisation): Promise<RailAuthorised>
  lookup(
    authorisation: RailAuthorisation,
    reference?: string,
  ): Promise<RailAuthorised | { readonly kind: 'absent' } | { readonly kind: 'voided' }>
  /** Takes exactly `order.amount`; the authorised sum is the ledger's to keep, because rails allow more. */
  draw(order: RailOrder, reference: string): Promise<RailOutcome>
  /** `voided` also where it was void before. */
  void(
    reference: string,
  ): Promise<{ readonly kind: 'voided' } | RailOutcomeOf<'declined' | 'notSent' | 'unknown'>>
}

export const OBJECT_TYPES = [
  'payment',
  'payout',
  'refund',
  'reversal',
  'authorisation',
  'other',
] as const

export const DIRECTIONS = ['out', 'in'] as const

/** One movement or promise of money as the rail has it now: never as a message tells it. */
export interface RailObject {
  /** The rail's own, the same by whichever way it was heard of. */
  readonly id: string
  readonly type: (typeof OBJECT_TYPES)[number]
  /** The key that it carries, if it carries one of the shape of ours. */
  readonly key?: string
  /** Of a refund or a reversal: the rail's own id of what it takes back, where the rail says that. */
  readonly of?: string
  readonly direction: (typeof DIRECTIONS)[number]
  readonly amount: Minor
  /** ISO 4217; a rail may move currencies that no payment of ours has. */
  readonly currency: string
  readonly status: RailStatus
  /** True once money has left or entered the account by it. */
  readonly moved: boolean
  readonly atSeconds: number
}

/** A message as it came: names in lower case, the body's own bytes. */
export interface RailMessage {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** What a message is about, once the rail's signature on it was verified; its other contents are not believed. */
export type RailHeard =
  | { readonly kind: 'refused' }
  /** It could not be verified now; the rail sends it again. */
  | { readonly kind: 'unverified'; readonly reason: string }
  | {
      readonly kind: 'event'
      /** The rail's own id of the message: repeated messages have the same. */
      readonly id: string
      /** By `messageNameOf`. */
      readonly name: string
      /** Absent where it concerns nothing that moves. `ref` is only good for `RailEvents.fetch`. */
      readonly object?: { readonly ref: string }
    }

export interface RailEvents {
  /** Verifies and names; never throws. */
  hear(message: RailMessage): Promise<RailHeard>
  /** The object as the rail has it now. */
  fetch(
    ref: string,
  ): Promise<RailObject | { readonly kind: 'absent' } | RailOutcomeOf<'notSent' | 'unknown'>>
}

/** One page of what moved on the account, oldest first. */
export interface RailPage {
  readonly objects: readonly RailObject[]
  /** Given back for the next page; absent after the last. */
  readonly next?: string
  /** The list is whole up to here, UTC seconds. */
  readonly completeUntilSeconds: number
}

/** The rail's own list of what moved on the account. Throws Fault when it cannot be read. */
export type RailStatement = (of: {
  readonly fromSeconds: number
  readonly toSeconds: number
  readonly after?: string
}) => Promise<RailPage>

/** What moves money. `pay` never throws: an exception would hide whether money moved. */
export interface Rail {
  readonly name: string
  readonly truth: RailTruth
  /** Undefined where the order can be expressed. Absent: everything can. Asks nobody. */
  expressible?(order: Pick<RailOrder, 'account' | 'amount' | 'currency'>): Inexpressible | undefined
  pay(order: RailOrder): Promise<RailOutcome>
  lookup(key: string, known?: RailKnown): Promise<RailLookup>
  /** Takes what the payer has agreed to, after `pending` that awaits `capture`: exactly the order's amount, once. */
  complete?(known: RailKnown): Promise<RailOutcome>
  /** Ends what is `pending`, if the rail lets it: `declined` once nothing can move by it any more. */
  cancel?(known: RailKnown): Promise<RailOutcome>
  /** Absent at a rail that makes none. */
  readonly refunds?: RailRefunds
  /** Absent at a rail that holds nothing for later. */
  readonly authorisations?: RailAuthorisations
  /** Absent at a rail that sends no messages. */
  readonly events?: RailEvents
  /** Absent at a rail that has no list of its own. */
  readonly statement?: RailStatement
  /** Throws a Fault when the rail cannot be used as configured. */
  ready(): Promise<void>
}
