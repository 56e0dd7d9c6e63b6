/**
 * Google's client as the ledger uses it: one attempt each, our own loop around it. The client's own retries are off
 * where they can be, because each layer of them repeats what may have happened, waits for seconds, and tells nobody:
 * `runTransaction` five times, a commit on RESOURCE_EXHAUSTED and UNAVAILABLE, every read that fails before its first
 * answer twice more. One layer stays: a read that is told UNAVAILABLE, INTERNAL or DEADLINE_EXCEEDED is sent up to
 * five times, with a second and more between. It changes nothing, and our deadline holds around it.
 *
 * Most failures of a commit do not say whether it happened, so the loop runs the work again and the work has to
 * recognise itself. Back-off is jittered and short; at the deadline the caller gets a Fault and decides.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Firestore } from '@google-cloud/firestore'
import { Fault } from '../core/errors.ts'

export interface FirestoreAddress {
  readonly projectId: string
  /** `(default)` if absent. */
  readonly databaseId?: string
  /** `host:port` of an emulator, spoken to without TLS or credentials. */
  readonly emulatorHost?: string
}

/** One call; a connection that died silently is given up after it. */
const RPC_MS = 5_000
const METHODS = ['BatchGetDocuments', 'RunQuery', 'BeginTransaction', 'Commit', 'Rollback']

/** Codes of the generated client's configuration (AIP-4221): each method once, within `RPC_MS`. */
const CLIENT_CONFIG = {
  interfaces: {
    'google.firestore.v1.Firestore': {
      retry_codes: { never: [] },
      retry_params: {
        once: {
          initial_retry_delay_millis: 100,
          retry_delay_multiplier: 1,
          max_retry_delay_millis: 100,
          initial_rpc_timeout_millis: RPC_MS,
          rpc_timeout_multiplier: 1,
          max_rpc_timeout_millis: RPC_MS,
          total_timeout_millis: RPC_MS,
        },
      },
      methods: Object.fromEntries(
        METHODS.map((method) => [
          method,
          { timeout_millis: RPC_MS, retry_codes_name: 'never', retry_params_name: 'once' },
        ]),
      ),
    },
  },
}

/** Said beforehand, so that nobody asks the cloud's metadata server, which is not on this machine. */
const OFF_THE_NET = { universeDomain: 'googleapis.com' }

function clientOf({ projectId, databaseId, emulatorHost }: FirestoreAddress): Firestore {
  return new Firestore({
    projectId,
    ...(databaseId === undefined ? {} : { databaseId }),
    ...(emulatorHost === undefined ? {} : { host: emulatorHost, ssl: false, ...OFF_THE_NET }),
    // An undefined field is an error of ours, and never left out in silence.
    ignoreUndefinedProperties: false,
    preferRest: false,
    clientConfig: CLIENT_CONFIG,
    // Makes reads obey the configuration above.
    gaxServerStreamingRetries: true,
    grpcOptions: { 'grpc.keepalive_time_ms': 30_000, 'grpc.keepalive_timeout_ms': 5_000 },
  })
}

/** gRPC status codes (google.rpc.Code) after which the same work is simply run again. */
const AGAIN: ReadonlySet<number> = new Set([
  1, // cancelled
  2, // unknown
  4, // deadline exceeded
  8, // resource exhausted
  10, // aborted
  13, // internal
  14, // unavailable
  16, // unauthenticated
])

/** Codes that end an attempt, and yet may be the answer to a commit of ours that was sent twice: looked at once more. */
const LOOK: ReadonlySet<number> = new Set([
  5, // not found
  6, // already exists
  7, // permission denied
  9, // failed precondition
])

const MISPLACED: ReadonlySet<number> = new Set([5, 6])

const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'number'
    ? error.code
    : undefined

const unavailable = (cause: unknown, retryable = true) =>
  new Fault('store_unavailable', 'the store could not be reached or was too busy', {
    retryable,
    cause,
  })

/** True: run it again. False: run it again once. Throws what the caller gets where it makes no sense. */
function isWorthAnother(error: unknown, looks: number): boolean {
  if (error instanceof Fault) throw error
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : ''
  // Two failures of the client's own that carry no code, and a transaction id that the server has forgotten.
  if (code === undefined && /maximum number of retries|Transaction ID was missing/.test(message)) {
    return true
  }
  if (code === undefined) throw error
  if (AGAIN.has(code) || code === 409) return true
  if (code === 3 && /transaction has expired|no longer valid/.test(message)) return true
  if (LOOK.has(code) && looks === 0) return false
  if (MISPLACED.has(code)) {
    throw new Fault('ledger_corrupt', 'a document is where none should be, or missing', {
      retryable: false,
      cause: error,
    })
  }
  throw unavailable(error, code === 7)
}

/** A point in time (`performance.now()`) after which nobody waits any more. */
export interface Deadline {
  readonly atMs: number
}

export const deadlineIn = (ms: number): Deadline => ({ atMs: performance.now() + ms })

/** The first pause lies between these; each later one may be twice as long, up to `LONGEST_MS`. */
const PAUSE_MS = { least: 5, most: 50 }
const LONGEST_MS = 400

const pause = (attempt: number): Promise<void> => {
  const most = Math.min(LONGEST_MS, PAUSE_MS.most * 2 ** Math.min(attempt, 10))
  return sleep(randomInt(PAUSE_MS.least, most))
}

/** A client, and the attempts that are on their way in it. */
export class Connection {
  readonly db: Firestore
  readonly #running = new Set<Promise<unknown>>()

  constructor(address: FirestoreAddress) {
    this.db = clientOf(address)
  }

  /**
   * Runs work until it has an answer. Throws its Fault, or Fault `store_unavailable` once the deadline has passed; an
   * attempt that is still on its way then may yet happen.
   */
  async persist<T>(work: () => Promise<T>, { atMs }: Deadline): Promise<T> {
    const leftMs = atMs - performance.now()
    if (leftMs <= 0) throw unavailable(undefined)
    let last: unknown
    const { promise: late, reject } = Promise.withResolvers<never>()
    late.catch(() => undefined)
    const timer = setTimeout(() => reject(unavailable(last)), leftMs)
    try {
      for (let attempt = 0, looks = 0; ; attempt += 1) {
        try {
          return await Promise.race([this.#track(work()), late])
        } catch (error) {
          last = error
          if (!isWorthAnother(error, looks)) looks += 1
        }
        await Promise.race([pause(attempt), late])
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Ends the client once nothing is on its way in it: ended earlier, it leaves reads that it wanted to send again
   * without an answer for ever, and rejects a promise that nobody can reach.
   */
  async end(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
    await this.db.terminate()
  }

  #track<T>(attempt: Promise<T>): Promise<T> {
    this.#running.add(attempt)
    const forget = () => void this.#running.delete(attempt)
    attempt.then(forget, forget)
    return attempt
  }
}
