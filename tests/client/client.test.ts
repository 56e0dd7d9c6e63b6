import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Client, createClient } from '../../runtime/client/client.ts'
import { CHECKS } from '../../runtime/core/codes.ts'
import type { PaymentAnswer } from '../../runtime/core/wire.ts'
import { checkProof } from '../../runtime/tokens/proof.ts'
import { holderOf, keyOf, NOW } from '../tokens/fixtures.ts'
import { type GatewayStub, startStub } from './gateway-stub.ts'

const TOKEN = 'a-token-of-some-kind'
const clock = { nowMs: () => NOW * 1_000 }

let gateway: GatewayStub
let client: Client
beforeAll(async () => {
  gateway = await startStub()
  client = createClient({ gateway: gateway.url, token: TOKEN, holder: keyOf(1), clock })
})
afterAll(() => gateway.close())
beforeEach(() => {
  gateway.received.length = 0
})

const checks: PaymentAnswer['checks'] = CHECKS.map(({ n, name }) => ({
  n,
  name,
  status: 'passed',
  ms: 0,
}))
const allowed: PaymentAnswer = {
  paymentId: 'pay_one',
  verdict: 'allow',
  state: 'settled',
  checks,
  receipt: 'a.b.c',
}
const held: PaymentAnswer = {
  paymentId: 'pay_one',
  verdict: 'hold',
  reason: {
    check: 7,
    name: 'policy',
    code: 'approval_required',
    message: 'a person must approve this payment; send it again afterwards',
    advice: 'wait_for_person',
  },
  checks,
  holdId: 'hold_one',
}
const node = {
  id: 'nd_child',
  parent: 'nd_root',
  kind: 'planner',
  depth: 1,
  label: 'books',
  standing: 'live',
  payees: ['acme'],
  expiresAtSeconds: NOW,
  tokenCeiling: 10,
  ceiling: 10,
  available: 10,
  reserved: 0,
  spent: 0,
  allotted: 0,
  seq: 1,
}
const problem = (code: string, status: number, extra: object = {}) => ({
  status,
  type: 'application/problem+json; charset=utf-8',
  body: { type: `urn:headgate:problem:${code}`, title: 'a sentence', status, code, ...extra },
})

