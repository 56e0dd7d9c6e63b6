import { describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import {
  ed25519FromSeed,
  type PublishedRootKeys,
  publicJwkSchema,
  rawPublicKey,
  thumbprint,
} from '../../runtime/core/keys.ts'
import { seconds } from '../../runtime/core/time.ts'
import { recordRootKeys } from '../../runtime/gateway/root-key-events.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'

const NOW = seconds(1_800_000_000)
const jwkOf = (n: number) =>
  publicJwkSchema.parse({
    kty: 'OKP',
    crv: 'Ed25519',
    x: rawPublicKey(ed25519FromSeed(new Uint8Array(32).fill(n))),
  })
const first: PublishedRootKeys = { current: 1, keys: [{ id: 1, jwk: jwkOf(1) }] }
const rotated: PublishedRootKeys = {
  current: 2,
  keys: [
    { id: 2, jwk: jwkOf(2) },
    { id: 1, jwk: jwkOf(1), retiresAt: NOW + 60 },
  ],
}

const start = () => {
  const ledger = createMemoryLedger({ organisation: 'test' })
  const bodies = async () => (await ledger.events('gateway', 0, 2_000)).map(({ body }) => body)
  return { ledger, bodies }
}

describe('root keys in the log', () => {
  it('are written when they change, by thumbprint and end, and not at every start', async () => {
    const { ledger, bodies } = start()
    for (const keys of [first, first, rotated, rotated]) await recordRootKeys(ledger, keys, NOW)
    const written = await bodies()
    expect(written.map((body) => JSON.parse(body).data)).toEqual([
      { act: 'root_keys', current: 1, keys: [`1.${thumbprint(jwkOf(1))}`] },
      {
        act: 'root_keys',
        current: 2,
        keys: [`2.${thumbprint(jwkOf(2))}`, `1.${thumbprint(jwkOf(1))}.${NOW + 60}`],
      },
    ])
    expect(written.join()).not.toContain(rawPublicKey(ed25519FromSeed(new Uint8Array(32).fill(1))))
  })

  it('are found behind whatever else was written since', async () => {
    const { ledger, bodies } = start()
    await recordRootKeys(ledger, rotated, NOW)
    for (let n = 0; n < 1_100; n += 1) {
      const data = { act: 'other', n }
      await ledger.execute('note', { stream: 'gateway', type: 'operator', data, now: NOW })
    }
    await recordRootKeys(ledger, rotated, NOW)
    expect(await bodies()).toHaveLength(1_101)
  })

  it('are written again where an earlier set is put back', async () => {
    const { ledger, bodies } = start()
    for (const keys of [first, rotated, first]) await recordRootKeys(ledger, keys, NOW)
    expect(await bodies()).toHaveLength(3)
  })

  it('leave a log that verifies', async () => {
    const { ledger } = start()
    for (const keys of [first, rotated]) await recordRootKeys(ledger, keys, NOW)
    const lines: string[] = []
    for await (const line of exportLog(ledger)) lines.push(line)
    expect(verifyExport(lines)).toMatchObject({ ok: true, events: 2 })
  })
})
