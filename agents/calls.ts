/**
 * One question to a provider's model: one deadline over every try of it, one rule for which failures are tried again, and one
 * judge of what comes back, whoever the provider is. Nothing but a clean stop with an answer of the schema, by the model
 * that was asked, is an answer. What a provider, a model or a question says is in no message.
 */
import type { z } from 'zod'
import {
  type Model,
  type ModelAnswer,
  type ModelFailure,
  ModelFault,
  type ModelRequest,
  type ModelUsage,
  type Provider,
} from '../runtime/core/agents.ts'
import { systemTimers } from '../runtime/core/clock.ts'
import { type Json, JsonError, parseJson } from '../runtime/core/json.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import type { Clock, Timers } from '../runtime/core/time.ts'
import { type Carried, type Carry, carry, type Fetch, oneRequest } from './carry.ts'
import { type Price, usageOf } from './prices.ts'
import { type Prompt, promptOf } from './prompt.ts'
import { type Wire, type WireSchema, wireOf } from './wire-schema.ts'

/** A question as an adapter puts it. */
export interface Question {
  readonly role: ModelRequest<unknown>['role']
  readonly prompt: Prompt
  readonly schema: WireSchema
}

/** What an answer with status 200 says, by the provider's fields. */
export interface Reading {
  /** Undefined where the provider does not say. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined
  /** The model that answered, by its word. */
  readonly model: string | undefined
  readonly said: { readonly text: string } | { readonly failure: ModelFailure }
}

/** What any other status says. */
export interface Refusal {
  readonly failure: ModelFailure
  /** The pause that the body asks for. */
  readonly waitMs?: number | undefined
}

/** A provider: how it is asked and what its words mean. It keeps no state and retries nothing. */
export interface Adapter {
  readonly engine: Provider
  /** Without a path. */
  readonly origin: string
  /** Tokens of the longest answer that it asks for, thoughts included. */
  readonly mostTokens: number
  /** The header that holds the key. */
  auth(key: string): { readonly [name: string]: string }
  /** Loads the provider's library: a second, which only a process waits that asks. */
  load(): Promise<unknown>
  /** Sends one request by the provider's library, through `fetch`. What it resolves with is not read. */
  put(
    options: { readonly model: string; readonly key: string; readonly origin: string },
    question: Question,
    fetch: Fetch,
  ): Promise<unknown>
  /** Undefined: not an answer of this provider. */
  read(body: unknown): Reading | undefined
  refused(status: number, body: unknown): Refusal
  /** Whether `answered` is the model that was asked for. */
  isSame(asked: string, answered: string): boolean
}

export interface CallOptions {
  readonly model: string
  readonly key: string
  /** The origin of a stand-in; absent: the provider. */
  readonly url?: string | undefined
  readonly price: Price
  readonly clock: Clock
  readonly timers?: Timers | undefined
  readonly carry?: Carry | undefined
}

/** Worth another try at once, by us. */
const PASSING: ReadonlySet<ModelFailure> = new Set(['rate_limited', 'unavailable', 'unreachable'])
/** Worth another try by whoever asked: the same, and what a model may do better the next time. */
const RETRYABLE: ReadonlySet<ModelFailure> = new Set([...PASSING, 'late', 'malformed', 'tool_call'])

const WHY: { readonly [failure in ModelFailure]: string } = {
  refused: 'the model refused',
  blocked: 'the provider stopped the question or the answer for its content',
  cut: 'the answer was cut',
  malformed: 'the answer was not of the schema',
  tool_call: 'the model called a function that nobody offered',
  other_model: 'another model than the one asked for answered',
  rate_limited: 'the provider asks for fewer questions',
  quota: 'the quota of the account at the provider is used up',
  late: 'there was no answer in time',
  unreachable: 'the provider was not reached, or something else answered',
  unavailable: 'the provider is at fault',
  unauthorised: 'the provider did not take the key',
  bad_request: 'the provider did not take the question as it was put',
  too_long: 'the question is too long',
  unrecorded: 'there is no record of this question',
}

