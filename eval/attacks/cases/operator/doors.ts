/** Attacks on the operator's doors: other sites, other names, agents' credentials, guessed codes, framed pages. */
import type { AttackCase } from '../../types.ts'
import { Wrong } from '../../types.ts'
import type { Answer, Bench } from '../../world/bench.ts'
import { holdOf, readHold } from '../people.ts'
import { serveWith } from '../serve.ts'

type Header = readonly [string, string]

/** Signs a browser in with a one-time code; the cookie as the browser would send it. */
async function signIn(bench: Bench): Promise<Header> {
  const code = bench.world.newLoginCode()
  const answer = bench.must(await bench.plain({ path: '/login', body: { code } }), 204)
  const cookie = answer.headers.get('set-cookie')?.split(';')[0]
  if (cookie === undefined) throw new Wrong('expected a session cookie')
  return ['Cookie', cookie]
}

const heldPurchase = async (bench: Bench) => {
  const { quote, leaf, root } = await bench.purchase({ mandate: { approvalAbove: 500 } })
  return { root, quote, leaf, hold: await holdOf(bench, leaf, quote) }
}

const isOpen = async (bench: Bench, id: string) => (await readHold(bench, id)).state === 'open'

/** Every route that only operators may use, as an agent would try them. */
const OPERATOR_ROUTES: readonly (readonly [string, string, object?])[] = [
  ['GET', '/runs'],
  ['GET', '/holds'],
  ['GET', '/audit'],
  ['GET', '/session'],
  ['POST', '/freeze', {}],
  ['POST', '/resume', {}],
  ['POST', '/login-codes', {}],
  ['POST', '/logout', {}],
  ['POST', '/internal/reconcile', {}],
  ['GET', '/alarms'],
  ['POST', '/payments/pay_none/settlement', {}],
]

const PAGES = ['/', '/runs', '/holds', '/console/main.js', '/console/api.js', '/openapi.json']

