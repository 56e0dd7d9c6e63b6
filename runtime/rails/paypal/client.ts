/**
 * Requests to PayPal, each sent once and within the deadline of the call that it belongs to. Neither the token nor the
 * credentials stand in anything that is returned.
 */
import type { Json } from '../../core/json.ts'
import { LIMITS } from '../../core/limits.ts'
import { type ClientOptions, jsonIn, Tokens } from './tokens.ts'

export interface PaypalRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** With its query; every part of it was checked or encoded. */
  readonly path: string
  readonly body?: string
  /** `PayPal-Request-Id`, 108 characters at most. */
  readonly requestId?: string
  /** Asks for the whole object and not for its id alone. */
  readonly whole?: true
  /** What an answer may take; `LIMITS.bodyBytes` if absent. */
  readonly maxBytes?: number
}

export type Said =
  /** Whole; `json` is undefined where it was no JSON. */
  | { readonly kind: 'said'; readonly status: number; readonly json: Json | undefined }
  | { readonly kind: 'notSent'; readonly reason: string }
  | { readonly kind: 'lost'; readonly reason: string }

export interface Deadline {
  leftMs(): number
}

export interface PaypalClient {
  /** For the requests of one call together. */
  deadline(): Deadline
  /** Never throws. Sends once, and once more only after a 401 that is the token's. */
  call(request: PaypalRequest, deadline: Deadline): Promise<Said>
  /** What the account's token may do. */
  scopes(): Promise<readonly string[] | Exclude<Said, { kind: 'said' }> | 'refused'>
}

export function createClient(options: ClientOptions): PaypalClient {
  const { base, clock, timeoutMs, transport } = options
  const tokens = new Tokens(options)

  async function send(request: PaypalRequest, bearer: string, leftMs: number): Promise<Said> {
    const { method, path, body, requestId, whole, maxBytes = LIMITS.bodyBytes } = request
    const got = await transport({
      method,
      url: new URL(path, base),
      headers: {
        authorization: `Bearer ${bearer}`,
        accept: 'application/json',
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...(requestId === undefined ? {} : { 'paypal-request-id': requestId }),
        ...(whole ? { prefer: 'return=representation' } : {}),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: leftMs,
      maxBytes,
    })
    if (got.kind !== 'answer') return got
    return { kind: 'said', status: got.status, json: jsonIn(got.body) }
  }

  return {
    deadline() {
      const endsAtMs = clock.nowMs() + timeoutMs
      return { leftMs: () => Math.min(timeoutMs, endsAtMs - clock.nowMs()) }
    },

    async call(request, deadline) {
      let refused: string | undefined
      for (;;) {
        if (deadline.leftMs() <= 0) return { kind: 'notSent', reason: 'deadline' }
        const granted = await tokens.get(deadline.leftMs(), refused)
        if (granted.kind !== 'granted') return granted
        const leftMs = deadline.leftMs()
        if (leftMs <= 0) return { kind: 'notSent', reason: 'deadline' }
        const said = await send(request, granted.token, leftMs)
        // A token may be ended before its time. What was refused for it has done nothing, so it is sent again, once.
        if (said.kind !== 'said' || said.status !== 401 || refused !== undefined) return said
        refused = granted.token
      }
    },

    async scopes() {
      const granted = await tokens.get(timeoutMs)
      if (granted.kind === 'granted') return granted.scopes
      return granted.reason === 'token_status_401' ? 'refused' : granted
    },
  }
}
