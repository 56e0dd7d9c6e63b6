/** What no client of good will posts to `/mcp`, and what a client of good will may rely on. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signProof } from '../../runtime/client/proof.ts'
import { proofFetch } from '../../runtime/client/proof-fetch.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { freshId } from '../../runtime/core/ids.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { nowSeconds } from '../../runtime/core/time.ts'
import type { Held } from '../http/gateway.ts'
import { overHttp, startWorld, structured, type World } from './world.ts'

let world: World
let looker: Held

beforeAll(async () => {
  world = await startWorld()
  looker = await world.looker()
}, 60_000)
afterAll(() => world.close())

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

type Sent = string | object

const bodyOf = (body: Sent): string => (typeof body === 'string' ? body : JSON.stringify(body))

async function send(held: Held, body: Sent, headers: Record<string, string> = {}) {
  const { token, holder } = held
  const fetch = proofFetch({ token, holder, clock: systemClock() })
  const answer = await fetch(`${world.gateway.url}/mcp`, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: bodyOf(body),
  })
  const text = await answer.text()
  return { status: answer.status, text, json: text === '' ? undefined : JSON.parse(text) }
}

const call = (name: string, args: unknown, id: string | number = freshId()) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

/** The call as text, for arguments that no JSON.stringify writes. */
const rawCall = (name: string, args: string, id = 1) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`

describe('what is no message', () => {
  const nested = (n: number) => `${'['.repeat(n)}${']'.repeat(n)}`
  it.each<[string, string, number, unknown]>([
    ['garbage', 'not json at all', -32700, null],
    ['an empty body', '', -32700, null],
    ['half a message', '{"jsonrpc":"2.0","id":1', -32700, null],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, null],
    ['5,000 nested arrays', rawCall('search', `{"text":${nested(5_000)}}`, 7), -32600, 7],
    ['a key given twice', rawCall('search', '{"text":"a","text":"b"}', 8), -32600, 8],
    ['a prototype key', rawCall('search', '{"text":"a","__proto__":{"limit":1}}', 9), -32600, 9],
    ['a constructor key', rawCall('search', '{"text":"a","constructor":1}', 10), -32600, 10],
    ['a fraction', rawCall('search', '{"text":"a","limit":1.5}', 11), -32600, 11],
    ['another version', '{"jsonrpc":"1.0","id":12,"method":"ping"}', -32600, 12],
    ['an unknown field', '{"jsonrpc":"2.0","id":13,"method":"ping","token":"x"}', -32600, 13],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, null],
    ['parameters in a list', '{"jsonrpc":"2.0","id":14,"method":"ping","params":[]}', -32600, 14],
    ['an answer to nothing', '{"jsonrpc":"2.0","id":15,"result":{}}', -32600, null],
  ])('%s is refused with a code and a sentence of ours', async (_what, body, code, id) => {
    const { status, json } = await send(looker, body)
    expect([status, json.error.code, json.id]).toEqual([400, code, id])
    expect(json.error.message).toMatch(/^expected /)
  })

  it('a body of the limit is read, and one of a byte more is refused', async () => {
    const filled = (bytes: number) => {
      const empty = rawCall('search', '{"text":""}').length
      return rawCall('search', `{"text":"${'x'.repeat(bytes - empty)}"}`)
    }
    const at = await send(looker, filled(LIMITS.bodyBytes))
    expect([at.status, at.json.result.isError]).toEqual([200, true])
    const past = await send(looker, filled(LIMITS.bodyBytes + 1))
    expect([past.status, past.json.error.message]).toEqual([
      400,
      'the message is larger than the documented limit',
    ])
  })

  it('nobody hears more than 401 who has not proved who they are, whatever they post', async () => {
    const bodies = new Set<string>()
    for (const body of ['{}', 'garbage', rawCall('about', '{}'), rawCall('nothing', '{}')]) {
      const answer = await world.gateway.fetch('/mcp', {
        method: 'POST',
        headers: { ...HEADERS, authorization: `DPoP ${looker.token}` },
        body,
      })
      expect(answer.status).toBe(401)
      bodies.add(await answer.text())
    }
    expect(bodies.size).toBe(1)
  })
})

describe('a proof', () => {
  const sendWith = (proof: string, body: Sent) =>
    world.gateway.fetch('/mcp', {
      method: 'POST',
      headers: { ...HEADERS, authorization: `DPoP ${looker.token}`, dpop: proof },
      body: bodyOf(body),
    })
  const proofOver = (path: string) =>
    signProof({
      holder: looker.holder,
      method: 'POST',
      url: world.gateway.url + path,
      token: looker.token,
      now: nowSeconds(systemClock()),
    })

  it.each<[string, Sent]>([
    ['a call', call('search', { text: 'lamp' })],
    ['a list', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ['a ping', { jsonrpc: '2.0', id: 1, method: 'ping' }],
    ['arguments that are refused', call('search', { nothing: 1 })],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['garbage', 'garbage'],
  ])('is used up by %s', async (_what, body) => {
    const proof = await proofOver('/mcp')
    expect((await sendWith(proof, body)).status).toBeLessThan(401)
    expect((await sendWith(proof, body)).status).toBe(401)
  })

  it('over another route, or by another holder, opens nothing', async () => {
    const body = call('search', { text: 'lamp' })
    expect((await sendWith(await proofOver('/search'), body)).status).toBe(401)
    const thief = { ...looker, holder: (await world.looker()).holder }
    expect((await send(thief, body)).status).toBe(401)
  })

  it('of a revoked node opens nothing that spends or reads', async () => {
    const gone = await world.looker()
    await world.gateway.asOperator(`/runs/${gone.run}/nodes/${gone.node}/revoke`, {})
    const { json } = await send(gone, call('search', { text: 'lamp' }))
    expect(json.result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'revoked' } },
    })
    const list = await send(gone, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    expect([list.status, list.json.code]).toEqual([403, 'revoked'])
  })
})

describe('a tool', () => {
  it.each(['nothing', 'pay', 'constructor', '__proto__', 'toString', 'delegate'])(
    'that this node does not have (%s) is refused without its name',
    async (name) => {
      const { status, json } = await send(looker, call(name, {}))
      expect([status, json.error]).toEqual([
        200,
        { code: -32602, message: 'there is no such tool for this token; ask tools/list' },
      ])
    },
  )

  it.each<[string, unknown, string | undefined]>([
    ['an argument more', { text: 'lamp', evil_name: 'x' }, undefined],
    ['a wrong type', { text: 5 }, 'text'],
    ['null', { text: null }, 'text'],
    ['a number as text', { text: 'lamp', limit: '5' }, 'limit'],
    ['too many', { text: 'lamp', limit: LIMITS.searchItems + 1 }, 'limit'],
    ['a text that is too long', { text: 'x'.repeat(LIMITS.titleChars + 1) }, 'text'],
    ['nothing', {}, 'text'],
  ])(
    'given %s says which of its own arguments is wrong and echoes nothing',
    async (_w, args, field) => {
      const { json, text } = await send(looker, call('search', args))
      expect(json.result.isError).toBe(true)
      expect(json.result.structuredContent.error).toEqual({
        kind: 'malformed',
        code: 'malformed',
        message: 'expected exactly the arguments that the input schema of this tool describes',
        advice: 'stop',
        ...(field === undefined ? {} : { field }),
      })
      expect(text).not.toContain('evil_name')
    },
  )

  it('gives its result as text as well, the same document', async () => {
    const { json } = await send(looker, call('about', {}))
    expect(JSON.parse(json.result.content[0].text)).toEqual(json.result.structuredContent)
  })

  it('that meets a fault of ours says unavailable and when to call again, and not what broke', async () => {
    const { client, close } = await overHttp(world, await world.looker())
    world.failShop('secret detail of ours')
    try {
      const failed = await client.callTool({ name: 'search', arguments: { text: 'lamp' } })
      expect([failed.isError, structured(failed).error]).toMatchObject([
        true,
        { kind: 'failed', code: 'unavailable', advice: 'retry', retryAfterSeconds: 5 },
      ])
      expect(JSON.stringify(failed)).not.toContain('secret detail')
      await close()
    } finally {
      world.failShop(undefined)
    }
  })
})

describe('methods', () => {
  it.each([
    'subscriptions/listen',
    'resources/subscribe',
    'prompts/list',
    'evil/method',
    'logging/setLevel',
  ])('%s is not there, and its name is not repeated', async (method) => {
    const { json } = await send(looker, { jsonrpc: '2.0', id: 1, method, params: {} })
    expect(json.error).toEqual({ code: -32601, message: 'there is no such method' })
  })

  it('an initialize of a version that nobody knows is answered with one that we speak', async () => {
    const params = {
      protocolVersion: '1999-01-01',
      capabilities: {},
      clientInfo: { name: 'old', version: '0' },
    }
    const { json } = await send(looker, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
    expect(json.result.protocolVersion).toMatch(/^20\d\d-\d\d-\d\d$/)
    expect(json.result.serverInfo.name).toBe('headgate')
  })

  it.each(['GET', 'DELETE', 'PUT'])('%s is 405, because there are no sessions', async (method) => {
    const answer = await world.gateway.fetch('/mcp', { method, headers: HEADERS })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('gives no session, and no other origin anything', async () => {
    const { token, holder } = looker
    const fetch = proofFetch({ token, holder, clock: systemClock() })
    const answer = await fetch(`${world.gateway.url}/mcp`, {
      method: 'POST',
      headers: HEADERS,
      body: bodyOf({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    })
    expect(answer.headers.get('mcp-session-id')).toBeNull()
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  it.each([
    ['http://evil.example', 403],
    ['null', 403],
    ['http://localhost:1', 403],
  ])('a page of %s is refused with a good proof too', async (origin, status) => {
    const answer = await send(looker, { jsonrpc: '2.0', id: 1, method: 'ping' }, { origin })
    expect(answer.status).toBe(status)
    const own = new URL(world.gateway.url).origin
    const ours = await send(looker, { jsonrpc: '2.0', id: 1, method: 'ping' }, { origin: own })
    expect(ours.status).toBe(200)
  })
})

describe('payments over HTTP', () => {
  it('an id in flight of the same caller is refused, and of another caller is not', async () => {
    const quotes = [world.gateway.quote(), world.gateway.quote()]
    const [one, two] = await Promise.all(quotes.map((quote) => world.leaf(quote)))
    if (one === undefined || two === undefined) throw new Error('no leaves')
    const before = world.gateway.rail.paid
    const { reached, release } = world.holdRail()
    const first = send(one, call('pay', { quote: quotes[0] }, 'same'))
    await reached
    const twice = await send(one, call('pay', { quote: quotes[0] }, 'same'))
    const other = send(two, call('pay', { quote: quotes[1] }, 'same'))
    release()
    expect([twice.status, twice.json]).toEqual([
      409,
      {
        jsonrpc: '2.0',
        id: 'same',
        error: {
          code: -32600,
          message: 'a request of this id is in flight; nothing was done again',
        },
      },
    ])
    expect((await first).status).toBe(200)
    expect((await other).json.result.structuredContent.state).toBe('settled')
    expect(world.gateway.rail.paid).toBe(before + 2)
    // Once answered, the id may be used again.
    expect((await send(one, call('pay', { quote: quotes[0] }, 'same'))).status).toBe(200)
  })

  it('two calls in one turn run one after the other: one payment, told twice', async () => {
    const quote = world.gateway.quote()
    const leaf = await world.leaf(quote)
    const before = world.gateway.rail.paid
    const { reached, release } = world.holdRail()
    const sent = [1, 2, 3].map((id) => send(leaf, call('pay', { quote }, id)))
    // Out of order the others would be told by now that it is on its way.
    await Promise.all([reached, sleep(100)])
    release()
    const answers = await Promise.all(sent)
    const found = answers.map(({ json }) => json.result.structuredContent)
    expect(
      new Set(found.map(({ paymentId, receipt, state }) => `${paymentId} ${receipt} ${state}`))
        .size,
    ).toBe(1)
    expect(found[0].state).toBe('settled')
    expect(world.gateway.rail.paid).toBe(before + 1)
  })

  it.each(['legacy', 'auto'] as const)(
    'a client that gives up waiting (%s) changes nothing: the same call again tells what happened',
    async (era) => {
      const quote = world.gateway.quote()
      const leaf = await world.leaf(quote)
      const { client, close } = await overHttp(world, leaf, era)
      const before = world.gateway.rail.paid
      const { reached, release } = world.holdRail()
      const impatience = new AbortController()
      const { signal } = impatience
      const given = client.callTool({ name: 'pay', arguments: { quote } }, { signal })
      await reached
      impatience.abort('too slow')
      await expect(given).rejects.toThrow()
      release()
      const again = structured(await client.callTool({ name: 'pay', arguments: { quote } }))
      expect(again).toMatchObject({ verdict: 'allow', state: 'settled' })
      expect(world.gateway.rail.paid).toBe(before + 1)
      await close()
    },
  )
})
