import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { holdViewSchema } from '../../runtime/core/wire.ts'
import { holdsAnswer } from '../../runtime/http/shapes.ts'
import {
  newKey,
  post,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'
import { exchange, statusOf } from './raw.ts'

let gateway: TestGateway

beforeAll(async () => {
  // Every payment here is of the same amount to the same shop.
  gateway = await startGateway({ config: { policy: { rules: [] } } })
}, 60_000)
afterAll(() => gateway.close())

const postRun = async (mandate: string) => {
  const answer = await gateway.fetch('/runs', post({ mandate }))
  return { status: answer.status, body: (await answer.json()) as { code: string; claim?: string } }
}

const runs = async () =>
  ((await (await gateway.asOperator('/runs')).json()) as { runs: unknown[] }).runs.length

/** One claim wrong at a time. */
const BAD: Record<string, { claims: () => object; claim: string }> = {
  'an expired mandate': { claims: () => gateway.claims({ exp: 1_000 }), claim: 'exp' },
  'a mandate for ever': { claims: () => gateway.claims({ exp: 9_999_999_999 }), claim: 'exp' },
  'a mandate not yet in force': {
    claims: () => gateway.claims({ nbf: 9_000_000_000 }),
    claim: 'nbf',
  },
  'a mandate from the future': {
    claims: () => gateway.claims({ iat: 9_000_000_000 }),
    claim: 'iat',
  },
  'a mandate for another gateway': { claims: () => gateway.claims({ aud: 'other' }), claim: 'aud' },
  'an unknown principal': { claims: () => gateway.claims({ iss: 'mallory' }), claim: 'iss' },
  'a ceiling of nothing': { claims: () => gateway.claims({ ceiling: 0 }), claim: 'ceiling' },
  'a negative ceiling': { claims: () => gateway.claims({ ceiling: -1 }), claim: 'ceiling' },
  'a ceiling in words': { claims: () => gateway.claims({ ceiling: '100' }), claim: 'ceiling' },
  'an unknown currency': { claims: () => gateway.claims({ currency: 'EUR' }), claim: 'currency' },
  'no payees': { claims: () => gateway.claims({ payees: [] }), claim: 'payees' },
  'an unregistered payee': {
    claims: () => gateway.claims({ payees: ['nobody'] }),
    claim: 'payees',
  },
  'a payee twice': { claims: () => gateway.claims({ payees: ['shop', 'shop'] }), claim: 'payees' },
  'a task of no words': { claims: () => gateway.claims({ task: '' }), claim: 'task' },
  'a depth past the limit': {
    claims: () => gateway.claims({ limits: { depth: 17, fanOut: 8, nodes: 32 } }),
    claim: 'limits',
  },
  'a zone that does not exist': {
    claims: () => gateway.claims({ window: { zone: 'Mars/Olympus', perDay: 1 } }),
    claim: 'window',
  },
  'a claim that nobody knows': { claims: () => gateway.claims({ scope: 'all' }), claim: 'scope' },
}

describe('a mandate that is not accepted', () => {
  it.each(Object.keys(BAD))(
    '%s gives a problem that names the claim, and leaves no run',
    async (name) => {
      const before = await runs()
      const bad = BAD[name]
      const { status, body } = await postRun(gateway.sign(bad?.claims() ?? {}))
      expect([status, body.code, body.claim]).toEqual([400, 'mandate_rejected', bad?.claim])
      expect(await runs()).toBe(before)
    },
  )

  it('signed by another key is refused by its signature', async () => {
    const { status, body } = await postRun(gateway.sign(gateway.claims(), newKey()))
    expect([status, body.claim]).toEqual([400, 'signature'])
  })

  it.each(['', 'x', 'a.b.c', '{}'])('that is not a JWS (%j) is refused', async (mandate) => {
    expect((await postRun(mandate)).status).toBe(400)
  })

  it('with a jti of another mandate is refused', async () => {
    const claims = gateway.claims()
    expect((await postRun(gateway.sign(claims))).status).toBe(201)
    const { status, body } = await postRun(gateway.sign({ ...claims, ceiling: 5 }))
    expect([status, body.claim]).toEqual([400, 'jti'])
  })

  it('posted twice is one run', async () => {
    const mandate = gateway.sign(gateway.claims())
    const first = await postRun(mandate)
    const second = await postRun(mandate)
    expect([first.status, second.status]).toEqual([201, 200])
    expect(second.body).toEqual(first.body)
  })
})

describe('a body', () => {
  const send = async (body: string, headers: Record<string, string> = {}) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    }
    const answer = await gateway.fetch('/runs', init)
    return [answer.status, ((await answer.json()) as { code: string }).code]
  }

  it.each([
    ['that is no JSON', '{'],
    ['with text after it', '{"mandate":"x"} x'],
    ['with a key twice', '{"mandate":"x","mandate":"y"}'],
    ['with a dangerous key', '{"mandate":"x","__proto__":{}}'],
    ['with a field too many', '{"mandate":"x","ceiling":5}'],
    ['without its field', '{}'],
    ['that is a list', '[]'],
    ['that is nothing', ''],
    ['of 5,000 nested lists', '['.repeat(5_000)],
    ['with a byte-order mark', '\ufeff{"mandate":"x"}'],
  ])('%s is malformed', async (_name, body) => {
    expect(await send(body)).toEqual([400, 'malformed'])
  })

  it('of another type is not read', async () => {
    expect(await send('{}', { 'content-type': 'text/plain' })).toEqual([
      415,
      'unsupported_media_type',
    ])
  })

  it('that is compressed is not read', async () => {
    expect(await send('{}', { 'content-encoding': 'gzip' })).toEqual([
      415,
      'unsupported_media_type',
    ])
  })

  it('at the limit is read, and one byte past it is not', async () => {
    const frame = '{"mandate":""}'.length
    expect(await send(`{"mandate":"${'x'.repeat(LIMITS.bodyBytes - frame)}"}`)).toEqual([
      400,
      'mandate_rejected',
    ])
    expect(await send(`{"mandate":"${'x'.repeat(LIMITS.bodyBytes - frame + 1)}"}`)).toEqual([
      413,
      'too_large',
    ])
  })

  it('of a holder’s request that cannot be read is one more 401', async () => {
    const texts = new Set<string>()
    for (const init of [
      { headers: { 'content-type': 'application/json' }, body: '{' },
      { headers: { 'content-type': 'text/plain' }, body: '{}' },
      { headers: { 'content-type': 'application/json' }, body: 'x'.repeat(LIMITS.bodyBytes + 1) },
      { headers: {}, body: new Uint8Array(3) },
    ]) {
      const answer = await gateway.fetch('/payments', { method: 'POST', ...init })
      expect(answer.status).toBe(401)
      texts.add(await answer.text())
    }
    expect(texts.size).toBe(1)
  })
})

