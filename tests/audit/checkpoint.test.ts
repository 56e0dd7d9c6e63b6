import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  checkpointOf,
  merkleRoot,
  openCheckpoint,
  signCheckpoint,
} from '../../runtime/audit/checkpoint.ts'
import { appendCheckpoint, lastCheckpointIn } from '../../runtime/audit/checkpoint-file.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { ed25519FromSeed, jwksSchema } from '../../runtime/core/keys.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import type { StreamId } from '../../runtime/core/records.ts'
import { NOW } from '../support/ledger.ts'
import { jwksOf, signer } from './log.ts'

const headsOf = (count: number) => [
  { stream: 'gateway' as StreamId, head: { seq: 7, hash: sha256('gateway') } },
  ...Array.from({ length: count }, (_, i) => {
    const stream: StreamId = `nd_${sha256(`node ${i}`)}`
    return { stream, head: { seq: i + 1, hash: sha256(`head ${i}`) } }
  }),
]

const claimsOf = (count: number) => {
  const claims = checkpointOf(headsOf(count), { number: 3, gateway: 'gate', now: NOW })
  if (claims === undefined) throw new Error('expected a checkpoint')
  return claims
}

describe('a Merkle root', () => {
  const hex = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657']
  const leaves = [...hex, '606162636465666768696a6b6c6d6e6f'].map((text) =>
    Buffer.from(text, 'hex').toString(),
  )

  // The reference inputs of Certificate Transparency's own implementation.
  it.each([
    [0, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    [1, '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
    [2, 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
    [3, 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
    [5, '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4'],
    [7, 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
    [8, '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328'],
  ])('over %i leaves is that of RFC 6962', (count, root) => {
    expect(merkleRoot(leaves.slice(0, count)).toString('hex')).toBe(root)
  })

  it('of a tree is not that of a leaf which says the same bytes', () => {
    const [a, b] = [merkleRoot(['a']), merkleRoot(['b'])]
    const joined = Buffer.concat([a, b]).toString('latin1')
    expect(merkleRoot([joined])).not.toEqual(merkleRoot(['a', 'b']))
  })
})

describe('a checkpoint', () => {
  it('says where every open stream stood, and reads back as what was signed', () => {
    const claims = claimsOf(3)
    expect(openCheckpoint(signCheckpoint(claims, signer), signer)).toEqual(claims)
    expect(claims).toMatchObject({ iss: 'gate', iat: NOW, number: 3, open: 3 })
    expect(claims.gateway).toEqual({ seq: 7, hash: sha256('gateway') })
    expect(claims.heads).toHaveLength(3)
  })

  it('is none as long as the gateway has written nothing', () => {
    const at = { number: 1, gateway: 'gate', now: NOW }
    expect(checkpointOf(headsOf(2).slice(1), at)).toBeUndefined()
  })

  it('lists the newest heads where there are more than it has room for, and says how many', () => {
    const claims = claimsOf(LIMITS.checkpointHeads + 1)
    expect(claims.open).toBe(LIMITS.checkpointHeads + 1)
    expect(claims.heads).toHaveLength(LIMITS.checkpointHeads)
    expect(claims.heads[0]?.seq).toBe(2)
    expect(openCheckpoint(signCheckpoint(claims, signer), signer)).toEqual(claims)
  })

  it('is refused under another key, of another gateway, of another type and with another root', () => {
    const claims = claimsOf(2)
    const jws = signCheckpoint(claims, signer)
    const other = { ...signer, key: ed25519FromSeed(Buffer.alloc(32, 9)) }
    expect(openCheckpoint(jws, other)).toBeUndefined()
    expect(openCheckpoint(jws, { ...signer, gateway: 'other' })).toBeUndefined()
    expect(openCheckpoint(signJws({ ...signer, typ: 'seal+jwt', claims }), signer)).toBeUndefined()
    const fewer = { ...claims, heads: claims.heads.slice(1) }
    expect(openCheckpoint(signCheckpoint(fewer, signer), signer)).toBeUndefined()
  })

  it('is read under a key that signed before, by its id, and under no other', () => {
    const jws = signCheckpoint(claimsOf(2), signer)
    const key = ed25519FromSeed(Buffer.alloc(32, 8))
    const before = jwksSchema.parse(jwksOf(signer.key, signer.kid)).keys
    const next = { ...signer, key, kid: 'gate-2' }
    expect(openCheckpoint(jws, next)).toBeUndefined()
    expect(openCheckpoint(jws, { ...next, before })).toEqual(claimsOf(2))
    const others = jwksSchema.parse(jwksOf(key, signer.kid)).keys
    expect(openCheckpoint(jws, { ...next, before: others })).toBeUndefined()
    expect(openCheckpoint(signCheckpoint(claimsOf(2), next), { ...next, before })).toEqual(
      claimsOf(2),
    )
  })
})

describe('the file of checkpoints', () => {
  let dir: string
  let file: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'checkpoints-'))
    file = join(dir, 'checkpoints.ndjson')
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('grows by one line each and is its owner’s alone', async () => {
    await appendCheckpoint(file, 'a.b.c')
    await appendCheckpoint(file, 'd.e.f')
    expect(readFileSync(file, 'utf8')).toBe('{"checkpoint":"a.b.c"}\n{"checkpoint":"d.e.f"}\n')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await lastCheckpointIn(file)).toBe('d.e.f')
  })

  it('has none where it is missing or empty', async () => {
    expect(await lastCheckpointIn(file)).toBeUndefined()
    writeFileSync(file, '')
    expect(await lastCheckpointIn(file)).toBeUndefined()
  })

  it('passes over a last line that was torn anywhere, and goes on behind it', async () => {
    await appendCheckpoint(file, 'a.b.c')
    const whole = readFileSync(file, 'utf8')
    const line = '{"checkpoint":"d.e.f"}'
    for (let cut = 0; cut < line.length; cut += 1) {
      writeFileSync(file, whole + line.slice(0, cut) + (cut % 2 === 0 ? '' : '\0\0\0'))
      expect(await lastCheckpointIn(file)).toBe('a.b.c')
      await appendCheckpoint(file, 'g.h.i')
      expect(await lastCheckpointIn(file)).toBe('g.h.i')
    }
  })

  it('is not believed where it ends with anything else', async () => {
    await appendCheckpoint(file, 'a.b.c')
    for (const strange of ['{"checkpoint":1}\n', '{"checkpoint":"d.e.f"} \n', 'words', '\n[]\n']) {
      const before = readFileSync(file, 'utf8')
      appendFileSync(file, strange)
      await expect(lastCheckpointIn(file)).rejects.toMatchObject({ code: 'ledger_corrupt' })
      writeFileSync(file, before)
    }
  })

  it('gives its last line however long it has become', async () => {
    const long = 'A'.repeat(900_000)
    for (let i = 0; i < 8; i += 1) await appendCheckpoint(file, `${i}.${long}.c`)
    expect((await lastCheckpointIn(file))?.slice(0, 2)).toBe('7.')
  })

  it('that cannot be written is an operating failure', async () => {
    const below = join(dir, 'none', 'file')
    await expect(appendCheckpoint(below, 'a.b.c')).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    await expect(lastCheckpointIn(dir)).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})
