/** What a client throws when an answer is not the one it asked for. */
import { type Advice, CODES, isDenialCode } from '../core/codes.ts'
import type { Problem } from '../core/wire.ts'

/**
 * A refusal or failure of a call, with what to do next in `advice`. `status` is 0 when no answer came; `code` is the
 * problem's own, or `unreachable`, `timeout`, `unreadable` or `too_large`. After any of these a payment may have been made: sending the same quote
 * again tells, and never pays twice.
 */
export class ClientError extends Error {
  readonly status: number
  readonly code: string
  readonly advice: Advice
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
    this.advice = fields.advice ?? 'stop'
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.claim = fields.claim
  }
}

/** What to do next after a problem: the code's own advice; `retry` when the gateway is at fault; else `stop`. */
export function adviceOf(code: string, status: number): Advice {
  if (isDenialCode(code)) return CODES[code].advice
  return status >= 500 || status === 429 ? 'retry' : 'stop'
}

/** What a problem's text may be to be repeated: short, and of printable characters. */
const PLAIN = /^[\p{L}\p{N}\p{P}\p{S} ]{1,300}$/u
const CODE = /^[a-z][a-z0-9_]{0,59}$/
const FIELD = /^[A-Za-z0-9_.-]{1,80}$/

/** A problem document as an error; its own advice, where it gives one, is better than ours. */
export function problemError(problem: Problem, retryAfterSeconds: number | undefined): ClientError {
  const { status, title, claim } = problem
  const code = CODE.test(problem.code) ? problem.code : 'unreadable'
  return new ClientError(
    PLAIN.test(title) ? title : 'the gateway refused, and not in plain words',
    {
      status,
      code,
      advice: problem.advice ?? adviceOf(code, status),
      retryAfterSeconds,
      claim: claim !== undefined && FIELD.test(claim) ? claim : undefined,
    },
  )
}

/** What came is no answer of a gateway's: a proxy's page, or another program. */
export const unreadable = (status: number, retryAfterSeconds: number | undefined): ClientError =>
  new ClientError(
    status >= 500
      ? 'expected an answer of the documented shape; ask again'
      : 'expected an answer of the documented shape; is this the gateway’s URL, and its version this client’s?',
    { status, code: 'unreadable', advice: status >= 500 ? 'retry' : 'stop', retryAfterSeconds },
  )

/** More came than any answer of a gateway's has. */
export const tooLarge = (status: number): ClientError =>
  new ClientError('expected an answer within the documented limit; is this the gateway’s URL?', {
    status,
    code: 'too_large',
    advice: 'stop',
  })

export const noAnswer = (timedOut: boolean, cause: unknown): ClientError =>
  new ClientError('no answer came; what was asked may have happened all the same, so ask again', {
    status: 0,
    code: timedOut ? 'timeout' : 'unreachable',
    advice: 'retry',
    cause,
  })
