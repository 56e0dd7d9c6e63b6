/** What two people type to resolve a payment, each with a token of their own. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { readEnvironment } from '../../runtime/config.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { run } from './io.ts'

const dir = mkdtempSync(join(tmpdir(), 'payments-'))
afterAll(() => rmSync(dir, { recursive: true }))
afterEach(() => vi.unstubAllGlobals())

interface Sent {
  readonly method: string
  readonly path: string
  readonly authorization: string | null
  readonly body: unknown
}

const PAYMENT = {
  id: 'pay_1',
  run: 'run_1',
  node: 'nd_1',
  payee: 'grocer',
  merchant: 'grocer',
  lines: [],
  amount: 1_000,
  currency: 'INR',
  state: 'unknown',
  createdAtSeconds: 1,
  submittedAtSeconds: 1,
}

/** A gateway that answers every call with one payment and remembers what it was asked. */
function listening(): Sent[] {
  const sent: Sent[] = []
  vi.stubGlobal('fetch', async (url: URL, init: RequestInit = {}) => {
    const authorization = new Headers(init.headers).get('authorization')
    const body = init.body === undefined ? undefined : JSON.parse(String(init.body))
    sent.push({ method: init.method ?? 'GET', path: url.pathname, authorization, body })
    const answer =
      url.pathname === '/alarms'
        ? { alarms: [PAYMENT], halted: [], outside: [], stuck: [] }
        : PAYMENT
    return new Response(JSON.stringify(answer))
  })
  return sent
}

const environment = readEnvironment({
  HEADGATE_OPERATOR_TOKEN: 'token-of-asha',
  HEADGATE_URL: 'http://127.0.0.1:9',
})
const word = ['--outcome', 'settled', '--amount', '1000', '--evidence', 'statement 4']

describe('headgate keys operator', () => {
  it('keeps the token to its owner and prints what the configuration takes', async () => {
    const out = join(dir, 'asha.token')
    const made = await run(['keys', 'operator', '--out', out, '--json'])
    const token = readFileSync(out, 'utf8').trim()
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(made.json()).toEqual({ tokenDigest: sha256(token) })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(made.out + made.err).not.toContain(token)
    expect((await run(['keys', 'operator', '--out', out])).code).toBe(2)
  })
})

describe('headgate payments', () => {
  it('lists what the rail has no word on', async () => {
    listening()
    const { code, out } = await run(['payments', 'alarms'], { environment })
    expect([code, out.includes('pay_1')]).toEqual([0, true])
  })

  it('shows the payment, asks, and sends exactly what was typed with the operator’s own token', async () => {
    const sent = listening()
    const args = ['payments', 'resolve', 'pay_1', ...word]
    const { code, err } = await run(args, { environment, answer: 'yes' })
    expect([code, err.includes('grocer')]).toEqual([0, true])
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /payments/pay_1',
      'POST /payments/pay_1/resolve',
    ])
    expect(sent[1]).toMatchObject({
      authorization: 'Bearer token-of-asha',
      body: { outcome: 'settled', amount: 1_000, evidence: 'statement 4' },
    })
  })

  it('sends what came back as it was seen, when that is to be used again', async () => {
    const sent = listening()
    const args = ['payments', 'return', 'pay_1', '--reversed', '400', '--evidence', 'e', '--yes']
    expect((await run(args, { environment })).code).toBe(0)
    expect(sent).toMatchObject([
      {
        method: 'POST',
        path: '/payments/pay_1/return',
        body: { reversedAmount: 400, evidence: 'e' },
      },
    ])
  })

  it('says nothing without a yes', async () => {
    const sent = listening()
    const args = ['payments', 'resolve', 'pay_1', ...word]
    expect((await run(args, { environment, answer: 'no' })).code).toBe(1)
    expect((await run(args, { environment })).code).toBe(2)
    expect(sent.every(({ method }) => method === 'GET')).toBe(true)
  })

  it.each(['0', '10.5', '-1', '1e3', 'all'])('takes no amount of %s', async (amount) => {
    const args = ['payments', 'resolve', 'pay_1', ...word.with(3, amount), '--yes']
    expect((await run(args, { environment })).code).toBe(2)
  })
})