export const DOOR_CASES: readonly AttackCase[] = [
  {
    id: 'O01',
    goal: 'Have a signed-in operator’s browser approve a payment',
    method:
      'Another site posts to the approve address with the session’s cookie, as JSON and as a form',
    expected: { status: 403, code: 'cross_site' },
    run: async (bench) => {
      const { hold } = await heldPurchase(bench)
      const cookie = await signIn(bench)
      const path = `/holds/${hold.id}/approve`
      const body = { digest: hold.digest }
      const site = ['Sec-Fetch-Site', 'cross-site'] as const
      const form = ['Content-Type', 'application/x-www-form-urlencoded'] as const
      const text = `digest=${hold.digest}`
      const posted = await bench.plain({ path, body: text, headers: [cookie, site, form] })
      bench.must(posted, 403, 'cross_site')
      const origin = ['Origin', 'https://attacker.example'] as const
      bench.must(await bench.plain({ path, body, headers: [cookie, origin] }), 403, 'cross_site')
      bench.must(await bench.plain({ path, body, headers: [cookie] }), 403, 'cross_site')
      const sibling = ['Sec-Fetch-Site', 'same-site'] as const
      bench.must(await bench.plain({ path, body, headers: [cookie, sibling] }), 403, 'cross_site')
      const seen = bench.seen(await bench.plain({ path, body, headers: [cookie, site] }))
      bench.claim(await isOpen(bench, hold.id), 'expected the hold to be open still')
      return seen
    },
  },
  {
    id: 'O02',
    goal: 'Reach the console from a page of the internet',
    method: 'A name that was rebound to 127.0.0.1 in Host, two Hosts, and an absolute request line',
    expected: { status: 403, code: 'host_not_allowed' },
    run: async (bench) => {
      const { port, host } = new URL(bench.world.origin)
      const rebound = ['Host', `attacker.example:${port}`] as const
      const twice = [['Host', host], rebound] as const
      const two = await bench.plain({ method: 'GET', path: '/session', headers: twice })
      bench.claim(two.status === 400 || two.status === 403, 'expected two Hosts to be refused')
      const bearer = ['Authorization', `Bearer ${bench.world.operatorToken}`] as const
      const absolute = await bench.plain({
        method: 'GET',
        path: `http://attacker.example:${port}/session`,
        headers: [rebound, bearer],
      })
      bench.must(absolute, 403, 'host_not_allowed')
      const page = { method: 'GET', path: '/console/main.js', headers: [rebound] } as const
      bench.must(await bench.plain(page), 403, 'host_not_allowed')
      return bench.seen(
        await bench.plain({ method: 'GET', path: '/session', headers: [rebound, bearer] }),
      )
    },
  },
  {
    id: 'O03',
    goal: 'Find a credential in what is served',
    method:
      'Pages and scripts are read for the operator token, the session’s secret and login codes',
    expected: { status: 200 },
    run: async (bench) => {
      const code = bench.world.newLoginCode()
      const cookie = await signIn(bench)
      const hidden = [bench.world.operatorToken, code, cookie[1].split('=')[1] ?? '?']
      let last: Answer | undefined
      for (const path of PAGES) {
        const headers = [cookie, ['Accept', 'text/html,*/*'] as const]
        last = bench.must(await bench.plain({ method: 'GET', path, headers }), 200)
        for (const secret of hidden) {
          bench.claim(!last.text.includes(secret), `expected no credential in ${path}`)
          const names = [...last.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
          bench.claim(!names.includes(secret), `expected no credential in the headers of ${path}`)
        }
      }
      const login = await bench.plain({ path: '/login', body: { code } })
      const set = login.headers.get('set-cookie') ?? ''
      const isBound = /HttpOnly/i.test(set) && /Secure/i.test(set) && /SameSite=Strict/i.test(set)
      bench.claim(isBound, 'expected the cookie to be HttpOnly, Secure and SameSite=Strict')
      return { status: last?.status ?? 0 }
    },
  },
  {
    id: 'O04',
    goal: 'Read another run',
    method: 'Run B’s planner asks for run A’s tree, payments and events',
    expected: { status: 404, code: 'not_found' },
    run: async (bench) => {
      const a = await bench.purchase()
      const paid = bench.must(await bench.pay(a.leaf, a.quote), 200)
      const b = await bench.run()
      const read = (path: string) => bench.call(b, { method: 'GET', path })
      const events = await read(`/runs/${a.root.run}/events`)
      bench.must(events, 403, 'forbidden')
      bench.claim(!events.text.includes('event:'), 'expected no events')
      bench.must(await read(`/payments/${paid.body.paymentId}`), 404, 'not_found')
      return bench.seen(await read(`/runs/${a.root.run}`), [bench.move()])
    },
  },
  {
    id: 'O12',
    goal: 'Be an operator with an agent’s credential',
    method: 'A planner’s token with a proof, at every route that is an operator’s alone',
    expected: { status: 403, code: 'forbidden' },
    run: async (bench) => {
      const { root, hold } = await heldPurchase(bench)
      const path = `/runs/${root.run}/nodes/${root.claims.node}`
      const routes = [
        ...OPERATOR_ROUTES,
        ['GET', `/holds/${hold.id}`],
        ['POST', `/holds/${hold.id}/refuse`, { digest: hold.digest }],
        ['POST', `${path}/freeze`, {}],
        ['POST', `${path}/resume`, {}],
        ['POST', `${path}/revoke`, {}],
        ['GET', `/runs/${root.run}/events`],
      ] as const
      for (const [method, where, body] of routes) {
        bench.must(await bench.call(root, { method, path: where, body }), 403, 'forbidden')
      }
      const approve = { path: `/holds/${hold.id}/approve`, body: { digest: hold.digest } }
      const seen = bench.seen(await bench.call(root, approve))
      bench.claim(await isOpen(bench, hold.id), 'expected the hold to be open still')
      return seen
    },
  },
  {
    id: 'O12b',
    goal: 'Be an operator without a credential',
    method:
      'No token, a wrong one, and the right one twice, at every route that is an operator’s alone',
    expected: { status: 401, code: 'unauthenticated' },
    run: async (bench) => {
      const right = ['Authorization', `Bearer ${bench.world.operatorToken}`] as const
      const wrong = ['Authorization', `Bearer ${'A'.repeat(43)}`] as const
      let last: Answer | undefined
      for (const [method, path, body] of OPERATOR_ROUTES) {
        for (const headers of [[], [wrong], [right, right]]) {
          last = bench.must(await bench.plain({ method, path, body, headers }), 401)
        }
      }
      return bench.seen(last ?? ({} as Answer))
    },
  },
  {
    id: 'O18',
    goal: 'Follow a run from another site',
    method: 'The event stream with the session’s cookie, from a foreign origin',
    expected: { status: 403, code: 'cross_site' },
    run: async (bench) => {
      const root = await bench.run()
      const cookie = await signIn(bench)
      const site = ['Sec-Fetch-Site', 'cross-site'] as const
      const path = `/runs/${root.run}/events`
      return bench.seen(
        await bench.plain({ method: 'GET', path, headers: [cookie, site], giveUpMs: 3_000 }),
      )
    },
  },
  {
    id: 'O20',
    goal: 'Have an operator click through a decoy',
    method: 'The console’s page in a frame',
    expected: { status: 200 },
    run: async (bench) => {
      const accept = ['Accept', 'text/html'] as const
      const page = await bench.plain({ method: 'GET', path: '/holds', headers: [accept] })
      const policy = page.headers.get('content-security-policy') ?? ''
      bench.claim(policy.includes("frame-ancestors 'none'"), 'expected frame-ancestors none')
      bench.claim(policy.includes("default-src 'none'"), 'expected default-src none')
      bench.claim(!policy.includes('unsafe'), 'expected nothing unsafe in the policy')
      return { status: page.status }
    },
  },
  {
    id: 'O21',
    goal: 'Guess a login code',
    method: 'Twenty wrong codes, then another; and a code that was used before',
    expected: { status: 429, code: 'rate_limited' },
    world: 'late',
    run: async (bench) => {
      const code = bench.world.newLoginCode()
      const login = (text: string) => bench.plain({ path: '/login', body: { code: text } })
      bench.must(await login(code), 204)
      bench.must(await login(code), 401, 'login_refused')
      for (let i = 0; i < 19; i += 1) {
        bench.must(await login(`0000-0000-${1000 + i}`), 401, 'login_refused')
      }
      const seen = bench.seen(await login('0000-0000-0000'))
      bench.world.pushClock(61_000)
      return seen
    },
  },
  {
    id: 'O15',
    goal: 'Find a console that anybody on the network can reach',
    method:
      'A gateway is started on all interfaces without the word that allows it; its exit code is read',
    expected: { status: 3 },
    run: async (bench) => {
      const listen = { host: '0.0.0.0', port: 0 }
      const { exit, errors } = await serveWith({ ...bench.world.configFile, listen })
      bench.claim(errors.includes('listen'), 'expected a sentence that names the field')
      return { status: exit }
    },
  },
]
