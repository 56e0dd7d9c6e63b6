/**
 * What the interface itself refuses, as problem documents; what the gateway refuses and every fault of ours has its
 * answer there. No text of a caller and no text of an error enters one: a code, a written sentence, and at most the
 * name of a field.
 */
import type { FastifyReply } from 'fastify'
import type { Advice } from '../core/codes.ts'
import { Fault, Rejected } from '../core/errors.ts'
import { JsonError } from '../core/json.ts'
import type { LedgerRefusal, Refused } from '../core/ledger.ts'
import type { Problem } from '../core/wire.ts'
import { COMMON_PROBLEMS, type ProblemAnswer, problem, unavailable } from '../gateway/answers.ts'

interface ProblemSpec {
  readonly status: number
  readonly title: string
  readonly advice?: Advice
}

/** Every problem of the interface itself. Codes are stable; what checks refuse is in `core/codes.ts`. */
export const PROBLEMS = {
  ...COMMON_PROBLEMS,
  malformed: { status: 400, title: 'expected a JSON object with exactly the documented fields' },
  cursor: { status: 400, title: 'expected a feed position: a whole number of at least 0' },
  unauthenticated: { status: 401, title: 'the request proves no one’s authority' },
  login_refused: { status: 401, title: 'the login code is unknown, used or too old' },
  forbidden: { status: 403, title: 'this credential does not open this route' },
  host_not_allowed: {
    status: 403,
    title: 'the Host header names no address of this gateway; `listen.hosts` lists more',
  },
  cross_site: { status: 403, title: 'expected a request from a page of this gateway itself' },
  unnamed: {
    status: 403,
    title: 'expected an operator by name: one of `operators`, with a token of their own',
  },
  method_not_allowed: { status: 405, title: 'this address does not take this method' },
  not_acceptable: { status: 406, title: 'this address has no answer of the accepted types' },
  closed: { status: 409, title: 'the run or the node is closing or closed' },
  same_operator: {
    status: 409,
    title: 'you have said this before; another operator must say exactly the same',
  },
  run_live: {
    status: 409,
    title: 'the run has not ended: cancel it, or wait until it is sealed, before it is erased',
  },
  money_waiting: {
    status: 409,
    title:
      'a payment of this run waits for the rail’s word, and what is known of it is needed till then',
  },
  too_large: { status: 413, title: 'the request is larger than the documented limit' },
  unsupported_media_type: { status: 415, title: 'expected application/json without an encoding' },
  refused: { status: 422, title: 'the ledger refuses this' },
  rate_limited: { status: 429, title: 'too many attempts; wait and try again' },
  headers_too_large: { status: 431, title: 'the headers are larger than the documented limit' },
  internal: { status: 500, title: 'something broke on our side' },
  amount_needed: { status: 422, title: 'expected an amount: nothing was refunded' },
} as const satisfies Record<string, ProblemSpec>

export type ProblemCode = keyof typeof PROBLEMS

/** A refusal by the interface, thrown by hooks and handlers. */
export class HttpProblem extends Error {
  readonly code: ProblemCode
  readonly claim: string | undefined
  readonly left: Problem['left']
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ProblemCode,
    options: {
      claim?: string
      left?: Problem['left']
      headers?: Readonly<Record<string, string>>
    } = {},
  ) {
    super(code)
    this.name = 'HttpProblem'
    this.code = code
    this.claim = options.claim
    this.left = options.left
    this.headers = options.headers ?? {}
  }
}

const RETRY_AFTER = { 'retry-after': '2' }
const CHALLENGE = { 'www-authenticate': 'DPoP algs="EdDSA", Bearer' }

const own = (
  code: ProblemCode,
  claim?: string,
  headers: Readonly<Record<string, string>> = {},
): ProblemAnswer => {
  const spec = PROBLEMS[code]
  const always = spec.status === 503 ? RETRY_AFTER : spec.status === 401 ? CHALLENGE : {}
  return problem({ ...spec, code, claim }, { ...always, ...headers })
}

const withLeft = (answer: ProblemAnswer, { left }: HttpProblem): ProblemAnswer => {
  if (left === undefined) return answer
  const title = `${answer.body.title}; ${left.text} (${left.amount}) of this payment can still come back`
  return { ...answer, body: { ...answer.body, title, left } }
}

/** The whole mapping: whatever was thrown, to what the caller is told. */
export function problemOf(error: unknown): ProblemAnswer {
  if (error instanceof HttpProblem)
    return withLeft(own(error.code, error.claim, error.headers), error)
  if (error instanceof Rejected) {
    const { code, message: title, claim } = error
    return problem({ status: 400, code, title, claim })
  }
  if (error instanceof JsonError) return own('malformed')
  if (error instanceof Fault) return unavailable(error)
  return own(frameworkProblem(error))
}

/** Fastify’s own refusals carry a `code`; whatever else was thrown is a bug and says nothing. */
function frameworkProblem(error: unknown): ProblemCode {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return 'too_large'
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return 'unsupported_media_type'
    // The caller hung up before the body was whole: nothing of ours broke.
    case 'ECONNRESET':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_PARAM_NOT_STRING':
      return 'malformed'
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return 'not_found'
    default:
      return 'internal'
  }
}

/** What the ledger refuses to an operator’s command. */
export function refusalProblem(refused: Refused): HttpProblem {
  return new HttpProblem(ledgerProblem(refused.code))
}

function ledgerProblem(code: LedgerRefusal): ProblemCode {
  switch (code) {
    case 'not_found':
      return 'not_found'
    case 'conflict':
    case 'stale':
    case 'quote_spent':
    case 'proof_replayed':
      return 'conflict'
    case 'expired':
    case 'run_closed':
    case 'revoked':
    case 'frozen':
      return 'closed'
    case 'insufficient':
    case 'node_limit':
    case 'fan_out':
    case 'counter':
    case 'hold_limit':
      return 'refused'
    case 'same_operator':
    case 'run_live':
    case 'money_waiting':
      return code
    case 'proofs_full':
      return 'unavailable'
  }
}

/** Sends a problem document. */
export function sendProblem(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, type, headers, body } = problemOf(error)
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers })
    .type(type)
    .send(JSON.stringify(body))
}