/** Why one try failed, and how long the provider asks to be left alone. */
interface Failed extends Refusal {
  readonly usage?: ModelUsage | undefined
  readonly model?: string | undefined
}

type Tried<T> = { readonly answer: ModelAnswer<T> } | { readonly failed: Failed }

/** A `Model` over one provider. Throws ModelFault for anything but a clean, valid answer. */
export function createModel(adapter: Adapter, options: CallOptions): Model {
  // Begun here, so that the first question, which may have few seconds, finds it there; `put` says what is wrong with it.
  adapter.load().catch(() => undefined)
  const wires = new WeakMap<z.ZodType, Wire>()
  const wireFor = (schema: z.ZodType): Wire => {
    const wire = wires.get(schema) ?? wireOf(schema)
    wires.set(schema, wire)
    return wire
  }
  return {
    engine: adapter.engine,
    async ask<T>(request: ModelRequest<T>): Promise<ModelAnswer<T>> {
      request.signal.throwIfAborted()
      const wire = wireFor(request.schema)
      const question = { role: request.role, prompt: promptOf(request), schema: wire.schema }
      const { system, user } = question.prompt
      const length = system.length + user.length + JSON.stringify(wire.schema).length
      if (length > LIMITS.modelPromptChars) {
        throw fault({ failure: 'too_long', model: options.model }, 0)
      }
      const timers = options.timers ?? systemTimers
      const late = new AbortController()
      const callOff = timers.after(LIMITS.modelMs, () => late.abort())
      const signal = AbortSignal.any([request.signal, late.signal])
      try {
        return await tryEach({ adapter, options, timers, signal }, question, (text) =>
          valueIn(request.schema, wire, text),
        )
      } finally {
        callOff()
      }
    },
  }
}

interface Call {
  readonly adapter: Adapter
  readonly options: CallOptions
  readonly timers: Timers
  readonly signal: AbortSignal
}

async function tryEach<T>(
  call: Call,
  question: Question,
  parse: (text: string) => T | undefined,
): Promise<ModelAnswer<T>> {
  const { options, timers, signal } = call
  const endsMs = options.clock.nowMs() + LIMITS.modelMs
  for (let tried = 1; ; tried += 1) {
    const one = await tryOnce(call, question, parse)
    if ('answer' in one) return one.answer
    const { failed } = one
    if (signal.aborted) throw fault({ ...failed, failure: 'late' }, 1)
    const asked = failed.waitMs ?? 0
    const pauseMs = Math.max(asked, LIMITS.modelBackOffMs * 2 ** (tried - 1))
    const isTooLong = asked > LIMITS.modelPauseMs
    const isOver = isTooLong || options.clock.nowMs() + pauseMs >= endsMs
    if (!PASSING.has(failed.failure) || tried >= LIMITS.modelTries || isOver) {
      throw fault(failed, 1, isTooLong ? { retryable: false } : {})
    }
    await pause(timers, pauseMs, signal)
    if (signal.aborted) throw fault({ failure: 'late', model: options.model }, 1)
  }
}

/** Ends at once when the signal aborts. */
async function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const callOff = timers.after(ms, resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  await promise
  callOff()
}

