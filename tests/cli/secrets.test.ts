import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { credentialsAtStart, needsOfRail } from '../../runtime/cli/credentials.ts'
import { takeLock } from '../../runtime/cli/data-dir.ts'
import type { Io } from '../../runtime/cli/io.ts'
import { childEnvironment, readEnvironment } from '../../runtime/config.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import type { LogEntry } from '../../runtime/http/server.ts'
import { CREDENTIAL_NAMES } from '../../runtime/secrets/catalogue.ts'
import { run } from './io.ts'

const PASSPHRASE = 'a passphrase of some length'
const TEST_ID = 'rzp_test_AbCdEfGhIjKlMn'
const LIVE_ID = 'rzp_live_AbCdEfGhIjKlMn'
const KEY_SECRET = 'key-secret-of-a-test-account'
const WEBHOOK = 'webhook-secret-of-a-test'

const dir = mkdtempSync(join(tmpdir(), 'secrets-'))
const data = join(dir, 'data')
const file = join(data, 'secrets.enc')
afterAll(() => rmSync(dir, { recursive: true }))

const at = ['--data', data] as const
const secrets = (args: readonly string[], ...lines: string[]) =>
  run(['secrets', ...args, ...at], { lines })
const said: string[] = []
const keep = <T extends { out: string; err: string }>(ran: T): T => {
  said.push(ran.out, ran.err)
  return ran
}

