/** What a client throws when an answer is not the one it asked for. */
import { type Advice, CODES, type DenialCode } from '../core/codes.ts'
import type { Problem } from '../core/wire.ts'

/**
 * A refusal or failure of a call. `status` is 0 when no usable answer came; `code` is the problem's own, or
 * `unreachable`, `timeout` or `unreadable`. After any of these a payment may have been made: sending the same quote
 * again tells, and never pays twice.
 */
export class ClientError extends Error {
  readonly status: number
  readonly code: string
  readonly advice: Advice | undefined
  readonly retryAfterSeconds: number | undefined
  /** The field that was not accepted, where the gateway named one. */
  readonly claim: string | undefined

  constructor(
    message: string,
    fields: {
      readonly status: number
      readonly code: string
      readonly advice?: Advice | undefined
      readonly retryAfterSeconds?: number | undefined
      readonly claim?: string | undefined
      readonly cause?: unknown
    },
  ) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.name = 'ClientError'
    this.status = fields.status
    this.code = fields.code
    this.advice = fields.advice
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.claim = fields.claim
  }
}

const isDenialCode = (code: string): code is DenialCode => Object.hasOwn(CODES, code)

/** What to do next after a problem: the code's own advice; `retry` when the gateway is at fault; else `stop`. */
export function adviceOf(code: string, status: number): Advice {
  if (isDenialCode(code)) return CODES[code].advice
  return status >= 500 || status === 429 ? 'retry' : 'stop'
}

/** A problem document as an error; its own advice, where it gives one, is better than ours. */
export function problemError(problem: Problem, retryAfterSeconds: number | undefined): ClientError {
  return new ClientError(problem.title, {
    status: problem.status,
    code: problem.code,
    advice: problem.advice ?? adviceOf(problem.code, problem.status),
    retryAfterSeconds,
    claim: problem.claim,
  })
}
