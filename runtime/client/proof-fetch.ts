/** A `fetch` for whatever speaks HTTP in a node's name, such as an MCP client: it signs every request and keeps both secrets. */
import { type Clock, nowSeconds } from '../core/time.ts'
import { type Holder, holderKeyObject } from './mint.ts'
import { signProof } from './proof.ts'

export interface ProofFetchOptions {
  /** The node's token. */
  readonly token: string
  /** The private key of the token's own node. */
  readonly holder: Holder
  readonly clock: Clock
  /** `globalThis.fetch` if absent. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * A `fetch` that sends every request with the node's token and a fresh proof of possession over exactly its method and
 * URL (RFC 9449), which must begin with the gateway's own. It goes to no other origin than the first it was used for, and
 * follows no redirect.
 */
export function proofFetch(
  options: ProofFetchOptions,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const { token, clock, fetch = globalThis.fetch } = options
  const holder = holderKeyObject(options.holder)
  let origin: string | undefined
  return async (target, init = {}) => {
    const url = new URL(target)
    origin ??= url.origin
    if (url.origin !== origin) throw new TypeError('expected the gateway’s own origin')
    const method = (init.method ?? 'GET').toUpperCase()
    const htu = url.origin + url.pathname
    const proof = await signProof({ holder, method, url: htu, token, now: nowSeconds(clock) })
    const headers = new Headers(init.headers)
    headers.set('authorization', `DPoP ${token}`)
    headers.set('dpop', proof)
    return fetch(url, { ...init, method, headers, redirect: 'error' })
  }
}
