/** What a node is told of itself, whatever its kind: what it may do, what is left, what became of its payments. */

import type { KeyObject } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import type { NodeId } from '../../runtime/core/ids.ts'
import { paymentIdOf, type RunId, receiptIdOf, sha256 } from '../../runtime/core/ids.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import { seconds } from '../../runtime/core/time.ts'
import { type OwnNode, ownNodeSchema } from '../../runtime/core/wire.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import { type Leaf, START, World } from './world.ts'

interface Caller {
  readonly token: string
  readonly key: KeyObject
}

let world: World
let run: RunId
let root: NodeId
beforeEach(async () => {
  world = new World()
  ;({ run, root } = await world.run())
})

const answerTo = (caller: Caller) =>
  world.gateway.ownNode(world.request(caller, '/node', undefined, { method: 'GET' }))

/** What the caller reads, in exactly the documented shape. */
async function own(caller: Caller): Promise<OwnNode> {
  const { status, body } = await answerTo(caller)
  expect([status, JSON.stringify(body)]).toEqual([200, expect.stringContaining('"node"')])
  return ownNodeSchema.parse(body)
}

async function problemTo(caller: Caller) {
  const { status, body } = await answerTo(caller)
  return `${status} ${(body as { code: string }).code}`
}

const rootOf = async (id = root): Promise<Caller> => ({
  token: (await world.ledger.token(id)) ?? '',
  key: world.deps.holderKeys.privateKey(id),
})

const paymentOf = ({ id, quote }: Leaf) => paymentIdOf(id, sha256(quote))

describe('a planner', () => {
  it('is told what it has, what a child may be given, and how many', async () => {
    const planner = await world.child(root, 'planner', { ceiling: minor(5_000) }, 4)
    await world.child(planner.id, 'planner', { ceiling: minor(1_500) }, 1)
    expect(await own(planner)).toEqual({
      ...{ node: planner.id, run, kind: 'planner', state: 'live', currency: 'INR' },
      payees: [
        { id: 'shop', name: 'The shop' },
        { id: 'stall', name: 'The stall' },
      ],
      amount: { least: 1, most: 3_500 },
      ...{ ceiling: 5_000, available: 3_500, reserved: 0, spent: 0, allotted: 1_500 },
      ...{ expiresAtSeconds: START + 7_200, needsPerson: {} },
      ...{ depthLeft: 2, nodesLeft: 2, fanOutLeft: 19, payments: [] },
    })
  })

  it('has no range where it has no money, no nodes or no depth left', async () => {
    const rich = await world.child(root, 'planner', { ceiling: minor(5_000) }, 0)
    const poor = await world.child(root, 'planner', { ceiling: minor(0) }, 3)
    const deep = await world.child(
      (await world.child((await world.child(root, 'planner', {}, 9)).id, 'planner', {}, 5)).id,
      'planner',
      {},
      3,
    )
    for (const planner of [rich, poor, deep]) expect((await own(planner)).amount).toBeUndefined()
    expect(await own(deep)).toMatchObject({ depthLeft: 0, nodesLeft: 3, available: 10_000 })
  })

  it('reads the payments below itself, the latest first, and nobody else’s', async () => {
    const [mine, other] = [
      await world.child(root, 'planner', {}, 5),
      await world.child(root, 'planner', {}, 5),
    ]
    const first = await world.leaf(mine.id)
    await world.pay(first)
    world.clock.advance(10)
    const second = await world.leaf(mine.id, { amount: 700 })
    await world.pay(second)
    await world.pay(await world.leaf(other.id))
    const { payments } = await own(mine)
    expect(payments).toEqual([
      {
        ...{ id: paymentOf(second), node: second.id, payee: 'shop', amount: 700 },
        ...{ verdict: 'allow', state: 'settled', receipt: receiptIdOf(paymentOf(second)) },
        ...{ createdAtSeconds: START + 10, endedAtSeconds: START + 10 },
      },
      expect.objectContaining({ id: paymentOf(first), amount: 1_000 }),
    ])
    expect((await own(await rootOf())).payments).toHaveLength(3)
  })

  it('is shown one page of them, and that there are more', async () => {
    ;({ root } = await world.run({ limits: { depth: 3, fanOut: 256, nodes: 300 } }))
    const leaves: Leaf[] = []
    const spread = [
      await world.child(root, 'planner', { ceiling: minor(20_000) }, 20),
      await world.child(root, 'planner', { ceiling: minor(20_000) }, 20),
      await world.child(root, 'planner', { ceiling: minor(20_000) }, 20),
    ]
    for (let i = 0; i < LIMITS.ownPayments; i += 1) {
      const leaf = await world.leaf(spread[Math.floor(i / 20)]?.id ?? root)
      await world.pay(leaf)
      leaves.push(leaf)
      world.clock.advance(1)
    }
    const before = await own(await rootOf())
    expect([before.payments.length, before.more]).toEqual([LIMITS.ownPayments, undefined])
    await world.pay(await world.leaf(root))
    const after = await own(await rootOf())
    expect([after.payments.length, after.more]).toEqual([LIMITS.ownPayments, true])
    const ids = after.payments.map(({ id }) => id)
    expect(ids).not.toContain(paymentOf(leaves[0] ?? (await world.leaf(root))))
  })
})

