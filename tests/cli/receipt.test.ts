/** `headgate receipt verify`: what a payee or merchant learns of a receipt without asking its gateway. */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signJws } from '../../runtime/core/jws.ts'
import { type Written, writtenLog } from '../audit/log.ts'
import { temporaryDirectory } from '../rails/support.ts'
import { run } from './io.ts'

let directory: ReturnType<typeof temporaryDirectory>
let log: Written
let jwks: string
let server: Server
let base: string

const file = (name: string, text: string) => {
  const path = join(directory.path, name)
  writeFileSync(path, text)
  return path
}

beforeAll(async () => {
  directory = temporaryDirectory()
  log = await writtenLog()
  const keys = JSON.stringify(log.options.jwks)
  jwks = file('keys.json', keys)
  server = createServer((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/keys' }).end()
    else response.end(keys)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  directory.remove()
})

const claimsOf = (text: string) =>
  JSON.parse(String(Buffer.from(text.split('.')[1] ?? '', 'base64url'))) as Record<string, unknown>

const verify = (text: string, ...more: string[]) =>
  run(['receipt', 'verify', file('receipt', text), '--jwks', jwks, ...more])

describe('a receipt that holds', () => {
  it('is told in words, with the word on the statement and what nobody can tell offline', async () => {
    const { code, out, err } = await verify(log.receipt)
    const { jti, payee, head } = claimsOf(log.receipt) as Record<string, string>
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('the signature holds')
    expect(out).toMatch(/HG[0-9A-F]{16}/)
    for (const word of [jti, `to ${payee}`, (head as never as { hash: string }).hash]) {
      expect(out).toContain(word)
    }
    expect(out).toContain('not told')
  })

  it('is one document for a program, from the signed text as from the gateway’s answer', async () => {
    const bare = (await verify(log.receipt, '--json')).json()
    const answered = await verify(JSON.stringify({ id: 'x', receipt: log.receipt }), '--json')
    expect(answered.json()).toEqual(bare)
    expect(bare).toMatchObject({ valid: true, kid: 'gate-1', receipt: claimsOf(log.receipt) })
  })

  it('takes its keys from an address, and follows no redirect', async () => {
    const path = file('receipt', log.receipt)
    expect((await run(['receipt', 'verify', path, '--jwks', `${base}/keys`])).code).toBe(0)
    expect((await run(['receipt', 'verify', path, '--jwks', `${base}/moved`])).code).toBe(8)
    const plain = await run(['receipt', 'verify', path, '--jwks', 'http://pay.example.com/keys'])
    expect([plain.code, plain.err]).toEqual([2, expect.stringContaining('https')])
  })

  it('is compared with what was expected, each by itself', async () => {
    const { amount, payee } = claimsOf(log.receipt) as { amount: number; payee: string }
    const all = ['--amount', String(amount), '--currency', 'INR', '--merchant', payee]
    const meant = await verify(log.receipt, ...all, '--gateway', 'gate')
    expect([meant.code, meant.out]).toEqual([0, expect.stringContaining('as expected')])
    for (const [option, value, why] of [
      ['--amount', String(amount + 1), 'another amount'],
      ['--currency', 'JPY', 'another currency'],
      ['--merchant', 'other', 'somebody else was paid'],
      ['--gateway', 'other', 'another gateway'],
    ] as const) {
      const { code, out, err } = await verify(log.receipt, option, value)
      expect([code, out, err]).toEqual([21, '', expect.stringContaining(why)])
      const { code: again, json } = await verify(log.receipt, option, value, '--json')
      expect([again, json()]).toEqual([21, expect.objectContaining({ valid: false })])
    }
  })

  it.each([
    ['--amount', '12.50'],
    ['--amount', '-1'],
    ['--amount', ''],
    ['--currency', 'inr'],
    ['--merchant', 'a b'],
  ])('is not compared with %s %j, which cannot be', async (option, value) => {
    expect((await verify(log.receipt, option, value)).code).toBe(2)
  })
})

describe('a text that is no receipt that holds', () => {
  const signed = (claims: object, more: object = {}) => {
    const { privateKey } = generateKeyPairSync('ed25519')
    writeFileSync(
      jwks,
      JSON.stringify({
        keys: [{ ...createPublicKey(privateKey).export({ format: 'jwk' }), kid: 'own' }],
      }),
    )
    return signJws({ typ: 'receipt+jwt', key: privateKey, kid: 'own', claims, ...more })
  }
  const refused = async (text: string, why: string) => {
    const { code, out, err } = await verify(text)
    expect([code, out, err]).toEqual([20, '', expect.stringMatching(/^headgate: .+\n$/)])
    const { code: again, json } = await verify(text, '--json')
    expect([again, json()]).toEqual([20, expect.objectContaining({ valid: false, why })])
  }

  it('ends with its own code, in a sentence', async () => {
    await refused('nothing', 'form')
    await refused(log.seal, 'form')
    await refused(`${log.receipt.slice(0, -4)}AAAA`, 'signature')
    const claims = claimsOf(log.receipt)
    const stranger = generateKeyPairSync('ed25519').privateKey
    const forged = { typ: 'receipt+jwt', key: stranger, claims } as const
    await refused(signJws({ ...forged, kid: 'gate-1' }), 'signature')
    await refused(signJws({ ...forged, kid: 'other' }), 'key')
    await refused(signJws(forged), 'form')
    const before = JSON.stringify(log.options.jwks)
    await refused(signed({ ...claims, more: 1 }), 'claims')
    await refused(signed({ ...claims, amount: 0 }), 'claims')
    await refused(signed({ ...claims, jti: 'rcpt_other' }), 'ids')
    await refused(signed({ ...claims, node: 'nd_other' }), 'ids')
    await refused(signed(claims, { jwk: { ...log.options.jwks?.keys[0] } }), 'form')
    await refused(signed(claims, { typ: 'seal+jwt' }), 'form')
    writeFileSync(jwks, before)
  })

  it('is told from a file that cannot be read and keys that are none', async () => {
    const path = file('receipt', log.receipt)
    expect((await run(['receipt', 'verify', join(directory.path, 'none')])).code).toBe(2)
    const none = file('none.json', '{}')
    expect((await run(['receipt', 'verify', path, '--jwks', none])).code).toBe(2)
    rmSync(none)
  })
})
