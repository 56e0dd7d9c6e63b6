import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import {
  type Exchange,
  type ExchangeRequest,
  exchange,
  type Transport,
} from '../../runtime/rails/exchange.ts'
import { recordingTransport, replayTransport } from '../../runtime/rails/recording.ts'
import { startSimulatedRail } from '../../runtime/rails/simulated/server.ts'
import { createSimulatedRail } from '../../runtime/rails/simulated.ts'
import { orderOf, temporaryDirectory } from './support.ts'

let directory: ReturnType<typeof temporaryDirectory>
let file: string

beforeEach(() => {
  directory = temporaryDirectory()
  file = join(directory.path, 'traffic.ndjson')
})
afterEach(() => directory.remove())

const ask = (change: Partial<ExchangeRequest> & { path?: string } = {}): ExchangeRequest => ({
  method: 'POST',
  url: new URL(change.path ?? '/v1/payouts?account_number=232', 'http://127.0.0.1:1'),
  headers: { authorization: 'Bearer abcdefgh-1', 'X-Payout-Idempotency': 'hg-1' },
  body: '{"amount":100,"notes":{"a":"b"}}',
  timeoutMs: 1_000,
  maxBytes: 10_000,
  ...change,
})

const said = (body: string | Buffer, status = 200): Exchange => ({
  kind: 'answer',
  status,
  headers: { 'content-type': 'application/json', 'set-cookie': 'session=1' },
  body: Buffer.from(body),
})

/** Answers in turn, and the last for ever. */
const answering = (...answers: readonly Exchange[]): Transport => {
  const left = [...answers]
  return async () => (left.length > 1 ? left.shift() : left[0]) ?? said('')
}

/** Records these requests with these answers, and gives the file's text. */
async function recorded(
  requests: readonly ExchangeRequest[],
  answers: readonly Exchange[],
  secrets: readonly string[] = [],
): Promise<string> {
  const transport = recordingTransport(answering(...answers), file, { secrets })
  for (const request of requests) await transport(request)
  return readFileSync(file, 'utf8')
}

describe('a payment over the simulated rail', () => {
  const order = orderOf()
  const API_KEY = 'k'.repeat(30)
  const railOver = (transport: Transport, url = 'http://127.0.0.1:9', apiKey = API_KEY) =>
    createSimulatedRail({ url, apiKey, transport })

  const record = async () => {
    const server = await startSimulatedRail({ port: 0, directory: directory.path })
    const secrets = [server.apiKey]
    const rail = railOver(
      recordingTransport(exchange, file, { secrets }),
      server.url,
      server.apiKey,
    )
    const outcomes = [await rail.pay(order), await rail.lookup(order.key)]
    await server.close()
    expect(readFileSync(file, 'utf8')).not.toContain(server.apiKey)
    return outcomes
  }

  it('is the same again from the recording, with nobody listening and another key', async () => {
    const outcomes = await record()
    expect(outcomes[0]).toMatchObject({ kind: 'settled' })
    const replay = replayTransport(file)
    const rail = railOver(replay)
    expect([await rail.pay(order), await rail.lookup(order.key)]).toEqual(outcomes)
    expect(replay.end()).toBeUndefined()
  })

  it.each([
    ['the amount', { amount: minor(5_001) }, 'the body’s amount'],
    ['the account', { account: 'acct-other' }, 'the body’s account'],
    ['the key', { key: 'hg-another' }, 'the body’s key'],
  ])(
    'fails when %s is another, names the field and shows no value',
    async (_what, change, field) => {
      await record()
      const replay = replayTransport(file)
      const rail = railOver(replay)
      const changed = { ...order, ...change }
      expect(await rail.pay(changed)).toEqual({ kind: 'unknown', reason: 'replay_differs' })
      expect(await rail.lookup(order.key)).toMatchObject({ kind: 'unknown' })
      expect(replay.end()).toBe(`exchange 1 differs from the recording: ${field}`)
    },
  )

  it('fails when less or more is asked than was recorded', async () => {
    await record()
    const less = replayTransport(file)
    await railOver(less).pay(order)
    expect(less.end()).toBe('1 of 2 recorded exchanges were never asked for, from exchange 2 on')
    const more = replayTransport(file)
    const rail = railOver(more)
    for (const _ of [1, 2]) await rail.lookup(order.key)
    expect(more.end()).toBe('exchange 1 differs from the recording: the method')
    const again = replayTransport(file)
    const patient = railOver(again)
    await patient.pay(order)
    for (const _ of [1, 2]) await patient.lookup(order.key)
    expect(again.end()).toBe('exchange 3 was asked for and is not in the recording')
  })
})

