/** An agent's own node and payment over real HTTP, and the waiting of a node's holder for whoever has to say more. */
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HeldNode, openNode } from '../../runtime/client/node.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { ZERO } from '../../runtime/core/money.ts'
import type { PaymentAnswer } from '../../runtime/core/wire.ts'
import { holdsAnswer } from '../../runtime/http/shapes.ts'
import { type Held, SHOP, startGateway, startOutsideRun, type TestGateway } from './gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway({ config: { policy: { rules: [] } } })
}, 60_000)
afterAll(() => gateway.close())

const hold = ({ token, holder }: Held) =>
  new HeldNode({ gateway: gateway.url, token, holder, clock: systemClock() })

const startRun = async (more: object = {}) => hold(await startOutsideRun(gateway, more))

const openHolds = async (run: string) => {
  const answer = await gateway.asOperator(`/holds?run=${run}`)
  return holdsAnswer.parse(await answer.json()).holds
}

describe('an agent that asks about itself', () => {
  it('is told what each kind of node may do', async () => {
    const root = await startRun({ approvalAbove: 50_000, perPayment: 60_000 })
    const looker = await root.splitLooker()
    const leaf = await root.splitLeaf(gateway.quote())
    expect(await root.client.ownNode()).toMatchObject({
      ...{ kind: 'planner', state: 'live', amount: { least: 1, most: 97_500 } },
      ...{ needsPerson: { above: 50_000 }, perPayment: 60_000, allotted: 2_500 },
      ...{ depthLeft: 4, nodesLeft: 30, fanOutLeft: 6 },
    })
    expect(await looker.client.ownNode()).toMatchObject({
      ...{ kind: 'looker', amount: { least: 0, most: 0 }, merchants: [SHOP] },
      payees: [{ id: SHOP, name: 'The Shop' }],
    })
    expect(await leaf.client.ownNode()).toMatchObject({
      ...{ kind: 'leaf', node: leaf.claims.node, quote: leaf.claims.quote },
      amount: { least: 1, most: 2_500 },
    })
  })

  it('reads its own payment and those below it, and no sibling’s', async () => {
    const root = await startRun()
    const planner = await root.split({ kind: 'planner', ceiling: root.claims.ceiling, nodes: 4 })
    const looker = await planner.splitLooker()
    const [quote, another] = [gateway.quote(), gateway.quote()]
    const [leaf, sibling] = [await planner.splitLeaf(quote), await planner.splitLeaf(another)]
    const { paymentId } = await leaf.client.pay(quote)
    const seen = { id: paymentId, node: leaf.claims.node, amount: 2_500, state: 'settled' }
    for (const reader of [leaf, planner, root]) {
      expect(await reader.client.payment(paymentId)).toMatchObject(seen)
    }
    for (const reader of [sibling, looker, await startRun()]) {
      const reading = reader.client.payment(paymentId)
      await expect(reading).rejects.toMatchObject({ status: 404, advice: 'stop' })
    }
    const receipt = (await leaf.client.payment(paymentId)).receipt?.split('.')
    expect(receipt).toHaveLength(3)
  })
})

describe('a leaf that pays and waits', () => {
  /** A person decides while the leaf waits; the answer, and how often it had to wait before. */
  async function whileWaiting(verb: 'approve' | 'refuse') {
    const root = await startRun({ approvalAbove: 1 })
    const quote = gateway.quote()
    const leaf = await root.splitLeaf(quote)
    let waits = 0
    const sleep = async () => {
      waits += 1
      const [card] = await openHolds(root.run)
      if (waits === 2)
        await gateway.asOperator(`/holds/${card?.id}/${verb}`, { digest: card?.digest })
    }
    return { answer: await leaf.pay(quote, { sleep }), waits, leaf, quote }
  }

  it('has paid once a person said yes, without being asked again', async () => {
    const paid = gateway.rail.paid
    const { answer, waits, leaf, quote } = await whileWaiting('approve')
    expect([answer.verdict, answer.state, waits]).toEqual(['allow', 'settled', 2])
    const again = await leaf.pay(quote)
    expect([again.receipt, gateway.rail.paid]).toEqual([answer.receipt, paid + 1])
  })

  it('is refused once a person said no', async () => {
    const { answer } = await whileWaiting('refuse')
    expect(answer).toMatchObject({ verdict: 'deny', reason: { code: 'policy', advice: 'stop' } })
  })

  it('waits for the rail’s word on what may have moved', async () => {
    const root = await startRun()
    const quote = gateway.quote()
    const leaf = await root.splitLeaf(quote)
    gateway.rail.next = 'unknown'
    const states: (string | undefined)[] = []
    const stop = new AbortController()
    const sleep = async () => {
      states.push((await leaf.client.ownNode()).payments[0]?.state)
      if (states.length === 3) stop.abort()
    }
    const answer: PaymentAnswer = await leaf.pay(quote, { sleep, signal: stop.signal })
    expect([answer.verdict, answer.state]).toEqual(['allow', 'unknown'])
    expect(states).toEqual(['unknown', 'unknown', 'unknown'])
  })

  it('leaves the question open where its own patience ends first', async () => {
    const root = await startRun({ approvalAbove: 1 })
    const quote = gateway.quote()
    const leaf = await root.splitLeaf(quote)
    const stop = new AbortController()
    const sleep = async () => stop.abort()
    const answer = await leaf.pay(quote, { sleep, signal: stop.signal })
    expect(answer).toMatchObject({ verdict: 'hold', reason: { advice: 'wait_for_person' } })
    expect(await openHolds(root.run)).toHaveLength(1)
    expect(await leaf.pay(quote, { signal: stop.signal })).toMatchObject({ verdict: 'hold' })
  })
})

describe('a planner’s children', () => {
  it('are made from what they are for', async () => {
    const root = await startRun()
    const quote = gateway.quote({ payee: SHOP })
    const leaf = await root.splitLeaf(quote)
    expect(leaf.claims).toMatchObject({ kind: 'leaf', ceiling: 2_500, payees: [SHOP] })
    expect((await root.splitLooker()).claims).toMatchObject({ kind: 'looker', ceiling: ZERO })
  })

  it('are none of a text that is no quote, or of one in another currency', async () => {
    const root = await startRun()
    for (const quote of ['', 'a.b.c', gateway.quote({ currency: 'USD' })]) {
      await expect(root.splitLeaf(quote)).rejects.toMatchObject({ code: 'quote', claim: 'quote' })
    }
    expect(await root.left()).toBe(root.claims.ceiling)
  })
})

describe('a node from two files', () => {
  it('is opened from their texts, and from no others', async () => {
    const held = await startOutsideRun(gateway)
    const jwk = held.holder.export({ format: 'jwk' })
    const { d = '', x = '' } = jwk
    const key = JSON.stringify({ kty: 'OKP', crv: 'Ed25519', d, x })
    const texts = { gateway: gateway.url, token: `${held.token}\n`, key: `${key}\n` }
    expect((await openNode(texts).client.ownNode()).node).toBe(held.node)
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const otherCurve = JSON.stringify(privateKey.export({ format: 'jwk' }))
    const twice = key.replace('{', '{"kty":"OKP",')
    for (const bad of ['', '{}', twice, JSON.stringify({ d, x }), otherCurve]) {
      const opening = () => openNode({ ...texts, key: bad })
      expect(opening).toThrow(expect.objectContaining({ code: 'key', claim: 'key' }))
      expect(opening).not.toThrow(d)
    }
    expect(() => openNode({ ...texts, token: '' })).toThrow(
      expect.objectContaining({ code: 'token_invalid' }),
    )
  })
})
