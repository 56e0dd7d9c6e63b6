/**
 * Three kinds of failure, never mixed: a denial is a value (`codes.ts`); a fault, here, is something that
 * broke on our side and becomes 503; an assertion is a bug and is left to crash the request.
 */

import type { RunId } from './ids.ts'
import type { StreamId } from './records.ts'

export type FaultCode =
  | 'store_unavailable'
  | 'store_newer'
  | 'store_locked'
  | 'ledger_corrupt'
  | 'clock_untrusted'
  | 'engine_timeout'
  | 'engine_failed'
  | 'engine_busy'
  | 'policy_failed'
  | 'rail_unconfigured'
  /** The rail takes our credentials, and their account may not do all that we use. */
  | 'rail_limited'
  | 'merchant_unavailable'
  | 'model_failed'
  | 'config_invalid'
  /** Something that was about to leave, or to be kept, held a secret of ours: it was stopped. */
  | 'secret_withheld'
  | 'internal'

export interface CorruptRun {
  readonly run: RunId
  readonly stream: StreamId
}

/** An operating failure. Its message is for operators and never leaves the process on the wire. */
export class Fault extends Error {
  readonly code: FaultCode
  readonly retryable: boolean
  /** Of `ledger_corrupt`: the run that has to stop, and the stream that shows it. */
  readonly corrupt: CorruptRun | undefined

  constructor(
    code: FaultCode,
    message: string,
    options: { retryable?: boolean; cause?: unknown; corrupt?: CorruptRun } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Fault'
    this.code = code
    this.retryable = options.retryable ?? true
    this.corrupt = options.corrupt
  }
}

/** Input at a boundary that cannot be accepted. `claim` names the field, never quotes its value. */
export class Rejected extends Error {
  readonly code: string
  readonly claim: string | undefined

  constructor(code: string, message: string, claim?: string) {
    super(message)
    this.name = 'Rejected'
    this.code = code
    this.claim = claim
  }
}

export function assertNever(value: never, what: string): never {
  throw new Error(`unexpected ${what}: ${typeof value}`)
}
