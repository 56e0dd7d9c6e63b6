import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Child, startChild } from '../../runtime/cli/child.ts'
import { freePort, type Outside, startOutside } from '../../runtime/cli/world.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import type { RunDetail } from '../../runtime/core/wire.ts'
import { run } from '../cli/io.ts'

const START = join(import.meta.dirname, '../../runtime/start.mjs')

const readySchema = z.object({
  url: z.string(),
  standIn: z.object({
    rail: z.string(),
    url: z.string(),
    pid: z.number(),
    accounts: z.array(z.string()),
    said: z.string(),
  }),
})
const bookSchema = z.object({ totals: z.record(z.string(), z.number()), payments: z.number() })

let dir: string
let outside: Outside
let gateway: Child<z.infer<typeof readySchema>>
const at = () => ['--data', join(dir, 'data')]

/** Shops and a principal are here; the configured rail is the simulated one, which nobody is to be paid by. */
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'serve-rail-'))
  outside = await startOutside({
    dir: join(dir, 'world'),
    port: await freePort(),
    clock: systemClock(),
  })
  writeFileSync(join(dir, 'headgate.json'), JSON.stringify(outside.config))
  gateway = await serve('--rail', 'razorpay', '--record-rail', join(dir, 'traffic.ndjson'))
}, 60_000)
afterAll(async () => {
  await gateway?.stop('SIGKILL')
  await outside?.close()
  rmSync(dir, { recursive: true })
}, 60_000)

const serve = (...options: string[]) =>
  startChild({
    name: 'the gateway',
    file: START,
    args: ['serve', ...at(), '--config', join(dir, 'headgate.json'), '--json', ...options],
    log: join(dir, 'gateway.log'),
    ready: readySchema,
  })

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('a gateway that serves over a rail of which no credentials are set', () => {
  it('says that it moves play money, and whom it gave accounts', () => {
    const { standIn } = gateway.ready
    expect(standIn.rail).toBe('razorpay')
    expect(standIn.said).toMatch(
      /^play money, nothing real moves: no credentials of razorpay are set/,
    )
    expect(standIn.accounts).toEqual(outside.config.payees.map(({ id }) => id))
    expect(standIn.said).not.toContain('\n')
  })

  it('pays by the stand-in, to the paisa, and writes down no secret of what was said', async () => {
    const mandate = join(dir, 'mandate.jws')
    writeFileSync(mandate, outside.sign({ task: '2 wireless keyboards', payees: ['volt-house'] }))
    const begun = await run(['run', '--mandate', mandate, '--json', ...at()])
    const { id } = begun.json<{ run: { id: string } }>().run
    expect((await run(['watch', id, ...at()])).code).toBe(0)
    const { run: done } = (await run(['watch', id, '--json', ...at()])).json<RunDetail>()
    expect(done.totals.spent).toBeGreaterThan(0)
    const book = await fetch(`${gateway.ready.standIn.url}/_control/book`)
    const { totals, payments } = bookSchema.parse(await book.json())
    expect([totals.INR, payments]).toEqual([done.totals.spent, 1])
    const traffic = readFileSync(join(dir, 'traffic.ndjson'), 'utf8')
    expect(traffic).toContain('"path":"/v1/payouts"')
    expect(traffic).not.toContain('rzp_test_')
  })

  it('ends its stand-in with it, even where it is killed, and serves no other rail afterwards', async () => {
    const { pid } = gateway.ready.standIn
    expect(isAlive(pid)).toBe(true)
    await gateway.stop('SIGKILL')
    while (isAlive(pid)) await sleep(20)
    const config = ['--config', join(dir, 'headgate.json')]
    const real = await run(['serve', ...at(), ...config], {
      environment: { credentials: outside.rail.name === 'simulated' ? simulatedKey() : {} },
    })
    expect([real.code, real.err]).toEqual([4, expect.stringMatching(/is of play money/)])
  })
})

/** A gateway of the configured rail, ended politely as soon as it serves. */
async function endOf(
  options: readonly string[],
  env = outside.rail.env,
): Promise<{ code: unknown; err: string }> {
  const config = ['--config', join(dir, 'headgate.json'), '--port', String(await freePort())]
  const child = spawn(process.execPath, [START, 'serve', ...config, '--json', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let err = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  child.stdout.once('data', () => child.kill('SIGTERM'))
  const [code] = await once(child, 'close')
  return { code, err }
}

const simulatedKey = () => ({
  HEADGATE_RAIL_KEY: { from: 'file' as const, value: outside.rail.key },
})

describe('credentials that the rail does not accept', () => {
  it('keep a gateway from starting', async () => {
    const wrong = join(dir, 'wrong.key')
    writeFileSync(wrong, 'not-the-key-of-this-rail')
    const refused = await endOf(['--data', join(dir, 'refused')], { HEADGATE_RAIL_KEY_FILE: wrong })
    expect(refused.code).toBe(12)
    expect(refused.err).toBe('headgate: the rail does not accept the key [rail_unconfigured]\n')
  })
})

describe('a replay of rail traffic', () => {
  it('that went otherwise than the recording is said at the end, with a code of its own', async () => {
    const data = join(dir, 'replayed')
    mkdirSync(data, { mode: 0o700 })
    writeFileSync(join(dir, 'nothing.ndjson'), '{"recording":"headgate rail recording 1"}\n')
    const ended = await endOf(['--data', data, '--replay-rail', join(dir, 'nothing.ndjson')])
    expect(ended.code).toBe(19)
    expect(ended.err).toContain('"code":"rail_unconfigured"')
    expect(ended.err).toMatch(/the replay is not the recording: exchange 1 was asked for/)
  })
})
