/**
 * Compact JWS (RFC 7515) over strict JSON, synchronous, EdDSA (RFC 8037) and ES256 (RFC 7518 section 3.4) only.
 * Synchronous because the checks that use it are pure functions inside one ordered list.
 */
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { canonicalJson, type Json, parseJson } from './json.ts'
import { publicJwkSchema } from './keys.ts'
import { algorithmOf, SIGNATURES, type VerifyingKey } from './signatures.ts'

export type JwsType =
  | 'mandate+jwt'
  | 'quote+jwt'
  | 'receipt+jwt'
  | 'seal+jwt'
  | 'checkpoint+jwt'
  | 'cancel+jwt'
  | 'dpop+jwt'

const headerSchema = z.strictObject({
  alg: z.enum(['EdDSA', 'ES256']),
  typ: z.string().max(40),
  kid: z.string().min(1).max(120).optional(),
  jwk: publicJwkSchema.optional(),
})

export type JwsHeader = z.infer<typeof headerSchema>

export interface ParsedJws {
  readonly header: JwsHeader
  readonly claims: Json
  readonly signingInput: string
  readonly signature: Uint8Array
}

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/

/** Canonical base64url: the text that these bytes encode to, and no other text. */
function decodeBase64url(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/** Splits and parses; nothing is verified yet. Undefined when the text is not a JWS of this type. */
export function parseJws(text: string, typ: JwsType): ParsedJws | undefined {
  const parts = COMPACT.exec(text)
  if (!parts) return undefined
  const [, head = '', body = '', mac = ''] = parts
  const [headBytes, bodyBytes, signature] = [head, body, mac].map(decodeBase64url)
  if (!headBytes || !bodyBytes || !signature) return undefined
  try {
    const header = headerSchema.safeParse(parseJson(headBytes))
    if (!header.success || header.data.typ !== typ) return undefined
    const claims = parseJson(bodyBytes)
    return { header: header.data, claims, signingInput: `${head}.${body}`, signature }
  } catch {
    return undefined
  }
}

/** True only if the signature holds under this key and the key is of the kind that `alg` names. */
export function verifyJws(jws: ParsedJws, key: VerifyingKey, signatures = SIGNATURES): boolean {
  return signatures.verify(jws.header.alg, Buffer.from(jws.signingInput), jws.signature, key)
}

export interface JwsToSign {
  readonly typ: JwsType
  readonly key: KeyObject
  readonly claims: unknown
  readonly kid?: string
  readonly jwk?: z.infer<typeof publicJwkSchema>
}

/** Signs canonical JSON. The algorithm follows from the key: Ed25519 or P-256. */
export function signJws(
  { typ, key, claims, kid, jwk }: JwsToSign,
  signatures = SIGNATURES,
): string {
  const header = {
    alg: algorithmOf(key),
    typ,
    ...(kid === undefined ? {} : { kid }),
    ...(jwk === undefined ? {} : { jwk }),
  }
  const encode = (value: unknown) => Buffer.from(canonicalJson(value)).toString('base64url')
  const signingInput = `${encode(header)}.${encode(claims)}`
  const signature = signatures.sign(Buffer.from(signingInput), key)
  return `${signingInput}.${Buffer.from(signature).toString('base64url')}`
}
