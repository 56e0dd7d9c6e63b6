import { statSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CURRENCIES, minor } from '../../runtime/core/money.ts'
import {
  type SimulatedRailServer,
  startSimulatedRail,
} from '../../runtime/rails/simulated/server.ts'
import { createSimulatedRail } from '../../runtime/rails/simulated.ts'
import { railContract, type ScriptedFault } from './contract.ts'
import { type Operator, operatorOf, orderOf, payoutOf, temporaryDirectory } from './support.ts'

railContract('simulated', async ({ timeoutMs } = { timeoutMs: 10_000 }) => {
  const directory = temporaryDirectory()
  const server = await startSimulatedRail({ port: 0, directory: directory.path })
  const operator = operatorOf(server.url, server.apiKey)
  return {
    rail: createSimulatedRail({ url: server.url, apiKey: server.apiKey, timeoutMs }),
    account: 'acct-1',
    currency: 'INR',
    script: async (outcome: ScriptedFault) => {
      const rule = outcome === 'slow' ? { outcome, delayMs: 60_000 } : { outcome }
      expect((await operator.post('script', rule)).status).toBe(204)
    },
    moved: async () => (await operator.book()).totals.INR ?? 0,
    payouts: async () =>
      (await operator.book()).payouts.filter((payout) => payout.state !== 'declined').length,
    disconnect: () => server.close(),
    close: async () => {
      await server.close()
      directory.remove()
    },
  }
})

