/**
 * A route as data: where it is, who may use it, what it reads and what it answers. The server refuses whoever is
 * not named before a handler runs, a test walks the table against the authorisation matrix, and the OpenAPI
 * document is written from the same schemas.
 */
import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { z } from 'zod'
import type { RawRequest } from '../gateway/attempt.ts'
import type { Operator } from './operators.ts'

/**
 * `public`: anyone. `principal`: the body carries a principal's signature. `holder`: a node's token with a proof
 * of possession, judged by the gateway. `operator`: the operator token or a session. `rail`: the body carries the rail's
 * signature, over its very bytes.
 */
export type Who = 'public' | 'principal' | 'holder' | 'operator' | 'rail'

export interface Call<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** The request as the gateway judges it: nothing parsed, nothing merged. */
  readonly raw: RawRequest
  /** Set when the caller proved to be an operator. */
  readonly operator?: Operator
  /** The secret of the session’s cookie, if there is one. */
  readonly session?: string
  readonly lastEventId?: string
  /** For a handler that sets a cookie or takes the response over. */
  readonly reply: FastifyReply
}

export interface JsonAnswer {
  readonly status: number
  /** Absent: an answer without a body. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** `application/json` unless said otherwise. */
  readonly type?: string
}

/** A text of another type, whole. */
export interface TextAnswer {
  readonly status: number
  readonly text: string
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface StreamAnswer {
  readonly status: number
  readonly stream: Readable
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a handler that has written the response itself returns. */
export const TAKEN_OVER = Symbol('taken over')

export type Answer = JsonAnswer | TextAnswer | StreamAnswer | typeof TAKEN_OVER

/** Media types of answers that are not JSON. */
export type MediaType =
  | 'text/event-stream'
  | 'application/x-ndjson'
  | 'text/plain'
  | 'application/jose'

export type AnswerSchemas = Readonly<Record<number, z.ZodType | MediaType | 'empty'>>

interface RouteShape {
  readonly method: 'GET' | 'POST'
  /** Fastify’s pattern: `/runs/:run`. */
  readonly path: string
  readonly who: readonly Who[]
  readonly summary: string
  readonly answers: AnswerSchemas
  /** A browser that asks for text/html gets the console’s shell here. */
  readonly page?: boolean
  /** A browser that asks for text/html gets a page of this route's own. */
  readonly ownPage?: boolean
}

interface Schemas<P, Q, B> {
  readonly params?: z.ZodType<P>
  readonly query?: z.ZodType<Q>
  /** Absent: no body, or an empty object. On a holder’s route the gateway reads the body. */
  readonly body?: z.ZodType<B>
}

export interface Route extends RouteShape, Schemas<unknown, unknown, unknown> {
  readonly handle: (call: Call<unknown, unknown, unknown>) => Promise<Answer>
}

/** One route, its handler typed by its own schemas; the server parses with exactly these before it calls. */
export function route<P = undefined, Q = undefined, B = undefined>(
  spec: RouteShape &
    Schemas<P, Q, B> & { readonly handle: (call: Call<P, Q, B>) => Promise<Answer> },
): Route {
  const { handle, ...rest } = spec
  return { ...rest, handle: (call) => handle(call as Call<P, Q, B>) }
}

export const ok = (body: unknown): JsonAnswer => ({ status: 200, body })
