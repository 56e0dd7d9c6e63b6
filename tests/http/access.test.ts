import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIE } from '../../runtime/http/access.ts'
import type { Route, Who } from '../../runtime/http/route.ts'
import {
  type Held,
  post,
  signed,
  split,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'
import { exchange, get, statusOf } from './raw.ts'

let gateway: TestGateway
let planner: Held
let sibling: Held
let revoked: Held
let session: string

async function signIn(): Promise<string> {
  const { code } = gateway.headgate.newLoginCode()
  const answer = await gateway.fetch('/login', post({ code }))
  expect(answer.status).toBe(204)
  const cookie = answer.headers.get('set-cookie') ?? ''
  return cookie.split(';', 1)[0] ?? ''
}

beforeAll(async () => {
  gateway = await startGateway({ demo: true })
  planner = await startOutsideRun(gateway)
  sibling = await split(gateway, planner, 0, {})
  revoked = await split(gateway, planner, 1, {})
  await gateway.asOperator(`/runs/${planner.run}/nodes/${revoked.node}/revoke`, {})
  session = await signIn()
}, 60_000)
afterAll(() => gateway.close())

/** An address of this route that exists as far as it can. */
const addressOf = (route: Route): string =>
  route.path
    .replace(':run', planner.run)
    .replace(':node', sibling.node)
    .replace(':hold', 'hold_none')
    .replace(':payment', 'pay_none')
    .replace(':receipt', 'rcpt_none')
    .replace(':outside', 'out_none')

const own = { 'sec-fetch-site': 'same-origin' }

/** Sends one request with a credential; stops are not sent where they would stop the test itself. */
const CREDENTIALS: Record<string, (route: Route) => Promise<Response>> = {
  none: (route) => plain(route, {}),
  'wrong operator token': (route) => plain(route, { authorization: `Bearer ${'x'.repeat(43)}` }),
  'operator token in another scheme': (route) =>
    plain(route, { authorization: `Basic ${gateway.token}` }),
  'unknown session': (route) => plain(route, { ...own, cookie: `${COOKIE}=${'x'.repeat(43)}` }),
  'planner’s token with proof': (route) => held(route, planner),
  'sibling’s token with proof': (route) => held(route, sibling),
  'revoked token with proof': (route) => held(route, revoked),
  'token without proof': (route) => plain(route, { authorization: `DPoP ${planner.token}` }),
  'operator token and a proof': (route) =>
    plain(route, { authorization: `Bearer ${gateway.token}`, dpop: 'x.y.z' }),
}

const plain = (route: Route, headers: Record<string, string>) =>
  gateway.fetch(addressOf(route), route.method === 'GET' ? { headers } : post({}, headers))

const held = (route: Route, of: Held) =>
  signed(gateway, of, route.method, addressOf(route), route.method === 'POST' ? {} : undefined)

const only = (who: Who) => (route: Route) => route.who.length === 1 && route.who[0] === who

describe('the authorisation matrix', () => {
  const opensNothing = (status: number) => [401, 403].includes(status)

  it.each(Object.keys(CREDENTIALS))('%s opens no operator’s route', async (name) => {
    const routes = gateway.headgate.routes.filter(only('operator'))
    expect(routes.length).toBeGreaterThan(15)
    for (const route of routes) {
      const answer = await CREDENTIALS[name]?.(route)
      expect([route.method, route.path, opensNothing(answer?.status ?? 0)]).toEqual([
        route.method,
        route.path,
        true,
      ])
    }
  })

  it.each(['none', 'wrong operator token', 'unknown session', 'token without proof'])(
    '%s gives one and the same 401 on every holder’s route',
    async (name) => {
      const bodies = new Set<string>()
      for (const route of gateway.headgate.routes.filter(only('holder'))) {
        const answer = await CREDENTIALS[name]?.(route)
        expect([route.path, answer?.status]).toEqual([route.path, 401])
        bodies.add((await answer?.text()) ?? '')
      }
      expect(bodies.size).toBe(1)
    },
  )

  it('the operator token opens no holder’s route', async () => {
    for (const route of gateway.headgate.routes.filter(only('holder'))) {
      const answer = await plain(route, { authorization: `Bearer ${gateway.token}` })
      expect([route.path, answer.status]).toEqual([route.path, 401])
    }
  })

  it('every route names who may use it', () => {
    for (const route of gateway.headgate.routes) expect(route.who.length).toBeGreaterThan(0)
  })

  it('a stranger may read nothing but what is public', () => {
    const open = gateway.headgate.routes.filter(({ who }) => who.includes('public'))
    expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /',
      'GET /health/live',
      'GET /health/ready',
      'GET /openapi.json',
      'POST /login',
      'GET /.well-known/jwks.json',
      'GET /.well-known/root-keys.json',
      'GET /receipts/:receipt',
      'GET /receipts/:receipt/jws',
      'POST /receipts/verify',
    ])
  })

  it('a planner reads its own subtree and not its parent’s', async () => {
    const answer = await signed(gateway, sibling, 'GET', `/runs/${planner.run}`)
    const detail = (await answer.json()) as { run: { task: string }; nodes: { id: string }[] }
    expect(detail.nodes.map(({ id }) => id)).toEqual([sibling.node])
    expect(detail.run.task).not.toBe('one lamp')
  })

  it('a planner of another run reads nothing', async () => {
    const stranger = await startOutsideRun(gateway)
    const answer = await signed(gateway, stranger, 'GET', `/runs/${planner.run}`)
    expect(answer.status).toBe(404)
  })
})