describe('headgate secrets', () => {
  beforeAll(async () => {
    const made = await secrets(
      ['init', '--for', 'razorpay'],
      ...[PASSPHRASE, PASSPHRASE, TEST_ID, KEY_SECRET, WEBHOOK, ''],
    )
    expect(keep(made)).toMatchObject({ code: 0, err: '' })
    expect(made.out).toBe(
      'RAZORPAY_KEY_ID          api.razorpay.com  test\n' +
        'RAZORPAY_KEY_SECRET      api.razorpay.com  test\n' +
        'RAZORPAY_WEBHOOK_SECRET  api.razorpay.com  test\n',
    )
  })

  it('writes one file that its owner alone can read', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const text = readFileSync(file, 'utf8')
    for (const value of [TEST_ID, KEY_SECRET, WEBHOOK, PASSPHRASE, 'razorpay']) {
      expect(text).not.toContain(value)
    }
    expect(readdirSync(data).filter((name) => /secrets\.enc\./.test(name))).toEqual([])
  })

  it('lists names, hosts and environments', async () => {
    const listed = keep(await secrets(['list', '--json'], PASSPHRASE))
    const place = { host: 'api.razorpay.com', environment: 'test' }
    expect(listed.json()).toEqual({
      secrets: ['RAZORPAY_KEY_ID', 'RAZORPAY_KEY_SECRET', 'RAZORPAY_WEBHOOK_SECRET'].map(
        (name) => ({ name, ...place }),
      ),
    })
  })

  it('makes no second file over the first', async () => {
    const before = readFileSync(file, 'utf8')
    const again = keep(await secrets(['init'], PASSPHRASE, PASSPHRASE))
    expect(again).toMatchObject({ code: 2, out: '' })
    expect(readFileSync(file, 'utf8')).toBe(before)
  })

  it('takes a live key only where live is said', async () => {
    const before = readFileSync(file, 'utf8')
    const refused = keep(await secrets(['set', 'RAZORPAY_KEY_ID'], PASSPHRASE, LIVE_ID))
    expect(refused.code).toBe(2)
    expect(refused.err).toMatch(/bound to api\.razorpay\.com \(live\)/)
    expect(readFileSync(file, 'utf8')).toBe(before)
    const live = ['set', 'RAZORPAY_KEY_ID', '--environment', 'live']
    expect(keep(await secrets(live, PASSPHRASE, TEST_ID)).code).toBe(2)
    expect(keep(await secrets(live, PASSPHRASE, LIVE_ID)).out).toMatch(/KEY_ID +\S+ +live/)
    const remove = ['remove', 'RAZORPAY_KEY_ID', '--environment', 'live']
    expect(keep(await secrets(remove, PASSPHRASE)).out).not.toContain('live')
    expect(keep(await secrets(remove, PASSPHRASE)).code).toBe(10)
  })

  it('says one sentence for each way in which a file does not open, and loses nothing', async () => {
    const whole = readFileSync(file, 'utf8')
    const attempt = async (text: string, passphrase: string) => {
      writeFileSync(file, text)
      const { code, out, err } = keep(
        await secrets(['set', 'GROQ_API_KEY'], passphrase, 'x-y-z-x-y-z'),
      )
      expect(out).toBe('')
      expect(err.trim().split('\n')).toHaveLength(1)
      expect(readFileSync(file, 'utf8')).toBe(text)
      return [code, err]
    }
    expect(await attempt(whole, 'another passphrase')).toEqual([
      15,
      expect.stringContaining('the passphrase does not open the file of secrets'),
    ])
    for (const damaged of [
      whole.replace(/"sealed":"...../, '"sealed":"AAAAA'),
      whole.slice(0, -40),
      '',
    ]) {
      expect(await attempt(damaged, PASSPHRASE)).toEqual([
        16,
        expect.stringContaining('changed or cut short'),
      ])
    }
    writeFileSync(file, whole)
    expect((await secrets(['list'], PASSPHRASE)).code).toBe(0)
  })

  it('refuses a file that others may read', async () => {
    const { chmodSync } = await import('node:fs')
    chmodSync(file, 0o644)
    const refused = keep(await secrets(['list'], PASSPHRASE))
    chmodSync(file, 0o600)
    expect(refused).toMatchObject({ code: 4, err: expect.stringContaining('mode 0600') })
  })

  it('has one process change it at a time', async () => {
    const lock = takeLock(join(data, 'secrets.lock'))
    const refused = keep(await secrets(['set', 'GROQ_API_KEY'], PASSPHRASE, 'x-y-z-x-y-z'))
    lock.close()
    expect(refused.code).toBe(6)
  })

  it('needs a passphrase: of some length, twice the same, and somebody to type it', async () => {
    const elsewhere = (...lines: string[]) =>
      run(['secrets', 'init', '--data', join(dir, 'other'), '--for', 'groq'], { lines })
    expect((await elsewhere('short', 'short')).code).toBe(15)
    expect((await elsewhere(PASSPHRASE, `${PASSPHRASE}.`)).code).toBe(15)
    expect((await elsewhere()).code).toBe(15)
    expect((await run(['secrets', 'list', ...at])).code).toBe(15)
    expect(readdirSync(join(dir, 'other'))).not.toContain('secrets.enc')
  })

  it('takes the passphrase from the environment where it is there', async () => {
    const { credentials } = readEnvironment({ HEADGATE_PASSPHRASE: PASSPHRASE })
    const listed = await run(['secrets', 'list', ...at], { environment: { credentials } })
    expect(listed.code).toBe(0)
  })

  it('never said a value, or its length', () => {
    for (const value of [TEST_ID, LIVE_ID, KEY_SECRET, WEBHOOK, PASSPHRASE]) {
      expect(said.join('\n')).not.toContain(value)
      expect(said.join('\n')).not.toMatch(new RegExp(`\\b${value.length}\\b`))
    }
  })
})

interface At {
  readonly variables?: Readonly<Record<string, string>>
  readonly typed?: string
  readonly rail?: Parameters<typeof needsOfRail>[0]
}

async function startWith({ variables = {}, typed, rail = RAZORPAY }: At) {
  const log: LogEntry[] = []
  const asked: string[] = []
  const io = {
    environment: readEnvironment(variables),
    askSecret: async (_question: string, from: string) => {
      asked.push(from)
      return typed
    },
    clock: systemClock(),
  } as unknown as Io
  const needs = [needsOfRail(rail)]
  const given = await credentialsAtStart(io, { data, needs, log: (entry) => void log.push(entry) })
  return { ...given, log, asked }
}

const RAZORPAY = { name: 'razorpay', mode: 'test', accountNumber: '12345' } as const

