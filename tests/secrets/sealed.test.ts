import { describe, expect, it } from 'vitest'
import { sha256 } from '../../runtime/core/ids.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import { type Bound, newSealed, openSealed, SealError } from '../../runtime/secrets/sealed.ts'
import { Secret } from '../../runtime/secrets/secret.ts'

const passphrase = new Secret('a long passphrase of mine')
const VALUE = 'rzp-secret-value-0123456789'
const test: Bound = {
  name: 'RAZORPAY_KEY_SECRET',
  host: 'api.razorpay.com',
  environment: 'test',
}
const live: Bound = { ...test, environment: 'live' }

const made = (await newSealed(passphrase)).with(test, new Secret(VALUE))
const document = made.document() as Record<string, unknown>
const text = JSON.stringify(document)

/** With the sum of what it now holds: by somebody who knows the format. */
const resummed = (change: object): string => {
  const { sum: _sum, ...rest } = { ...document, ...change }
  return JSON.stringify({ ...rest, sum: sha256(canonicalJson(rest)) })
}

async function problemOf(of: string, by = passphrase): Promise<string> {
  try {
    await openSealed(of, by)
    return 'opened'
  } catch (error) {
    if (error instanceof SealError) return error.problem
    throw error
  }
}

describe('a sealed text', () => {
  it('gives back what was sealed, for exactly the place that it was sealed for', async () => {
    const opened = await openSealed(text, passphrase)
    expect(opened.list()).toEqual([test])
    expect(opened.value(test)?.reveal()).toBe(VALUE)
    expect(opened.value(live)).toBeUndefined()
    expect(opened.value({ ...test, host: 'api.razorpay.co' })).toBeUndefined()
    expect(opened.value({ ...test, name: 'RAZORPAY_KEY_ID' })).toBeUndefined()
  })

  it('holds one value for each place, the last one', () => {
    const more = made.with(live, new Secret('other')).with(test, new Secret('new'))
    expect(more.list()).toHaveLength(2)
    expect(more.value(test)?.reveal()).toBe('new')
    expect(more.value(live)?.reveal()).toBe('other')
    expect(more.without(live).value(live)).toBeUndefined()
    expect(made.value(test)?.reveal()).toBe(VALUE)
  })

  it('says in clear neither values nor names nor hosts nor how long a value is', async () => {
    for (const word of [VALUE, 'RAZORPAY', 'razorpay.com', passphrase.reveal()]) {
      expect(text).not.toContain(word)
    }
    const short = (await newSealed(passphrase)).with(test, new Secret('12345678'))
    expect(JSON.stringify(short.document())).toHaveLength(text.length)
    expect(JSON.stringify((await newSealed(passphrase)).document())).toHaveLength(text.length)
  })

  it('is sealed under a fresh nonce each time', () => {
    const nonces = Array.from({ length: 8 }, () => (made.document() as { nonce: string }).nonce)
    expect(new Set(nonces).size).toBe(8)
  })

  it('tells a wrong passphrase from damage', async () => {
    expect(await problemOf(text, new Secret('another passphrase'))).toBe('passphrase')
    expect(await problemOf(text)).toBe('opened')
  })

  it('opens for the same passphrase in whatever way its letters were typed', async () => {
    const composed = await newSealed(new Secret('caf\u00e9 caf\u00e9 caf\u00e9'))
    const opened = await openSealed(
      JSON.stringify(composed.document()),
      new Secret('cafe\u0301 cafe\u0301 cafe\u0301'),
    )
    expect(opened.list()).toEqual([])
  })

  it('is damaged wherever one byte of it is another', async () => {
    for (let at = 0; at < text.length; at += 97) {
      const other = text[at] === 'A' ? 'B' : 'A'
      const changed = text.slice(0, at) + other + text.slice(at + 1)
      expect([at, await problemOf(changed)]).toEqual([at, 'damaged'])
    }
  })

  it.each([0, 1, 100, text.length - 1])('is damaged when cut to %i characters', async (length) => {
    expect(await problemOf(text.slice(0, length))).toBe('damaged')
  })

  it('does not open where whoever changed it wrote the sum anew', async () => {
    const kdf = document.kdf as Record<string, unknown>
    const sealed = String(document.sealed)
    const flipped = `${sealed.slice(0, 40)}${sealed[40] === 'A' ? 'B' : 'A'}${sealed.slice(41)}`
    const salt = Buffer.alloc(16, 7).toString('base64url')
    for (const change of [
      { sealed: flipped },
      { sealed: sealed.slice(0, -4) },
      { sealed: '' },
      { nonce: Buffer.alloc(12, 7).toString('base64url') },
      { kdf: { ...kdf, passes: 2 } },
      { kdf: { ...kdf, salt } },
    ]) {
      expect(await problemOf(resummed(change))).toBe('passphrase')
    }
  })

  it('asks for no more memory or time than a bound, and for no less than is safe', async () => {
    const kdf = document.kdf as Record<string, unknown>
    for (const change of [
      { memoryKiB: 262_145 },
      { memoryKiB: 4_194_304 },
      { memoryKiB: 1_024 },
      { passes: 7 },
      { lanes: 5 },
      { name: 'argon2d' },
      { salt: 'AAAA' },
    ]) {
      expect(await problemOf(resummed({ kdf: { ...kdf, ...change } }))).toBe('damaged')
    }
    expect(await problemOf(' '.repeat(2 * 1024 * 1024))).toBe('damaged')
  })

  it('of another version is said to be one', async () => {
    expect(await problemOf(resummed({ version: 2 }))).toBe('newer')
  })

  it('holds the parameters that OWASP recommends', () => {
    expect(document.kdf).toMatchObject({ name: 'argon2id', memoryKiB: 47_104, passes: 1, lanes: 1 })
  })
})
