import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import {
  assertNoPlayMoney,
  configBefore,
  isUnaccredited,
} from '../../runtime/cli/commands/serve-rail.ts'
import { openTraffic } from '../../runtime/cli/rail-traffic.ts'
import { ConfigError } from '../../runtime/config.ts'
import { Secret } from '../../runtime/secrets/secret.ts'
import { run } from './io.ts'

const dir = mkdtempSync(join(tmpdir(), 'serve-rail-'))
afterAll(() => rmSync(dir, { recursive: true }))

let made = 0
let data: string
let file: string

const CONFIG = {
  organisation: 'acme',
  gateway: { id: 'headgate.acme', url: 'http://127.0.0.1:9' },
  principals: [],
  payees: [
    { id: 'bare', name: 'Bare' },
    { id: 'linked', name: 'Linked', accounts: { razorpay: 'link', simulated: 'a' } },
  ],
  merchants: [],
  rail: { name: 'simulated', url: 'http://127.0.0.1:9' },
  listen: { port: 0 },
}

beforeEach(() => {
  made += 1
  data = join(dir, `data-${made}`)
  file = join(dir, `config-${made}.json`)
  writeFileSync(file, JSON.stringify(CONFIG))
})

const variables = (names: Readonly<Record<string, string>>) => ({
  environment: {
    credentials: Object.fromEntries(
      Object.entries(names).map(([name, value]) => [
        name,
        { from: 'file' as const, value: new Secret(value) },
      ]),
    ),
  },
})
const RAZORPAY = {
  RAZORPAY_KEY_ID: 'rzp_test_AbCdEfGhIjKlMn',
  RAZORPAY_KEY_SECRET: 'key-secret-of-a-test-account',
  RAZORPAY_WEBHOOK_SECRET: 'webhook-secret-of-a-test',
}
const serve = (options: readonly string[], given: Readonly<Record<string, string>> = {}) =>
  run(['serve', '--data', data, '--config', file, ...options], variables(given))