describe('a request', () => {
  it('carries the token and a proof by the holder over its own method and URL', async () => {
    gateway.reply = { status: 200, body: { items: [] } }
    await client.search({ text: 'tea', limit: 5 })
    const [request] = gateway.received
    expect(request).toMatchObject({ method: 'POST', path: '/search' })
    expect(request?.headers).toMatchObject({
      authorization: `DPoP ${TOKEN}`,
      'content-type': 'application/json',
      accept: 'application/json',
    })
    expect(JSON.parse(request?.body ?? '')).toEqual({ text: 'tea', limit: 5 })
    const verdict = checkProof({
      proof: String(request?.headers.dpop),
      method: 'POST',
      url: `${gateway.url}/search`,
      token: TOKEN,
      now: NOW,
    })
    expect(verdict).toMatchObject({ ok: true, holder: holderOf(1) })
  })

  it('carries a new proof each time, also when it is the same request again', async () => {
    gateway.reply = { status: 200, body: allowed }
    await client.pay('a.quote.x')
    await client.pay('a.quote.x')
    const [one, two] = gateway.received.map((request) => request.headers.dpop)
    expect(one).toBeTypeOf('string')
    expect(one).not.toBe(two)
  })

  it('goes to the route of its call, with the body that the route documents', async () => {
    gateway.reply = { status: 200, body: { quote: 'a.b.c' } }
    const lines = [{ sku: 'tea', quantity: 2 }]
    expect(await client.quote({ merchant: 'acme', lines })).toEqual({ quote: 'a.b.c' })
    const item = {
      ...{ merchant: 'acme', sku: 'tea', title: 'Tea', description: 'x'.repeat(8_000) },
      ...{ category: 'tea', unitAmount: 10, currency: 'INR', stock: 3 },
    }
    gateway.reply = { status: 200, body: { item } }
    expect(await client.product({ merchant: 'acme', sku: 'tea' })).toEqual({ item })
    gateway.reply = { status: 200, body: allowed }
    await client.pay('a.b.c')
    const registered = { node: { id: 'nd_child', kind: 'planner' } }
    gateway.reply = { status: 201, body: registered }
    expect(await client.registerNode('run_one', 'token', 3)).toEqual(registered)
    const closed = { node: { id: 'nd_child', standing: 'closed' } }
    gateway.reply = { status: 200, body: closed }
    expect(await client.closeNode('run_one', 'nd_child')).toEqual(closed)
    const sent = gateway.received.map(({ method, path, body }) => [method, path, JSON.parse(body)])
    expect(sent).toEqual([
      ['POST', '/quotes', { merchant: 'acme', lines }],
      ['POST', '/products', { merchant: 'acme', sku: 'tea' }],
      ['POST', '/payments', { quote: 'a.b.c' }],
      ['POST', '/runs/run_one/nodes', { token: 'token', nodes: 3 }],
      ['POST', '/runs/run_one/nodes/nd_child/close', {}],
    ])
  })

  it('reads a run without a body', async () => {
    const run = {
      ...{ id: 'run_one', state: 'running', principal: 'asha', task: 'tea', currency: 'INR' },
      ...{ ceiling: 10, root: 'nd_root', payees: ['acme'], createdAtSeconds: NOW },
      ...{ expiresAtSeconds: NOW, totals: { available: 10, reserved: 0, spent: 0 } },
      ...{ heldCount: 0, frozen: false },
    }
    gateway.reply = { status: 200, body: { run, nodes: [node], position: 4 } }
    expect(await client.readRun('run_one')).toEqual({ run, nodes: [node], position: 4 })
    expect(gateway.received[0]).toMatchObject({ method: 'GET', path: '/runs/run_one', body: '' })
    expect(gateway.received[0]?.headers['content-type']).toBeUndefined()
  })

  it('is signed for the public URL and may be sent another way', async () => {
    const sent: string[] = []
    const inProcess = createClient({
      gateway: 'https://gate.example/',
      token: TOKEN,
      holder: keyOf(1),
      clock,
      fetch: async (url, init) => {
        sent.push(url)
        const { dpop = '' } = init.headers
        const verdict = checkProof({
          ...{ proof: dpop, method: init.method, url: 'https://gate.example/payments' },
          ...{ token: TOKEN, now: NOW },
        })
        const isHolders = verdict.ok && verdict.holder === holderOf(1)
        return new Response(JSON.stringify(isHolders ? allowed : {}), {
          headers: { 'content-type': 'application/json' },
        })
      },
    })
    expect(await inProcess.pay('a.b.c')).toEqual(allowed)
    expect(sent).toEqual(['https://gate.example/payments'])
  })

  it('takes the holder’s key as a JSON Web Key', async () => {
    const { d = '', x = '' } = keyOf(1).export({ format: 'jwk' })
    const holder = { kty: 'OKP', crv: 'Ed25519', d, x } as const
    gateway.reply = { status: 200, body: allowed }
    const other = createClient({ gateway: gateway.url, token: TOKEN, holder, clock })
    expect(await other.pay('a.b.c')).toEqual(allowed)
  })

  it('does not follow a redirect with the token in hand', async () => {
    const headers = { location: `${gateway.url}/elsewhere` }
    gateway.reply = { status: 307, body: {}, headers }
    await expect(client.pay('a.b.c')).rejects.toMatchObject({ status: 0, code: 'unreachable' })
    expect(gateway.received).toHaveLength(1)
  })
})

describe('an answer to a payment', () => {
  const denied: PaymentAnswer = {
    paymentId: 'pay_one',
    verdict: 'deny',
    reason: {
      check: 8,
      name: 'funds',
      code: 'insufficient',
      message: 'less',
      advice: 'ask_parent',
    },
    checks,
  }
  const inFlight: PaymentAnswer = {
    paymentId: 'pay_one',
    verdict: 'allow',
    state: 'submitted',
    checks,
  }
  for (const [status, body] of [
    [200, allowed],
    [202, held],
    [403, denied],
    [409, inFlight],
  ] as const) {
    it(`of ${status} is the verdict as a value`, async () => {
      gateway.reply = { status, body }
      expect(await client.pay('a.b.c')).toEqual(body)
    })
  }

  it('is an error when it is a problem, even of a status that a verdict may have', async () => {
    gateway.reply = problem('host_not_allowed', 403)
    await expect(client.pay('a.b.c')).rejects.toMatchObject({
      name: 'ClientError',
      status: 403,
      code: 'host_not_allowed',
      advice: 'stop',
    })
  })

  const unreadable: readonly [string, unknown][] = [
    ['has a field more', { ...allowed, extra: 1 }],
    ['lacks its verdict', { ...allowed, verdict: undefined }],
    ['has a verdict that we do not know', { ...allowed, verdict: 'maybe' }],
    ['is no JSON', '<html>'],
    ['is empty', ''],
  ]
  for (const [what, body] of unreadable) {
    it(`is unreadable, never an allow, when it ${what}`, async () => {
      gateway.reply = { status: 200, body }
      await expect(client.pay('a.b.c')).rejects.toMatchObject({ code: 'unreadable', status: 200 })
    })
  }

  it('of another success is no verdict', async () => {
    gateway.reply = { status: 201, body: allowed }
    await expect(client.pay('a.b.c')).rejects.toMatchObject({ code: 'unreadable' })
  })
})

