/** What a looker may pass over: a call that might succeed later, of one merchant among several. */
import { ClientError } from '../runtime/client/errors.ts'
import { Fault } from '../runtime/core/errors.ts'

/** Throws the error again where the whole look has to stop: a freeze, an expiry, a refusal, a bug. */
export function assertMayGoOn(error: unknown): void {
  const isPassing =
    error instanceof ClientError
      ? error.advice === 'retry'
      : error instanceof Fault && error.code === 'merchant_unavailable'
  if (!isPassing) throw error
}
