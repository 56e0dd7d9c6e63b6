import { describe, expect, it } from 'vitest'
import { exportLog } from '../../runtime/audit/export.ts'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import {
  ed25519FromSeed,
  type PublishedRootKeys,
  publicJwkSchema,
  rawPublicKey,
  thumbprint,
} from '../../runtime/core/keys.ts'
import { seconds } from '../../runtime/core/time.ts'
import { recordTerms } from '../../runtime/gateway/terms.ts'
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

const RULES = sha256('rules')

const start = () => {
  const ledger = createMemoryLedger({ organisation: 'test' })
  const record = (rootKeys: PublishedRootKeys, policy = RULES) =>
    recordTerms(ledger, { rootKeys, policy }, NOW)
  const bodies = async () => (await ledger.events('gateway', 0, 2_000)).map(({ body }) => body)
  return { ledger, bodies, record }
}

describe('the terms in the log', () => {
  it('are root keys by thumbprint and end, written when they change and not at every start', async () => {
    const { bodies, record } = start()
    for (const keys of [first, first, rotated, rotated]) await record(keys)
    const written = await bodies()
    expect(written.map((body) => JSON.parse(body).data)).toEqual([
      { act: 'root_keys', current: 1, keys: [`1.${thumbprint(jwkOf(1))}`] },
      { act: 'policy', version: RULES },
      {
        act: 'root_keys',
        current: 2,
        keys: [`2.${thumbprint(jwkOf(2))}`, `1.${thumbprint(jwkOf(1))}.${NOW + 60}`],
      },
    ])
    expect(written.join()).not.toContain(rawPublicKey(ed25519FromSeed(new Uint8Array(32).fill(1))))
  })

  it('are the version of the rules, written when it changes', async () => {
    const { bodies, record } = start()
    const other = sha256('other rules')
    for (const version of [RULES, RULES, other, RULES]) await record(first, version)
    const acts = (await bodies()).map((body) => JSON.parse(body).data)
    expect(acts.filter(({ act }) => act === 'policy').map(({ version }) => version)).toEqual([
      RULES,
      other,
      RULES,
    ])
  })

  it('are found behind whatever else was written since', async () => {
    const { ledger, bodies, record } = start()
    await record(rotated)
    for (let n = 0; n < 1_100; n += 1) {
      const data = { act: 'other', n }
      await ledger.execute('note', { stream: 'gateway', type: 'operator', data, now: NOW })
    }
    await record(rotated)
    expect(await bodies()).toHaveLength(1_102)
  })

  it('are written again where an earlier set is put back', async () => {
    const { bodies, record } = start()
    for (const keys of [first, rotated, first]) await record(keys)
    expect(await bodies()).toHaveLength(4)
  })

  it('leave a log that verifies', async () => {
    const { ledger, record } = start()
    for (const keys of [first, rotated]) await record(keys)
    const lines: string[] = []
    for await (const line of exportLog(ledger)) lines.push(line)
    expect(verifyExport(lines)).toMatchObject({ ok: true, events: 3 })
  })
})
