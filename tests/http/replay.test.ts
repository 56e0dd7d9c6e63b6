/** A proof is good once, on every route that takes one, whatever its request was answered and whatever body comes with it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mintChild } from '../../runtime/client/mint.ts'
import { signProof } from '../../runtime/client/proof.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { allottedNodeIdOf } from '../../runtime/core/ids.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import type { Merchants } from '../../runtime/core/merchants.ts'
import { minor, ZERO } from '../../runtime/core/money.ts'
import { later, nowSeconds } from '../../runtime/core/time.ts'
import {
  type Held,
  newKey,
  SHOP,
  signed,
  split,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

let gateway: TestGateway
let asked = 0

/** Shops that only count who came. */
const merchants = (): Merchants => {
  const key = gateway?.shop ?? newKey()
  return {
    ids: [SHOP],
    search: async () => {
      asked += 1
      return []
    },
    product: async (merchant, currency, sku) => {
      asked += 1
      const words = { title: 'Lamp', description: 'A lamp', category: 'lights' }
      return { merchant, sku, ...words, unitAmount: minor(2_500), currency, stock: 1 }
    },
    quote: async () => {
      asked += 1
      return gateway.quote()
    },
    order: async () => 'order',
    keys: () => [gateway?.shop ?? key],
    keyById: () => gateway?.shop ?? key,
  }
}

beforeAll(async () => {
  gateway = await startGateway({
    config: { policy: { rules: [] } },
    overrides: { merchants: merchants() },
  })
}, 60_000)
afterAll(() => gateway.close())

interface Place {
  readonly root: Held
  readonly child: Held
  readonly looker: Held
  readonly leaf: Held
  readonly quote: string
}

let place: Place
beforeEach(async () => {
  const root = await startOutsideRun(gateway)
  const quote = gateway.quote()
  place = {
    root,
    quote,
    child: await split(gateway, root, 0, {}),
    looker: await split(gateway, root, 1, { kind: 'looker', ceiling: ZERO }),
    leaf: await splitLeaf(gateway, root, 2, quote),
  }
})

/** The token of the root's next child, which nobody has registered. */
function nextChild({ root }: Place, nth = 3): string {
  const { token } = mintChild(root.token, root.holder, {
    node: allottedNodeIdOf(root.node, nth),
    kind: 'planner',
    currency: 'INR',
    ceiling: minor(10_000),
    holder: rawPublicKey(newKey()),
    expiresAtSeconds: later(nowSeconds(systemClock()), 600),
    payees: [SHOP],
  })
  return token
}

interface Asked {
  readonly by: Held
  readonly path: string
  readonly body?: object
  /** Another body of the same route, which a fresh proof would be let through with. */
  readonly other?: object
  /** A holder to whom this is forbidden. */
  readonly notFor: Held
}

async function revoked(held: Held): Promise<Held> {
  await gateway.asOperator(`/runs/${held.run}/nodes/${held.node}/revoke`, {})
  return held
}

/** For each route that takes a proof, a request that is let through. */
const REQUESTS: Record<string, (of: Place) => Asked | Promise<Asked>> = {
  'POST /search': ({ looker, leaf }) => ({
    by: looker,
    path: '/search',
    body: { text: 'lamp', limit: 5 },
    other: { text: 'desk', limit: 5 },
    notFor: leaf,
  }),
  'POST /products': ({ looker, leaf }) => ({
    by: looker,
    path: '/products',
    body: { merchant: SHOP, sku: 'lamp' },
    other: { merchant: SHOP, sku: 'desk' },
    notFor: leaf,
  }),
  'POST /quotes': ({ looker, leaf }) => ({
    by: looker,
    path: '/quotes',
    body: { merchant: SHOP, lines: [{ sku: 'lamp', quantity: 1 }] },
    other: { merchant: SHOP, lines: [{ sku: 'lamp', quantity: 2 }] },
    notFor: leaf,
  }),
  'POST /payments': ({ leaf, child, quote }) => ({
    by: leaf,
    path: '/payments',
    body: { quote },
    notFor: child,
  }),
  'POST /decisions': ({ leaf, child, quote }) => ({
    by: leaf,
    path: '/decisions',
    body: { quote },
    notFor: child,
  }),
  'POST /runs/:run/nodes': (of) => ({
    by: of.root,
    path: `/runs/${of.root.run}/nodes`,
    body: { token: nextChild(of), nodes: 2 },
    other: { token: nextChild(of, 4), nodes: 2 },
    notFor: of.leaf,
  }),
  'POST /runs/:run/nodes/:node/close': ({ root, child, leaf }) => ({
    by: root,
    path: `/runs/${root.run}/nodes/${child.node}/close`,
    body: {},
    notFor: leaf,
  }),
  'GET /payments/:payment': async ({ root, leaf, child, quote }) => {
    const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
    const { paymentId } = (await paid.json()) as { paymentId: string }
    return { by: root, path: `/payments/${paymentId}`, notFor: await revoked(child) }
  },
  'GET /node': async ({ leaf, child }) => ({
    by: leaf,
    path: '/node',
    notFor: await revoked(child),
  }),
  'GET /runs/:run': ({ root, leaf }) => ({ by: root, path: `/runs/${root.run}`, notFor: leaf }),
}
const ROUTES = Object.keys(REQUESTS)

