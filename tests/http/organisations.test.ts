/**
 * Two organisations' gateways over one Firestore, with the same root key, so that nothing but the organisation keeps
 * them apart: what is there of one is answered by the other exactly as what was never there.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/core/clock.ts'
import { freshId, sha256 } from '../../runtime/core/ids.ts'
import { minor, ZERO } from '../../runtime/core/money.ts'
import { later, nowSeconds } from '../../runtime/core/time.ts'
import type { Route } from '../../runtime/http/route.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import {
  type Held,
  post,
  signed,
  split,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

let double: FirestoreDouble
let acme: TestGateway
let rival: TestGateway
/** With a store of its own: what it knows of, nobody else ever had. */
let nowhere: TestGateway
let there: Places
let absent: Places

/** One thing of every kind, by its id. */
interface Places {
  readonly ids: Readonly<Record<string, string>>
  readonly root: Held
  readonly looker: Held
  readonly leaf: Held
  readonly quote: string
}

async function fill(gateway: TestGateway): Promise<Places> {
  const root = await startOutsideRun(gateway)
  const expiresAtSeconds = later(nowSeconds(systemClock()), 1_200)
  const planner = await split(gateway, root, 0, { expiresAtSeconds })
  const looker = await split(gateway, planner, 0, { kind: 'looker', ceiling: ZERO })
  const quote = gateway.quote()
  const leaf = await splitLeaf(gateway, planner, 1, quote)
  const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
  const { paymentId } = (await paid.json()) as { paymentId: string }
  const again = gateway.quote()
  const asked = await splitLeaf(gateway, planner, 2, again)
  const held = await signed(gateway, asked, 'POST', '/payments', { quote: again })
  const { holdId } = (await held.json()) as { holdId: string }
  expect([paid.status, held.status]).toEqual([200, 202])
  const ids = {
    run: root.run,
    node: planner.node,
    payment: paymentId,
    receipt: paymentId.replace('pay_', 'rcpt_'),
    hold: holdId,
  }
  return { ids, root, looker, leaf, quote }
}

beforeAll(async () => {
  double = await startFirestoreDouble()
  const store = { kind: 'firestore', projectId: 'one-place', emulatorHost: double.host } as const
  acme = await startGateway({ config: { store, organisation: 'acme' } })
  const roots = { root: acme.secrets.root }
  rival = await startGateway({ config: { store, organisation: 'rival' }, roots })
  nowhere = await startGateway({ roots })
  there = await fill(acme)
  absent = await fill(nowhere)
}, 120_000)
afterAll(async () => {
  for (const gateway of [acme, rival, nowhere]) await gateway.close()
  await double.close()
})

/** Varies from one answer to the next, whatever was asked. */
const OF_THE_ANSWER = new Set(['date', 'x-request-id', 'request-id', 'keep-alive'])

