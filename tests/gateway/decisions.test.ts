import { describe, expect, it } from 'vitest'
import { parseEvent } from '../../runtime/core/events.ts'
import { freshId } from '../../runtime/core/ids.ts'
import type { Monitor } from '../../runtime/core/judges.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { decisionAnswerSchema, ownNodeSchema } from '../../runtime/core/wire.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import { bodyOf, brief, type Leaf, type RequestChange, START, statusesOf, World } from './world.ts'

const decide = (world: World, leaf: Leaf, change: Partial<RequestChange> = {}): Promise<Answer> =>
  world.gateway.decide(world.request(leaf, '/decisions', { quote: leaf.quote }, change))

async function ready(claims: Record<string, unknown> = {}, world = new World()) {
  const { root, run } = await world.run(claims)
  return { world, root, run, leaf: await world.leaf(root) }
}

const typesOf = async (world: World, leaf: Leaf) =>
  (await world.ledger.events(leaf.id, 0, 500)).map(({ body }) => parseEvent(body).type)

/** Everything of a run but its events and counts of decisions. */
async function kept(world: World, leaf: Leaf) {
  const { head: _head, ...account } = (await world.ledger.account(leaf.id)) ?? { head: undefined }
  const holds = await world.ledger.holds({ limit: 10 })
  const payments = await world.ledger.payments({ limit: 10 })
  return { account, holds, payments, orders: [...world.rail.orders] }
}

const judging = (...answers: ('allow' | 'object')[]): Monitor => ({
  judge: async () => ({ kind: answers.shift() ?? 'allow' }),
})

describe('a decision', () => {
  it('runs all nine checks, says that it is one, and makes nothing', async () => {
    const { world, leaf } = await ready()
    const before = await kept(world, leaf)
    const answer = await decide(world, leaf)
    expect(brief(answer)).toBe('200 allow')
    expect(statusesOf(answer)).toBe(`${'passed '.repeat(8)}not-applicable`)
    expect(decisionAnswerSchema.parse(answer.body)).toMatchObject({ decision: true })
    expect(await kept(world, leaf)).toEqual(before)
    expect(await typesOf(world, leaf)).toEqual(['opened', 'decided'])
    const [, event] = await world.ledger.events(leaf.id, 0, 5)
    expect(parseEvent(event?.body ?? '')).toMatchObject({
      data: { payment: bodyOf(answer).paymentId, verdict: 'allow' },
    })
    expect(JSON.parse(event?.body ?? '').data.provenance.payee).toHaveLength(3)
  })

  it('then a payment of the same quote works as if it had never been asked', async () => {
    const { world, leaf } = await ready()
    const { paymentId } = bodyOf(await decide(world, leaf))
    const paid = await world.pay(leaf)
    expect(brief(paid)).toBe('200 allow settled')
    expect(bodyOf(paid).paymentId).toBe(paymentId)
    expect(world.rail.orders).toHaveLength(1)
  })

  it('of a payment that was made says so, shows no receipt and pays nothing', async () => {
    const { world, leaf } = await ready()
    await world.pay(leaf)
    const answer = await decide(world, leaf)
    expect(brief(answer)).toBe('200 allow settled')
    expect(answer.body).not.toHaveProperty('receipt')
    expect(statusesOf(answer)).toContain('passed')
    expect(world.rail.orders).toHaveLength(1)
  })

  it('uses its proof up, whatever it says', async () => {
    const { world, leaf } = await ready()
    const jti = freshId()
    expect((await decide(world, leaf, { jti })).status).toBe(200)
    expect((await decide(world, leaf, { jti })).status).toBe(401)
    expect(await typesOf(world, leaf)).toEqual(['opened', 'decided'])
  })

  it('is no payment for whoever sends its proof to the other door', async () => {
    const { world, leaf } = await ready()
    const raw = world.request(leaf, '/decisions', { quote: leaf.quote })
    expect((await world.gateway.pay({ ...raw, path: '/payments' })).status).toBe(401)
    expect(world.rail.orders).toEqual([])
  })

  it('hides no question to a person from whoever waits for its answer, however often it is asked', async () => {
    const { world, leaf } = await ready({ approvalAbove: 1 })
    const seen = async () => {
      const raw = world.request(leaf, '/node', undefined, { method: 'GET' })
      return ownNodeSchema.parse((await world.gateway.ownNode(raw)).body).payments
    }
    expect(brief(await world.pay(leaf))).toBe('202 hold approval_required')
    const before = await seen()
    expect(before).toMatchObject([{ verdict: 'hold', hold: { state: 'open' } }])
    for (let i = 0; i < 12; i += 1) await decide(world, leaf)
    expect(await seen()).toEqual(before)
    // Nor do refusals of what is no payment, of which there is no end.
    for (let i = 0; i < 300; i += 1) {
      await world.gateway.search(world.request(leaf, '/search', { text: 'pen', limit: 1 }))
    }
    expect(await seen()).toEqual(before)
  })

  it('is a leaf’s alone', async () => {
    const { world, root } = await ready()
    const looker = await world.child(root, 'looker')
    const quote = world.merchants.sign()
    const answer = await decide(world, { ...looker, quote })
    expect(brief(answer)).toBe('403 deny not_a_leaf')
  })
})

