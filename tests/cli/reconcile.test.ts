/** What an operator reads of the rail’s own list: a table, sums, and an exit code of its own where it differs. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { readEnvironment } from '../../runtime/config.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import {
  type SimulatedRailServer,
  startSimulatedRail,
} from '../../runtime/rails/simulated/server.ts'
import { createSimulatedRail } from '../../runtime/rails/simulated.ts'
import {
  clientOf,
  fakeRail,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from '../http/gateway.ts'
import { run } from './io.ts'

const directory = mkdtempSync(join(tmpdir(), 'reconcile-'))
let server: SimulatedRailServer
let gateway: TestGateway

beforeAll(async () => {
  server = await startSimulatedRail({ port: 0, directory })
  const rail = createSimulatedRail({ url: server.url, apiKey: server.apiKey })
  gateway = await startGateway({ overrides: { rail } })
}, 60_000)
afterAll(async () => {
  await gateway.close()
  await server.close()
  rmSync(directory, { recursive: true })
})
afterEach(() => vi.unstubAllGlobals())

const asking = (url: string, token: string) =>
  readEnvironment({ HEADGATE_OPERATOR_TOKEN: token, HEADGATE_URL: url })

const reconcile = (...args: string[]) =>
  run(['reconcile', '--from', '0', ...args], { environment: asking(gateway.url, gateway.token) })

/** The second in which something was booked is over, so the list has it. */
async function nextSecond(): Promise<void> {
  const now = () => Math.floor(systemClock().nowMs() / 1000)
  const then = now()
  await expect.poll(now, { timeout: 5_000 }).toBeGreaterThan(then)
}

describe('headgate reconcile', () => {
  it('is content where the rail has what we have, and shows the sums', async () => {
    const root = await startOutsideRun(gateway)
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, root, 0, quote)
    expect((await clientOf(gateway, leaf).pay(quote)).verdict).toBe('allow')
    await nextSecond()
    const { code, out } = await reconcile()
    expect([code, out.includes('INR 25.00')]).toEqual([0, true])
  })

  it('exits with a code of its own where money moved without us, until a person says that it is known', async () => {
    const answer = await fetch(new URL('strays', server.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ direction: 'out', amount: 4_200, currency: 'EUR' }),
    })
    const { id } = (await answer.json()) as { id: string }
    await nextSecond()
    const said = await reconcile('--json')
    expect(said.code).toBe(18)
    const { statement } = said.json() as { statement: { lines: { outside: string }[] } }
    expect(statement).toMatchObject({
      differs: true,
      lines: [{ kind: 'outside', object: id, currency: 'EUR', rail: 4_200 }],
    })
    const text = await reconcile()
    expect([text.code, text.out.includes('moved without us'), text.out.includes(id)]).toEqual([
      ...[18, true, true],
    ])
    const environment = asking(gateway.url, gateway.token)
    const alarms = await run(['payments', 'alarms'], { environment })
    expect(alarms.out).toContain('EUR 4200 (minor units)')
    const outside = statement.lines[0]?.outside ?? ''
    const known = ['payments', 'acknowledge', outside, '--evidence', 'rent']
    expect((await run(known, { environment })).code).toBe(0)
    expect((await reconcile()).code).toBe(0)
    expect((await run(known, { environment })).code).toBe(11)
    expect((await run(known.with(2, 'pay_1'), { environment })).code).toBe(2)
  })

  it('says in a sentence that a rail has no list', async () => {
    const other = await startGateway({ overrides: { rail: fakeRail() } })
    try {
      const environment = asking(other.url, other.token)
      const { code, out } = await run(['reconcile'], { environment })
      expect([code, out.includes('has no list of its own')]).toEqual([0, true])
    } finally {
      await other.close()
    }
  })

  it.each(['yesterday', '-1', '1e3', '2026-13-01'])('takes no beginning of %s', async (from) => {
    const environment = asking(gateway.url, gateway.token)
    expect((await run(['reconcile', '--from', from], { environment })).code).toBe(2)
  })

  it('takes a date', async () => {
    const environment = asking(gateway.url, gateway.token)
    const { json, code } = await run(['reconcile', '--from', '2026-01-02', '--json'], {
      environment,
    })
    expect([code, json()]).toMatchObject([0, { statement: { fromSeconds: 1_767_312_000 } }])
  })
})