/** All that a caller sees of an answer; ids that the caller sent stand for themselves. */
async function seen(answer: Response, { ids }: Places): Promise<unknown> {
  const headers = [...answer.headers].filter(([name]) => !OF_THE_ANSWER.has(name))
  let text = await answer.text()
  for (const [name, id] of Object.entries(ids)) text = text.replaceAll(id, `:${name}`)
  return [answer.status, headers, text.replaceAll(/"(requestId|instance)":"[^"]*"/g, '')]
}

const addressOf = ({ path }: Route, { ids }: Places): string =>
  path.replaceAll(/:(\w+)/g, (_match, name: string) => ids[name] ?? name)

const BODIES: Readonly<Record<string, object>> = {
  '/holds/:hold/approve': { digest: 'd'.repeat(43) },
  '/holds/:hold/refuse': { digest: 'd'.repeat(43) },
  '/payments/:payment/return': { reversedAmount: 1, evidence: 'note' },
  '/payments/:payment/resolve': { outcome: 'settled', amount: 1, evidence: 'note' },
}

describe('what is there of another organisation', () => {
  it('is answered to an operator, on every route that names something, as what is not there', async () => {
    const named = rival.headgate.routes.filter(
      ({ path, who }) => path.includes(':') && who.includes('operator'),
    )
    expect(named.length).toBeGreaterThan(9)
    for (const route of named) {
      const answers = await Promise.all(
        [there, absent].map(async (of) => {
          const body = route.method === 'GET' ? undefined : (BODIES[route.path] ?? {})
          return seen(await rival.asOperator(addressOf(route, of), body), of)
        }),
      )
      const [first, second] = answers
      expect([route.method, route.path, first]).toEqual([route.method, route.path, second])
    }
  })

  it('is answered to its holders as to those of a run that never was, with their own tokens and proofs', async () => {
    const asks: readonly [(of: Places) => Held, string, 'GET' | 'POST', (of: Places) => unknown][] =
      [
        [({ root }) => root, '/runs/:run', 'GET', () => undefined],
        [({ root }) => root, '/runs/:run/nodes', 'POST', ({ root }) => ({ token: root.token })],
        [({ root }) => root, '/runs/:run/nodes/:node/close', 'POST', () => ({})],
        [({ looker }) => looker, '/search', 'POST', () => ({ text: 'lamp', limit: 3 })],
        [({ leaf }) => leaf, '/payments', 'POST', ({ quote }) => ({ quote })],
        [({ leaf }) => leaf, '/payments/:payment', 'GET', () => undefined],
      ]
    for (const [holder, path, method, body] of asks) {
      const [first, second] = await Promise.all(
        [there, absent].map(async (of) => {
          const address = path.replaceAll(/:(\w+)/g, (_m, name: string) => of.ids[name] ?? name)
          const answer = await signed(rival, holder(of), method, address, body(of))
          expect(answer.status).toBeGreaterThanOrEqual(400)
          return seen(answer, of)
        }),
      )
      expect([path, first]).toEqual([path, second])
    }
    expect(rival.rail.paid).toBe(0)
  })

  it('is in no list, feed, alarm, count or export', async () => {
    const bodyOf = async (path: string) => (await rival.asOperator(path)).text()
    for (const path of ['/runs', '/holds', '/alarms', '/audit', '/metrics']) {
      const text = await bodyOf(path)
      for (const id of Object.values(there.ids))
        expect([path, text.includes(id)]).toEqual([path, false])
      expect(text).not.toContain('"acme"')
    }
    expect(JSON.parse(await bodyOf('/runs'))).toEqual({ runs: [] })
    expect(JSON.parse(await bodyOf('/holds'))).toEqual({ holds: [] })
    expect(await bodyOf('/metrics')).toMatch(/^headgate_holds_open 0$/m)
    const streams = (await rival.headgate.ledger.heads('unsealed')).map(({ stream }) => stream)
    expect(streams).toEqual(['gateway'])
    expect(await rival.headgate.reconciler.runOnce()).toMatchObject({ settled: [], waiting: [] })
  })

  it('is not stopped by the other’s freeze, nor opened by its login code, session or operator token', async () => {
    const { code } = acme.headgate.newLoginCode()
    const [foreign, none] = await Promise.all(
      [code, `${'A'.repeat(code.length)}`].map(async (each) => {
        return seen(await rival.fetch('/login', post({ code: each })), there)
      }),
    )
    expect(foreign).toEqual(none)
    const login = await acme.fetch('/login', post({ code }))
    const cookie = (login.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''
    const own = { 'sec-fetch-site': 'same-origin', cookie }
    expect([login.status, (await rival.fetch('/session', { headers: own })).status]).toEqual([
      204, 401,
    ])
    const authorization = `Bearer ${acme.token}`
    expect((await rival.fetch('/runs', { headers: { authorization } })).status).toBe(401)

    expect((await rival.asOperator('/freeze', {})).status).toBe(200)
    const quote = acme.quote({ lines: [LAMP], amount: 2_499 })
    const leaf = await split(acme, there.root, 1, {
      kind: 'leaf',
      ceiling: minor(2_499),
      quote: sha256(quote),
    })
    const paid = await signed(acme, leaf, 'POST', '/payments', { quote })
    expect(await paid.json()).toMatchObject({ verdict: 'allow' })
    expect((await rival.headgate.gateway.resume('gateway', 'test')).ok).toBe(true)
  })

  it('does not take the mandate, the jti or the quote from the other', async () => {
    const jti = freshId()
    const [first, second] = await Promise.all(
      [acme, rival].map(async (gateway) => {
        const mandate = gateway.sign(gateway.claims({ jti }))
        const answer = await gateway.fetch('/runs', post({ mandate }))
        const { run } = (await answer.json()) as { run: { id: string } }
        return [answer.status, run.id] as const
      }),
    )
    expect([first?.[0], second?.[0]]).toEqual([201, 201])
    expect(first?.[1]).not.toBe(second?.[1])
  })
})

const LAMP = { sku: 'lamp', title: 'A lamp', quantity: 1, unitAmount: 2_499 }
