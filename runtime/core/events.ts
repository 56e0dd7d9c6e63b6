/**
 * The events of the log, as stored. A body is the RFC 8785 text of one closed shape; its hash is SHA-256 over
 * exactly that text. An event holds ids, amounts, codes, digests and times, never words that an outsider wrote.
 *
 * Each node has a stream and the gateway has one. `prev` of the first event is, for the gateway's stream, 43 `A`s;
 * for a root the digest of its mandate; for a child the hash of its parent's `split` event. Events of the gateway's
 * stream that name a run appear in that run's feed too, where their predecessors may be missing.
 */
import { z } from 'zod'
import { NODE_KINDS } from './block.ts'
import { CHECK_NAMES, CHECK_STATUSES, DENIAL_CODES } from './codes.ts'
import {
  authorisationIdSchema,
  type Digest,
  digestSchema,
  holderKeySchema,
  holdIdSchema,
  identifierSchema,
  nodeIdSchema,
  type OrganisationId,
  outsideIdSchema,
  paymentIdSchema,
  type RunId,
  receiptIdSchema,
  refundIdSchema,
  runIdSchema,
  sha256,
} from './ids.ts'
import { canonicalJson, parseJson } from './json.ts'
import {
  anyCurrencySchema,
  currencySchema,
  type Minor,
  minorSchema,
  positiveMinorSchema,
} from './money.ts'
import { loggedProvenanceSchema } from './provenance.ts'
import { DIRECTIONS, OBJECT_TYPES, railStatusSchema } from './rail.ts'
import { type Account, AWAITS, RUN_STATES, type StreamId } from './records.ts'
import { type Seconds, secondsSchema } from './time.ts'

/** `prev` of the first event of the gateway's stream. */
export const GATEWAY_ANCHOR: Digest = 'A'.repeat(43)

/** What may stand in an event as text: an id, a code, a digest, a rail's reference; no words. */
export const EVENT_WORD = /^[A-Za-z0-9_.:/+=-]{1,128}$/

/** The text itself where it is a single word, otherwise its digest: so that nobody's sentences enter the log. */
export const eventWord = (text: string): string =>
  EVENT_WORD.test(text) ? text : `sha256:${sha256(text)}`

/** A reason of our own (`[a-z0-9_]`); anything else, such as a rail's sentence, gives way to `otherwise`. */
export const eventReason = (reason: string, otherwise = 'other'): string =>
  /^[a-z0-9_]{1,60}$/.test(reason) ? reason : otherwise

const word = z.string().regex(EVENT_WORD)
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const code = z.enum(DENIAL_CODES)
const head = { seq: count.min(1), hash: digestSchema }

/** Nine statuses in the order of the checks. */
const checks = z.array(z.enum(CHECK_STATUSES)).max(CHECK_NAMES.length)

/** Versions as read in the same transaction: the gateway's first, then the path's, root first, the node's last. */
const standings = z.array(count).min(2)

/** Where what is to be paid came from. */
const provenance = loggedProvenanceSchema.optional()

const resolution = z.strictObject({
  payment: paymentIdSchema,
  outcome: z.enum(['settled', 'released']),
  amount: positiveMinorSchema,
  evidence: digestSchema,
  by: word,
})
const authorisationEnd = z.strictObject({
  authorisation: authorisationIdSchema,
  reason: word,
  reference: word.optional(),
})
const refundEnd = z.strictObject({ payment: paymentIdSchema, refund: refundIdSchema, reason: word })
const acted = z.strictObject({ by: word, version: count })
const noted = z.record(
  z.string().regex(/^[A-Za-z0-9_]{1,60}$/),
  z.union([word, z.literal(''), z.int(), z.boolean(), z.array(word)]),
)

