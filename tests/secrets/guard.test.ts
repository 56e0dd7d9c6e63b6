import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSecretGuard } from '../../runtime/secrets/guard.ts'
import { Secret } from '../../runtime/secrets/secret.ts'

const ID = 'rzp_test_AbCdEfGhIjKlMn'
const SECRET = 'tH1s-is_A+s3cr3t/0f"ours\\<&>'

const guard = createSecretGuard()
guard.watch(new Secret(ID), new Secret(SECRET))

const base64 = (text: string) => Buffer.from(text).toString('base64')
const each = (text: string, way: (c: string) => string) => [...text].map(way).join('')
const hexOf = (c: string, width: number) => c.charCodeAt(0).toString(16).padStart(width, '0')

const WAYS: readonly (readonly [string, string])[] = [
  ['as it is', SECRET],
  ['in upper case', SECRET.toUpperCase()],
  ['in base64', base64(SECRET)],
  ['in base64url', Buffer.from(SECRET).toString('base64url')],
  ['in base64 behind one byte', base64(`x${SECRET}y`)],
  ['in base64 behind two bytes', base64(`xx${SECRET}yy`)],
  ['in a Basic header', `Basic ${base64(`${ID}:${SECRET}`)}`],
  ['in a Basic header beside another secret’s id', `Basic ${base64(`someone:${SECRET}`)}`],
  ['in a Basic header that is cut in two', base64(`${ID}:${SECRET}`).replace(/(.{30})/, '$1\r\n ')],
  ['in base64 in lines', base64(SECRET).replace(/(.{7})/g, '$1\n')],
  ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
  ['in hexadecimal of capitals', Buffer.from(SECRET).toString('hex').toUpperCase()],
  ['in hexadecimal with colons', each(SECRET, (c) => `${hexOf(c, 2)}:`)],
  ['percent-encoded', encodeURIComponent(SECRET)],
  ['percent-encoded to the last letter', each(SECRET, (c) => `%${hexOf(c, 2)}`)],
  ['percent-encoded twice', encodeURIComponent(encodeURIComponent(SECRET))],
  ['as JSON', JSON.stringify({ a: SECRET })],
  ['as JSON in JSON', JSON.stringify(JSON.stringify({ a: SECRET }))],
  ['as JSON of escapes', each(SECRET, (c) => `\\u${hexOf(c, 4)}`)],
  ['as HTML', SECRET.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
  ['as HTML of numbers', each(SECRET, (c) => `&#${c.charCodeAt(0)};`)],
  ['with spaces between', each(SECRET, (c) => `${c} `)],
  ['with line ends between', each(SECRET, (c) => `${c}\n`)],
  ['with zero-width characters between', each(SECRET, (c) => `${c}\u200b\u2060`)],
  ['with soft hyphens and joiners between', each(SECRET, (c) => `${c}\u00ad\u200d`)],
  ['with dots between', each(SECRET, (c) => `${c}.`)],
  ['in full width', each(ID, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0))],
  ['as a list of letters', JSON.stringify([...ID])],
]

describe('a guard', () => {
  it.each(WAYS)('notices a secret %s', (_way, text) => {
    expect(guard.holdsSecret(text)).toBe(true)
    expect(guard.holdsSecret(`{"before": "words", "${text}": 1, "after": 2}`)).toBe(true)
  })

  it('notices it wherever it stands in a long text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 400 }), fc.string({ maxLength: 400 }), (a, b) => {
        expect(guard.holdsSecret(`${a}${ID}${b}`)).toBe(true)
        expect(guard.holdsSecret(base64(`${a}${SECRET}${b}`))).toBe(true)
      }),
    )
  })

  it('lets pass what holds none', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2_000, unit: 'binary' }), (text) => {
        expect(guard.holdsSecret(text)).toBe(false)
      }),
    )
    expect(guard.holdsSecret(ID.slice(0, -1))).toBe(false)
    expect(guard.holdsSecret(ID.slice(1))).toBe(false)
    expect(guard.holdsSecret('')).toBe(false)
  })

  it('never takes seven characters for a secret, and always takes eight', () => {
    const short = createSecretGuard()
    short.watch(new Secret('1234567'))
    expect(short.holdsSecret('1234567 in 1234567')).toBe(false)
    expect(short.holdsSecret(base64('1234567'))).toBe(false)
    short.watch(new Secret('12345678'))
    expect(short.holdsSecret('x12345678x')).toBe(true)
    expect(short.holdsSecret(base64('12345678'))).toBe(true)
    // Too little to tell by without its punctuation.
    expect(short.holdsSecret('1.2.3.4.5.6.7.8')).toBe(false)
  })

  it('knows bytes by how they are written', () => {
    const bytes = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7))
    const ofBytes = createSecretGuard()
    ofBytes.watchBytes(bytes)
    for (const encoding of ['hex', 'base64', 'base64url', 'latin1'] as const) {
      expect([encoding, ofBytes.holdsSecret(`"${bytes.toString(encoding)}"`)]).toEqual([
        encoding,
        true,
      ])
    }
  })

  it('knows a passphrase of more than ASCII', () => {
    const words = createSecretGuard()
    words.watch(new Secret('grüße aus köln'))
    expect(words.holdsSecret(encodeURIComponent('grüße aus köln'))).toBe(true)
    expect(words.holdsSecret('Grüße aus Köln')).toBe(true)
    expect(words.holdsSecret('grüße aus bonn')).toBe(false)
  })

  it('finds every secret of many, and each only in its own text', () => {
    const secrets = Array.from({ length: 60 }, (_, i) => `same-beginning-${i}-${'x'.repeat(i)}!`)
    for (const secret of secrets) {
      const one = createSecretGuard()
      one.watch(new Secret(secret))
      expect(secrets.filter((text) => one.holdsSecret(`<${text}>`))).toEqual([secret])
    }
  })
})