describe('a replay', () => {
  it.each([
    ['the method', { method: 'PATCH' as const }],
    ['the path', { path: '/v1/payouts/pout_1?account_number=232' }],
    ['the query’s account_number', { path: '/v1/payouts?account_number=233' }],
    ['the query', { path: '/v1/payouts?account_number=232&account_number=232' }],
    ['the header x-payout-idempotency', { headers: { 'x-payout-idempotency': 'hg-2' } }],
    ['the header prefer', { headers: { ...ask().headers, prefer: 'return=minimal' } }],
    ['the header authorization', { headers: { ...ask().headers, authorization: 'Basic YWJj' } }],
    ['the body’s notes.a', { body: '{"amount":100,"notes":{"a":"c"}}' }],
    ['the body’s notes.?', { body: '{"amount":100,"notes":{"a":"b","a secret name":1}}' }],
    ['the body’s amount', { body: '{"amount":100.5,"notes":{"a":"b"}}' }],
    ['the body', { body: 'amount=100' }],
  ])('fails on %s', async (field, change) => {
    await recorded([ask()], [said('{}')])
    const replay = replayTransport(file)
    await replay(ask(change))
    const sentence = replay.end() ?? ''
    expect(sentence).toContain(`exchange 1 differs from the recording: `)
    if (!field.includes('x-payout')) expect(sentence.endsWith(`: ${field}`)).toBe(true)
  })

  it('takes a body whose members stand in another order for the same', async () => {
    await recorded([ask()], [said('{}')])
    const replay = replayTransport(file)
    await replay(ask({ body: ' {"notes": {"a": "b"}, "amount": 100}' }))
    expect(replay.end()).toBeUndefined()
  })

  it('gives back what was said byte for byte, and what was not said', async () => {
    const answers = [
      said('<!doctype html>é', 502),
      said(Buffer.from([0xff, 0x00, 0x41])),
      said('{ "a" : 1.50 }\n'),
      { kind: 'lost', reason: 'ECONNRESET' } as const,
      { kind: 'notSent', reason: 'ECONNREFUSED' } as const,
    ]
    await recorded(
      answers.map(() => ask()),
      answers,
    )
    const replay = replayTransport(file)
    for (const answer of answers) {
      const { headers: _headers, ...rest } = { headers: {}, ...answer }
      expect(await replay(ask())).toMatchObject(rest)
    }
    expect(replay.end()).toBeUndefined()
  })

  it('goes by the order in which exchanges began, whichever ended first', async () => {
    const { promise, resolve } = Promise.withResolvers<Exchange>()
    const transport: Transport = async ({ method }) => (method === 'POST' ? promise : said('"b"'))
    const recording = recordingTransport(transport, file, { secrets: [] })
    const first = recording(ask())
    await recording(ask({ method: 'GET' }))
    resolve(said('"a"'))
    await first
    const replay = replayTransport(file)
    expect(await replay(ask())).toMatchObject({ body: Buffer.from('"a"') })
    expect(await replay(ask({ method: 'GET' }))).toMatchObject({ body: Buffer.from('"b"') })
    expect(replay.end()).toBeUndefined()
  })

  it('refuses a file that is torn, of another kind, or has a line too few', async () => {
    const text = await recorded([ask(), ask()], [said('{}')])
    for (const broken of [text.slice(0, -20), '{}\n', text.replace('"n":1', '"m":1')]) {
      writeFileSync(file, broken)
      expect(() => replayTransport(file)).toThrow(
        expect.objectContaining({ code: 'config_invalid' }),
      )
    }
    const [head, , second] = text.split('\n')
    writeFileSync(file, `${head}\n${second}\n`)
    const replay = replayTransport(file)
    await replay(ask())
    expect(replay.end()).toBe('exchange 1 was asked for and is not in the recording')
  })
})