describe('a session', () => {
  it('opens operators’ routes for pages of this gateway', async () => {
    const answer = await gateway.fetch('/session', { headers: { cookie: session, ...own } })
    expect(answer.status).toBe(200)
  })

  it('sets a cookie that no script, no other host and no other site gets', async () => {
    const { code } = gateway.headgate.newLoginCode()
    const cookie = (await gateway.fetch('/login', post({ code }))).headers.get('set-cookie')
    expect(cookie).toMatch(
      /^__Host-headgate=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    )
  })

  it('takes a login code once', async () => {
    const { code } = gateway.headgate.newLoginCode()
    expect((await gateway.fetch('/login', post({ code }))).status).toBe(204)
    expect((await gateway.fetch('/login', post({ code }))).status).toBe(401)
  })

  it('takes a login code as a person types it', async () => {
    const { code } = gateway.headgate.newLoginCode()
    const typed = code.toLowerCase().replaceAll('-', ' ')
    expect((await gateway.fetch('/login', post({ code: typed }))).status).toBe(204)
  })

  it('ends with logout', async () => {
    const cookie = await signIn()
    const headers = { cookie, ...own }
    expect((await gateway.fetch('/logout', post({}, headers))).status).toBe(204)
    expect((await gateway.fetch('/session', { headers })).status).toBe(401)
  })

  it('counts for nothing when it is sent twice', async () => {
    const headers = { cookie: `${session}; ${session}`, ...own }
    expect((await gateway.fetch('/session', { headers })).status).toBe(401)
  })

  it.each([
    ['same-site', 'GET', 403],
    ['cross-site', 'GET', 403],
    ['none', 'GET', 200],
    ['same-origin', 'GET', 200],
    ['same-site', 'POST', 403],
    ['cross-site', 'POST', 403],
    ['none', 'POST', 403],
    ['same-origin', 'POST', 200],
  ])('from %s a %s gives %i', async (site, method, status) => {
    const headers = { cookie: session, 'sec-fetch-site': site }
    const answer =
      method === 'GET'
        ? await gateway.fetch('/runs', { headers })
        : await gateway.fetch('/internal/reconcile', post({}, headers))
    expect(answer.status).toBe(status)
  })

  it('without fetch metadata a change needs our own origin', async () => {
    const reconcile = (headers: Record<string, string>) =>
      gateway.fetch('/internal/reconcile', post({}, { cookie: session, ...headers }))
    expect((await reconcile({})).status).toBe(403)
    expect((await reconcile({ origin: 'http://localhost:1' })).status).toBe(403)
    expect((await reconcile({ origin: gateway.url })).status).toBe(200)
  })

  it('no page of another site can log anybody in', async () => {
    const { code } = gateway.headgate.newLoginCode()
    const answer = await gateway.fetch('/login', post({ code }, { 'sec-fetch-site': 'cross-site' }))
    expect(answer.status).toBe(403)
  })

  it('after twenty wrong codes in a minute says wait to guessers, and locks nobody out', async () => {
    const other = await startGateway()
    try {
      for (let i = 0; i < 20; i += 1) {
        expect((await other.fetch('/login', post({ code: 'AAAA' }))).status).toBe(401)
      }
      const { code } = other.headgate.newLoginCode()
      expect((await other.fetch('/login', post({ code: 'AAAA' }))).status).toBe(429)
      expect((await other.fetch('/login', post({ code }))).status).toBe(204)
      expect((await other.fetch('/login', post({ code }))).status).toBe(429)
    } finally {
      await other.close()
    }
  })

  it('is written into the log', async () => {
    const log = await (await gateway.asOperator('/audit')).text()
    expect(log).toContain('\\"act\\":\\"login\\"')
    expect(log).not.toContain(session.slice(COOKIE.length + 1))
  })
})

