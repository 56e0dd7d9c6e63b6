/** Where a rail delivers: over a real server, by the bytes that it signed and by nothing else. */
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailEvents, RailMessage } from '../../runtime/core/rail.ts'
import { fakeRail, SHOP, startGateway, startOutsideRun, type TestGateway } from './gateway.ts'
import { exchange, statusOf } from './raw.ts'

const SECRET = 'a webhook secret of twenty characters'

const signatureOf = (body: string | Uint8Array) =>
  createHmac('sha256', SECRET).update(body).digest('hex')

/** Verifies as razorpay does, and keeps what it was given. */
function signedEvents() {
  const given: RailMessage[] = []
  const events: RailEvents = {
    hear: async (message) => {
      given.push(message)
      const { headers, body } = message
      if (headers['x-razorpay-signature'] !== signatureOf(body)) return { kind: 'refused' }
      const id = headers['x-razorpay-event-id']
      if (id === undefined) return { kind: 'refused' }
      if (id === 'down') return { kind: 'unverified', reason: 'late' }
      return { kind: 'event', id, name: 'payout.processed', object: { ref: id } }
    },
    fetch: async (id) => ({
      ...{ id, type: 'payout', direction: 'out', amount: minor(5_000), currency: 'INR' },
      ...{ status: 'PROCESSED', moved: true, atSeconds: 1_800_000_000 },
    }),
  }
  return { events, given }
}

let gateway: TestGateway
let given: readonly RailMessage[]

beforeAll(async () => {
  const signed = signedEvents()
  given = signed.given
  const rail = Object.assign(fakeRail(), { name: 'razorpay', events: signed.events })
  const accounts = { simulated: 'account-of-shop', razorpay: 'fa_00000000000001' }
  const config = { payees: [{ id: SHOP, name: 'The Shop', accounts }] }
  gateway = await startGateway({ overrides: { rail }, config })
}, 60_000)
afterAll(() => gateway.close())

const PATH = '/webhooks/razorpay'

const deliver = (body: string | Uint8Array, headers: Record<string, string> = {}, path = PATH) =>
  gateway.fetch(path, {
    method: 'POST',
    headers: {
      'x-razorpay-signature': signatureOf(body),
      'x-razorpay-event-id': 'evt_1',
      ...headers,
    },
    body: typeof body === 'string' ? body : Buffer.from(body),
  })

const parked = async () => (await gateway.headgate.ledger.parked(99)).map(({ id }) => id)
const outside = async () => {
  const listed = await gateway.headgate.ledger.unacknowledged(99)
  return listed.map(({ object }) => object)
}