async function asking(name: string): Promise<Asked> {
  const request = await REQUESTS[name]?.(place)
  if (request === undefined) throw new Error('expected a route of the table')
  return request
}

const methodOf = (name: string) => (name.startsWith('GET') ? 'GET' : 'POST')

/** A request whose headers are signed once and which can be sent as often as anybody likes, with any body. */
async function captured(name: string, by: Held, path: string) {
  const method = methodOf(name)
  const now = nowSeconds(systemClock())
  const { token, holder } = by
  const dpop = await signProof({ holder, method, url: gateway.url + path, token, now })
  return (body?: object) =>
    gateway.fetch(path, {
      method,
      headers: {
        authorization: `DPoP ${token}`,
        dpop,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
}

/** All that could have moved: every node's account, the head of every log, the rail, the shops. */
async function state() {
  const { ledger } = gateway.headgate
  const heads = new Map((await ledger.heads()).map(({ stream, head }) => [stream, head]))
  return { tree: await ledger.tree(place.root.run), heads, paid: gateway.rail.paid, asked }
}

const replays = () => gateway.headgate.gateway.pendingCounts().get('proof_replayed') ?? 0

/** Refused as whoever proves nothing is, counted as what it is, and nothing anywhere is otherwise than before. */
async function expectRefused(send: () => Promise<Response>): Promise<void> {
  const before = await state()
  const counted = replays()
  const answer = await send()
  expect([answer.status, await answer.json()]).toMatchObject([401, { code: 'unauthenticated' }])
  expect(replays()).toBe(counted + 1)
  expect(await state()).toEqual(before)
}

describe('a proof that was used', () => {
  it('is tried again on every route that takes one', () => {
    // `/mcp` passes one of these on, with the caller's own proof: `tests/mcp/http.test.ts` uses that up.
    const taking = gateway.headgate.routes.filter(
      ({ who, path }) => who.includes('holder') && path !== '/mcp',
    )
    expect(ROUTES.toSorted()).toEqual(
      taking.map(({ method, path }) => `${method} ${path}`).toSorted(),
    )
  })

  it.each(ROUTES)('is refused on %s, and nothing happens twice', async (name) => {
    const { by, path, body, other } = await asking(name)
    const send = await captured(name, by, path)
    expect([200, 201]).toContain((await send(body)).status)
    await expectRefused(() => send(body))
    if (other) await expectRefused(() => send(other))
  })

  it.each(ROUTES)('is used up by a refusal too, on %s', async (name) => {
    const { notFor, path, body } = await asking(name)
    const send = await captured(name, notFor, path)
    expect((await send(body)).status).toBe(403)
    await expectRefused(() => send(body))
  })

  it.each(ROUTES)('lets one of two requests through that come at once, on %s', async (name) => {
    const { by, path, body } = await asking(name)
    const send = await captured(name, by, path)
    const statuses = (await Promise.all([send(body), send(body)])).map(({ status }) => status)
    expect(statuses.filter((status) => status < 300)).toHaveLength(1)
    expect(statuses.filter((status) => status === 401)).toHaveLength(1)
  })

  it('closes nothing that came to be after it was told that nothing is there', async () => {
    const { root } = place
    const token = nextChild(place)
    const node = allottedNodeIdOf(root.node, 3)
    const path = `/runs/${root.run}/nodes/${node}/close`
    const send = await captured('POST', root, path)
    expect((await send({})).status).toBe(404)
    const made = await signed(gateway, root, 'POST', `/runs/${root.run}/nodes`, { token })
    expect(made.status).toBe(201)
    await expectRefused(() => send({}))
    expect(await gateway.headgate.ledger.standing(node)).toMatchObject({ state: 'live' })
  })

  it('is used up by being told that another run has nothing for it', async () => {
    const { root } = place
    const path = `/runs/${(await startOutsideRun(gateway)).run}/nodes`
    const body = { token: nextChild(place) }
    const send = await captured('POST', root, path)
    expect((await send(body)).status).toBe(404)
    await expectRefused(() => send(body))
  })

  it('opens no route of operators, which take none', async () => {
    const { root, child } = place
    for (const verb of ['revoke', 'freeze', 'resume']) {
      const path = `/runs/${root.run}/nodes/${child.node}/${verb}`
      const send = await captured('POST', root, path)
      const before = await state()
      for (const _ of ['first', 'again']) expect((await send({})).status).toBe(403)
      expect(await state()).toEqual(before)
    }
  })
})