describe('the Host header', () => {
  const host = () => new URL(gateway.url).host

  it('is not all that says where a request goes: its first line may', async () => {
    const own = `Host: ${host()}`
    const foreign = get('http://rebound.example/health/live', own)
    expect(statusOf(await exchange(gateway.url, foreign))).toBe(403)
    const ours = get(`${gateway.url}/health/live`, own)
    expect(statusOf(await exchange(gateway.url, ours))).toBe(200)
    const noUrl = get('rebound.example/health/live', own)
    expect(statusOf(await exchange(gateway.url, noUrl))).toBeGreaterThanOrEqual(400)
  })

  const long = `/runs/${'x'.repeat(2_000)}`
  it.each([
    ...['/', '/runs', '/console/index.html', '/nothing', '/health/live', '/runs/run_x/events'],
    ...['/runs/%zz', '/%E0%A4%A', long],
  ])('is checked first of all on %s', async (path) => {
    const answer = await exchange(gateway.url, get(path, 'Host: rebound.example'))
    expect(statusOf(answer)).toBe(403)
    expect(answer).toContain('listen.hosts')
  })

  it('is refused when it is given twice', async () => {
    const answer = await exchange(
      gateway.url,
      get('/health/live', `Host: ${host()}`, 'Host: rebound.example'),
    )
    expect([400, 403]).toContain(statusOf(answer))
  })

  it('is refused with another port', async () => {
    const answer = await exchange(gateway.url, get('/health/live', 'Host: 127.0.0.1:1'))
    expect(statusOf(answer)).toBe(403)
  })

  it('may be each name of this machine', async () => {
    const { port } = new URL(gateway.url)
    for (const name of ['127.0.0.1', 'localhost', 'headgate.localhost', 'HEADGATE.localhost']) {
      const answer = await exchange(gateway.url, get('/health/live', `Host: ${name}:${port}`))
      expect([name, statusOf(answer)]).toEqual([name, 200])
    }
  })
})

describe('what every answer says', () => {
  it('allows no other origin anything', async () => {
    const answer = await gateway.fetch('/health/live', {
      headers: { origin: 'http://evil.example' },
    })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(answer.headers.get('cross-origin-resource-policy')).toBe('same-origin')
  })

  it('forbids everything that the console does not need', async () => {
    const answer = await gateway.fetch('/', { headers: { accept: 'text/html' } })
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';font-src 'self';worker-src 'self';base-uri 'none';form-action 'self';frame-ancestors 'none';require-trusted-types-for 'script'",
    )
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
  })

  it.each(['/', '/runs', '/runs/run_none', '/holds'])(
    'gives a browser the shell at %s and everyone else data',
    async (path) => {
      const page = await gateway.fetch(path, {
        headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
      })
      expect([page.status, page.headers.get('content-type')]).toEqual([
        200,
        'text/html; charset=utf-8',
      ])
      expect(page.headers.get('vary')).toContain('Accept')
      const data = await gateway.asOperator(path)
      expect(data.headers.get('content-type')).toMatch(/^application\/(problem\+)?json/)
      expect(data.headers.get('vary')).toContain('Accept')
    },
  )

  it('serves the console’s files and nothing above them', async () => {
    expect((await gateway.fetch('/console/index.html')).status).toBe(200)
    for (const path of [
      '/console/../package.json',
      '/console/%2e%2e/package.json',
      '/console/.x',
    ]) {
      const answer = await exchange(gateway.url, get(path, `Host: ${new URL(gateway.url).host}`))
      expect([path, statusOf(answer) >= 400]).toEqual([path, true])
    }
  })
})
