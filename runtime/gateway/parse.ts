/**
 * The first look at a request: everything about it that can be read in two ways is refused, so that no later step
 * sees another request than this one. One token, one proof, one strict JSON body, and nothing in the query.
 */
import { z } from 'zod'
import { JsonError, parseJson } from '../core/json.ts'
import { LIMITS } from '../core/limits.ts'
import type { AgentRequest, Parsed, RawRequest, ShapeCode } from './attempt.ts'

/** RFC 9449 section 7.1: `DPoP`, one space, one token; Biscuit's text is base64url, padding allowed. */
const AUTHORIZATION = /^DPoP ([A-Za-z0-9_-]+={0,2})$/i
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
/** The one media type of a body (RFC 8259), its charset named or not. */
export const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/i
/** A second door for a credential, or for another reading of the same body. */
const CREDENTIAL_NAME = /token|authorization|dpop/i

const bad = (code: ShapeCode): { readonly ok: false; readonly code: ShapeCode } => ({
  ok: false,
  code,
})

interface Credentials {
  readonly ok: true
  readonly token: string
  readonly proof: string
}

/** Reads a request with a JSON body of exactly this shape. `gatewayUrl` is what the proof's URL must begin with. */
export function parseRequest<Body>(
  raw: RawRequest,
  schema: z.ZodType<Body>,
  gatewayUrl: string,
): Parsed<Body> {
  if (raw.body.length > LIMITS.bodyBytes) return bad('too_large')
  if (raw.query !== '') return bad('ambiguous')
  const headers = headersOf(raw)
  const credentials = credentialsOf(headers)
  if (!credentials.ok) return credentials
  const types = headers.get('content-type') ?? []
  if (types.length > 1) return bad('ambiguous')
  if (!JSON_TYPE.test(types[0] ?? '') || headers.has('content-encoding')) return bad('malformed')
  const body = bodyOf(raw.body, schema)
  return body.ok ? requestOf(raw, gatewayUrl, credentials, body.value) : body
}

/** Reads a request that says everything in its path: its body is empty, or an empty object. */
export function parseBare(
  raw: RawRequest,
  gatewayUrl: string,
): Parsed<Readonly<Record<string, never>>> {
  if (raw.body.length > LIMITS.bodyBytes) return bad('too_large')
  if (raw.method === 'POST' && raw.query !== '') return bad('ambiguous')
  if ([...new URLSearchParams(raw.query).keys()].some((name) => CREDENTIAL_NAME.test(name))) {
    return bad('ambiguous')
  }
  const headers = headersOf(raw)
  const credentials = credentialsOf(headers)
  if (!credentials.ok) return credentials
  if (headers.has('content-encoding')) return bad('malformed')
  const body = raw.body.length === 0 ? { ok: true as const } : bodyOf(raw.body, emptyBody)
  return body.ok ? requestOf(raw, gatewayUrl, credentials, {}) : body
}

const emptyBody = z.strictObject({})

function headersOf(raw: RawRequest): Map<string, string[]> {
  const headers = new Map<string, string[]>()
  for (const [name, value] of raw.headers) {
    const key = name.toLowerCase()
    headers.set(key, [...(headers.get(key) ?? []), value.trim()])
  }
  return headers
}

function credentialsOf(headers: Map<string, string[]>): Credentials | ReturnType<typeof bad> {
  const authorization = headers.get('authorization') ?? []
  const proofs = headers.get('dpop') ?? []
  const others = [...headers.keys()].filter((name) => CREDENTIAL_NAME.test(name))
  if (authorization.length > 1 || proofs.length > 1) return bad('ambiguous')
  if (others.some((name) => name !== 'authorization' && name !== 'dpop')) return bad('ambiguous')
  const value = authorization[0] ?? ''
  if (value.length > LIMITS.tokenChars + 'DPoP '.length) return bad('too_large')
  const token = AUTHORIZATION.exec(value)?.[1]
  const proof = proofs[0]
  if (token === undefined || proof === undefined || !COMPACT.test(proof)) return bad('malformed')
  return { ok: true, token, proof }
}

function bodyOf<Body>(
  bytes: Uint8Array,
  schema: z.ZodType<Body>,
): { readonly ok: true; readonly value: Body } | ReturnType<typeof bad> {
  try {
    const parsed = schema.safeParse(parseJson(bytes))
    return parsed.success ? { ok: true, value: parsed.data } : bad('malformed')
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return bad(error.reason === 'duplicate_key' ? 'ambiguous' : 'malformed')
  }
}

function requestOf<Body>(
  raw: RawRequest,
  gatewayUrl: string,
  { token, proof }: Credentials,
  body: Body,
): { readonly ok: true; readonly request: AgentRequest<Body> } {
  return {
    ok: true,
    request: { token, proof, method: raw.method, url: gatewayUrl + raw.path, body },
  }
}