describe('a gateway at its start', () => {
  it('opens the file of secrets with what is typed at the terminal, and only there', async () => {
    const { credentials, log, asked } = await startWith({ typed: PASSPHRASE })
    expect(asked).toEqual(['terminal'])
    expect(log).toEqual([])
    expect(credentials.RAZORPAY_KEY_SECRET?.secret.reveal()).toBe(KEY_SECRET)
    expect(credentials.RAZORPAY_KEY_SECRET?.from).toBe('sealed file')
    await expect(startWith({})).rejects.toMatchObject({ exit: 'passphrase' })
  })

  it('gives what is sealed for a test to no live rail and to no stand-in', async () => {
    const live = startWith({ typed: PASSPHRASE, rail: { ...RAZORPAY, mode: 'live' } })
    await expect(live).rejects.toThrow(
      /bound to api\.razorpay\.com \(test\), and .*\(live\) was asked/,
    )
    const standIn = startWith({
      typed: PASSPHRASE,
      rail: { ...RAZORPAY, url: 'http://127.0.0.1:9' },
    })
    await expect(standIn).rejects.toThrow(/127\.0\.0\.1 \(loopback\) was asked for/)
  })

  it('says once of each plain variable that it is the weaker way, without its value', async () => {
    const key = join(dir, 'key')
    writeFileSync(key, 'gemini-key-of-this-test\n')
    const { log } = await startWith({
      variables: {
        HEADGATE_PASSPHRASE: PASSPHRASE,
        GROQ_API_KEY: 'groq-key-of-this-test',
        GEMINI_API_KEY_FILE: key,
      },
    })
    expect(log.map(({ code, message }) => [code, message.split(' ')[0]])).toEqual([
      ['secret_in_environment', 'GROQ_API_KEY'],
      ['secret_in_environment', 'HEADGATE_PASSPHRASE'],
    ])
    expect(JSON.stringify(log)).not.toMatch(/of-this-test|passphrase of/)
  })

  it('watches for everything that it was given, needed or not', async () => {
    const variables = { GROQ_API_KEY: 'groq-key-of-this-test' }
    const { guard } = await startWith({ variables, typed: PASSPHRASE })
    for (const value of ['groq-key-of-this-test', PASSPHRASE, KEY_SECRET, TEST_ID, WEBHOOK]) {
      expect([value, guard.holdsSecret(`x ${value} y`)]).toEqual([value, true])
    }
  })

  it('refuses a name that is in the file and in the environment', async () => {
    const variables = { RAZORPAY_KEY_SECRET: KEY_SECRET }
    const both = startWith({ variables, typed: PASSPHRASE })
    await expect(both).rejects.toThrow(/RAZORPAY_KEY_SECRET is given twice/)
  })

  it.each([
    [{ name: 'paypal', mode: 'sandbox' }, 'api-m.sandbox.paypal.com', 'sandbox'],
    [{ name: 'paypal', mode: 'live' }, 'api-m.paypal.com', 'live'],
    [{ name: 'paypal', mode: 'live', url: 'http://127.0.0.1:9' }, '127.0.0.1', 'loopback'],
    [{ ...RAZORPAY, mode: 'live' }, 'api.razorpay.com', 'live'],
    [{ name: 'simulated', url: 'http://127.0.0.1:9' }, '127.0.0.1', 'loopback'],
  ] as const)('asks for the credentials of %j at their own host', (rail, host, environment) => {
    expect(needsOfRail(rail)).toMatchObject({ host, environment })
  })
})

describe('a child process', () => {
  it('is given no credential of ours, except what is set for it', () => {
    const before = { ...process.env }
    try {
      for (const name of CREDENTIAL_NAMES) {
        process.env[name] = 'x'
        process.env[`${name}_FILE`] = 'x'
      }
      const env = childEnvironment({ HEADGATE_RAIL_KEY: 'meant' })
      const named = Object.keys(env).filter((name) =>
        CREDENTIAL_NAMES.some((each) => name === each || name === `${each}_FILE`),
      )
      expect(named).toEqual(['HEADGATE_RAIL_KEY'])
      expect(env.HEADGATE_RAIL_KEY).toBe('meant')
      expect(env.PATH).toBe(before.PATH)
    } finally {
      process.env = before
    }
  })
})
