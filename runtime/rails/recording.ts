/**
 * Rail traffic as a file: a transport that writes down each exchange of another as it ends, and one that answers from
 * such a file and reaches nobody. A recording holds no secret, so that it can be kept beside tests and shown; it never
 * changes what the adapter is told, whatever becomes of the file. A replay is strict: it gives each answer once, in
 * order, to the very request that had it, and from the first difference on it is as a rail that is lost. Which host was
 * asked is no part of it: that is configuration, and adapters pin it.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import type { Exchange, ExchangeRequest, Transport } from './exchange.ts'
import {
  differenceOf,
  jsonOf,
  lineSchema,
  type RecordedAnswer,
  type RecordedLine,
  type RecordedRequest,
} from './recording/lines.ts'
import { REMOVED, Scrubber, SECRET_CHARS } from './recording/scrub.ts'

export interface RecordingOptions {
  /** Values that must not be written in any encoding: keys, secrets, webhook secrets, instruments. */
  readonly secrets: readonly string[]
}

/** Headers of a request that make it another request; none but these is written. */
const CHOSEN = [
  'accept',
  'content-type',
  'idempotency-key',
  'paypal-request-id',
  'prefer',
  'x-payout-idempotency',
  'x-razorpay-account',
  'x-refund-idempotency',
  'x-transfer-idempotency',
] as const

/** Headers of an answer that an adapter may go by. */
const KEPT = ['content-type', 'date', 'retry-after'] as const

const FORMAT = 'headgate rail recording 1'

/**
 * Writes one line of JSON for each exchange as it ends, into a new file that its owner alone can read. An exchange that
 * could not be written leaves a gap in the numbers, by which a replay knows. Throws Fault `config_invalid` where there is
 * such a file already, and for a secret of fewer than six characters, which could not be told from other text.
 */
export function recordingTransport(
  transport: Transport,
  file: string,
  { secrets }: RecordingOptions,
): Transport {
  if (secrets.some((secret) => secret.length < SECRET_CHARS)) {
    throw invalid('expected secrets of at least six characters, to be known again in a recording')
  }
  const scrubber = new Scrubber(secrets)
  append(file, 'wx', { recording: FORMAT })
  let begun = 0
  return async (asked) => {
    begun += 1
    const n = begun
    // Before the answer, which may repeat what was sent.
    const request = silently(() => requestOf(asked, scrubber))
    const got = await transport(asked)
    silently(() => append(file, 'a', { n, request, answer: answerOf(got, scrubber) }))
    return got
  }
}

/** A transport that reaches nobody. `end` says what went otherwise than it was recorded, in one sentence without a value. */
export type Replay = Transport & { readonly end: () => string | undefined }

/** Answers from a recording. Throws Fault `config_invalid` for a file that is not a whole one. */
export function replayTransport(
  file: string,
  { secrets }: RecordingOptions = { secrets: [] },
): Replay {
  const lines = readRecording(file)
  const scrubber = new Scrubber(secrets)
  let begun = 0
  let problem: string | undefined
  const next = (asked: ExchangeRequest): Exchange => {
    begun += 1
    const line = lines.get(begun)
    const request = requestOf(asked, scrubber)
    problem ??=
      line === undefined
        ? `exchange ${begun} was asked for and is not in the recording`
        : differenceOf(line.request, request, begun)
    if (problem !== undefined || line === undefined)
      return { kind: 'lost', reason: 'replay_differs' }
    return exchangeOf(line.answer, scrubber)
  }
  const end = () => {
    const left = [...lines.keys()].filter((n) => n > begun).length
    if (problem !== undefined || left === 0) return problem
    return `${left} of ${lines.size} recorded exchanges were never asked for, from exchange ${begun + 1} on`
  }
  return Object.assign(async (asked: ExchangeRequest) => next(asked), { end })
}

function readRecording(file: string): ReadonlyMap<number, RecordedLine> {
  const [head, ...rest] = readFileSync(file, 'utf8').split('\n')
  if (head !== JSON.stringify({ recording: FORMAT }) || rest.pop() !== '') {
    throw invalid('expected a recording of rail traffic, to its last line')
  }
  const lines = new Map<number, RecordedLine>()
  for (const text of rest) {
    const line = lineSchema.safeParse(jsonOf(text)).data
    if (line === undefined) throw invalid('expected one whole exchange on each line of a recording')
    lines.set(line.n, line)
  }
  return lines
}

function requestOf(asked: ExchangeRequest, scrubber: Scrubber): RecordedRequest {
  const { method, url, body } = asked
  const given = new Map(
    Object.entries(asked.headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const authorization = given.get('authorization')
  if (authorization !== undefined) scrubber.learnCredentials(authorization)
  const headers: Record<string, string> = {}
  for (const name of CHOSEN) {
    const value = given.get(name)
    if (value !== undefined) headers[name] = scrubber.text(value)
  }
  const scheme = /^(Basic|Bearer) /.exec(authorization ?? '')?.[1]
  if (authorization !== undefined) headers.authorization = `${scheme ?? 'other'} ${REMOVED}`
  const query = [...url.searchParams]
    .map(([name, value]): [string, string] => [name, scrubber.parameter(name, value)])
    .sort(([a], [b]) => (a < b ? -1 : Number(a > b)))
  const path = scrubber.text(url.pathname)
  return { method, path, query, headers, ...(body === undefined ? {} : bodyOf(body, scrubber)) }
}

function bodyOf(body: string, scrubber: Scrubber): Pick<RecordedRequest, 'body'> {
  const text = scrubber.text(body)
  const json = jsonOf(text)
  return { body: json === undefined ? { text } : { json: z.json().parse(json) } }
}

function answerOf(got: Exchange, scrubber: Scrubber): RecordedAnswer {
  if (got.kind !== 'answer') return got
  const { status } = got
  const utf8 = got.body.toString('utf8')
  const encoding = Buffer.from(utf8).equals(got.body) ? 'utf8' : 'latin1'
  const text = scrubber.text(encoding === 'utf8' ? utf8 : got.body.toString('latin1'))
  const headers: Record<string, string> = {}
  for (const name of KEPT) {
    const value = got.headers[name]
    if (value !== undefined) headers[name] = scrubber.text(value)
  }
  return { kind: 'answer', status, headers, body: { encoding, text } }
}

function exchangeOf(answer: RecordedAnswer, scrubber: Scrubber): Exchange {
  if (answer.kind !== 'answer') return answer
  const { kind, status, headers, body } = answer
  // As when it was recorded: what an answer gave is known when it is sent back.
  scrubber.text(body.text)
  return { kind, status, headers, body: Buffer.from(body.text, body.encoding) }
}

function append(file: string, flag: 'a' | 'wx', line: unknown): void {
  let handle: number
  try {
    handle = openSync(file, flag, 0o600)
  } catch (cause) {
    throw invalid('expected a place for a recording where there is no file yet', cause)
  }
  try {
    writeSync(handle, `${JSON.stringify(line)}\n`)
  } finally {
    closeSync(handle)
  }
}

/** A payment's answer counts for more than its recording. */
function silently<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

const invalid = (message: string, cause?: unknown) =>
  new Fault('config_invalid', message, { retryable: false, cause })
