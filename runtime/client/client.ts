/**
 * What an agent needs to use a gateway: one token, one holder key, a few calls. The key signs a fresh proof for every
 * request and never leaves the process; answers are read up to a limit, until a deadline, from nowhere else, and parsed
 * strictly before anybody sees them. It retries nothing: a retry is a decision, and `ClientError.advice` says which one
 * makes sense.
 */
import type { KeyObject } from 'node:crypto'
import type { z } from 'zod'
import type { NodeId, PaymentId, RunId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { type Clock, nowSeconds } from '../core/time.ts'
import {
  closedNodeSchema,
  decisionAnswerSchema,
  type OwnNode,
  ownNodeSchema,
  type PaymentStatus,
  paymentAnswerSchema,
  paymentStatusSchema,
  problemSchema,
  productAnswerSchema,
  type productBody,
  quoteAnswerSchema,
  type quoteBody,
  registeredNodeSchema,
  runDetailSchema,
  searchAnswerSchema,
  type searchBody,
} from '../core/wire.ts'
import { type AnswerBody, jsonOf, readBytes } from './answer.ts'
import { noAnswer, problemError, tooLarge, unreadable } from './errors.ts'
import { type Holder, holderKeyObject } from './mint.ts'
import { signProof } from './proof.ts'
import { type WatchOptions, watchNode } from './watch.ts'

/** As much of an answer as the client reads; the global `Response` is one. */
export interface FetchAnswer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  readonly body: AnswerBody
}

/** As much of `fetch` as the client uses; the global one fits. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: string
    readonly redirect: 'error'
    readonly signal: AbortSignal
  },
) => Promise<FetchAnswer>

export interface ClientOptions {
  /** The gateway's public URL, which proofs are signed for. A final slash does not matter. */
  readonly gateway: string
  readonly token: string
  /** The private key of the token's own node. */
  readonly holder: Holder
  /** `globalThis.fetch` if absent. */
  readonly fetch?: Fetch
  readonly clock: Clock
  /** One call, connecting and reading included. */
  readonly timeoutMs?: number
}

type SearchBody = z.input<typeof searchBody>
type ProductBody = z.input<typeof productBody>
type QuoteBody = z.input<typeof quoteBody>

/** Every call throws ClientError for anything but the answer that it names. */
export interface Client {
  /** For a looker: items of the allowed merchants. Every text in them is an outsider's. */
  search(body: SearchBody): Promise<z.infer<typeof searchAnswerSchema>>
  /** For a looker: one item with its whole description, which is an outsider's. */
  product(body: ProductBody): Promise<z.infer<typeof productAnswerSchema>>
  /** For a looker: a merchant's signed quote, a compact JWS. */
  quote(body: QuoteBody): Promise<z.infer<typeof quoteAnswerSchema>>
  /** For a leaf: the answer, be it allow, hold, deny or in flight. The same quote again is the same payment. */
  pay(quote: string): Promise<z.infer<typeof paymentAnswerSchema>>
  /** For a leaf: what `pay` would be answered, and nothing done. */
  decide(quote: string): Promise<z.infer<typeof decisionAnswerSchema>>
  /**
   * For an outside planner, as the parent: records the child whose token this is. `nodes` is how many a child planner
   * may make below itself; none if absent.
   */
  registerNode(
    run: RunId,
    token: string,
    nodes?: number,
  ): Promise<z.infer<typeof registeredNodeSchema>>
  /** For an outside planner: closes a node below its own; what that did not spend goes back. */
  closeNode(run: RunId, node: NodeId): Promise<z.infer<typeof closedNodeSchema>>
  /** For a planner: its own subtree. */
  readRun(run: RunId): Promise<z.infer<typeof runDetailSchema>>
  /** For every kind of node: what it may do, what is left, and its own payments. */
  ownNode(): Promise<OwnNode>
  /** For a leaf, its own payment; for a planner, one below it. None is there before anything was set aside for it. */
  payment(id: PaymentId): Promise<PaymentStatus>
  /** Its own node whenever something of it has changed, until its payment has ended, or a person has decided about it. */
  watch(options?: WatchOptions): AsyncGenerator<OwnNode, void, undefined>
}

/** A payment may wait for the engine, a monitor and a rail, one after another. */
const TIMEOUT_MS = LIMITS.engineMs + LIMITS.monitorMs + LIMITS.railMs + 3_000

/** An answer to a payment is one of these; anything else is a problem. */
const PAYMENT_STATUSES: readonly number[] = [200, 202, 403, 409]
const OK_STATUSES: readonly number[] = [200, 201]

