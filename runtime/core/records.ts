/**
 * What the ledger keeps: plain JSON documents, one interface each. Every one belongs to the organisation that
 * its store was opened for. Amounts are minor units of the run's currency, times whole UTC seconds.
 */
import type { Drawn } from './authorisation.ts'
import type { BlockClaims, NodeKind } from './block.ts'
import type { CheckResult, DenialCode } from './codes.ts'
import type {
  Digest,
  HolderKey,
  HoldId,
  MerchantId,
  NodeId,
  PayeeId,
  PaymentId,
  PrincipalId,
  RefundId,
  RunId,
} from './ids.ts'
import type { MonitorWord } from './judges.ts'
import type { Agent } from './mandate.ts'
import { type Currency, type Minor, minor } from './money.ts'
import type { Provenance } from './provenance.ts'
import type { QuoteLine } from './quote.ts'
import type { Seconds } from './time.ts'

/** `failed` means that nothing of the task could be done; `completed` may still leave parts unmet, with reasons. */
export const RUN_STATES = ['running', 'cancelling', 'completed', 'failed', 'cancelled'] as const
export type RunState = (typeof RUN_STATES)[number]

export interface RunRecord {
  readonly id: RunId
  readonly principal: PrincipalId
  readonly jti: string
  /** The compact JWS as posted: verified again for every payment. */
  readonly mandate: string
  readonly mandateDigest: Digest
  readonly root: NodeId
  readonly currency: Currency
  readonly ceiling: Minor
  /** Digest of each payee's account binding at creation; a payment to a payee whose binding differs is refused. */
  readonly bindings: { readonly [payee: PayeeId]: Digest }
  readonly agent: Agent
  readonly createdAtSeconds: Seconds
  readonly expiresAtSeconds: Seconds
  readonly state: RunState
  /** A sentence for a person: why it failed, or what was left unmet. */
  readonly reason?: string
  readonly finishedAtSeconds?: Seconds
  /** Compact JWS `seal+jwt` over the root's final head. */
  readonly seal?: string
  /** When the clear values of the run were erased: its mandate's text, labels, accounts, goods, evidence. */
  readonly erasedAtSeconds?: Seconds
  /** An account of it differed from its log: nothing of it is given out any more. The stream that showed it. */
  readonly halted?: { readonly stream: StreamId; readonly atSeconds: Seconds }
  /** Which process carries it out, and until when no other does. */
  readonly lease?: { readonly holder: string; readonly untilSeconds: Seconds }
}

export interface NodeRecord {
  readonly id: NodeId
  readonly run: RunId
  readonly parent?: NodeId
  /** Root first, this node last: `path.length - 1` is the depth. */
  readonly path: readonly NodeId[]
  readonly kind: NodeKind
  /** A few words for people; from the plan, so untrusted text. */
  readonly label: string
  readonly currency: Currency
  /** As in the token; the account's ceiling starts here and only falls. */
  readonly ceiling: Minor
  readonly expiresAtSeconds: Seconds
  readonly payees: readonly PayeeId[]
  readonly holder: HolderKey
  readonly quote?: Digest
  /** The whole chain of revocation ids (hex), block 0 first: a presented chain must equal it. */
  readonly revocationIds: readonly string[]
  /** `funnel`: the runtime derives the holder key. `outside`: somebody else holds it. */
  readonly custody: 'funnel' | 'outside'
  readonly createdAtSeconds: Seconds
  /** The secret that the salts of its personal values derive from; gone once they are erased. */
  readonly salt?: string
  readonly erasedAtSeconds?: Seconds
}

/** The record of the node whose own block says `claims`; `path` ends with the node, and its parent stands before it. */
export function nodeRecord(
  claims: BlockClaims,
  rest: Pick<
    NodeRecord,
    'run' | 'path' | 'label' | 'revocationIds' | 'custody' | 'createdAtSeconds' | 'salt'
  >,
): NodeRecord {
  const { node: id, kind, currency, ceiling, expiresAtSeconds, payees, holder, quote } = claims
  const parent = rest.path.at(-2)
  return {
    ...rest,
    id,
    ...(parent === undefined ? {} : { parent }),
    kind,
    currency,
    ceiling,
    expiresAtSeconds,
    payees,
    holder,
    ...(quote === undefined ? {} : { quote }),
  }
}

export interface Head {
  readonly seq: number
  /** SHA-256 of the last event's stored bytes, base64url. */
  readonly hash: Digest
}

