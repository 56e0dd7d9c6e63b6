import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  dataFile,
  openDataDir,
  readRootRing,
  rotateRootKey,
  rotateSigningKey,
  writeIdentity,
} from '../../runtime/cli/data-dir.ts'
import { jwksSchema } from '../../runtime/core/keys.ts'
import { isoTime, seconds } from '../../runtime/core/time.ts'
import { publicKeysOfSigner } from '../../runtime/http/public-key.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { fixedClock, NOW, startRun } from '../support/ledger.ts'
import { run } from './io.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rotate-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const fresh = () => {
  openDataDir(dir).close()
  return readRootRing(dir)
}

describe('keys rotate', () => {
  it('makes the next key, keeps the public half of the old one and destroys the private half', async () => {
    const before = fresh()
    const secret = JSON.parse(readFileSync(dataFile(dir, 'rootKey'), 'utf8')).key.d
    const { out, code } = await run(['keys', 'rotate', '--data', dir, '--grace', '12h', '--json'])
    expect(code).toBe(0)
    const { current, keys } = JSON.parse(out)
    expect(current).toBe(2)
    expect(keys[1]).toMatchObject({ id: 1, jwk: before.keys[0]?.jwk })
    const text = readFileSync(dataFile(dir, 'rootKey'), 'utf8')
    expect(text).not.toContain(secret)
    expect(statSync(dataFile(dir, 'rootKey')).mode & 0o777).toBe(0o600)
    const data = openDataDir(dir)
    data.close()
    expect(data.root.id).toBe(2)
    expect(data.retiring).toMatchObject([{ id: 1, retiresAtSeconds: keys[1].retiresAt }])
  })

  it('ends the grace of all older keys where it is told to end this one’s', () => {
    fresh()
    rotateRootKey(dir, seconds(2_000))
    rotateRootKey(dir, seconds(3_000))
    expect(readRootRing(dir).keys.map(({ retiresAt }) => retiresAt)).toEqual([
      undefined,
      3_000,
      2_000,
    ])
    rotateRootKey(dir, seconds(1_000))
    expect(readRootRing(dir).keys.map(({ id, retiresAt }) => [id, retiresAt])).toEqual([
      [4, undefined],
      [3, 1_000],
      [2, 1_000],
      [1, 1_000],
    ])
  })

  it('refuses a folder that a gateway holds, one without a gateway, and a grace that is no time', async () => {
    fresh()
    const held = openDataDir(dir)
    expect((await run(['keys', 'rotate', '--data', dir])).code).not.toBe(0)
    held.close()
    expect((await run(['keys', 'rotate', '--data', join(dir, 'none')])).code).not.toBe(0)
    for (const grace of ['', '-1d', '1', '1.5h', '30 d', '99999d', '1w']) {
      const { code, err } = await run(['keys', 'rotate', '--data', dir, '--grace', grace])
      expect(code).not.toBe(0)
      expect(err).toContain('--grace')
    }
    expect(readRootRing(dir).current).toBe(1)
  })

  it('says how many runs under way would last longer than the old key, and until when', async () => {
    const data = openDataDir(dir)
    writeIdentity(dir, { organisation: 'test', gateway: 'headgate.test' })
    const ledger = await openSqliteLedger({ path: data.store, organisation: 'test' })
    const { run: begun } = await startRun(ledger)
    await ledger.close()
    data.close()
    const rotated = (grace: number) =>
      run(['keys', 'rotate', '--data', dir, '--grace', `${grace}s`], { clock: fixedClock })
    const left = begun.expiresAtSeconds - NOW
    const { out } = await rotated(left - 1)
    expect(out).toContain(`1 run under way would last until ${isoTime(begun.expiresAtSeconds)}`)
    expect((await rotated(left)).out).toContain('no run under way lasts longer')
    expect((await rotated(0)).out).toMatch(/warning: 1 run under way .* refused from now on/)
  })

  it('counts on from the highest id that the folder knows, so that no id is ever used twice', () => {
    fresh()
    rotateRootKey(dir, seconds(2_000))
    const file = dataFile(dir, 'rootKey')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), id: 0 }))
    expect(rotateRootKey(dir, seconds(3_000)).id).toBe(2)
  })

  it('replaces a key also where the file holds as many as it may, and forgets the oldest', () => {
    fresh()
    const file = dataFile(dir, 'rootKey')
    const { key } = JSON.parse(readFileSync(file, 'utf8'))
    const { d: _secret, ...old } = key
    const retiring = Array.from({ length: 999 }, (_, i) => {
      return { id: 999 - i, key: old, retiresAtSeconds: 1_000 }
    })
    writeFileSync(file, JSON.stringify({ id: 1_000, key, retiring }))
    expect(rotateRootKey(dir, seconds(2_000)).id).toBe(1_001)
    const ids = readRootRing(dir).keys.map(({ id }) => id)
    expect([ids.length, ids[0], ids[1], ids.at(-1)]).toEqual([1_000, 1_001, 1_000, 2])
  })

  it('says that no id is left, and leaves the key as it is', async () => {
    fresh()
    const file = dataFile(dir, 'rootKey')
    const text = JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), id: 0xffff_ffff })
    writeFileSync(file, text)
    await expect(run(['keys', 'rotate', '--data', dir])).resolves.toMatchObject({
      err: expect.stringContaining('leaves no id for another key'),
    })
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('refuses a file that says more than it may', () => {
    fresh()
    const file = dataFile(dir, 'rootKey')
    const value = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...value, retiring: [{ id: 1 }] }))
    expect(() => openDataDir(dir)).toThrow(/root-key.json is wrong/)
  })
})

