/** PayPal's refusals, copied from its own documents: which issue goes with which status, name and message. */

export interface Reply {
  readonly status: number
  /** Sent as JSON; absent for an empty answer. */
  readonly json?: unknown
  /** Sent instead of `json`, as a page. */
  readonly html?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Thrown by a handler, answered as it is. */
export class Refusal extends Error {
  readonly reply: Reply

  constructor(reply: Reply) {
    super('refused')
    this.reply = reply
  }
}

const NAMES = {
  400: [
    'INVALID_REQUEST',
    'Request is not well-formed, syntactically incorrect, or violates schema.',
  ],
  401: [
    'AUTHENTICATION_FAILURE',
    'Authentication failed due to missing authorization header, or invalid authentication credentials.',
  ],
  403: ['NOT_AUTHORIZED', 'Authorization failed due to insufficient permissions.'],
  404: ['RESOURCE_NOT_FOUND', 'The specified resource does not exist.'],
  409: ['RESOURCE_CONFLICT', 'The server has detected a conflict while processing this request.'],
  422: [
    'UNPROCESSABLE_ENTITY',
    'The requested action could not be performed, semantically incorrect, or failed business validation.',
  ],
  429: ['RATE_LIMIT_REACHED', 'Too many requests. Blocked due to rate limiting.'],
  500: ['INTERNAL_SERVER_ERROR', 'An internal server error occurred.'],
} as const

type Status = keyof typeof NAMES

/** Of Orders v2, Payments v2 and Vault v3. */
const ISSUES = {
  INVALID_PARAMETER_SYNTAX: 400,
  INVALID_PARAMETER_VALUE: 400,
  INVALID_STRING_LENGTH: 400,
  INVALID_ARRAY_MAX_ITEMS: 400,
  INVALID_ARRAY_MIN_ITEMS: 400,
  MISSING_REQUIRED_PARAMETER: 400,
  MALFORMED_REQUEST_JSON: 400,
  PAYPAL_REQUEST_ID_REQUIRED: 400,
  FIELD_NOT_PATCHABLE: 400,
  AMOUNT_NOT_PATCHABLE: 400,
  INVALID_PATCH_OPERATION: 400,
  INVALID_ACCOUNT_STATUS: 401,
  PERMISSION_DENIED: 403,
  INVALID_RESOURCE_ID: 404,
  PREVIOUS_REQUEST_IN_PROGRESS: 409,
  AMOUNT_MISMATCH: 422,
  CANNOT_BE_NEGATIVE: 422,
  CANNOT_BE_ZERO_OR_NEGATIVE: 422,
  DECIMAL_PRECISION: 422,
  DECIMALS_NOT_SUPPORTED: 422,
  INVALID_CURRENCY_CODE: 422,
  MAX_VALUE_EXCEEDED: 422,
  MULTI_CURRENCY_ORDER: 422,
  DUPLICATE_INVOICE_ID: 422,
  DUPLICATE_REFERENCE_ID: 422,
  REFERENCE_ID_REQUIRED: 422,
  ITEM_TOTAL_REQUIRED: 422,
  ITEM_TOTAL_MISMATCH: 422,
  UNSUPPORTED_INTENT: 422,
  PAYEE_ACCOUNT_INVALID: 422,
  DOMESTIC_TRANSACTION_REQUIRED: 422,
  INSTRUMENT_DECLINED: 422,
  TOKEN_ID_NOT_FOUND: 422,
  ORDER_NOT_APPROVED: 422,
  ORDER_ALREADY_CAPTURED: 422,
  ORDER_ALREADY_AUTHORIZED: 422,
  ORDER_ALREADY_COMPLETED: 422,
  ORDER_EXPIRED: 422,
  ACTION_DOES_NOT_MATCH_INTENT: 422,
  PAYER_ACTION_REQUIRED: 422,
  AUTH_CAPTURE_CURRENCY_MISMATCH: 422,
  AUTHORIZATION_VOIDED: 422,
  AUTHORIZATION_EXPIRED: 422,
  AUTHORIZATION_ALREADY_CAPTURED: 422,
  MAX_CAPTURE_AMOUNT_EXCEEDED: 422,
  MAX_CAPTURE_COUNT_EXCEEDED: 422,
  PREVIOUSLY_CAPTURED: 422,
  PREVIOUSLY_VOIDED: 422,
  CANNOT_BE_VOIDED: 422,
  REFUND_AMOUNT_EXCEEDED: 422,
  CAPTURE_FULLY_REFUNDED: 422,
  REFUND_CAPTURE_CURRENCY_MISMATCH: 422,
  PENDING_CAPTURE: 422,
  REFUND_TIME_LIMIT_EXCEEDED: 422,
  REFUND_NOT_ALLOWED: 422,
  TRANSACTION_REFUSED: 422,
  COMPLIANCE_VIOLATION: 422,
  MAX_NUMBER_OF_REFUNDS_EXCEEDED: 422,
  REFUND_FAILED_INSUFFICIENT_FUNDS: 422,
  NOT_PATCHABLE: 422,
} as const satisfies Record<string, Status>

export type Issue = keyof typeof ISSUES

export const isIssue = (word: string): word is Issue => Object.hasOwn(ISSUES, word)

let debugged = 0
export function debugId(): string {
  debugged += 1
  return (0xf000_0000_0000 + debugged).toString(16)
}

/** An issue of the newer APIs. `field` is a JSON pointer. */
export function refusal(issue: Issue, field?: string): Refusal {
  const status: Status = ISSUES[issue]
  const [name, message] = NAMES[status]
  const detail = { issue, description: `${issue.toLowerCase().replaceAll('_', ' ')}.` }
  const details = [field === undefined ? detail : { field, location: 'body', ...detail }]
  return new Refusal({ status, json: { name, message, debug_id: debugId(), details, links: [] } })
}

/** Payouts v1 and the other old APIs, which name the fault in `name` itself. */
export function oldRefusal(
  status: number,
  name: string,
  more: { field?: string; links?: readonly unknown[]; issue?: string } = {},
): Refusal {
  const { field, links = [], issue = name.toLowerCase() } = more
  const details = field === undefined ? [] : [{ field, location: 'body', issue }]
  const message = `${name.toLowerCase().replaceAll('_', ' ')}.`
  return new Refusal({ status, json: { name, message, debug_id: debugId(), details, links } })
}

export function plainRefusal(status: Status): Refusal {
  const [name, message] = NAMES[status]
  return new Refusal({
    status,
    json: { name, message, debug_id: debugId(), details: [], links: [] },
  })
}