describe('a decision says what a payment would be answered', () => {
  const cases: [string, Record<string, unknown>, (world: World, leaf: Leaf) => Promise<unknown>][] =
    [
      ['when all is well', {}, async () => undefined],
      ['over the mandate’s limit for one payment', { perPayment: 999 }, async () => undefined],
      [
        'over the window of the day',
        { window: { zone: 'Asia/Kolkata', perDay: 999 } },
        async () => undefined,
      ],
      ['of an expired quote', {}, async (world) => world.clock.advance(3_000)],
      ['while the leaf is frozen', {}, (world, leaf) => world.gateway.freeze(leaf.id, 'olga')],
      ['of a revoked leaf', {}, (world, leaf) => world.gateway.revoke(leaf.id, 'olga')],
      ['while everything stands still', {}, (world) => world.gateway.freeze('gateway', 'olga')],
      ['of a closed leaf', {}, (world, leaf) => world.gateway.close(leaf.id, 'olga')],
      ['above what the mandate asks a person about', { approvalAbove: 1 }, async () => undefined],
    ]
  it.each(cases)('%s', async (_name, claims, change) => {
    const { world, leaf } = await ready(claims)
    await change(world, leaf)
    const before = await kept(world, leaf)
    const decided = await decide(world, leaf)
    expect(await kept(world, leaf)).toEqual(before)
    const paid = await world.pay(leaf)
    expect(decided.status).toBe(paid.status)
    expect(bodyOf(decided).reason).toEqual(bodyOf(paid).reason)
    expect(bodyOf(decided).verdict).toBe(bodyOf(paid).verdict)
    expect(statusesOf(decided)).toBe(statusesOf(paid))
  })

  it('of a quote that another leaf has paid, or for more than the leaf has left', async () => {
    const { world, root, leaf } = await ready()
    await world.pay(leaf)
    const second = await world.leafFor(root, leaf.quote)
    expect(brief(await decide(world, second))).toBe('403 deny quote_spent')
    const poor = await world.leaf(root)
    const { ledger } = world
    const snapshot: typeof ledger.snapshot = async (request) => {
      const found = await ledger.snapshot(request)
      return found && { ...found, account: { ...found.account, available: 999 as never } }
    }
    world.rebuild({ ledger: { ...ledger, snapshot } })
    expect(brief(await decide(world, poor))).toBe('403 deny insufficient')
  })

  it('by counting rules, and is not counted by them', async () => {
    const policy = createPolicy({
      rules: [{ kind: 'hourly_count', id: 'slow', most: 1, effect: 'deny' }],
    })
    const { world, root, leaf } = await ready({}, new World({ policy }))
    for (let i = 0; i < 3; i += 1) expect(brief(await decide(world, leaf))).toBe('200 allow')
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    expect(brief(await decide(world, await world.leaf(root)))).toBe('403 deny policy')
  })

  it('where a person is to be asked: nobody is, and a yes that is there is not used up', async () => {
    const { world, leaf } = await ready({ approvalAbove: 1 })
    const answer = await decide(world, leaf)
    expect(brief(answer)).toBe('202 hold approval_required')
    expect(answer.body).not.toHaveProperty('holdId')
    expect(await world.ledger.holds({ limit: 5 })).toEqual([])
    const held = bodyOf(await world.pay(leaf)).holdId
    const hold = held && (await world.ledger.hold(held))
    if (!hold) throw new Error('no hold')
    await world.gateway.approve({ hold: hold.id, digest: hold.digest, by: 'olga' })
    expect(brief(await decide(world, leaf))).toBe('200 allow')
    expect(brief(await decide(world, leaf))).toBe('200 allow')
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
  })

  it('with the monitor asked under the same rules, and no money set aside for it', async () => {
    const { world, leaf } = await ready({}, new World({ deps: { monitor: judging('object') } }))
    const before = await kept(world, leaf)
    const answer = await decide(world, leaf)
    expect(brief(answer)).toBe('403 deny monitor_objects')
    expect(statusesOf(answer)).toBe(`${'passed '.repeat(8)}failed`)
    expect(await kept(world, leaf)).toEqual(before)
    expect(await typesOf(world, leaf)).toEqual(['opened', 'judged', 'decided'])
  })
})

