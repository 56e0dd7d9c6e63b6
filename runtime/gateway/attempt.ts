/** What reaches the gateway: a request as the transport saw it, and the same request once it has been read strictly. */
import type { Operation } from '../core/block.ts'
import type { DenialCode } from '../core/codes.ts'
import type { Seconds } from '../core/time.ts'

/** A request before anything in it was believed. Header pairs are as received, so that a name given twice is seen. */
export interface RawRequest {
  readonly method: string
  /** The path alone, percent-encoding as received. */
  readonly path: string
  /** What stood after `?`; empty when nothing did. */
  readonly query: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
}

/** A well-formed request: one token, one proof, one body of the documented shape. */
export interface AgentRequest<Body> {
  readonly token: string
  readonly proof: string
  readonly method: string
  /** What the proof must name (RFC 9449 `htu`): the gateway's own URL and the path. */
  readonly url: string
  readonly body: Body
}

export type ShapeCode = Extract<DenialCode, 'malformed' | 'too_large' | 'ambiguous'>

export type Parsed<Body> =
  | { readonly ok: true; readonly request: AgentRequest<Body> }
  | { readonly ok: false; readonly code: ShapeCode }

/** What the nine checks judge, beside the facts: which operation, whether it was well-formed, and when. */
export interface Attempt {
  readonly operation: Operation
  readonly parsed: Parsed<unknown>
  readonly now: Seconds
}