/** Every type of event and the shape of its `data`. Amounts are minor units of the run's currency. */
export const EVENT_DATA = {
  run_created: z.strictObject({
    root: nodeIdSchema,
    principal: identifierSchema,
    mandate: digestSchema,
    currency: currencySchema,
    ceiling: positiveMinorSchema,
    expires: secondsSchema,
  }),
  /** `seq` and `hash` are the root's head; `seal` is the digest of the signed text. */
  sealed: z.strictObject({
    root: nodeIdSchema,
    state: z.enum(RUN_STATES),
    seal: digestSchema,
    ...head,
  }),
  opened: z.strictObject({
    parent: nodeIdSchema.optional(),
    kind: z.enum(NODE_KINDS),
    currency: currencySchema,
    ceiling: minorSchema,
    nodes: count,
    expires: secondsSchema,
    holder: holderKeySchema,
    payees: z.array(identifierSchema),
    quote: digestSchema.optional(),
    /** `chainDigest` of its revocation ids. */
    chain: digestSchema,
    custody: z.enum(['funnel', 'outside']),
    /** Salted digest of its label. */
    label: digestSchema.optional(),
  }),
  split: z.strictObject({ child: nodeIdSchema, amount: minorSchema, nodes: count }),
  reserved: z.strictObject({
    payment: paymentIdSchema,
    amount: positiveMinorSchema,
    payee: identifierSchema,
    quote: digestSchema,
    standings,
    /** The approved hold that this reservation used up. */
    hold: holdIdSchema.optional(),
    /** Salted digests of the payee's account and of what is bought. */
    account: digestSchema.optional(),
    lines: digestSchema.optional(),
    provenance,
  }),
  /**
   * `nonce` is the digest of the nonce of the one attempt that may call the rail, `policy` the version of the rules that
   * check 7 decided by.
   */
  submitted: z.strictObject({
    payment: paymentIdSchema,
    nonce: digestSchema,
    standings,
    checks,
    policy: digestSchema.optional(),
  }),
  settled: z.strictObject({
    payment: paymentIdSchema,
    amount: positiveMinorSchema,
    reference: word,
    receipt: receiptIdSchema,
    status: railStatusSchema.optional(),
    /** Of the resolution by two operators that this carries out; absent: it is the rail's own word. */
    evidence: digestSchema.optional(),
  }),
  released: z.strictObject({
    payment: paymentIdSchema,
    amount: positiveMinorSchema,
    reason: word,
    status: railStatusSchema.optional(),
    evidence: digestSchema.optional(),
  }),
  /** One operator's word on an unknown payment; `evidence` is a salted digest of the reference that was given. */
  proposed: resolution,
  /** A second operator's, the same in everything but `by`; the money moves in the event after it. */
  resolved: resolution,
  unknown: z.strictObject({ payment: paymentIdSchema, reason: word }),
  /** The rail has had no word on it for too long; `since` is when it was submitted. */
  overdue: z.strictObject({ payment: paymentIdSchema, since: secondsSchema }),
  /** Money of a settled payment came back: it stays in `spent` and is noted in `reversed`. */
  reversed: z.strictObject({
    payment: paymentIdSchema,
    reversal: word,
    kind: z.enum(['reversed', 'refunded']),
    amount: positiveMinorSchema,
  }),
  /** The right to give so much back is taken; the rail may be called from here on. */
  refund_asked: z.strictObject({
    payment: paymentIdSchema,
    refund: refundIdSchema,
    amount: positiveMinorSchema,
    by: word,
  }),
  /** It stays in `spent` and is noted in `reversed`, unless `reference` was noted as a reversal before. */
  refunded: z.strictObject({
    payment: paymentIdSchema,
    refund: refundIdSchema,
    amount: positiveMinorSchema,
    reference: word,
  }),
  refund_failed: refundEnd,
  refund_unknown: refundEnd,
  /** A person put what came back to use again: from `spent`, and from `reversed`, to `available`. */
  regained: z.strictObject({
    payment: paymentIdSchema,
    amount: positiveMinorSchema,
    evidence: digestSchema,
    by: word,
  }),
  refused: z.strictObject({
    payment: paymentIdSchema.optional(),
    code,
    rule: word.optional(),
    checks,
    provenance,
  }),
  /** What a payment would have been answered; nothing was reserved, claimed or asked of a person. */
  decided: z.strictObject({
    payment: paymentIdSchema,
    verdict: z.enum(['allow', 'hold', 'deny']),
    code: code.optional(),
    rule: word.optional(),
    checks,
    provenance,
  }),
  held: z.strictObject({
    hold: holdIdSchema,
    payment: paymentIdSchema,
    digest: digestSchema,
    code,
    rule: word.optional(),
    expires: secondsSchema,
    checks,
    provenance,
  }),
  approved: z.strictObject({ hold: holdIdSchema, digest: digestSchema, by: word }),
  hold_refused: z.strictObject({ hold: holdIdSchema, digest: digestSchema, by: word }),
  frozen: acted,
  resumed: acted,
  revoked: acted,
  closing: acted,
  /** Money that leaves a closing node for its parent; `credited` is the same money arriving. */
  returned: z.strictObject({ amount: positiveMinorSchema }),
  credited: z.strictObject({ child: nodeIdSchema, amount: positiveMinorSchema }),
  /** Nothing is reserved or open here any more; only events without money may follow. */
  ended: z.strictObject({ version: count }),
  /** In the parent's stream: the child's head just after it ended. */
  closed: z.strictObject({ child: nodeIdSchema, ...head }),
  /**
   * In the root's stream: the clear values of the whole run are gone, those of so many nodes, payments and holds. What
   * the log has of them are digests whose salts are gone too.
   */
  erased: z.strictObject({ by: word, nodes: count, payments: count, holds: count }),
  read: noted,
  planned: noted,
  looked: noted,
  chose: noted,
  unanswered: noted,
  unmet: noted,
  delivered: noted,
  judged: noted,
  operator: noted,
  /** What the rail says of a payment that it has: no money moves by it. `approve` is a salted digest of where the payer agrees. */
  rail_word: z.strictObject({
    payment: paymentIdSchema,
    status: railStatusSchema.optional(),
    awaits: z.enum(AWAITS).optional(),
    reference: word.optional(),
    approve: digestSchema.optional(),
  }),
  /** What the payer agreed to may be taken from here on: everything above the payment was live. */
  completing: z.strictObject({ payment: paymentIdSchema, standings }),
  /** In the stream of the leaf that it is placed for; the rail may be called from here on, once. No balance moves. */
  authorisation_asked: z.strictObject({
    authorisation: authorisationIdSchema,
    payment: paymentIdSchema,
    payee: identifierSchema,
    amount: positiveMinorSchema,
  }),
  /** The rail holds so much. */
  authorised: z.strictObject({
    authorisation: authorisationIdSchema,
    amount: positiveMinorSchema,
    reference: word,
    until: secondsSchema,
  }),
  /** A payment takes its amount out of it; `total` is what is taken out of it then, all in all. */
  drawn: z.strictObject({
    payment: paymentIdSchema,
    authorisation: authorisationIdSchema,
    amount: positiveMinorSchema,
    total: positiveMinorSchema,
  }),
  /** Nothing more is drawn; then the rail's word that it holds nothing more. */
  authorisation_voiding: authorisationEnd,
  authorisation_voided: authorisationEnd,
  authorisation_failed: authorisationEnd,
  /** In the gateway's stream: money moved on the rail's account that no payment or refund of ours stands for. */
  outside: z.strictObject({
    outside: outsideIdSchema,
    rail: word,
    object: word,
    type: z.enum(OBJECT_TYPES),
    direction: z.enum(DIRECTIONS),
    amount: count,
    currency: anyCurrencySchema,
    status: word,
    /** One of ours that had been released before the rail settled it. */
    payment: paymentIdSchema.optional(),
  }),
  /** A person knows of it; `evidence` is a salted digest. */
  acknowledged: z.strictObject({ outside: outsideIdSchema, evidence: digestSchema, by: word }),
} as const