it('a hundred decisions move nothing; one more is turned away unasked, and the leaf can still pay', async () => {
  let asked = 0
  const monitor: Monitor = {
    judge: async () => {
      asked += 1
      return { kind: 'allow' }
    },
  }
  const claims = { ceiling: 5_000, window: { zone: 'UTC', perDay: 1_000 } }
  const { world, leaf, run } = await ready(claims, new World({ deps: { monitor } }))
  const before = await kept(world, leaf)
  for (let i = 0; i < LIMITS.decisions; i += 1) expect((await decide(world, leaf)).status).toBe(200)
  expect(await kept(world, leaf)).toEqual(before)
  for (const { account } of await world.ledger.tree(run)) {
    const { ceiling, available, reserved, spent, allotted } = account
    expect(ceiling).toBe(available + reserved + spent + allotted)
    expect([reserved, spent]).toEqual([0, 0])
  }
  expect(world.rail.orders).toEqual([])
  const before101 = [await typesOf(world, leaf), asked]
  expect(brief(await decide(world, leaf))).toBe('429 rate_limited')
  expect([await typesOf(world, leaf), asked]).toEqual(before101)
  expect(brief(await world.pay(leaf))).toBe('200 allow settled')
})

it('what a monitor said to a decision stands for the payment, and is asked for once', async () => {
  const { world, leaf } = await ready({}, new World({ deps: { monitor: judging('object') } }))
  expect(brief(await decide(world, leaf))).toBe('403 deny monitor_objects')
  expect(brief(await decide(world, leaf))).toBe('403 deny monitor_objects')
  expect(brief(await world.pay(leaf))).toBe('403 deny monitor_objects')
})

it('a leaf that is frozen while it is judged is told so, as a payment would be', async () => {
  const policy = createPolicy({ rules: [] })
  const { world, leaf } = await ready({}, new World({ policy }))
  const decidePolicy: typeof policy.decide = async (facts) => {
    await world.gateway.freeze(leaf.id, 'olga')
    return policy.decide(facts)
  }
  world.rebuild({ policy: { ...policy, decide: decidePolicy } })
  expect(brief(await decide(world, leaf))).toBe('403 deny frozen')
})

it('a decision on a store that differs from its log is a fault and no verdict', async () => {
  const { world, leaf, run } = await ready()
  await world.ledger.execute('haltRun', { run, stream: leaf.id, now: START as never })
  expect((await decide(world, leaf)).status).toBe(503)
  expect(world.rail.orders).toEqual([])
})