describe('the simulated rail’s book', () => {
  let directory: ReturnType<typeof temporaryDirectory>
  let server: SimulatedRailServer
  let operator: Operator
  const rail = () => createSimulatedRail({ url: server.url, apiKey: server.apiKey })

  beforeEach(async () => {
    directory = temporaryDirectory()
    server = await startSimulatedRail({ port: 0, directory: directory.path })
    operator = operatorOf(server.url, server.apiKey)
  })
  afterEach(async () => {
    await server.close()
    directory.remove()
  })

  it('answers the same key with the same body the same, byte for byte', async () => {
    const body = payoutOf(orderOf())
    const first = await operator.post('payouts', body)
    const second = await operator.post('payouts', body)
    expect([first.status, second.status]).toEqual([201, 200])
    expect(await second.text()).toBe(await first.text())
  })

  it.each([
    ['amount', { amount: minor(5_001) }],
    ['currency', { currency: 'KWD' as const }],
    ['account', { account: 'acct-other' }],
    ['note', { note: 'three chairs' }],
  ])('refuses the same key with another %s', async (_what, change) => {
    const order = orderOf()
    await operator.post('payouts', payoutOf(order))
    const answer = await operator.post('payouts', payoutOf({ ...order, ...change }))
    expect(answer.status).toBe(422)
    expect((await operator.book()).totals).toEqual({ JPY: 5_000 })
  })

  it('keeps each currency apart, to the minor unit and up to the largest safe amount', async () => {
    for (const currency of CURRENCIES) {
      const order = orderOf({ currency, amount: minor(Number.MAX_SAFE_INTEGER) })
      expect(await rail().pay(order)).toMatchObject({
        kind: 'settled',
        amount: Number.MAX_SAFE_INTEGER,
        currency,
      })
    }
    expect(new Set(Object.values((await operator.book()).totals))).toEqual(
      new Set([Number.MAX_SAFE_INTEGER]),
    )
  })

  it('counts every payout request that arrived, whatever became of it', async () => {
    await operator.post('script', { match: { n: 1 }, outcome: 'lostRequest' })
    await operator.post('script', { match: { n: 2 }, outcome: 'decline' })
    const order = orderOf()
    await rail().pay(order)
    await rail().pay(order)
    await rail().pay(orderOf())
    await operator.send('POST', 'payouts', '{"key":')
    await operator.send('POST', 'payouts', '{"key":"a","key":"b"}')
    const book = await operator.book()
    expect(book.calls).toBe(5)
    expect(book.payouts.map((payout) => payout.state)).toEqual(['declined', 'settled'])
  })

  it.each([
    ['a fractional amount', { amount: 10.5 }],
    ['nothing at all', { amount: 0 }],
    ['a negative amount', { amount: -5 }],
    ['an amount as text', { amount: '5000' }],
    ['an unknown currency', { currency: 'EUR' }],
    ['an unknown field', { to: 'someone' }],
    ['a key that is a path', { key: '../book' }],
  ])('refuses %s', async (_what, change) => {
    const answer = await operator.post('payouts', { ...payoutOf(orderOf()), ...change })
    expect(answer.status).toBe(400)
    expect((await operator.book()).payouts).toEqual([])
  })

  it('serves nobody without its key, and counts who tried', async () => {
    for (const authorization of ['', 'Bearer ', `bearer ${server.apiKey}`, 'Bearer wrong']) {
      const answer = await fetch(`${server.url}/payouts`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(payoutOf(orderOf())),
      })
      expect(answer.status).toBe(401)
    }
    expect(await operator.book()).toMatchObject({ calls: 0, unauthorised: 4, payouts: [] })
  })

  it('keeps its key in a file that only its owner can read', () => {
    expect(statSync(server.keyFile).mode & 0o777).toBe(0o600)
  })

  it('takes a late return off the totals, once, and still shows it as settled and returned', async () => {
    await operator.post('script', { outcome: 'lateReversal' })
    const order = orderOf()
    expect(await rail().pay(order)).toMatchObject({ kind: 'settled' })
    expect((await operator.book()).totals).toEqual({ JPY: 5_000 })
    for (let i = 0; i < 2; i += 1) {
      expect((await operator.post(`payouts/${order.key}/return`, {})).status).toBe(200)
    }
    expect((await operator.book()).totals).toEqual({})
    expect(await rail().lookup(order.key)).toMatchObject({ kind: 'settled', returned: true })
  })

  it('gives nothing back that never settled', async () => {
    await operator.post('script', { outcome: 'decline' })
    const order = orderOf()
    await rail().pay(order)
    expect((await operator.post(`payouts/${order.key}/return`, {})).status).toBe(409)
    expect((await operator.post('payouts/never-used/return', {})).status).toBe(404)
  })

  it('lets a payout come back by itself when the script says when', async () => {
    await operator.post('script', { outcome: 'lateReversal', afterMs: 1 })
    const order = orderOf()
    await rail().pay(order)
    await expect.poll(async () => (await operator.book()).payouts[0]?.state).toBe('returned')
  })

  it('can book a payout after its absence was seen, within its visibility delay', async () => {
    await operator.post('script', { outcome: 'lateCommit', delayMs: 300 })
    const order = orderOf()
    expect(await rail().pay(order)).toMatchObject({ kind: 'unknown' })
    expect(await rail().lookup(order.key)).toEqual({ kind: 'absent' })
    await expect.poll(async () => (await rail().lookup(order.key)).kind).toBe('settled')
    expect((await operator.book()).calls).toBe(1)
    const tooLate = await operator.post('script', { outcome: 'lateCommit', delayMs: 1_501 })
    expect(tooLate.status).toBe(400)
  })

  it('matches a script by account, key and count, and forgets it when used up or cleared', async () => {
    const order = orderOf()
    await operator.post('script', { match: { key: order.key }, outcome: 'decline' })
    await operator.post('script', { match: { account: 'a2' }, outcome: 'decline', times: 2 })
    expect((await rail().pay(orderOf())).kind).toBe('settled')
    expect((await rail().pay(order)).kind).toBe('declined')
    expect((await rail().pay(orderOf({ account: 'a2' }))).kind).toBe('declined')
    expect((await rail().pay(orderOf({ account: 'a2' }))).kind).toBe('declined')
    expect((await rail().pay(orderOf({ account: 'a2' }))).kind).toBe('settled')
    await operator.post('script', { outcome: 'decline', times: 9 })
    await operator.send('DELETE', 'script')
    expect((await rail().pay(orderOf())).kind).toBe('settled')
  })

  it('moves another currency when scripted to, and the adapter calls it unknown', async () => {
    await operator.post('script', { outcome: 'wrongAmount', currency: 'KWD' })
    expect(await rail().pay(orderOf())).toEqual({ kind: 'unknown', reason: 'amount_differs' })
    expect((await operator.book()).totals).toEqual({ KWD: 5_000 })
  })

  it('calls a smaller amount unknown as well', async () => {
    await operator.post('script', { outcome: 'wrongAmount', amount: 4_999 })
    expect(await rail().pay(orderOf())).toEqual({ kind: 'unknown', reason: 'amount_differs' })
  })

  it('is not ready for a wrong key, and says so without the key', async () => {
    const wrong = createSimulatedRail({ url: server.url, apiKey: 'x'.repeat(43) })
    await expect(wrong.ready()).rejects.toMatchObject({
      code: 'rail_unconfigured',
      retryable: false,
      message: expect.not.stringContaining('xxx'),
    })
    expect((await wrong.pay(orderOf())).kind).toBe('unknown')
  })
})

describe('the simulated rail’s adapter', () => {
  it.each([
    'https://rail.example',
    'http://10.0.0.1:80',
    'http://127.0.0.1.example:80',
    'http://user@127.0.0.1:80',
    'http://127.0.0.1:80/elsewhere',
    'file:///etc/passwd',
    'not a url',
  ])('refuses to be pointed at %s', (url) => {
    expect(() => createSimulatedRail({ url, apiKey: 'x'.repeat(43) })).toThrow(
      'expected the simulated rail at http://127.0.0.1:PORT',
    )
  })

  it('refuses a key that could not stand in a header', () => {
    const apiKey = `${'x'.repeat(30)}\r\nx: y`
    expect(() => createSimulatedRail({ url: 'http://127.0.0.1:1', apiKey })).toThrow('printable')
  })
})

