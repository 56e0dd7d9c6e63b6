/** Identifiers: distinct types by prefix, one character set, derived where a retry must find the same thing. */
import { hash, randomBytes } from 'node:crypto'
import { z } from 'zod'

export type RunId = `run_${string}`
export type NodeId = `nd_${string}`
export type PaymentId = `pay_${string}`
export type HoldId = `hold_${string}`
export type ReceiptId = `rcpt_${string}`
export type RefundId = `rfd_${string}`
export type AuthorisationId = `auth_${string}`
export type OutsideId = `out_${string}`

/** A registered destination of money, a principal or a merchant: named by the operator. */
export type PayeeId = string
export type PrincipalId = string
export type MerchantId = string
export type OrganisationId = string

/** Raw Ed25519 public key, 32 bytes, base64url without padding (43 characters). */
export type HolderKey = string

/** SHA-256, 32 bytes, base64url without padding (43 characters). */
export type Digest = string

/** The one character set of every identifier that may enter a token. */
export const IDENTIFIER = /^[A-Za-z0-9_.-]{1,80}$/

export const identifierSchema = z.string().regex(IDENTIFIER)

const BASE64URL_32 = /^[A-Za-z0-9_-]{43}$/

export const digestSchema = z.string().regex(BASE64URL_32)
export const holderKeySchema = z.string().regex(BASE64URL_32)

const prefixed = <P extends string>(prefix: P) =>
  z.templateLiteral([prefix, z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)])

export const runIdSchema = prefixed('run_')
export const nodeIdSchema = prefixed('nd_')
export const paymentIdSchema = prefixed('pay_')
export const holdIdSchema = prefixed('hold_')
export const receiptIdSchema = prefixed('rcpt_')
export const refundIdSchema = prefixed('rfd_')
export const authorisationIdSchema = prefixed('auth_')
export const outsideIdSchema = prefixed('out_')

export function sha256(data: string | Uint8Array): Digest {
  return hash('sha256', data, 'base64url')
}

/** One digest for a whole chain of revocation ids, block 0 first: two chains are the same if theirs are. */
export const chainDigest = (revocationIds: readonly string[]): Digest =>
  sha256(revocationIds.join(','))

/** 160 bits of SHA-256 over the parts, each length-prefixed so that no two lists of parts meet. */
function derive(...parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${Buffer.byteLength(part)}:${part};`
  return sha256(text).slice(0, 27)
}

/** One mandate, one run: the id derives from who signed it and its `jti`. */
export const runIdOf = (organisation: OrganisationId, principal: PrincipalId, jti: string): RunId =>
  `run_${derive('run', organisation, principal, jti)}`

export const rootNodeIdOf = (run: RunId): NodeId => `nd_${derive('root', run)}`

/** A child that the funnel makes for the same step again has the same id, so a resumed run finds it. */
export const childNodeIdOf = (parent: NodeId, step: string): NodeId =>
  `nd_${derive('child', parent, step)}`

/**
 * The id that is allotted to the `index`-th node (from 0) which an outside planner makes below `parent`: derived, so
 * that a planner can work it out alone and nobody can take the id of a node elsewhere.
 */
export const allottedNodeIdOf = (parent: NodeId, index: number): NodeId =>
  childNodeIdOf(parent, `outside-${index}`)

/** The same leaf with the same quote is the same payment, whoever retries it. */
export const paymentIdOf = (leaf: NodeId, quote: Digest): PaymentId =>
  `pay_${derive('payment', leaf, quote)}`

/** The key that the rail deduplicates on; derived, so no model and no caller can choose it. */
export const railKeyOf = (payment: PaymentId): string => `hg-${derive('rail', payment)}`

/** The same key of a caller for the same payment is the same refund, whoever retries it. */
export const refundIdOf = (payment: PaymentId, key: string): RefundId =>
  `rfd_${derive('refund', payment, key)}`

/** The key that the rail deduplicates a refund on. */
export const refundKeyOf = (refund: RefundId): string => `hg-${derive('rail-refund', refund)}`

/** One authorisation for a run and payee, whoever places it. */
export const authorisationIdOf = (run: RunId, payee: PayeeId): AuthorisationId =>
  `auth_${derive('authorisation', run, payee)}`

/** The key that the rail deduplicates an authorisation on. */
export const authorisationKeyOf = (authorisation: AuthorisationId): string =>
  `hg-${derive('rail-authorisation', authorisation)}`

/** One record for each thing that moved on a rail, whichever way it was heard of. */
export const outsideIdOf = (rail: string, object: string): OutsideId =>
  `out_${derive('outside', rail, object)}`

/** One hold per payment and per thing that the person is shown. */
export const holdIdOf = (payment: PaymentId, digest: Digest): HoldId =>
  `hold_${derive('hold', payment, digest)}`

/** A payment has one receipt, so the two ids differ in their prefix alone, and either leads to the other. */
export const receiptIdOf = (payment: PaymentId): ReceiptId => `rcpt_${payment.slice('pay_'.length)}`

export const paymentOfReceipt = (receipt: ReceiptId): PaymentId =>
  `pay_${receipt.slice('rcpt_'.length)}`

/**
 * What a payee sees of a receipt where a rail has room for a word: `HG` and 16 hexadecimal digits of the id's SHA-256.
 * It leads nobody to the receipt; whoever has the receipt can tell that the two belong together.
 */
export const shortReceiptIdOf = (receipt: ReceiptId): string =>
  `HG${hash('sha256', receipt, 'hex').slice(0, 16).toUpperCase()}`

/** Randomness is drawn for many identifiers at once, each byte used in one: a call for each costs more than its text. */
const FRESH_BYTES = 16
let drawn: Buffer = Buffer.alloc(0)
let at = 0

/** A fresh unguessable identifier of 128 bits: for `jti`s, nonces and salts. */
export function freshId(): string {
  if (at === drawn.length) {
    drawn = randomBytes(FRESH_BYTES * 256)
    at = 0
  }
  at += FRESH_BYTES
  return drawn.toString('base64url', at - FRESH_BYTES, at)
}
