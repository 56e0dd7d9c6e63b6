/**
 * Reading a mandate: who signed it, under a key from the configuration, and whether every claim is one we know. The
 * same reading is done when a run is created and, from the stored bytes, for every payment; only a new mandate is
 * also asked whether its times and payees make sense today. What is wrong is told by the claim's name, never its value.
 */
import { type Digest, IDENTIFIER, type PayeeId, sha256 } from '../core/ids.ts'
import { isObject, type Json } from '../core/json.ts'
import { type ParsedJws, parseJws, verifyJws } from '../core/jws.ts'
import { type PublicJwk, thumbprint } from '../core/keys.ts'
import { LIMITS } from '../core/limits.ts'
import { type Mandate, mandateSchema } from '../core/mandate.ts'
import type { Signatures } from '../core/signatures.ts'
import { later, type Seconds } from '../core/time.ts'

/** A person or body whose mandates are accepted, known by public keys. */
export interface Principal {
  readonly id: string
  readonly keys: readonly PublicJwk[]
}

/** Whose signature is believed, and for which gateway. */
export interface Trust {
  readonly gatewayId: string
  readonly principals: readonly Principal[]
  readonly signatures?: Signatures | undefined
}

export interface BadClaim {
  readonly ok: false
  /** The claim, header field (`kid`) or part (`mandate`, `signature`) that was not accepted. */
  readonly claim: string
  /** What was expected. */
  readonly message: string
}

export type MandateReading =
  | { readonly ok: true; readonly mandate: Mandate; readonly digest: Digest }
  | BadClaim

const bad = (claim: string, message: string): BadClaim => ({ ok: false, claim, message })

/** Verifies signature and claims; says nothing about the time of day. */
export function readMandate(text: string, trust: Trust): MandateReading {
  const { jws, parsed } = claimsIn(text)
  if (jws === undefined || parsed === undefined) return diagnose(text)
  const signed = verifySigner(jws, trust)
  if (signed !== undefined) return signed
  if (!parsed.success) return badClaimOf(parsed.error.issues)
  if (parsed.data.aud !== trust.gatewayId) return bad('aud', 'expected the id of this gateway')
  return { ok: true, mandate: parsed.data, digest: sha256(text) }
}

interface Claims {
  readonly jws?: ParsedJws
  readonly parsed?: ReturnType<typeof mandateSchema.safeParse>
}

/** The same text says the same each time; whose word it is, is asked each time. */
const lately = new Map<string, Claims>()
const TEXTS_KEPT = 64

function claimsIn(text: string): Claims {
  const known = lately.get(text)
  if (known !== undefined) return known
  const jws = parseJws(text, 'mandate+jwt')
  if (jws === undefined) return {}
  const read = { jws, parsed: mandateSchema.safeParse(jws.claims) }
  if (lately.size >= TEXTS_KEPT) lately.clear()
  lately.set(text, read)
  return read
}

/** As `readMandate`, and what only matters when a run is to begin: times, and payees that can be paid today. */
export function readNewMandate(
  text: string,
  trust: Trust,
  isPayable: (payee: PayeeId) => boolean,
  now: Seconds,
): MandateReading {
  const reading = readMandate(text, trust)
  if (!reading.ok) return reading
  const { exp, iat, nbf, payees } = reading.mandate
  if (exp <= now) return bad('exp', 'expected an expiry in the future')
  if (exp > later(now, LIMITS.mandateSeconds)) return bad('exp', 'expected at most ten years')
  if (iat > later(now, LIMITS.skewSeconds)) return bad('iat', 'expected a time in the past')
  if (nbf !== undefined && nbf > now) return bad('nbf', 'expected a mandate that is in force')
  if (!payees.every(isPayable)) {
    return bad('payees', 'expected registered payees with an account on the rail')
  }
  return reading
}

/** Undefined when the principal that `iss` names signed this, under the key that `kid` names. */
export function verifySigner(
  jws: ParsedJws,
  { principals, signatures }: Pick<Trust, 'principals' | 'signatures'>,
): BadClaim | undefined {
  const iss = textClaim(jws.claims, 'iss')
  const principal = principals.find(({ id }) => id === iss)
  if (principal === undefined) return bad('iss', 'expected a configured principal')
  const { kid } = jws.header
  const key = principal.keys.find((jwk) => (jwk.kid ?? thumbprint(jwk)) === kid)
  if (kid === undefined || key === undefined) {
    return bad('kid', 'expected a key of the principal')
  }
  if (verifyJws(jws, key, signatures)) return undefined
  return bad('signature', 'expected a signature by the principal’s key over these claims')
}

function textClaim(claims: Json, name: string): string | undefined {
  const value = isObject(claims) && Object.hasOwn(claims, name) ? claims[name] : undefined
  return typeof value === 'string' ? value : undefined
}

interface Issue {
  readonly code?: string | undefined
  readonly path: readonly PropertyKey[]
  readonly keys?: readonly string[]
}

/** A claim's name is a field of ours unless it is unknown; then it is told only if it could be a name at all. */
function badClaimOf(issues: readonly Issue[]): BadClaim {
  const issue = issues[0]
  const name = String(issue?.path[0] ?? issue?.keys?.[0] ?? 'mandate')
  const claim = IDENTIFIER.test(name) ? name : 'mandate'
  return issue?.code === 'unrecognized_keys'
    ? bad(claim, 'expected only the documented claims')
    : bad(claim, 'expected the documented form of this claim')
}

/** Names the claim that the strict parser could not read, such as a fraction; nothing here is believed. */
function diagnose(text: string): BadClaim {
  const shape = bad('mandate', 'expected a compact JWS of type mandate+jwt over strict JSON')
  const [, head = '', payload = ''] = /^([\w-]+)\.([\w-]+)\.[\w-]+$/.exec(text) ?? []
  const header = loosely(head)
  if (header === undefined) return shape
  if (textClaim(header, 'typ') !== 'mandate+jwt') return bad('typ', 'expected mandate+jwt')
  if (!['EdDSA', 'ES256'].includes(textClaim(header, 'alg') ?? '')) {
    return bad('alg', 'expected EdDSA or ES256')
  }
  const parsed = mandateSchema.safeParse(loosely(payload))
  return parsed.success ? shape : badClaimOf(parsed.error.issues)
}

function loosely(part: string): Json | undefined {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString()) as Json
  } catch {
    return undefined
  }
}