describe('serve --rail', () => {
  it('with credentials serves no rail but the configured one, and starts no stand-in', async () => {
    const other = await serve(['--rail', 'razorpay'], RAZORPAY)
    expect(other).toMatchObject({ code: 3, out: '' })
    // Its payees have to have accounts there then, too.
    expect(other.err).toMatch(/payees\[0\]\.accounts/)
    const { payees, ...rest } = CONFIG
    writeFileSync(file, JSON.stringify({ ...rest, payees: payees.slice(1) }))
    const named = await serve(['--rail', 'razorpay'], RAZORPAY)
    expect(named).toMatchObject({ code: 3, out: '' })
    expect(named.err).toMatch(/^headgate: `rail\.name` is wrong: expected razorpay/)
    expect(existsSync(join(data, 'stand-in'))).toBe(false)
  })

  it('takes credentials that are incomplete or sealed for given ones', async () => {
    const { payees, ...rest } = CONFIG
    const rail = { name: 'razorpay', accountNumber: '2323230041626905' }
    writeFileSync(file, JSON.stringify({ ...rest, rail, payees: payees.slice(1) }))
    const { RAZORPAY_KEY_ID } = RAZORPAY
    const half = await serve(['--rail', 'razorpay'], { RAZORPAY_KEY_ID })
    expect(half).toMatchObject({ code: 3, out: '' })
    expect(half.err).toMatch(/expected RAZORPAY_KEY_SECRET for api\.razorpay\.com/)
    const passphrase = { HEADGATE_PASSPHRASE: 'a passphrase of some length' }
    const set = ['secrets', 'init', '--data', data, '--for', 'razorpay']
    const lines = [RAZORPAY_KEY_ID, '', '', '']
    expect((await run(set, { ...variables(passphrase), lines })).code).toBe(0)
    const sealed = await serve(['--rail', 'razorpay'], passphrase)
    expect([sealed.code, sealed.err]).toEqual([3, expect.stringMatching(/RAZORPAY_KEY_SECRET/)])
    expect(isUnaccredited('paypal', (name) => name in RAZORPAY)).toBe(true)
    expect(isUnaccredited('paypal', (name) => name === 'PAYPAL_INSTRUMENT')).toBe(false)
  })

  it('never puts a stand-in in front of a ledger of real payments, nor a rail in front of play money', async () => {
    mkdirSync(data, { mode: 0o700 })
    writeFileSync(join(data, 'headgate.db'), 'a ledger')
    const real = await serve(['--rail', 'razorpay'])
    expect([real.code, real.err]).toEqual([4, expect.stringMatching(/without a stand-in/)])
    mkdirSync(join(data, 'stand-in'))
    writeFileSync(join(data, 'stand-in/play-money'), '')
    expect(() => assertNoPlayMoney(data)).toThrow(/is of play money/)
    writeFileSync(join(data, 'headgate.db'), '')
    expect(() => assertNoPlayMoney(data)).not.toThrow()
    writeFileSync(join(data, 'headgate.db'), 'a ledger')
    expect(() => assertNoPlayMoney(data)).not.toThrow()
  })

  it('says what else is wrong with the configuration before anything is started', async () => {
    writeFileSync(file, JSON.stringify({ ...CONFIG, organisation: '' }))
    const wrong = await serve(['--rail', 'paypal'])
    expect([wrong.code, wrong.err]).toEqual([3, expect.stringMatching(/`organisation`/)])
    expect(() => configBefore('paypal', { path: data, file, as: (config) => config })).toThrow(
      ConfigError,
    )
    expect(existsSync(data)).toBe(false)
  })

  it('gives accounts to payees that have none there, and takes the place of the configured rail', () => {
    const { payees, rail } = configBefore('razorpay', { path: data, file, as: (config) => config })
    expect(payees.map(({ accounts }) => accounts)).toEqual([
      { razorpay: 'account' },
      { razorpay: 'link', simulated: 'a' },
    ])
    expect(rail.name).toBe('razorpay')
  })

  it('is one of the rails, and stands beside no replay', async () => {
    for (const options of [
      ['--rail', 'stripe'],
      ['--rail', 'razorpay', '--replay-rail', 'x'],
      ['--record-rail', 'y', '--replay-rail', 'x'],
    ]) {
      expect([options, (await serve(options)).code]).toEqual([options, 2])
    }
    const unread = await serve(['--replay-rail', join(dir, 'none')])
    expect(unread.code).toBe(3)
  })
})

describe('rail traffic', () => {
  const credentials = {
    RAZORPAY_KEY_SECRET: { secret: new Secret('of-a-key'), from: 'file' },
  } as const

  it('is written into a new file only, and read from one that is there', () => {
    const recordRail = join(dir, 'new.ndjson')
    openTraffic({ recordRail }, credentials).end()
    expect(readFileSync(recordRail, 'utf8')).toMatch(/^{"recording"/)
    expect(() => openTraffic({ recordRail }, credentials)).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    )
    expect(() => openTraffic({ replayRail: join(dir, 'none') }, credentials)).toThrow(
      expect.objectContaining({ exit: 'usage' }),
    )
    expect(openTraffic({}, credentials).transport).toBeUndefined()
  })

  it('is played without a word where it is all that was recorded', () => {
    const replayRail = join(dir, 'new.ndjson')
    expect(() => openTraffic({ replayRail }, credentials).end()).not.toThrow()
  })

  it('holds no credential that the gateway was given', async () => {
    const recordRail = join(dir, 'scrubbed.ndjson')
    const { transport } = openTraffic({ recordRail }, credentials)
    const url = new URL('http://127.0.0.1:1/of-a-key')
    await transport?.({ method: 'GET', url, headers: {}, timeoutMs: 1_000, maxBytes: 9 })
    expect(readFileSync(recordRail, 'utf8')).not.toContain('of-a-key')
  })
})