export type EventType = keyof typeof EVENT_DATA
export type EventData = { readonly [T in EventType]: z.input<(typeof EVENT_DATA)[T]> }

/** What an event leaves on its stream's account; on every event of a node, on none of the gateway's. */
export type Balances = Pick<
  Account,
  'ceiling' | 'available' | 'reserved' | 'spent' | 'allotted'
> & {
  /** Part of `spent`; absent where it is nothing. */
  readonly reversed?: Minor | undefined
}

/** The balances of an account as its events state them. */
export const balancesOf = (account: Account): Balances => {
  const { ceiling, available, reserved, spent, allotted, reversed } = account
  return {
    ceiling,
    available,
    reserved,
    spent,
    allotted,
    ...(reversed === 0 ? {} : { reversed }),
  }
}

interface Envelope {
  readonly v: 1
  readonly org: OrganisationId
  readonly run?: RunId
  readonly stream: StreamId
  /** Contiguous from 1 in its stream. */
  readonly seq: number
  readonly prev: Digest
  readonly at: Seconds
  readonly balances?: Balances
}

/** One event; `type` tells the shape of `data`. */
export type LedgerEvent = {
  [T in EventType]: Envelope & { readonly type: T; readonly data: z.output<(typeof EVENT_DATA)[T]> }
}[EventType]

export type EventToWrite<T extends EventType> = Omit<Envelope, 'v'> & {
  readonly type: T
  readonly data: EventData[T]
}

const balancesSchema = z.strictObject({
  ceiling: minorSchema,
  available: minorSchema,
  reserved: minorSchema,
  spent: minorSchema,
  allotted: minorSchema,
  reversed: positiveMinorSchema.optional(),
})

const envelopeSchema = z.strictObject({
  v: z.literal(1),
  org: identifierSchema,
  run: runIdSchema.optional(),
  stream: z.union([nodeIdSchema, z.literal('gateway')]),
  seq: count.min(1),
  prev: digestSchema,
  at: secondsSchema,
  type: z.enum(Object.keys(EVENT_DATA) as [EventType, ...EventType[]]),
  data: z.unknown(),
  balances: balancesSchema.optional(),
})

/** SHA-256 (base64url) of exactly the stored text. */
export const eventHash = (body: string): Digest => sha256(body)

/** The canonical text of one event; throws what `parseEvent` throws if its shape is wrong. */
export function eventBody<T extends EventType>(event: EventToWrite<T>): string {
  const written = { v: 1, ...event }
  const body = canonicalJson(written)
  readShape(written)
  return body
}

/** Reads a stored body. Throws JsonError or ZodError for anything but the closed shape, TypeError if not canonical. */
export function parseEvent(body: string): LedgerEvent {
  const json = parseJson(body)
  if (canonicalJson(json) !== body) throw new TypeError('expected canonical JSON')
  return readShape(json)
}

function readShape(event: unknown): LedgerEvent {
  const envelope = envelopeSchema.parse(event)
  const data = EVENT_DATA[envelope.type].parse(envelope.data)
  return { ...envelope, data } as LedgerEvent
}
