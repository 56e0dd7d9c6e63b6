/** The official client against both transports of a gateway that serves, in both eras of the protocol. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ownNodeSchema } from '../../runtime/core/wire.ts'
import type { Held } from '../http/gateway.ts'
import { signed } from '../http/gateway.ts'
import {
  type Connect,
  type Connected,
  type Era,
  INJECTED,
  overHttp,
  overPipe,
  startWorld,
  structured,
  type World,
} from './world.ts'

let world: World
const open: Connected[] = []

beforeAll(async () => {
  world = await startWorld({ approvalAbove: 50_000 })
}, 60_000)
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})
afterAll(() => world.close())

const connected = async (connect: Connect, held: Held, era?: Era) => {
  const made = await connect(world, held, era)
  open.push(made)
  return made.client
}

const TRANSPORTS: readonly [string, Connect, Era][] = [
  ['HTTP, first era', overHttp, 'legacy'],
  ['HTTP, second era', overHttp, 'auto'],
  ['a pipe, first era', overPipe, 'legacy'],
  ['a pipe, second era', overPipe, 'auto'],
]

describe.each(TRANSPORTS)('over %s', (_name, connect, era) => {
  it('a looker lists, searches, reads and asks for a quote', async () => {
    const client = await connected(connect, await world.looker(), era)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['about', 'search', 'read_product', 'get_quote'])
    const found = await client.callTool({ name: 'search', arguments: { text: 'lamp' } })
    expect(found.isError).toBeFalsy()
    expect(structured(found)).toEqual({
      items: [
        {
          merchant: 'shop',
          sku: 'lamp',
          unitAmount: 2_500,
          currency: 'INR',
          stock: 4,
          merchantSays: {
            source: 'page',
            title: 'A lamp',
            description: INJECTED,
            category: 'Lights',
          },
        },
      ],
    })
    const lines = [{ sku: 'lamp', quantity: 1 }]
    const quoted = await client.callTool({
      name: 'get_quote',
      arguments: { merchant: 'shop', lines },
    })
    expect(structured(quoted)).toMatchObject({ amount: 2_500, currency: 'INR', payee: 'shop' })
  })

  it('a leaf pays once, and the same call again is the same payment and receipt', async () => {
    const quote = world.gateway.quote()
    const client = await connected(connect, await world.leaf(quote), era)
    const before = world.gateway.rail.paid
    const would = structured(await client.callTool({ name: 'decide', arguments: { quote } }))
    expect([would.verdict, world.gateway.rail.paid]).toEqual(['allow', before])
    const first = structured(await client.callTool({ name: 'pay', arguments: { quote } }))
    const again = structured(await client.callTool({ name: 'pay', arguments: { quote } }))
    expect(first).toMatchObject({ verdict: 'allow', state: 'settled' })
    expect([again.paymentId, again.receipt]).toEqual([first.paymentId, first.receipt])
    expect(world.gateway.rail.paid).toBe(before + 1)
    const { payment } = structured(await client.callTool({ name: 'payment_status' }))
    expect(payment).toMatchObject({ paymentId: first.paymentId, state: 'settled', amount: 2_500 })
  })

  it('a hold is a resource to wait on, and a person approves it elsewhere', async () => {
    const lines = [{ sku: 'lamp', title: 'A lamp', quantity: 1, unitAmount: 60_000 }]
    const quote = world.gateway.quote({ lines, amount: 60_000 })
    const client = await connected(connect, await world.leaf(quote), era)
    const held = await client.callTool({ name: 'pay', arguments: { quote } })
    expect(held.isError).toBeFalsy()
    const { resource, verdict, readAgainSeconds } = structured(held)
    expect([verdict, readAgainSeconds]).toEqual(['hold', 30])
    expect(held.content).toContainEqual(
      expect.objectContaining({ type: 'resource_link', uri: resource }),
    )
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'headgate://payments/{paymentId}',
    ])
    const read = async () => {
      const { contents } = await client.readResource({ uri: String(resource) })
      const [content] = contents
      return JSON.parse(content !== undefined && 'text' in content ? content.text : '{}')
    }
    expect(await read()).toMatchObject({ verdict: 'hold', hold: { state: 'open' } })
    await approveAll()
    expect(await read()).toMatchObject({ hold: { state: 'approved' }, payAgain: true })
    const paid = structured(await client.callTool({ name: 'pay', arguments: { quote } }))
    expect(paid).toMatchObject({ verdict: 'allow', state: 'settled' })
    expect(await read()).toMatchObject({ state: 'settled' })
  })

  it('a denial is an error with code, message and advice', async () => {
    const client = await connected(connect, await world.leaf(world.gateway.quote()), era)
    const before = world.gateway.rail.paid
    const other = world.gateway.quote()
    const denied = await client.callTool({ name: 'pay', arguments: { quote: other } })
    expect(denied.isError).toBe(true)
    expect(structured(denied)).toEqual({
      error: {
        kind: 'denied',
        code: 'capability',
        message: 'the token’s own checks do not permit this request',
        advice: 'ask_parent',
        paymentId: expect.stringMatching(/^pay_/),
      },
    })
    expect(world.gateway.rail.paid).toBe(before)
  })

  it('a planner sees what is left and what was paid, and closes a child', async () => {
    const quote = world.gateway.quote()
    const child = await world.leaf(quote)
    const client = await connected(connect, world.planner, era)
    const about = structured(await client.callTool({ name: 'about' }))
    expect(about).toMatchObject({
      kind: 'planner',
      currency: { code: 'INR', exponent: 2 },
      payees: [{ id: 'shop', name: 'The Shop', source: 'operator' }],
      needsPerson: { above: 50_000 },
    })
    const own = ownNodeSchema.parse(
      await (await signed(world.gateway, world.planner, 'GET', '/node')).json(),
    )
    expect(about.balance).toMatchObject({ available: own.available, allotted: own.allotted })
    expect(about.nextAmount).toEqual({ least: 1, most: own.available })
    const closed = await client.callTool({
      name: 'close_child',
      arguments: { node: child.node },
    })
    expect(structured(closed)).toEqual({ node: child.node, standing: 'closed' })
    const { payments } = structured(await client.callTool({ name: 'payments' }))
    expect(Array.isArray(payments)).toBe(true)
    const self = await client.callTool({
      name: 'close_child',
      arguments: { node: world.planner.node },
    })
    expect([self.isError, structured(self).error]).toMatchObject([true, { field: 'node' }])
  })
})

async function approveAll(): Promise<void> {
  const { holds } = (await (await world.gateway.asOperator('/holds')).json()) as {
    holds: { id: string; digest: string }[]
  }
  expect(holds).toHaveLength(1)
  for (const { id, digest } of holds) {
    const answer = await world.gateway.asOperator(`/holds/${id}/approve`, { digest })
    expect(answer.status).toBe(200)
  }
}