describe('a recording', () => {
  const ID = 'rzp_test_AbCdEf12345678'
  const SECRET = 'p/q+r="s\\t'
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const ACCESS = 'A-token-that-only-the-rail-knew'
  const secrets = [ID, SECRET]

  it('holds no secret, wherever it stands and however it is written', async () => {
    const form = ask({
      headers: { authorization: `Basic ${base64(`${ID}:${SECRET}`)}` },
      body: `grant_type=client_credentials&client_id=someone-else&nothing=${encodeURIComponent(SECRET)}`,
    })
    const bearer = { authorization: `Bearer ${ACCESS}` }
    const text = await recorded(
      [
        form,
        ask({ headers: bearer }),
        ask({ path: `/v1/x/${encodeURIComponent(SECRET)}?webhook_id=WH-12345&note=${ACCESS}` }),
        ask({
          body: JSON.stringify({
            webhook_id: 'WH-12345',
            payment_source: { token: { id: 'VAULT-ID' } },
          }),
        }),
        ask(),
      ],
      [
        said(
          JSON.stringify({
            scope: 'all',
            access_token: ACCESS,
            app_id: 'APP-80W28',
            expires_in: 9,
          }),
        ),
        said(`<p>you sent ${ACCESS} and ${base64(`${ID}:${SECRET}`)} and ${SECRET}</p>`, 500),
        said(
          `{"error":{"description":"bad key ${ID}","acc\\u0065ss_token":"XYZ-\\u0041BCDEF"}}`,
          401,
        ),
        said('{"said":"VAULT-ID XYZ-ABCDEF WH-12345 someone-else"}'),
        said(Buffer.concat([Buffer.from([0xff]), Buffer.from(`${ACCESS} Bearer 0123456789`)])),
      ],
      secrets,
    )
    const found = [
      ...[ID, SECRET, ACCESS, 'APP-80W28', 'WH-12345', 'VAULT-ID', 'XYZ-', 'someone-else'],
      ...[ID, SECRET, ACCESS, `${ID}:${SECRET}`].map(base64),
      encodeURIComponent(SECRET),
      JSON.stringify(SECRET).slice(1, -1),
      '0123456789',
      'session=1',
    ].filter(
      (secret) => text.includes(secret) || text.includes(JSON.stringify(secret).slice(1, -1)),
    )
    expect(found).toEqual([])
    expect(text).toContain('"expires_in\\":9')
  })

  it('replays with what was removed as it did with the secrets', async () => {
    const token = ask({ headers: { authorization: `Basic ${base64(`${ID}:${SECRET}`)}` } })
    const use = (access: string) => ask({ headers: { authorization: `Bearer ${access}` } })
    await recorded(
      [token, use(ACCESS)],
      [said(JSON.stringify({ access_token: ACCESS })), said('{}')],
    )
    const replay = replayTransport(file)
    const got = await replay(ask({ headers: { authorization: `Basic ${base64('other:person')}` } }))
    const { access_token: access } = JSON.parse(got.kind === 'answer' ? got.body.toString() : '{}')
    expect(access).toMatch(/^[A-Z]{20,}$/)
    await replay(use(access))
    expect(replay.end()).toBeUndefined()
  })

  it('is a new file that only its owner reads', async () => {
    await recorded([ask()], [said('{}')])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(() => recordingTransport(exchange, file, { secrets: [] })).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    )
  })

  it('is not begun with a secret that could not be known again', () => {
    expect(() => recordingTransport(exchange, file, { secrets: ['abcde'] })).toThrow(
      'six characters',
    )
  })

  it('that cannot be written changes no answer', async () => {
    const recording = recordingTransport(answering(said('{"a":1}')), file, { secrets: [] })
    rmSync(directory.path, { recursive: true })
    expect(await recording(ask())).toEqual(said('{"a":1}'))
  })
})
