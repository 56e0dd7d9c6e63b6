/**
 * Asks the Biscuit engine whether a token's own checks permit a request. It runs only on blocks that are known to be
 * exactly the closed grammar; the request's facts go in as parameters; and a limit that is reached is a fault of
 * ours, never a refusal.
 */
import type { Authorizer, Biscuit as Token } from '@biscuit-auth/biscuit-wasm'
import type { RequestFacts } from '../core/block.ts'
import { Fault } from '../core/errors.ts'
import { isoTime } from '../core/time.ts'
import {
  type Biscuit,
  callLibrary,
  LibraryError,
  libraryLimits,
  type RunLimits,
} from './library.ts'

/**
 * Many times what a warm engine takes. Only the time is known to bind a chain without rules; the library counts facts
 * and iterations against limits of its own (1,000 and 100), which 17 blocks of 41 facts stay below.
 */
export const RUN_LIMITS: RunLimits = { facts: 1_000, iterations: 100, microseconds: 20_000 }

/** A cold engine overruns its limit by chance, so the same question is asked again, at most this often. */
const RETRIES = 3

const REQUEST =
  'req_operation({operation}); req_amount({amount}); req_currency({currency}); req_payee({payee}); time({time});'
const POLICY = 'allow if true;'

function buildAuthorizer(biscuit: Biscuit, token: Token, request: RequestFacts): Authorizer {
  const { operation, amount, currency, payee, quote, nowSeconds } = request
  const builder = new biscuit.AuthorizerBuilder()
  const facts = { operation, amount, currency, payee, time: { date: isoTime(nowSeconds) } }
  if (quote === undefined) {
    builder.addCodeWithParameters(`${REQUEST} ${POLICY}`, facts, {})
  } else {
    const digest = { bytes: Buffer.from(quote, 'base64url').toString('hex') }
    const source = `${REQUEST} req_quote({quote}); ${POLICY}`
    builder.addCodeWithParameters(source, { ...facts, quote: digest }, {})
  }
  return builder.buildAuthenticated(token)
}

/**
 * True when every check of every block holds for the request. Throws Fault: `engine_timeout` for a run limit, and
 * `engine_failed` for whatever else goes wrong, because by now the token is known to be ours; LibraryError (`dead`)
 * when the library broke.
 */
export function authorise(
  biscuit: Biscuit,
  token: Token,
  request: RequestFacts,
  limits: RunLimits = RUN_LIMITS,
): boolean {
  // A fraction as a parameter traps in the library and takes the whole instance with it.
  if (!Number.isSafeInteger(request.amount) || !Number.isSafeInteger(request.nowSeconds)) {
    throw new Fault('engine_failed', 'expected whole numbers in a request', { retryable: false })
  }
  for (let attempt = 0; attempt <= RETRIES; attempt += 1) {
    const answer = ask(() => {
      using authorizer = buildAuthorizer(biscuit, token, request)
      return authorizer.authorizeWithLimits(libraryLimits(limits))
    })
    if (answer === 'permitted') return true
    if (answer === 'logic') return false
    if (answer === 'format') throw new Fault('engine_failed', 'the engine refused a block of ours')
  }
  throw new Fault('engine_timeout', 'the token engine reached its run limit on a token of ours')
}

function ask(call: () => number): 'permitted' | 'logic' | 'format' | 'run_limit' {
  try {
    const answer = callLibrary(call)
    return answer.ok ? 'permitted' : answer.failure
  } catch (cause) {
    if (cause instanceof LibraryError && cause.kind === 'dead') throw cause
    throw new Fault('engine_failed', 'the engine failed on a token of ours', { cause })
  }
}
