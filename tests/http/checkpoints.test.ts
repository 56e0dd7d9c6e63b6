import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkpointsIn, verifyExport } from '../../runtime/audit/verify.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { lasting, startGateway } from './gateway.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'checkpoints-'))
  file = join(dir, 'elsewhere.ndjson')
})
afterEach(() => rmSync(dir, { recursive: true }))

const kept = () => checkpointsIn(readFileSync(file, 'utf8'))

const config = () => ({ audit: { checkpoints: file } })

describe('a gateway that serves', () => {
  it('signs checkpoints again and again, in the file that its configuration names', async () => {
    const overrides = { manual: false, checkpointMs: 10 }
    const gateway = await startGateway({ config: config(), overrides })
    while (kept().length === 0) await sleep(10)
    await gateway.headgate.gateway.createRun(gateway.sign(gateway.claims()))
    while (kept().length === 1) await sleep(10)
    const lines = (await (await gateway.asOperator('/audit')).text()).split('\n')
    const jwks = JSON.parse(await (await gateway.fetch('/.well-known/jwks.json')).text())
    expect(verifyExport(lines, { checkpoints: kept().slice(0, 2), jwks })).toMatchObject({
      ok: true,
    })
    expect(gateway.logged).toEqual([])
    await gateway.close()
  })

  it('signs one more as it ends, and does not start over a ledger that is behind it', async () => {
    const ledger = lasting()
    const first = await startGateway({ config: config(), overrides: { ledger, manual: false } })
    expect(kept()).toEqual([])
    await first.close()
    expect(kept()).toHaveLength(1)
    const again = await startGateway({ again: first, config: config(), overrides: { ledger } })
    await again.close()
    const older = createMemoryLedger({ organisation: 'test' })
    await expect(
      startGateway({ again: first, config: config(), overrides: { ledger: older } }),
    ).rejects.toMatchObject({ code: 'ledger_corrupt' })
  })

  it('says so where a checkpoint cannot be kept, and serves on', async () => {
    const overrides = { manual: false, checkpointMs: 10 }
    const gateway = await startGateway({ config: config(), overrides })
    rmSync(dir, { recursive: true })
    await gateway.headgate.gateway.createRun(gateway.sign(gateway.claims()))
    while (gateway.logged.length === 0) await sleep(10)
    expect(gateway.logged[0]).toMatch(/^store_unavailable: expected a file for checkpoints/)
    expect((await gateway.fetch('/health/live')).status).toBe(200)
    await gateway.close()
    dir = mkdtempSync(dir)
  })
})
