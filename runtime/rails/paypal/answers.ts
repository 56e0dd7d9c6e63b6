/** What an answer of PayPal's means: a refusal only in PayPal's own known words, and everything else is no word. */
import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import type { RailOutcomeOf } from '../../core/rail.ts'
import { declined, notSent, unknown } from '../words.ts'
import type { Said } from './client.ts'

export type Refused = RailOutcomeOf<'declined' | 'notSent' | 'unknown'>

/** Texts of answers, which are longer than anything that is used of them. */
export const textSchema = z.string().max(4_000)

const errorSchema = z.object({
  name: textSchema,
  details: z
    .array(z.object({ issue: textSchema.optional() }))
    .max(100)
    .optional(),
  links: z
    .array(z.object({ href: textSchema, rel: textSchema }))
    .max(100)
    .optional(),
})

export interface PaypalError {
  readonly name: string
  readonly issues: readonly string[]
  readonly links: readonly { readonly href: string; readonly rel: string }[]
}

/** PayPal’s error in a body; undefined for what is none. */
export function errorIn(json: Json | undefined): PaypalError | undefined {
  const read = errorSchema.safeParse(json).data
  if (read === undefined) return undefined
  const issues = (read.details ?? []).flatMap(({ issue }) => issue ?? [])
  return { name: read.name, issues, links: read.links ?? [] }
}

/** Names with which PayPal refuses a request before anything comes of it. */
const REFUSING_NAMES = new Set([
  'INVALID_REQUEST',
  'VALIDATION_ERROR',
  'AUTHENTICATION_FAILURE',
  'NOT_AUTHORIZED',
  'AUTHORIZATION_ERROR',
  'PERMISSION_DENIED',
  'RESOURCE_NOT_FOUND',
  'INVALID_RESOURCE_ID',
  'RATE_LIMIT_REACHED',
  'INSUFFICIENT_FUNDS',
  'SENDER_EMAIL_UNCONFIRMED',
  'SENDER_RESTRICTED',
  'SENDER_ACCOUNT_LOCKED',
  'ITEM_INCORRECT_STATUS',
])

/**
 * Issues with which PayPal refuses what it understood. Those that may speak of an earlier request of ours are not among
 * them (a used invoice id, what was captured or refunded before), and neither is one that we do not know.
 */
const REFUSING_ISSUES = new Set(
  `CANNOT_BE_NEGATIVE CANNOT_BE_ZERO_OR_NEGATIVE DECIMAL_PRECISION DECIMALS_NOT_SUPPORTED INVALID_CURRENCY_CODE
  MAX_VALUE_EXCEEDED UNSUPPORTED_INTENT PAYEE_ACCOUNT_INVALID PAYEE_ACCOUNT_LOCKED_OR_CLOSED PAYEE_ACCOUNT_RESTRICTED
  PAYEE_BLOCKED_TRANSACTION TRANSACTION_BLOCKED_BY_PAYEE PAYER_ACCOUNT_LOCKED_OR_CLOSED PAYER_ACCOUNT_RESTRICTED
  PAYER_CANNOT_PAY DOMESTIC_TRANSACTION_REQUIRED INSTRUMENT_DECLINED TOKEN_ID_NOT_FOUND TOKEN_EXPIRED
  AGREEMENT_ALREADY_CANCELLED BILLING_AGREEMENT_NOT_FOUND TRANSACTION_LIMIT_EXCEEDED TRANSACTION_RECEIVING_LIMIT_EXCEEDED
  TRANSACTION_REFUSED COMPLIANCE_VIOLATION ORDER_NOT_APPROVED ORDER_EXPIRED PAYER_ACTION_REQUIRED
  ACTION_DOES_NOT_MATCH_INTENT AUTH_CAPTURE_NOT_ENABLED PAYMENT_SOURCE_DECLINED_BY_PROCESSOR PAYMENT_SOURCE_CANNOT_BE_USED
  PAYMENT_SOURCE_INFO_CANNOT_BE_VERIFIED REDIRECT_PAYER_FOR_ALTERNATE_FUNDING MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED
  AUTHORIZATION_VOIDED AUTHORIZATION_DENIED AUTHORIZATION_EXPIRED AUTH_CAPTURE_CURRENCY_MISMATCH
  MAX_CAPTURE_AMOUNT_EXCEEDED MAX_CAPTURE_COUNT_EXCEEDED PREVIOUSLY_CAPTURED CANNOT_BE_VOIDED REFUND_NOT_ALLOWED
  REFUND_TIME_LIMIT_EXCEEDED REFUND_AMOUNT_EXCEEDED REFUND_AMOUNT_TOO_LOW REFUND_FAILED_INSUFFICIENT_FUNDS
  REFUND_CAPTURE_CURRENCY_MISMATCH PARTIAL_REFUND_NOT_ALLOWED MAX_NUMBER_OF_REFUNDS_EXCEEDED PENDING_CAPTURE
  REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK TRANSACTION_DISPUTED REFUND_IS_RESTRICTED`.split(/\s+/),
)

/** Undefined where what was said is no refusal that can be relied on. */
export function refusalOf(
  status: number,
  error: PaypalError | undefined,
): RailOutcomeOf<'declined'> | undefined {
  if (error === undefined || status < 400 || status >= 500 || status === 409) return undefined
  const { name, issues } = error
  const issue = issues.find((word) => REFUSING_ISSUES.has(word))
  if (name === 'UNPROCESSABLE_ENTITY') {
    const isWhole = issue !== undefined && issues.every((word) => REFUSING_ISSUES.has(word))
    return isWhole ? declined(issue.toLowerCase(), issue) : undefined
  }
  if (!REFUSING_NAMES.has(name)) return undefined
  return declined((issue ?? name).toLowerCase(), issue ?? name)
}

/** What is said of an order that was sent and not taken. */
export function refusedBy(said: Said, reference?: string): Refused {
  const more = reference === undefined ? {} : { reference }
  if (said.kind === 'notSent') return notSent(said.reason)
  if (said.kind === 'lost') return unknown(said.reason, more)
  const { status, json } = said
  return refusalOf(status, errorIn(json)) ?? unknown(wordOf(said, status), more)
}

const wordOf = ({ json }: Extract<Said, { kind: 'said' }>, status: number): string =>
  json === undefined && status < 300 ? 'answer_malformed' : `status_${status}`

/** The answer to a question, if it is a whole and well-formed one with status 200 or 201. */
export function read<T>(schema: z.ZodType<T>, said: Said): T | undefined {
  if (said.kind !== 'said' || (said.status !== 200 && said.status !== 201)) return undefined
  return schema.safeParse(said.json).data
}

/** Why there is no answer to a question. What did not get there says nothing about what was asked for. */
export function noAnswer(said: Said, reference?: string): RailOutcomeOf<'unknown'> {
  const more = reference === undefined ? {} : { reference }
  if (said.kind !== 'said') return unknown(said.reason, more)
  return unknown(said.status < 300 ? 'answer_malformed' : `status_${said.status}`, more)
}

/** PayPal's own word that it has no such thing. */
export const isNotFound = (said: Said): boolean =>
  said.kind === 'said' &&
  said.status === 404 &&
  ['RESOURCE_NOT_FOUND', 'INVALID_RESOURCE_ID'].includes(errorIn(said.json)?.name ?? '')