describe('a looker', () => {
  it('is told which shops it may search, that it may spend nothing, and no payments', async () => {
    const looker = await world.child(root, 'looker', { payees: ['shop'] })
    await world.pay(await world.leaf(root))
    const told = await own(looker)
    expect(told).toMatchObject({
      ...{ kind: 'looker', merchants: ['shop'], amount: { least: 0, most: 0 }, ceiling: 0 },
      payments: [],
    })
    expect(told.nodesLeft).toBeUndefined()
  })
})

describe('a leaf', () => {
  it('is told what it may pay before, and what came of it after', async () => {
    const leaf = await world.leaf(root)
    expect(await own(leaf)).toMatchObject({
      ...{ kind: 'leaf', quote: sha256(leaf.quote), amount: { least: 1, most: 1_000 } },
      payments: [],
    })
    await world.pay(leaf)
    const told = await own(leaf)
    expect(told).toMatchObject({
      ...{ available: 0, spent: 1_000 },
      payments: [{ id: paymentOf(leaf), verdict: 'allow', state: 'settled' }],
    })
    expect(told.amount).toBeUndefined()
  })

  it('has no range where the mandate’s limit for one payment is below its quote', async () => {
    const limited = await world.run({ perPayment: 800, approvalAbove: 500 })
    const leaf = await world.leaf(limited.root)
    expect(await own(leaf)).toMatchObject({
      ...{ perPayment: 800, needsPerson: { above: 500 }, amount: { least: 1, most: 800 } },
    })
    await world.pay(leaf)
    const told = await own(leaf)
    expect(told.payments).toMatchObject([{ verdict: 'hold', amount: 1_000 }])
    expect(told.amount).toBeUndefined()
  })

  it('reads a question to a person, the yes, and then its payment', async () => {
    const { root: asking } = await world.run({ approvalAbove: 500 })
    const leaf = await world.leaf(asking)
    await world.pay(leaf)
    const [hold] = await world.ledger.holds({ limit: 1 })
    const expiresAtSeconds = START + LIMITS.holdSeconds
    expect((await own(leaf)).payments).toEqual([
      {
        ...{ id: paymentOf(leaf), node: leaf.id, payee: 'shop', amount: 1_000, verdict: 'hold' },
        ...{ code: 'approval_required', advice: 'wait_for_person' },
        hold: { id: hold?.id, state: 'open', expiresAtSeconds },
      },
    ])
    expect((await own(leaf)).amount).toEqual({ least: 1_000, most: 1_000 })
    await world.gateway.approve({ hold: hold?.id ?? 'hold_', digest: hold?.digest ?? '', by: 'x' })
    expect((await own(leaf)).payments).toMatchObject([
      { verdict: 'hold', advice: 'retry', hold: { state: 'approved' } },
    ])
    await world.pay(leaf)
    expect((await own(leaf)).payments).toMatchObject([
      { verdict: 'allow', state: 'settled', hold: { state: 'consumed' } },
    ])
  })

  it('reads a person’s no as the end of it', async () => {
    const { root: asking } = await world.run({ approvalAbove: 500 })
    const leaf = await world.leaf(asking)
    await world.pay(leaf)
    const [hold] = await world.ledger.holds({ limit: 1 })
    await world.gateway.refuse({ hold: hold?.id ?? 'hold_', digest: hold?.digest ?? '', by: 'x' })
    const told = await own(leaf)
    expect(told.payments).toMatchObject([
      { verdict: 'deny', code: 'policy', advice: 'stop', hold: { state: 'refused' } },
    ])
    expect(told.amount).toBeUndefined()
  })

  it('reads that nobody answered in time', async () => {
    const { root: asking } = await world.run({ approvalAbove: 500 })
    const leaf = await world.leaf(asking, { exp: START + 7_000 })
    await world.pay(leaf)
    world.clock.advance(LIMITS.holdSeconds)
    expect((await own(leaf)).payments).toMatchObject([
      { verdict: 'hold', advice: 'retry', hold: { state: 'expired' } },
    ])
  })

  it('reads a refusal by its code, and not which rule of the operator it was', async () => {
    const rules = [
      { kind: 'per_payment_cap' as const, id: 'dear', currency: 'INR' as const, above: minor(500) },
    ]
    world = new World({ policy: createPolicy({ rules }) })
    ;({ root } = await world.run())
    const leaf = await world.leaf(root)
    await world.pay(leaf)
    const told = await own(leaf)
    expect(told.payments).toEqual([
      {
        ...{ id: paymentOf(leaf), node: leaf.id, payee: 'shop', verdict: 'deny' },
        ...{ code: 'policy', advice: 'stop' },
      },
    ])
    expect((await own(await rootOf())).payments).toEqual(told.payments)
    expect(JSON.stringify(told)).not.toContain('dear')
  })

  it('whose money may have moved reads so, until the rail says', async () => {
    const leaf = await world.leaf(root)
    world.rail.next.push(async () => ({ kind: 'unknown', reason: 'lost' }))
    await world.pay(leaf)
    expect((await own(leaf)).payments).toMatchObject([{ verdict: 'allow', state: 'unknown' }])
    expect(await own(leaf)).toMatchObject({ reserved: 1_000, available: 0 })
  })
})

