import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { publicJwkSchema } from '../../runtime/core/keys.ts'
import { later } from '../../runtime/core/time.ts'
import type { Task } from '../../runtime/tokens/messages.ts'
import { createTokenEngine } from '../../runtime/tokens/pool.ts'
import { publishedRootKeys, setupOf } from '../../runtime/tokens/root-keys.ts'
import { createEngine, outcomeOf } from '../../runtime/tokens/tasks.ts'
import {
  keyOf,
  leafAt,
  NOW,
  plannerClaims,
  ROOT_ID,
  ROOT_KEY,
  root,
  rootClaims,
} from './fixtures.ts'
import { biscuit } from './warm.ts'

const RETIRES = later(NOW, 600)
const LAST = later(RETIRES, -1)
const rotated = {
  current: { id: ROOT_ID + 1, privateKey: keyOf(201) },
  others: [{ id: ROOT_ID, publicKey: createPublicKey(ROOT_KEY), retiresAtSeconds: RETIRES }],
}

const engine = createEngine(biscuit, setupOf(rotated))

describe('a token of an older root key', () => {
  const verify: Task = { kind: 'verify', token: leafAt(2).token }

  it('verifies until the last second of the grace, and from the next on its key is unknown', () => {
    expect(outcomeOf(engine, verify, LAST)).toMatchObject({ verdict: { ok: true } })
    for (const now of [RETIRES, later(RETIRES, 1_000_000)]) {
      expect(outcomeOf(engine, verify, now)).toEqual({
        kind: 'verdict',
        verdict: { ok: false, code: 'root_unknown' },
      })
    }
  })

  it('gets children until then, and none afterwards', () => {
    const task: Task = {
      kind: 'mint_child',
      token: root().token,
      holderSeed: Buffer.from(keyOf(1).export({ format: 'jwk' }).d ?? '', 'base64url'),
      claims: plannerClaims(1),
    }
    expect(outcomeOf(engine, task, LAST)).toMatchObject({ kind: 'minted' })
    expect(outcomeOf(engine, task, RETIRES)).toMatchObject({
      kind: 'rejected',
      code: 'root_unknown',
    })
  })

  it('is never tried under another key, though that key may sign', () => {
    const minted = outcomeOf(engine, { kind: 'mint_root', claims: rootClaims() }, RETIRES)
    if (minted.kind !== 'minted') throw new Error('expected a token')
    const { token } = minted.minted
    expect(outcomeOf(engine, { kind: 'verify', token }, RETIRES)).toMatchObject({
      verdict: { ok: true, token: { rootKeyId: ROOT_ID + 1 } },
    })
    const before = createEngine(
      biscuit,
      setupOf({ current: { id: ROOT_ID, privateKey: ROOT_KEY }, others: [] }),
    )
    expect(outcomeOf(before, { kind: 'verify', token }, NOW)).toMatchObject({
      verdict: { code: 'root_unknown' },
    })
  })
})

describe('a running engine', () => {
  it('refuses from that second on a key that was in force when it started', async () => {
    let nowSeconds: number = LAST
    const clock = { nowMs: () => nowSeconds * 1_000 + 999 }
    const pool = await createTokenEngine({ rootKeys: rotated, clock, workers: 1 })
    const { token } = leafAt(2)
    try {
      expect(await pool.verify(token)).toMatchObject({ ok: true })
      nowSeconds = RETIRES
      expect(await pool.verify(token)).toEqual({ ok: false, code: 'root_unknown' })
      await expect(pool.mintChild(root().token, keyOf(1), plannerClaims(1))).rejects.toMatchObject({
        code: 'root_unknown',
      })
    } finally {
      await pool.close()
    }
  })
})

describe('an engine of published keys', () => {
  it('verifies as the gateway does, and signs nothing', () => {
    const verifier = createEngine(biscuit, setupOf(publishedRootKeys(rotated)))
    const { token } = leafAt(2)
    for (const now of [LAST, RETIRES]) {
      const task: Task = { kind: 'verify', token }
      expect(outcomeOf(verifier, task, now)).toEqual(outcomeOf(engine, task, now))
    }
    expect(outcomeOf(verifier, { kind: 'mint_root', claims: rootClaims() }, NOW)).toMatchObject({
      kind: 'fault',
      code: 'engine_failed',
    })
  })

  it('refuses a published key of another kind', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = publicJwkSchema.parse(createPublicKey(privateKey).export({ format: 'jwk' }))
    expect(() => setupOf({ current: 1, keys: [{ id: 1, jwk }] })).toThrow('Ed25519 root keys')
  })
})

describe('the published root keys', () => {
  it('are public halves with ids, and the second at which an older one retires', () => {
    const { current, keys } = publishedRootKeys(rotated)
    expect(current).toBe(ROOT_ID + 1)
    expect(keys.map(({ id, retiresAt }) => [id, retiresAt])).toEqual([
      [ROOT_ID + 1, undefined],
      [ROOT_ID, RETIRES],
    ])
    expect(JSON.stringify(keys)).not.toContain('"d"')
  })
})
