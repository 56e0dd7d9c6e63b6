import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { signProof } from '../../runtime/client/proof.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { later, type Seconds } from '../../runtime/core/time.ts'
import { checkProof, type ProofToCheck } from '../../runtime/tokens/proof.ts'
import { holderOf, keyOf, NOW } from './fixtures.ts'

const TOKEN = 'EpcDCg-a-token'
const URL_PAY = 'https://gate.example/payments'
const HEADER = {
  typ: 'dpop+jwt',
  alg: 'EdDSA',
  jwk: { kty: 'OKP', crv: 'Ed25519', x: holderOf(1) },
}
const CLAIMS = {
  htm: 'POST',
  htu: URL_PAY,
  iat: NOW as number,
  jti: 'abcdefghijklmnop',
  ath: sha256(TOKEN),
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Whatever header and claims, with a signature by `key` that holds. */
function proofOf(header: unknown, claims: unknown, key: KeyObject = keyOf(1)): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
}

const check = (proof: string, changes: Partial<ProofToCheck> = {}) =>
  checkProof({
    proof,
    method: 'POST',
    url: URL_PAY,
    token: TOKEN,
    now: NOW,
    ...changes,
  })

const REFUSED = { ok: false }

describe('a proof', () => {
  it('by the holder over this request is accepted once its token, method and URL are these', () => {
    expect(check(proofOf(HEADER, CLAIMS))).toEqual({
      ok: true,
      holder: holderOf(1),
      jti: CLAIMS.jti,
      expiresAtSeconds: later(NOW, LIMITS.proofAgeSeconds + 1),
    })
  })

  it('that the client signs is accepted, and never has the same jti twice', async () => {
    const request = { holder: keyOf(1), method: 'POST', url: URL_PAY, token: TOKEN, now: NOW }
    const [one, two] = [await signProof(request), await signProof(request)]
    expect([check(one).ok, check(two).ok]).toEqual([true, true])
    expect(check(one)).not.toEqual(check(two))
  })

  const at = (iat: number) => proofOf(HEADER, { ...CLAIMS, iat })

  it('is fresh at the largest age and too old one second later', () => {
    const oldest = NOW - LIMITS.proofAgeSeconds
    expect(check(at(oldest)).ok).toBe(true)
    expect(check(at(oldest - 1))).toEqual(REFUSED)
  })

  it('may come from a clock that is ahead by the skew and not by a second more', () => {
    expect(check(at(NOW + LIMITS.skewSeconds)).ok).toBe(true)
    expect(check(at(NOW + LIMITS.skewSeconds + 1))).toEqual(REFUSED)
  })

  it('is refused from the second that it says its jti may be forgotten', () => {
    const proof = proofOf(HEADER, CLAIMS)
    const verdict = check(proof)
    if (!verdict.ok) throw new Error('expected a fresh proof')
    expect(check(proof, { now: verdict.expiresAtSeconds })).toEqual(REFUSED)
    expect(check(proof, { now: (verdict.expiresAtSeconds - 1) as Seconds }).ok).toBe(true)
  })

  const otherRequests: readonly [string, Partial<ProofToCheck>][] = [
    ['another method', { method: 'GET' }],
    ['a method in lower case', { method: 'post' }],
    ['another path', { url: 'https://gate.example/search' }],
    ['another host', { url: 'https://gate.example.org/payments' }],
    ['another scheme', { url: 'http://gate.example/payments' }],
    ['a final slash', { url: `${URL_PAY}/` }],
    ['another token', { token: `${TOKEN}x` }],
    ['the same token with padding', { token: `${TOKEN}=` }],
  ]
  for (const [what, changes] of otherRequests) {
    it(`is refused for ${what}`, () => {
      expect(check(proofOf(HEADER, CLAIMS), changes)).toEqual(REFUSED)
    })
  }

  const badClaims: readonly [string, Record<string, unknown>][] = [
    ['no method', { htm: undefined }],
    ['no URL', { htu: undefined }],
    ['a URL with a query', { htu: `${URL_PAY}?a=1` }],
    ['a URL with a fragment', { htu: `${URL_PAY}#a` }],
    ['no time', { iat: undefined }],
    ['a time that is text', { iat: String(NOW) }],
    ['a fractional time', { iat: NOW + 0.5 }],
    ['a negative time', { iat: -1 }],
    ['no jti', { jti: undefined }],
    ['a jti of 15 characters', { jti: 'a'.repeat(15) }],
    ['a jti of 81 characters', { jti: 'a'.repeat(81) }],
    ['a jti with a space', { jti: 'abcdefgh ijklmnop' }],
    ['a jti that is a number', { jti: 1_234_567_890_123_456 }],
    ['no token hash', { ath: undefined }],
    ['the token hash in hex', { ath: Buffer.from(sha256(TOKEN), 'base64url').toString('hex') }],
    ['a claim that we do not know', { nonce: 'abc' }],
    ['an expiry', { exp: NOW + 1_000 }],
  ]
  for (const [what, changes] of badClaims) {
    it(`is refused with ${what}`, () => {
      expect(check(proofOf(HEADER, { ...CLAIMS, ...changes }))).toEqual(REFUSED)
    })
  }

  it('takes a jti of 16 and of 80 characters', () => {
    for (const length of [16, 80]) {
      expect(check(proofOf(HEADER, { ...CLAIMS, jti: 'a'.repeat(length) })).ok).toBe(true)
    }
  })

  const badHeaders: readonly [string, Record<string, unknown>][] = [
    ['another type', { typ: 'mandate+jwt' }],
    ['no type', { typ: undefined }],
    ['no algorithm', { alg: 'none' }],
    ['a shared secret’s algorithm', { alg: 'HS256' }],
    ['another algorithm', { alg: 'ES256' }],
    ['no key', { jwk: undefined }],
    ['a key id beside the key', { kid: 'a' }],
    ['a critical extension', { crit: ['exp'] }],
    ['another’s key', { jwk: { ...HEADER.jwk, x: holderOf(2) } }],
    ['a private key', { jwk: { ...HEADER.jwk, d: holderOf(2) } }],
    ['a key of another curve', { jwk: { ...HEADER.jwk, crv: 'X25519' } }],
    ['the key in another spelling', { jwk: { ...HEADER.jwk, x: `${holderOf(1)}=` } }],
  ]
  for (const [what, changes] of badHeaders) {
    it(`is refused with ${what} in its header`, () => {
      expect(check(proofOf({ ...HEADER, ...changes }, CLAIMS))).toEqual(REFUSED)
    })
  }

  it('is refused when another signed it under the holder’s name', () => {
    expect(check(proofOf(HEADER, CLAIMS, keyOf(2)))).toEqual(REFUSED)
  })

  it('by a thief with a key of its own is the thief’s, whom no token names', () => {
    const thief = generateKeyPairSync('ed25519').privateKey
    const header = { ...HEADER, jwk: { ...HEADER.jwk, x: rawPublicKey(thief) } }
    expect(check(proofOf(header, CLAIMS, thief))).toMatchObject({ holder: rawPublicKey(thief) })
  })

  it('is judged whatever 32 bytes its key is, and holds under none that signs nothing', () => {
    for (const x of ['A'.repeat(43), '_'.repeat(43), `AQ${'A'.repeat(41)}`]) {
      expect(check(proofOf({ ...HEADER, jwk: { ...HEADER.jwk, x } }, CLAIMS))).toEqual(REFUSED)
    }
  })

  it('is refused with claims changed after signing', () => {
    const [header, , signature] = proofOf(HEADER, CLAIMS).split('.')
    const later = encode({ ...CLAIMS, jti: 'ponmlkjihgfedcba' })
    expect(check(`${header}.${later}.${signature}`)).toEqual(REFUSED)
  })

  it('is refused as any other text', () => {
    for (const text of ['', '.', '..', 'a.b.c', TOKEN, `${proofOf(HEADER, CLAIMS)} `, '\0']) {
      expect(check(text)).toEqual(REFUSED)
    }
  })

  it('is refused with a claim given twice', () => {
    const body = `{"htm":"GET",${JSON.stringify(CLAIMS).slice(1)}`
    const input = `${encode(HEADER)}.${Buffer.from(body).toString('base64url')}`
    const signature = sign(null, Buffer.from(input), keyOf(1)).toString('base64url')
    expect(check(`${input}.${signature}`)).toEqual(REFUSED)
  })
})