interface Call<S extends z.ZodType> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly statuses: readonly number[]
  readonly answer: S
  /** Bytes of an answer that are read; `LIMITS.answerBytes` if absent. */
  readonly most?: number
}

/** A client for one node of one run; it connects only when a call is made. */
export function createClient(options: ClientOptions): Client {
  const caller = new Caller(options)
  const post = <S extends z.ZodType>(path: string, body: unknown, answer: S) =>
    caller.call({ method: 'POST', path, body, statuses: OK_STATUSES, answer })
  const ownNode = () =>
    caller.call({ method: 'GET', path: '/node', statuses: OK_STATUSES, answer: ownNodeSchema })
  const nodes = (run: RunId) => `/runs/${encodeURIComponent(run)}/nodes`
  return {
    search: (body) => post('/search', body, searchAnswerSchema),
    product: (body) => post('/products', body, productAnswerSchema),
    quote: (body) => post('/quotes', body, quoteAnswerSchema),
    pay: (quote) =>
      caller.call({
        method: 'POST',
        path: '/payments',
        body: { quote },
        statuses: PAYMENT_STATUSES,
        answer: paymentAnswerSchema,
      }),
    decide: (quote) =>
      caller.call({
        method: 'POST',
        path: '/decisions',
        body: { quote },
        statuses: PAYMENT_STATUSES,
        answer: decisionAnswerSchema,
      }),
    registerNode: (run, token, count) => {
      const body = count === undefined ? { token } : { token, nodes: count }
      return post(nodes(run), body, registeredNodeSchema)
    },
    closeNode: (run, node) =>
      post(`${nodes(run)}/${encodeURIComponent(node)}/close`, {}, closedNodeSchema),
    readRun: (run) =>
      caller.call({
        method: 'GET',
        path: `/runs/${encodeURIComponent(run)}`,
        statuses: OK_STATUSES,
        answer: runDetailSchema,
        most: LIMITS.treeBytes,
      }),
    ownNode,
    payment: (id) =>
      caller.call({
        method: 'GET',
        path: `/payments/${encodeURIComponent(id)}`,
        statuses: OK_STATUSES,
        answer: paymentStatusSchema,
      }),
    watch: (options) => watchNode(ownNode, options),
  }
}

class Caller {
  readonly #origin: string
  readonly #token: string
  readonly #holder: KeyObject
  readonly #fetch: Fetch
  readonly #clock: Clock
  readonly #timeoutMs: number

  constructor({ gateway, token, holder, fetch, clock, timeoutMs }: ClientOptions) {
    this.#origin = gateway.replace(/\/+$/, '')
    this.#token = token
    this.#holder = holderKeyObject(holder)
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init))
    this.#clock = clock
    this.#timeoutMs = timeoutMs ?? TIMEOUT_MS
  }

  async call<S extends z.ZodType>(call: Call<S>): Promise<z.output<S>> {
    const { status, type, bytes, retryAfterSeconds } = await this.#send(call)
    if (bytes === 'too_large') throw tooLarge(status)
    const isProblem = type.startsWith('application/problem+json')
    const json = jsonOf(bytes)
    if (!isProblem && call.statuses.includes(status)) {
      const answer = call.answer.safeParse(json)
      if (answer.success) return answer.data
      throw unreadable(status, retryAfterSeconds)
    }
    const problem = problemSchema.safeParse(json)
    if (!problem.success) throw unreadable(status, retryAfterSeconds)
    throw problemError({ ...problem.data, status }, retryAfterSeconds)
  }

  async #send({ method, path, body, most = LIMITS.answerBytes }: Call<z.ZodType>) {
    const url = `${this.#origin}${path}`
    const now = nowSeconds(this.#clock)
    const proof = await signProof({ holder: this.#holder, method, url, token: this.#token, now })
    const signal = AbortSignal.timeout(this.#timeoutMs)
    try {
      const answer = await this.#fetch(url, {
        method,
        headers: {
          accept: 'application/json',
          authorization: `DPoP ${this.#token}`,
          dpop: proof,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A token belongs to one gateway; nobody may send it elsewhere.
        redirect: 'error',
        signal,
      })
      return {
        status: answer.status,
        type: answer.headers.get('content-type') ?? '',
        bytes: await readBytes(answer.body, most, signal),
        retryAfterSeconds: retryAfter(answer.headers.get('retry-after')),
      }
    } catch (cause) {
      throw noAnswer(signal.aborted, cause)
    }
  }
}

/** RFC 9110 section 10.2.3, in seconds; the form with a date is not ours. */
const retryAfter = (value: string | null): number | undefined =>
  value !== null && /^[0-9]{1,6}$/.test(value) ? Number(value) : undefined