describe('keys rotate --signing', () => {
  it('makes the next key, and keeps of the old one what verifies its receipts and nothing that signs', async () => {
    openDataDir(dir).close()
    const before = readFileSync(dataFile(dir, 'signingKey'), 'utf8')
    const roots = readFileSync(dataFile(dir, 'rootKey'), 'utf8')
    const first = openDataDir(dir)
    first.close()
    const { code, out } = await run(['keys', 'rotate', '--signing', '--data', dir, '--json'])
    expect(code).toBe(0)
    const data = openDataDir(dir)
    data.close()
    expect(JSON.parse(out)).toEqual({ signing: data.signing.kid, before: first.signing.kid })
    expect(data.signing.kid).not.toBe(first.signing.kid)
    expect(publicKeysOfSigner(data.signing).map(({ kid }) => kid)).toEqual([
      data.signing.kid,
      first.signing.kid,
    ])
    const text = readFileSync(dataFile(dir, 'signingKey'), 'utf8')
    expect(text).not.toContain(JSON.parse(before).d)
    expect(statSync(dataFile(dir, 'signingKey')).mode & 0o777).toBe(0o600)
    expect(readFileSync(dataFile(dir, 'rootKey'), 'utf8')).toBe(roots)
  })

  it('publishes as many as there is room for, and forgets the oldest', () => {
    openDataDir(dir).close()
    const ids = Array.from({ length: 33 }, () => rotateSigningKey(dir)[0])
    const data = openDataDir(dir)
    data.close()
    const published = publicKeysOfSigner(data.signing)
    expect(jwksSchema.safeParse({ keys: published }).success).toBe(true)
    expect(published.map(({ kid }) => kid)).toEqual(ids.reverse().slice(0, 32))
  })

  it('refuses a folder that a gateway holds, and one without a gateway', async () => {
    const held = openDataDir(dir)
    expect((await run(['keys', 'rotate', '--signing', '--data', dir])).code).toBe(6)
    held.close()
    const none = ['keys', 'rotate', '--signing', '--data', join(dir, 'none')]
    expect((await run(none)).code).toBe(4)
  })
})