describe('an address', () => {
  it('that does not exist is a problem document', async () => {
    const answer = await gateway.fetch('/nothing')
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  })

  it('with an id that cannot exist is not found', async () => {
    for (const path of ['/runs/x', '/runs/run_%00', '/holds/nd_1', `/runs/run_${'x'.repeat(65)}`]) {
      expect([path, (await gateway.asOperator(path)).status]).toEqual([path, 404])
    }
  })

  it('that takes another method says which', async () => {
    const answer = await gateway.fetch('/payments')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await gateway.fetch('/runs', { method: 'DELETE' })).headers.get('allow')).toBe(
      'POST, GET',
    )
  })

  it.each([
    '/runs?limit=0',
    '/runs?limit=201',
    '/runs?limit=1&limit=2',
    '/runs?x=1',
    '/runs?after=x',
  ])('with a query that is not documented (%s) is malformed', async (path) => {
    expect((await gateway.asOperator(path)).status).toBe(400)
  })
})

describe('a connection', () => {
  const host = () => `Host: ${new URL(gateway.url).host}`

  it('carries the largest token beside a proof', async () => {
    const answer = await exchange(
      gateway.url,
      `GET /health/live HTTP/1.1\r\n${host()}\r\nConnection: close\r\nX: ${'x'.repeat(60_000)}\r\n\r\n`,
    )
    expect(statusOf(answer)).toBe(200)
  })

  it('with headers past the limit is refused', async () => {
    const answer = await exchange(
      gateway.url,
      `GET /health/live HTTP/1.1\r\n${host()}\r\nX: ${'x'.repeat(LIMITS.headerBytes)}\r\n\r\n`,
    )
    expect(statusOf(answer)).toBe(431)
    expect(answer).toContain('application/problem+json')
  })

  it.each([
    ['that nobody has signed', 401, () => `Content-Length: 2\r\n\r\n{}`],
    ['of megabytes', 401, () => `Content-Length: 5000000\r\n\r\n${'x'.repeat(5_000_000)}`],
    ['with megabytes of headers', 431, () => `X: ${'x'.repeat(5_000_000)}\r\n\r\n`],
  ])('is kept waiting for the refusal of a request %s', async (_name, status, rest) => {
    const begun = performance.now()
    const start = `POST /payments HTTP/1.1\r\n${host()}\r\nConnection: close\r\n`
    const answer = await exchange(
      gateway.url,
      `${start}Content-Type: application/json\r\n${rest()}`,
    )
    expect(statusOf(answer)).toBe(status)
    // No sooner: how much later says something about the machine only.
    expect(performance.now() - begun).toBeGreaterThan(LIMITS.refusalMs - 1)
  })

  it('that does not speak HTTP is refused', async () => {
    expect(statusOf(await exchange(gateway.url, 'HELLO\r\n\r\n'))).toBe(400)
  })

  it.each([
    ['/runs/%zz', 400],
    ['/%E0%A4%A', 400],
    [`/runs/${'caller'.repeat(400)}`, 404],
  ])(
    'for an address that cannot be read gets a problem without a word of it',
    async (path, status) => {
      const answer = await exchange(
        gateway.url,
        `GET ${path} HTTP/1.1\r\n${host()}\r\nConnection: close\r\n\r\n`,
      )
      expect(statusOf(answer)).toBe(status)
      expect(answer).toContain('application/problem+json')
      expect(answer).not.toMatch(/%zz|%E0|callercaller/)
    },
  )

  it('that ends in the middle of its body is no failure of ours', async () => {
    const before = gateway.logged.length
    const { hostname, port } = new URL(gateway.url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    const head = `POST /login HTTP/1.1\r\n${host()}\r\nContent-Type: application/json\r\n`
    await new Promise((sent) => socket.write(`${head}Content-Length: 9\r\n\r\n{`, sent))
    await gateway.fetch('/health/live')
    socket.destroy()
    await once(socket, 'close')
    await gateway.fetch('/health/live')
    expect(gateway.logged.slice(before)).toEqual([])
  })

  it('cannot smuggle a second body length', async () => {
    const answer = await exchange(
      gateway.url,
      `POST /runs HTTP/1.1\r\n${host()}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    )
    expect(statusOf(answer)).toBe(400)
  })
})

describe('a payment over HTTP', () => {
  it('moves money once, and the same quote again replays the same receipt', async () => {
    const planner = await startOutsideRun(gateway)
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, planner, 0, quote)
    const before = gateway.rail.paid
    const first = await signed(gateway, leaf, 'POST', '/payments', { quote })
    const again = await signed(gateway, leaf, 'POST', '/payments', { quote })
    expect([first.status, again.status, gateway.rail.paid - before]).toEqual([200, 200, 1])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    const { paymentId, receipt } = (await first.json()) as { paymentId: string; receipt: string }
    expect((await again.json()) as object).toMatchObject({ paymentId, receipt })

    const read = await signed(gateway, planner, 'GET', `/payments/${paymentId}`)
    expect(await read.json()).toMatchObject({ state: 'settled', receipt })
    const byPayment = await gateway.asOperator(`/receipts/${paymentId}`)
    const found = (await byPayment.json()) as { id: string; receipt: string }
    expect(found.receipt).toBe(receipt)
    const byReceipt = await gateway.asOperator(`/receipts/${found.id}`)
    expect(await byReceipt.json()).toEqual(found)
  })

  it('refuses a header that is given twice', async () => {
    const planner = await startOutsideRun(gateway)
    const twice = `Authorization: DPoP ${planner.token}`
    const answer = await exchange(
      gateway.url,
      [
        `GET /runs/${planner.run} HTTP/1.1`,
        `Host: ${new URL(gateway.url).host}`,
        twice,
        twice,
        'DPoP: x.y.z',
        'Connection: close',
        '\r\n',
      ].join('\r\n'),
    )
    expect(statusOf(answer)).toBe(401)
  })
})

describe('the log over HTTP', () => {
  it('verifies with everything that operators and agents did to it, whole and for one run', async () => {
    const planner = await startOutsideRun(gateway)
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, planner, 0, quote)
    await signed(gateway, leaf, 'POST', '/payments', { quote })
    await signed(gateway, leaf, 'POST', '/payments', { quote })
    await signed(gateway, planner, 'GET', `/runs/${planner.run}`)
    await gateway.asOperator(`/runs/${planner.run}/nodes/${leaf.node}/freeze`, {})
    await gateway.asOperator(`/runs/${planner.run}/nodes/${leaf.node}/resume`, {})
    await gateway.asOperator('/freeze', {})
    await gateway.asOperator('/resume', {})
    await gateway.asOperator(`/runs/${planner.run}/cancel`, {})
    for (const [path, of] of [
      ['/audit', {}],
      [`/audit?run=${planner.run}`, { run: planner.run }],
    ] as const) {
      const answer = await gateway.asOperator(path)
      expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
      const verdict = verifyExport((await answer.text()).split('\n'), of)
      expect([path, verdict.broken]).toEqual([path, undefined])
    }
  })

  it('of a run that does not exist is not found', async () => {
    expect((await gateway.asOperator('/audit?run=run_none')).status).toBe(404)
  })
})

describe('a stop', () => {
  it('of the whole gateway is seen on every run, and new mandates wait', async () => {
    const planner = await startOutsideRun(gateway)
    const frozen = await gateway.asOperator('/freeze', {})
    expect(await frozen.json()).toMatchObject({ node: 'gateway', state: 'frozen', onTheirWay: [] })
    const detail = await gateway.asOperator(`/runs/${planner.run}`)
    expect(((await detail.json()) as { run: { frozen: boolean } }).run.frozen).toBe(true)
    expect((await postRun(gateway.sign(gateway.claims()))).status).toBe(409)
    expect((await gateway.asOperator('/resume', {})).status).toBe(200)
    expect((await postRun(gateway.sign(gateway.claims()))).status).toBe(201)
  })

  it('of a node of another run is not found', async () => {
    const one = await startOutsideRun(gateway)
    const other = await startOutsideRun(gateway)
    const answer = await gateway.asOperator(`/runs/${one.run}/nodes/${other.node}/freeze`, {})
    expect(answer.status).toBe(404)
  })
})

describe('a fault of ours', () => {
  it('is 503 without a word of what broke, and stands in the operator’s log', async () => {
    const broken = await startGateway()
    try {
      broken.headgate.ledger.runs = () => Promise.reject(new Error('secret detail'))
      const answer = await broken.asOperator('/runs')
      expect(answer.status).toBe(500)
      expect(await answer.text()).not.toContain('secret')
      expect(broken.logged.join()).toContain('secret detail')
    } finally {
      await broken.close()
    }
  })
})

describe('what is read', () => {
  it('is of the shape that its route documents', async () => {
    const planner = await startOutsideRun(gateway)
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, planner, 0, quote)
    const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
    const { paymentId } = (await paid.json()) as { paymentId: string }
    const ids: Record<string, string> = { run: planner.run, payment: paymentId, receipt: paymentId }
    const reads = gateway.headgate.routes.filter(
      ({ method, path }) => method === 'GET' && !/events|audit|metrics|:hold|jws$/.test(path),
    )
    expect(reads.length).toBeGreaterThan(9)
    for (const route of reads) {
      const path = route.path.replace(/:(\w+)/g, (_, name) => ids[name] ?? '')
      const isAgents = route.who.every((who) => who === 'holder')
      const answer = isAgents
        ? await signed(gateway, planner, 'GET', path)
        : await gateway.asOperator(path)
      const schema = route.answers[200]
      if (typeof schema !== 'object') throw new Error(`expected a schema for ${path}`)
      const parsed = schema.safeParse(await answer.json())
      expect([path, answer.status, parsed.error]).toEqual([path, 200, undefined])
    }
  })
})

describe('a held payment over HTTP', () => {
  it('shows a card, is approved only as shown, and is then paid once', async () => {
    const planner = await startOutsideRun(gateway, { approvalAbove: 1 })
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, planner, 0, quote)
    const pay = () => signed(gateway, leaf, 'POST', '/payments', { quote })
    const held = await pay()
    const { holdId } = (await held.json()) as { holdId: string }
    expect(held.status).toBe(202)
    const { holds } = holdsAnswer.parse(
      await (await gateway.asOperator(`/holds?run=${planner.run}`)).json(),
    )
    expect(holds).toMatchObject([{ id: holdId, payeeName: 'The Shop', amount: 2_500 }])
    const card = holdViewSchema.parse(await (await gateway.asOperator(`/holds/${holdId}`)).json())
    expect(card.path.map(({ id }) => id)).toEqual([planner.node, leaf.node])

    const decide = (digest: string) => gateway.asOperator(`/holds/${holdId}/approve`, { digest })
    expect((await decide('A'.repeat(43))).status).toBe(409)
    expect((await pay()).status).toBe(202)
    expect((await decide(card.digest)).status).toBe(200)
    const before = gateway.rail.paid
    expect([(await pay()).status, (await pay()).status]).toEqual([200, 200])
    expect(gateway.rail.paid - before).toBe(1)
    // An answer is good once, and for ever.
    const refused = await gateway.asOperator(`/holds/${holdId}/refuse`, { digest: card.digest })
    expect(refused.status).toBe(409)
  })
})

describe('the description of the interface', () => {
  it('is described once, however often anybody asks', async () => {
    const route = gateway.headgate.routes.find(({ path }) => path === '/openapi.json')
    const ask = async () => {
      const answer = await route?.handle({} as never)
      return typeof answer === 'object' && 'body' in answer ? answer.body : undefined
    }
    const first = await ask()
    expect(first).toMatchObject({ openapi: '3.1.0' })
    expect(await ask()).toBe(first)
  })

  it('names every route, with the schemas that serve', async () => {
    const document = (await (await gateway.fetch('/openapi.json')).json()) as {
      openapi: string
      paths: Record<string, Record<string, { requestBody?: { content: object } }>>
    }
    expect(document.openapi).toBe('3.1.0')
    for (const route of gateway.headgate.routes) {
      const path = route.path.replace(/:([a-z]+)/g, '{$1}')
      const operation = document.paths[path]?.[route.method.toLowerCase()]
      expect([path, operation !== undefined]).toEqual([path, true])
      if (route.body !== undefined) expect(operation?.requestBody).toBeDefined()
    }
    expect(JSON.stringify(document.paths['/payments'])).toContain('"quote"')
  })
})