/** `ceiling = available + reserved + spent + allotted`, always. */
export interface Account {
  readonly node: NodeId
  readonly run: RunId
  readonly ceiling: Minor
  readonly available: Minor
  readonly reserved: Minor
  readonly spent: Minor
  readonly allotted: Minor
  /** How much of `spent` came back late and no person has put to use again; a note, no balance of its own. */
  readonly reversed: Minor
  /** Nodes that may still be made below this one; allotted like money, never given back. */
  readonly nodesLeft: number
  readonly children: number
  readonly openChildren: number
  readonly head: Head
}

/** `closing` refuses splits and reserves; `closed` has nothing reserved or open below. */
export const STANDING_STATES = ['live', 'frozen', 'revoked', 'closing', 'closed'] as const
export type StandingState = (typeof STANDING_STATES)[number]

/** Written only by freeze, resume, revoke and close, so that payments read ancestors without meeting splits. */
export interface Standing {
  /** A node, or `gateway` for the stop of everything. */
  readonly node: NodeId | 'gateway'
  readonly state: StandingState
  readonly version: number
}

export const PAYMENT_STATES = ['reserved', 'submitted', 'settled', 'released', 'unknown'] as const
export type PaymentState = (typeof PAYMENT_STATES)[number]

/** As people and agents are shown it: `awaiting_payer` is `unknown` whose next step is the payer's, at the rail. */
export const SHOWN_STATES = [...PAYMENT_STATES, 'awaiting_payer'] as const

/** Whose turn it is at the rail, which has the payment and calls it not final. */
export const AWAITS = ['payer', 'rail', 'capture'] as const

/** What the rail says of a payment beside its outcome; what is absent it has not said. */
export interface RailSaid {
  readonly railReference?: string
  /** Its own word: `[A-Z_]{1,40}`, or `UNRECOGNISED`. */
  readonly railStatus?: string
  readonly awaits?: (typeof AWAITS)[number]
  /** Where the payer agrees; for operators and the holder of the leaf alone. */
  readonly approveUrl?: string
}

/** A shared count and sum over one period (a window of the mandate, or something that a rule counts). */
export interface Counter {
  readonly key: string
  readonly count: number
  readonly amount: Minor
}

/** Money of a settled payment that came back; `id` is the rail's own. */
export interface Reversal {
  readonly id: string
  /** `reversed`: the rail took it back. `refunded`: the payee gave it back. */
  readonly kind: 'reversed' | 'refunded'
  readonly amount: Minor
  readonly atSeconds: Seconds
}

/** What of a payment has come back late, put to use again or not. */
export const reversedOf = ({ reversals = [] }: Pick<PaymentRecord, 'reversals'>): Minor =>
  minor(reversals.reduce((sum, { amount }) => sum + amount, 0))

/** `pending` from before the rail is called: after a crash it means that the rail may have been. */
export const REFUND_STATES = ['pending', 'unknown', 'made', 'failed'] as const

/** A refund of a part of a settled payment that an operator asked for. */
export interface RefundRecord {
  readonly id: RefundId
  readonly amount: Minor
  readonly state: (typeof REFUND_STATES)[number]
  readonly by: string
  readonly atSeconds: Seconds
  /** Of the attempt that may call the rail, and when it was recorded. */
  readonly nonce: string
  readonly submittedAtMs: number
  readonly railReference?: string
  readonly reason?: string
}

/** What of a payment was given back because we asked. */
export const refundedOf = ({ refunds = [] }: Pick<PaymentRecord, 'refunds'>): Minor =>
  minor(refunds.reduce((sum, { state, amount }) => sum + (state === 'made' ? amount : 0), 0))

/** A person's word that what came back may be used again: how much by then, all in all. */
export interface Regained {
  readonly amount: Minor
  readonly evidence: string
  readonly salt: string
  readonly by: string
  readonly atSeconds: Seconds
}

/** What people say became of a payment that the rail has no word on. It moves money once a second one says the same. */
export interface Resolution {
  readonly outcome: 'settled' | 'released'
  readonly amount: Minor
  /** A reference to what proves it, in an operator's words; the log has only its salted digest. */
  readonly evidence: string
  readonly salt: string
  readonly by: string
  readonly atSeconds: Seconds
  readonly confirmed?: {
    readonly by: string
    readonly atSeconds: Seconds
    readonly attempt: string
  }
}