async function tryOnce<T>(
  { adapter, options, signal }: Call,
  question: Question,
  parse: (text: string) => T | undefined,
): Promise<Tried<T>> {
  const { model, key } = options
  const origin = options.url ?? adapter.origin
  const door = {
    origin,
    auth: adapter.auth(key),
    carry: options.carry ?? carry,
    maxBytes: LIMITS.modelAnswerBytes,
  }
  const { fetch, carried, times } = oneRequest(door, signal)
  // What the library makes of an answer, or of none, is not asked: the answer itself is read below.
  await adapter.put({ model, key, origin }, question, fetch).catch(() => undefined)
  if (times() > 1) throw new Error('a library of a provider asked again by itself')
  const got = carried()
  if (got === undefined) return { failed: { failure: 'bad_request', model } }
  if (got.kind === 'none') {
    // It was being answered, or was under way when it was given up.
    const isBegun = got.failure !== 'unreachable' || signal.aborted
    const usage = isBegun ? mostOf(adapter, options, question) : undefined
    return { failed: { failure: got.failure, usage, model } }
  }
  const body = jsonOf(got.body)
  if (got.status !== 200) {
    const refusal = adapter.refused(got.status, body)
    return { failed: { ...refusal, model, waitMs: waitOf(got, options.clock) ?? refusal.waitMs } }
  }
  const reading = adapter.read(body)
  if (reading === undefined) return { failed: { failure: 'unreachable', model } }
  const most = () => mostOf(adapter, options, question)
  return judged(adapter, options, { reading, most }, parse)
}

/**
 * The most that a question can have used whose count did not come: a provider charges for it all the same. No token is
 * less than a byte.
 */
function mostOf(
  { mostTokens }: Adapter,
  { price }: CallOptions,
  { prompt: { system, user }, schema }: Question,
): ModelUsage {
  const bytes = Buffer.byteLength(system + user + JSON.stringify(schema))
  return usageOf(price, bytes, mostTokens)
}

function judged<T>(
  adapter: Adapter,
  { model: asked, price }: CallOptions,
  { reading, most }: { readonly reading: Reading; readonly most: () => ModelUsage },
  parse: (text: string) => T | undefined,
): Tried<T> {
  const { usage: counted, model, said } = reading
  const usage =
    counted === undefined ? undefined : usageOf(price, counted.inputTokens, counted.outputTokens)
  const failed = (failure: ModelFailure) => ({
    failed: { failure, usage: usage ?? most(), model },
  })
  if (model !== undefined && !adapter.isSame(asked, model)) return failed('other_model')
  if ('failure' in said) return failed(said.failure)
  // One that gives no name may be any: it is not taken for the one that was asked.
  if (model === undefined) return failed('other_model')
  const value = parse(said.text)
  // Without a count of its tokens an answer could not be charged to a budget.
  if (value === undefined || usage === undefined) return failed('malformed')
  return { answer: { value, usage, model, finish: 'stop' } }
}

/** The value of a model's text, or undefined: JSON without duplicate keys, turned back, and of the schema. */
function valueIn<T>(schema: z.ZodType<T>, wire: Wire, text: string): T | undefined {
  let json: Json
  try {
    json = parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
  const answer = wire.unwrap(json)
  const read = answer === undefined ? undefined : schema.safeParse(answer)
  return read?.success === true ? read.data : undefined
}

/** Of a provider's own envelope, whose numbers may be fractions. */
function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}

/** `Retry-After` in either form (RFC 9110 section 10.2.3), as milliseconds from now. */
function waitOf(
  { headers }: Extract<Carried, { kind: 'answer' }>,
  clock: Clock,
): number | undefined {
  const given = headers['retry-after']?.trim()
  if (given === undefined) return undefined
  if (/^[0-9]{1,12}(\.[0-9]{1,6})?$/.test(given)) return Math.ceil(Number(given) * 1000)
  const at = /^[A-Z][a-z]{2}, /.test(given) ? Date.parse(given) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.nowMs())
}

const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._/:-]{0,99}$/

function fault(
  { failure, usage, model }: Failed,
  calls: number,
  { retryable = RETRYABLE.has(failure) }: { retryable?: boolean } = {},
): ModelFault {
  const { inputTokens = 0, outputTokens = 0, costMicros = 0 } = usage ?? {}
  return new ModelFault(failure, WHY[failure], {
    retryable,
    usage: { calls, inputTokens, outputTokens, costMicros },
    model: model !== undefined && MODEL_NAME.test(model) ? model : undefined,
  })
}