describe('a problem', () => {
  it('is an error with its code, what to do next and when', async () => {
    gateway.reply = { ...problem('unavailable', 503), headers: { 'retry-after': '2' } }
    await expect(client.pay('a.b.c')).rejects.toMatchObject({
      ...{ name: 'ClientError', status: 503, code: 'unavailable' },
      ...{ advice: 'retry', retryAfterSeconds: 2 },
    })
  })

  it('has the advice of a denial’s own code', async () => {
    gateway.reply = problem('frozen', 403)
    await expect(client.search({ text: 'x', limit: 1 })).rejects.toMatchObject({
      code: 'frozen',
      advice: 'wait_for_person',
    })
  })

  it('says to stop where nothing is known of the caller, and which field was wrong where one was', async () => {
    gateway.reply = problem('unauthenticated', 401)
    await expect(client.pay('a.b.c')).rejects.toMatchObject({ status: 401, advice: 'stop' })
    gateway.reply = problem('malformed', 400, { claim: 'quote' })
    await expect(client.pay('a.b.c')).rejects.toMatchObject({ claim: 'quote', advice: 'stop' })
  })

  it('of a state that has moved on is no reason to ask for the same again', async () => {
    for (const code of ['conflict', 'closed']) {
      gateway.reply = problem(code, 409)
      await expect(client.registerNode('run_one', 'token')).rejects.toMatchObject({
        advice: 'stop',
      })
    }
  })

  it('has the gateway’s own advice where it gives one', async () => {
    gateway.reply = problem('something_new', 403, { advice: 'ask_parent' })
    await expect(client.pay('a.b.c')).rejects.toMatchObject({ advice: 'ask_parent' })
  })

  it('has the status of the answer, whatever it says itself', async () => {
    gateway.reply = { ...problem('unavailable', 200), status: 503 }
    await expect(client.pay('a.b.c')).rejects.toMatchObject({ status: 503 })
  })

  it('is not waited for until a date, a negative or an endless time', async () => {
    for (const value of ['Wed, 21 Oct 2099 07:28:00 GMT', '-1', '99999999', '1.5']) {
      gateway.reply = { ...problem('unavailable', 503), headers: { 'retry-after': value } }
      await expect(client.pay('a.b.c')).rejects.toMatchObject({ retryAfterSeconds: undefined })
    }
  })

  it('that cannot be read is still an error of its status', async () => {
    gateway.reply = { status: 502, body: '<html>bad gateway</html>', type: 'text/html' }
    await expect(client.pay('a.b.c')).rejects.toMatchObject({
      ...{ status: 502, code: 'unreadable', advice: 'retry' },
    })
  })
})

describe('no answer', () => {
  it('is told apart: nobody there, cut off, or too slow', async () => {
    gateway.reply = 'reset'
    await expect(client.pay('a.b.c')).rejects.toMatchObject({ status: 0, code: 'unreachable' })
    gateway.reply = 'silence'
    const hasty = createClient({
      ...{ gateway: gateway.url, token: TOKEN, holder: keyOf(1), clock, timeoutMs: 100 },
    })
    await expect(hasty.pay('a.b.c')).rejects.toMatchObject({
      ...{ status: 0, code: 'timeout', advice: 'retry' },
    })
    const closed = await startStub()
    await closed.close()
    const nobody = createClient({ gateway: closed.url, token: TOKEN, holder: keyOf(1), clock })
    await expect(nobody.pay('a.b.c')).rejects.toMatchObject({ code: 'unreachable' })
  })

  it('says nothing of the token or the proof in the error', async () => {
    gateway.reply = 'reset'
    const thrown = await client.pay('a.b.c').catch((error: unknown) => error)
    expect(String(thrown)).not.toContain(TOKEN)
    expect(JSON.stringify(thrown)).not.toContain(TOKEN)
  })
})