/** A rail that says what it is told to, byte for byte. */
describe('the simulated rail’s adapter before a rail that lies', () => {
  let listener: Server
  let url: string
  let answer: (socket: Socket, request: string) => void
  let requests: number

  beforeEach(async () => {
    requests = 0
    listener = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', (data) => {
        requests += 1
        answer(socket, String(data))
      })
    })
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    const address = listener.address()
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  })
  afterEach(() => new Promise((resolve) => listener.close(resolve)))

  const rail = (timeoutMs = 5_000) =>
    createSimulatedRail({ url, apiKey: 'x'.repeat(43), timeoutMs })
  const whole = (status: string, body: string, more = '') =>
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${more}` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  const payout = (change: object) => {
    const body = { ...payoutOf(orderOf()), reference: 'sim_1', state: 'settled' }
    return JSON.stringify({ ...body, createdAtSeconds: 1, ...change })
  }

  it.each<[string, (socket: Socket) => void]>([
    ['a reset after the request', (s) => s.resetAndDestroy()],
    ['an end without an answer', (s) => s.end()],
    ['half a head', (s) => s.end('HTTP/1.1 201 Cre')],
    ['half a body', (s) => s.end('HTTP/1.1 201 Created\r\ncontent-length: 900\r\n\r\n{"key":')],
    ['something that is not HTTP', (s) => s.end('220 smtp ready\r\n')],
    ['an empty success', (s) => s.end(whole('201 Created', ''))],
    ['a success of another shape', (s) => s.end(whole('200 OK', '{"ok":true}'))],
    ['a 204', (s) => s.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')],
    ['a 404', (s) => s.end(whole('404 Not Found', '{"code":"no_such_route"}'))],
    ['a 401', (s) => s.end(whole('401 Unauthorized', '{"code":"unauthorised"}'))],
    ['a 503', (s) => s.end(whole('503 Unavailable', '{}', 'retry-after: 1\r\n'))],
    ['an endless answer', (s) => s.end(whole('200 OK', ' '.repeat(70_000)))],
  ])('calls %s unknown', async (_what, say) => {
    answer = say
    expect(await rail().pay(orderOf())).toMatchObject({ kind: 'unknown' })
    expect(requests).toBe(1)
  })

  it.each(['301 Moved', '307 Temporary Redirect', '308 Permanent Redirect', '421 Misdirected'])(
    'sends nothing a second time for %s',
    async (status) => {
      answer = (s) => s.end(whole(status, '', `location: ${url}/payouts\r\n`))
      expect(await rail().pay(orderOf())).toMatchObject({ kind: 'unknown' })
      expect(requests).toBe(1)
    },
  )

  it.each([
    ['another key', { key: 'other-key' }],
    ['another account', { account: 'acct-other' }],
    ['another amount', { amount: 5_001 }],
    ['another currency', { currency: 'KWD' }],
    ['an unknown state', { state: 'pending' }],
    ['a field that it should not have', { extra: 1 }],
  ])('does not believe a success about %s', async (_what, change) => {
    const order = orderOf()
    answer = (s) => s.end(whole('201 Created', payout({ key: order.key, ...change })))
    expect(await rail().pay(order)).toMatchObject({ kind: 'unknown' })
    answer = (s) => s.end(whole('201 Created', payout({ key: order.key })))
    expect(await rail().pay(order)).toMatchObject({ kind: 'settled' })
  })

  it.each(['202 Accepted', '203 Changed', '404 Not Found', '500 Oops'])(
    'does not believe a payout, settled or declined, under the status %s',
    async (status) => {
      const order = orderOf()
      for (const state of ['settled', 'declined']) {
        answer = (s) => s.end(whole(status, payout({ key: order.key, state })))
        expect(await rail().pay(order)).toMatchObject({ kind: 'unknown' })
        expect(await rail().lookup(order.key)).toMatchObject({ kind: 'unknown' })
      }
    },
  )

  it('does not take a decline of another payout for its own', async () => {
    answer = (s) => s.end(whole('200 OK', payout({ key: 'other-key', state: 'declined' })))
    expect(await rail().pay(orderOf())).toMatchObject({ kind: 'unknown' })
  })

  it.each([
    ['a 404 of something else', whole('404 Not Found', '<h1>not here</h1>')],
    ['absence of another key', whole('404 Not Found', '{"code":"no_such_payout","key":"k2"}')],
    ['an outage', whole('500 Oops', '{"code":"no_such_payout","key":"k1"}')],
  ])('does not read %s as proof of absence', async (_what, text) => {
    answer = (s) => s.end(text)
    expect(await rail().lookup('k1')).toMatchObject({ kind: 'unknown' })
  })

  it('gives up at its deadline while the rail is silent, and calls it unknown', async () => {
    answer = () => {}
    expect(await rail(50).pay(orderOf())).toEqual({ kind: 'unknown', reason: 'deadline' })
  })

  it('gives up at its deadline when the answer trickles', async () => {
    answer = (s) => {
      s.write('HTTP/1.1 201 Created\r\ncontent-length: 100000\r\n\r\n')
      const timer = setInterval(() => s.write(' '), 10)
      s.once('close', () => clearInterval(timer))
    }
    expect(await rail(80).pay(orderOf())).toEqual({ kind: 'unknown', reason: 'deadline' })
  })
})