export interface PaymentRecord {
  readonly id: PaymentId
  readonly run: RunId
  readonly node: NodeId
  readonly payee: PayeeId
  readonly merchant: MerchantId
  readonly quote: Digest
  readonly quoteJti: string
  readonly lines: readonly QuoteLine[]
  readonly currency: Currency
  readonly amount: Minor
  readonly state: PaymentState
  readonly rail: string
  /** The account that the operator bound the payee to, as told to the rail; once the run is erased, no more. */
  readonly account: string
  readonly railKey: string
  /** Of the attempt that may call the rail. */
  readonly nonce?: string
  readonly submittedAtMs?: number
  readonly settledAmount?: Minor
  /** Of the rail's object; learned before the end where the rail said so early. */
  readonly railReference?: string
  readonly railStatus?: string
  /** Only while its state is `unknown` and the rail calls it pending. */
  readonly awaits?: NonNullable<RailSaid['awaits']>
  readonly approveUrl?: string
  /** The standings, as versions, under which what the payer agreed to may be taken: the gateway's first, then the path's. */
  readonly completing?: readonly number[]
  /** When the rail may have been asked to take it, last. */
  readonly completingAtSeconds?: Seconds
  /** Set where it is taken out of an authorisation. */
  readonly drawn?: Drawn
  /** The leaf's head after the event that ended this payment: what its receipt carries. */
  readonly endHead?: Head
  readonly endedAtSeconds?: Seconds
  /** Why it was released. */
  readonly reason?: string
  /** Which gateway asks the rail about it, and until when nobody else does. */
  readonly lease?: { readonly holder: string; readonly untilSeconds: Seconds }
  /** The alarm about a rail that stays silent: raised once, by one attempt. */
  readonly overdue?: { readonly atSeconds: Seconds; readonly attempt: string }
  readonly resolution?: Resolution
  /** What came back after it had settled, by the rail's own ids; together never more than was settled. */
  readonly reversals?: readonly Reversal[]
  readonly refunds?: readonly RefundRecord[]
  /** Set while one of them is `pending` or `unknown`. */
  readonly refunding?: true
  /** The last such word. */
  readonly regained?: Regained
  /** Keys of the counters that this payment counts in, with their periods. */
  readonly counters: readonly string[]
  readonly checks: readonly CheckResult[]
  /** Version of the operator's rules that check 7 decided by; absent where it was not recorded yet. */
  readonly policy?: Digest
  /** What the monitor said of it last, if one was asked; for operators. */
  readonly monitor?: MonitorWord
  /** Where what is paid came from; absent of payments of before. */
  readonly provenance?: Provenance
  readonly createdAtSeconds: Seconds
}

/** That a looker of the run was given exactly this quote, through the gateway, the first time; never its text. */
export interface Sighting {
  readonly run: RunId
  /** SHA-256 of the quote's text. */
  readonly quote: Digest
  readonly node: NodeId
  readonly merchant: MerchantId
  readonly atSeconds: Seconds
}

/** What a payment's state is called where it is shown. */
export const shownState = ({
  state,
  awaits,
}: Pick<PaymentRecord, 'state' | 'awaits'>): (typeof SHOWN_STATES)[number] =>
  state === 'unknown' && awaits === 'payer' ? 'awaiting_payer' : state

export const HOLD_STATES = ['open', 'approved', 'refused', 'consumed', 'expired'] as const
export type HoldState = (typeof HOLD_STATES)[number]

/** What a person is asked; `digest` covers everything that the card shows. */
export interface HoldRecord {
  readonly id: HoldId
  readonly run: RunId
  readonly node: NodeId
  readonly payment: PaymentId
  readonly digest: Digest
  readonly code: DenialCode
  /** The operator's rule that asks, if it was one. */
  readonly rule?: string
  readonly payee: PayeeId
  readonly merchant: MerchantId
  readonly amount: Minor
  readonly currency: Currency
  readonly lines: readonly QuoteLine[]
  readonly provenance?: Provenance
  /** The earliest expiry among mandate, token, quote and hold. */
  readonly expiresAtSeconds: Seconds
  readonly createdAtSeconds: Seconds
  readonly state: HoldState
  readonly decidedBy?: string
  readonly decidedAtSeconds?: Seconds
}

/** `gateway` is the gateway's own stream. */
export type StreamId = NodeId | 'gateway'

/** One event as stored: `body` is the exact canonical JSON whose SHA-256 is `hash`. See `core/events.ts`. */
export interface EventRecord {
  readonly stream: StreamId
  readonly seq: number
  readonly hash: Digest
  readonly body: string
}

/** An event at its place in a run's feed; positions are contiguous from 1. */
export interface FeedEntry extends EventRecord {
  readonly position: number
}
