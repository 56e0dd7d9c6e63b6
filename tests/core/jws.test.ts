import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { CompactSign, compactVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { parseJws, signJws, verifyJws } from '../../runtime/core/jws.ts'

const ed = generateKeyPairSync('ed25519')
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const sign = (key = ed.privateKey) =>
  signJws({ typ: 'quote+jwt', key, claims: { amount: 1 }, kid: 'k1' })

describe('compact JWS', () => {
  it.each([
    ['Ed25519', ed],
    ['P-256', p256],
  ])(
    'signs with %s what another library verifies, and the other way round',
    async (_name, pair) => {
      const text = sign(pair.privateKey)
      const { payload } = await compactVerify(text, pair.publicKey)
      expect(JSON.parse(new TextDecoder().decode(payload))).toEqual({ amount: 1 })

      const alg = pair === ed ? 'EdDSA' : 'ES256'
      const theirs = await new CompactSign(new TextEncoder().encode('{"amount":2}'))
        .setProtectedHeader({ alg, typ: 'quote+jwt' })
        .sign(pair.privateKey)
      const parsed = parseJws(theirs, 'quote+jwt')
      expect(parsed && verifyJws(parsed, pair.publicKey)).toBe(true)
    },
  )

  it('refuses a key of another kind than the algorithm names', () => {
    const parsed = parseJws(sign(), 'quote+jwt')
    expect(parsed && verifyJws(parsed, p256.publicKey)).toBe(false)
    const es = parseJws(sign(p256.privateKey), 'quote+jwt')
    expect(es && verifyJws(es, ed.publicKey)).toBe(false)
    expect(es && verifyJws(es, p384.publicKey)).toBe(false)
  })

  it('refuses a text signed for another purpose', () => {
    expect(parseJws(sign(), 'receipt+jwt')).toBeUndefined()
  })

  it('refuses `none`, unknown header members and padding', () => {
    const [, body, mac] = sign().split('.')
    const head = (header: object) => Buffer.from(JSON.stringify(header)).toString('base64url')
    for (const header of [
      { alg: 'none', typ: 'quote+jwt' },
      { alg: 'HS256', typ: 'quote+jwt' },
      { alg: 'EdDSA', typ: 'quote+jwt', crit: ['exp'] },
      { alg: 'EdDSA', typ: 'quote+jwt', jku: 'https://elsewhere.example' },
    ]) {
      expect(parseJws(`${head(header)}.${body}.${mac}`, 'quote+jwt')).toBeUndefined()
    }
    expect(parseJws(`${sign()}=`, 'quote+jwt')).toBeUndefined()
  })

  it('has one text for one signature: no edit of any character verifies', () => {
    const text = sign()
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom(...'ABCDEFabcdef0123456789-_.=+/'),
        (at, c) => {
          const edited = text.slice(0, at) + c + text.slice(at + 1)
          fc.pre(edited !== text)
          const parsed = parseJws(edited, 'quote+jwt')
          expect(parsed !== undefined && verifyJws(parsed, ed.publicKey)).toBe(false)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})