describe('a webhook', () => {
  it('reaches the rail’s own verification as the bytes that came, whatever they are called', async () => {
    const odd = Buffer.concat([Buffer.from('{"a":1,"a":2, }'), Buffer.from([0xff, 0, 0xc3])])
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
      const answer = await deliver(odd, { 'content-type': type, 'x-razorpay-event-id': 'evt_odd' })
      expect([type, answer.status]).toEqual([type, 200])
      expect(Buffer.from(given.at(-1)?.body ?? []).equals(odd)).toBe(true)
    }
    expect(await gateway.headgate.ledger.message({ rail: 'razorpay', id: 'evt_odd' })).toBeDefined()
  })

  it('is acted on after its answer, once', async () => {
    expect((await deliver('{}', { 'x-razorpay-event-id': 'evt_2' })).status).toBe(200)
    expect((await deliver('{}', { 'x-razorpay-event-id': 'evt_2' })).status).toBe(200)
    await expect.poll(parked).toEqual([])
    expect((await outside()).filter((object) => object === 'evt_2')).toEqual(['evt_2'])
  })

  it.each([
    ['a forged signature', '{}', { 'x-razorpay-signature': 'f'.repeat(64) }],
    ['no signature', '{}', { 'x-razorpay-signature': '' }],
    ['the signature of another body', '{ }', { 'x-razorpay-signature': signatureOf('{}') }],
    ['an empty body under another’s signature', '', { 'x-razorpay-signature': signatureOf('{}') }],
  ])('with %s is a 401 that says nothing', async (_what, body, headers) => {
    const before = (await gateway.headgate.ledger.heads()).length
    const answer = await deliver(body, { ...headers, 'x-razorpay-event-id': 'evt_bad' })
    expect(answer.status).toBe(401)
    expect(await answer.json()).toEqual({
      ...{ type: expect.any(String), status: 401, code: 'unauthenticated' },
      title: 'the request proves no one’s authority',
    })
    expect(
      await gateway.headgate.ledger.message({ rail: 'razorpay', id: 'evt_bad' }),
    ).toBeUndefined()
    expect((await gateway.headgate.ledger.heads()).length).toBe(before)
  })

  it('whose signature is sent twice is refused', async () => {
    const [good, host] = [signatureOf('{}'), new URL(gateway.url).host]
    const lines = [`POST ${PATH} HTTP/1.1`, `Host: ${host}`, 'X-Razorpay-Event-Id: evt_3']
    const twice = [`X-Razorpay-Signature: ${good}`, `X-Razorpay-Signature: ${good}`]
    const rest = ['Content-Length: 2', 'Connection: close', '', '{}']
    const answer = await exchange(gateway.url, [...lines, ...twice, ...rest].join('\r\n'))
    expect(statusOf(answer)).toBe(401)
  })

  it('that cannot be verified now is to be sent again', async () => {
    const answer = await deliver('{}', { 'x-razorpay-event-id': 'down' })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
  })

  it('past the size limit is never verified, and one at it is', async () => {
    const before = given.length
    expect((await deliver('x'.repeat(LIMITS.webhookBytes + 1))).status).toBe(413)
    expect(given.length).toBe(before)
    expect((await deliver('x'.repeat(LIMITS.webhookBytes))).status).toBe(200)
  })

  it('of another rail has no address here, and no rail without messages has one', async () => {
    expect((await deliver('{}', {}, '/webhooks/paypal')).status).toBe(404)
    expect((await deliver('{}', {}, '/webhooks/simulated')).status).toBe(404)
    const other = await startGateway()
    try {
      const answer = await other.fetch(PATH, { method: 'POST', body: '{}' })
      expect(answer.status).toBe(404)
    } finally {
      await other.close()
    }
  })

  it('is opened by nobody’s credential, and needs none', async () => {
    const planner = await startOutsideRun(gateway)
    const unsigned = { 'x-razorpay-signature': 'x', 'x-razorpay-event-id': 'evt_4' }
    for (const credential of [
      { authorization: `Bearer ${gateway.token}` },
      { authorization: `DPoP ${planner.token}`, dpop: 'x.y.z' },
    ]) {
      expect((await deliver('{}', { ...unsigned, ...credential })).status).toBe(401)
    }
    const route = gateway.headgate.routes.find(({ path }) => path === PATH)
    expect(route?.who).toEqual(['rail'])
  })

  it('is not a page’s request, so fetch metadata says nothing of it; the Host does', async () => {
    const answer = await deliver('{}', { 'sec-fetch-site': 'cross-site' })
    expect(answer.status).toBe(200)
    const request = `POST ${PATH} HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`
    expect(statusOf(await exchange(gateway.url, request))).toBe(403)
  })

  it('about money that is nobody’s is in the alarms until an operator says that it is known', async () => {
    interface Listed {
      readonly id: string
      readonly object: string
      readonly acknowledged?: unknown
    }
    const alarms = async () => {
      const answer = await gateway.asOperator('/alarms')
      return ((await answer.json()) as { outside: Listed[] }).outside
    }
    await deliver('{}', { 'x-razorpay-event-id': 'evt_known' })
    await expect.poll(outside).toContain('evt_known')
    const moved = (await alarms()).find(({ object }) => object === 'evt_known')
    const path = `/outside/${moved?.id}/acknowledge`
    expect((await gateway.asOperator(path, {})).status).toBe(400)
    expect((await gateway.asOperator(path, { evidence: '' })).status).toBe(400)
    const said = await gateway.asOperator(path, { evidence: 'rent, invoice 12' })
    expect(said.status).toBe(200)
    expect(await said.json()).toEqual({
      ...moved,
      acknowledged: {
        ...{ by: 'operator:token', evidence: 'rent, invoice 12' },
        atSeconds: expect.any(Number),
      },
    })
    expect((await alarms()).some(({ object }) => object === 'evt_known')).toBe(false)
    expect((await gateway.asOperator(path, { evidence: 'again' })).status).toBe(409)
    const none = await gateway.asOperator('/outside/out_none/acknowledge', { evidence: 'x' })
    expect(none.status).toBe(404)
    expect(await (await gateway.asOperator('/audit')).text()).not.toContain('invoice 12')
  })

  it('is counted by what became of it', async () => {
    const text = await (await gateway.asOperator('/metrics')).text()
    expect(text).toMatch(/headgate_webhooks_total\{outcome="heard"\} [1-9]/)
    expect(text).toMatch(/headgate_webhooks_total\{outcome="refused"\} [1-9]/)
    expect(text).toMatch(/headgate_webhooks_parked 0/)
    expect(text).toMatch(/headgate_outside_open [1-9]/)
  })
})