describe('a stop', () => {
  const cases: readonly [string, (id: NodeId) => Promise<unknown>, OwnNode['state']][] = [
    ['of the node', (id) => world.gateway.freeze(id, 'x'), 'frozen'],
    ['of a node above', () => world.gateway.freeze(root, 'x'), 'frozen'],
    ['of everything', () => world.gateway.freeze('gateway', 'x'), 'frozen'],
    ['for good', (id) => world.gateway.close(id, 'x'), 'closed'],
    ['of the run', () => world.gateway.cancel(run, 'x'), 'closed'],
  ]
  it.each(cases)(
    '%s is the state of a leaf, and leaves it nothing to ask for',
    async (_, stop, state) => {
      const leaf = await world.leaf(root)
      await stop(leaf.id)
      const told = await own(leaf)
      expect([told.state, told.amount]).toEqual([state, undefined])
    },
  )

  it('by an account that is not what its log says is called so', async () => {
    const leaf = await world.leaf(root)
    await world.ledger.execute('haltRun', { run, stream: root, now: seconds(START) })
    expect(await own(leaf)).toMatchObject({ state: 'halted' })
  })

  it('that ends the authority ends the telling, but for what was submitted before', async () => {
    const [paid, idle] = [await world.leaf(root), await world.leaf(root)]
    const planner = await world.child(root, 'planner')
    await world.pay(paid)
    await world.gateway.revoke(root, 'x')
    expect(await problemTo(idle)).toBe('403 revoked')
    expect(await problemTo(planner)).toBe('403 revoked')
    expect(await own(paid)).toMatchObject({ state: 'revoked', payments: [{ state: 'settled' }] })
    world.clock.advance(7_200)
    expect(await own(paid)).toMatchObject({ state: 'revoked' })
  })

  it('by time alone too', async () => {
    const [paid, idle] = [await world.leaf(root), await world.leaf(root)]
    await world.pay(paid)
    world.clock.advance(7_200)
    expect(await problemTo(idle)).toBe('403 expired')
    expect(await own(paid)).toMatchObject({ state: 'expired', payments: [{ state: 'settled' }] })
  })
})

describe('reading', () => {
  it('is a stranger’s as little as anything else is', async () => {
    const leaf = await world.leaf(root)
    const thief = { token: leaf.token, key: world.principal.key }
    expect(await problemTo(thief)).toBe('401 unauthenticated')
    expect(await problemTo({ ...leaf, token: `${leaf.token}x` })).toBe('401 unauthenticated')
  })

  it('lengthens no node’s log', async () => {
    const leaf = await world.leaf(root)
    const before = await world.ledger.account(leaf.id)
    await own(leaf)
    expect(await world.ledger.account(leaf.id)).toEqual(before)
  })

  it('is a fault where the store is down, never a refusal', async () => {
    const leaf = await world.leaf(root)
    const events = world.ledger.snapshot
    world.ledger.snapshot = () => Promise.reject(new Error('down'))
    expect(await problemTo(leaf)).toBe('503 unavailable')
    world.ledger.snapshot = events
  })
})
