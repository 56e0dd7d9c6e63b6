import { describe, expect, it } from 'vitest'
import { parseEvent } from '../../runtime/core/events.ts'
import type { NodeId } from '../../runtime/core/ids.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { HoldRecord } from '../../runtime/core/records.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import type { PolicyConfig } from '../../runtime/policy/rules.ts'
import { bodyOf, brief, type Leaf, START, statusesOf, World } from './world.ts'

const asking = (above = 500): PolicyConfig => ({
  rules: [{ kind: 'approval_above', id: 'big', currency: 'INR', above: minor(above) }],
})

async function held(
  config: PolicyConfig = asking(),
  mandate: Record<string, unknown> = {},
): Promise<{ world: World; leaf: Leaf; root: NodeId; hold: HoldRecord }> {
  const world = new World({ policy: createPolicy(config) })
  const { root } = await world.run(mandate)
  const leaf = await world.leaf(root)
  const answer = await world.pay(leaf)
  expect(brief(answer)).toBe('202 hold approval_required')
  return { world, leaf, root, hold: await holdOf(world, bodyOf(answer).holdId) }
}

async function holdOf(world: World, id: HoldRecord['id'] | undefined): Promise<HoldRecord> {
  const hold = id && (await world.ledger.hold(id))
  if (!hold) throw new Error('no hold')
  return hold
}

const approve = (world: World, { id, digest }: HoldRecord) =>
  world.gateway.approve({ hold: id, digest, by: 'olga' })

describe('a hold', () => {
  it('keeps no money, waits for a person and asks once however often it is retried', async () => {
    const { world, leaf, hold } = await held()
    expect((await world.ledger.account(leaf.id))?.reserved).toBe(0)
    world.clock.advance(10)
    const again = await world.pay(leaf)
    expect(bodyOf(again).holdId).toBe(hold.id)
    expect(statusesOf(again)).toContain('passed held not-reached')
    expect(await world.ledger.holds({ limit: 10 })).toHaveLength(1)
    expect(world.rail.orders).toEqual([])
  })

  it('shows the earliest end among mandate, leaf, quote and hold', async () => {
    const { hold } = await held()
    expect(hold.expiresAtSeconds).toBe(START + LIMITS.holdSeconds)
    const world = new World({ policy: createPolicy(asking()) })
    const { root } = await world.run()
    const leaf = await world.leaf(root, { exp: START + 60 })
    const short = await holdOf(world, bodyOf(await world.pay(leaf)).holdId)
    expect(short.expiresAtSeconds).toBe(START + 60)
  })

  it('by the mandate’s own approvalAbove needs no rule of the operator', async () => {
    const { hold } = await held({ rules: [] }, { approvalAbove: 999 })
    expect(hold.rule).toBe('mandate_approval_above')
    const world = new World()
    const { root } = await world.run({ approvalAbove: 1_000 })
    expect(brief(await world.pay(await world.leaf(root)))).toBe('200 allow settled')
  })

  it('beyond the number of open ones becomes a refusal, so that nobody is tired into a yes', async () => {
    const world = new World({ policy: createPolicy(asking()) })
    const { root } = await world.run({ limits: { depth: 2, fanOut: 20, nodes: 100 } })
    const planners = []
    for (let i = 0; i < 6; i += 1) planners.push(await world.child(root, 'planner', {}, 10))
    const told: string[] = []
    for (const planner of planners) {
      for (let i = 0; i < 9; i += 1) told.push(brief(await world.pay(await world.leaf(planner.id))))
    }
    expect(told.slice(0, LIMITS.openHolds).every((line) => line.startsWith('202'))).toBe(true)
    expect(told.slice(LIMITS.openHolds)).toEqual(
      told.slice(LIMITS.openHolds).map(() => '403 deny policy'),
    )
  })
})

describe('an approval', () => {
  it('lets exactly that payment through, once', async () => {
    const { world, leaf, hold } = await held()
    expect(await approve(world, hold)).toMatchObject({ ok: true, hold: { state: 'approved' } })
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
    expect((await holdOf(world, hold.id)).state).toBe('consumed')
    expect(world.rail.orders).toHaveLength(1)
  })

  it('that was used by an attempt which came to nothing does not answer for the next', async () => {
    const { world, leaf, hold } = await held()
    await approve(world, hold)
    world.rebuild({ monitor: { judge: async () => ({ kind: 'object' }) } })
    expect(brief(await world.pay(leaf))).toBe('403 deny monitor_objects')
    world.rebuild({ monitor: undefined })
    expect(brief(await world.pay(leaf))).toBe('202 hold approval_required')
    expect(world.rail.orders).toEqual([])
  })

  it('answers nobody else’s hold', async () => {
    const { world, root, hold } = await held()
    await approve(world, hold)
    expect(brief(await world.pay(await world.leaf(root)))).toBe('202 hold approval_required')
  })

  it('is only good until the card’s expiry', async () => {
    const { world, leaf, hold } = await held()
    await approve(world, hold)
    world.clock.advance(LIMITS.holdSeconds)
    const answer = await world.pay(leaf)
    expect(brief(answer)).toBe('202 hold approval_required')
    expect(bodyOf(answer).holdId).not.toBe(hold.id)
  })

  it('is still good in the second before', async () => {
    const { world, leaf, hold } = await held()
    await approve(world, hold)
    world.clock.advance(LIMITS.holdSeconds - 1)
    expect(brief(await world.pay(leaf))).toBe('200 allow settled')
  })

  it('cannot be given with another digest, too late, or twice with different words', async () => {
    const { world, hold } = await held()
    const other = { hold: hold.id, digest: 'A'.repeat(43), by: 'olga' }
    expect(await world.gateway.approve(other)).toEqual({ ok: false, code: 'stale' })
    expect(await approve(world, hold)).toMatchObject({ ok: true })
    expect(await world.gateway.refuse({ ...other, digest: hold.digest })).toMatchObject({
      ok: false,
    })
    const late = await held()
    late.world.clock.advance(LIMITS.holdSeconds)
    expect(await approve(late.world, late.hold)).toEqual({ ok: false, code: 'expired' })
    const nowhere = await world.gateway.approve({ ...other, hold: 'hold_nowhere' })
    expect(nowhere).toEqual({ ok: false, code: 'not_found' })
  })

  it('is stale when the card would show something else by now', async () => {
    const { world, hold } = await held()
    world.rebuild({ policy: createPolicy(asking(400)) })
    expect(await approve(world, hold)).toEqual({ ok: false, code: 'stale' })
  })

  it('given before the account or the policy changed does not count afterwards', async () => {
    const changed = await held()
    await approve(changed.world, changed.hold)
    changed.world.rebuild({ policy: createPolicy(asking(400)) })
    expect(brief(await changed.world.pay(changed.leaf))).toBe('202 hold approval_required')
    const moved = await held()
    await approve(moved.world, moved.hold)
    const { facts } = moved.world.deps
    const payees = facts.payees.map((payee) => ({ ...payee, accounts: { simulated: 'new' } }))
    moved.world.rebuild({ facts: { ...facts, payees } })
    expect(brief(await moved.world.pay(moved.leaf))).toBe('403 deny payee')
  })

  it('never answers a deny', async () => {
    const { world, leaf, hold } = await held()
    await approve(world, hold)
    world.rebuild({
      policy: {
        version: world.deps.policy.version,
        decide: async () => ({ verdicts: [{ rule: 'x', effect: 'deny' }], bounds: [] }),
      },
    })
    expect(brief(await world.pay(leaf))).toBe('403 deny policy')
  })

  it('does not help past the cap: of two approved payments the second is denied', async () => {
    const world = new World({ policy: createPolicy(asking()) })
    const { root } = await world.run({ window: { zone: 'UTC', perDay: 1_500 } })
    const leaves = [await world.leaf(root), await world.leaf(root)]
    for (const leaf of leaves) {
      await approve(world, await holdOf(world, bodyOf(await world.pay(leaf)).holdId))
    }
    const told = await Promise.all(leaves.map((leaf) => world.pay(leaf)))
    expect(told.map(brief).sort()).toEqual(['200 allow settled', '403 deny window'])
    expect(world.rail.orders).toHaveLength(1)
  })

  it('raced for by two attempts is used by one of them', async () => {
    const { world, leaf, hold } = await held()
    await approve(world, hold)
    await Promise.all([world.pay(leaf), world.pay(leaf)])
    expect(world.rail.orders).toHaveLength(1)
  })
})

describe('a person’s no', () => {
  it('is a refusal for that payment, and nobody is asked again', async () => {
    const { world, leaf, hold } = await held()
    await world.gateway.refuse({ hold: hold.id, digest: hold.digest, by: 'olga' })
    expect(brief(await world.pay(leaf))).toBe('403 deny policy')
    world.rebuild({ policy: createPolicy({ rules: [] }) })
    expect(brief(await world.pay(leaf))).toBe('403 deny policy')
    expect(await world.ledger.holds({ limit: 10 })).toHaveLength(1)
  })
})

describe('a person’s no that comes while an attempt is judged', () => {
  it('is found by the transaction that would have held it', async () => {
    const { world, leaf, hold } = await held()
    await world.gateway.refuse({ hold: hold.id, digest: hold.digest, by: 'olga' })
    const snapshot: typeof world.ledger.snapshot = async (request) => {
      const found = await world.ledger.snapshot(request)
      return found && { ...found, holds: [] }
    }
    world.rebuild({ ledger: { ...world.ledger, snapshot } })
    expect(brief(await world.pay(leaf))).toBe('403 deny policy')
    const events = (await world.ledger.events(leaf.id, 0, 50)).map(({ body }) => parseEvent(body))
    expect(events.at(-1)).toMatchObject({
      type: 'refused',
      data: { code: 'policy', rule: 'refused_by_person' },
    })
    expect(events.map(({ type }) => type)).toEqual(['opened', 'held', 'hold_refused', 'refused'])
  })
})

describe('rules that count', () => {
  const duplicates: PolicyConfig = { rules: [{ kind: 'duplicate', id: 'twice' }] }

  it('hold the same amount to the same payee within a day, and a person may say yes', async () => {
    const world = new World({ policy: createPolicy(duplicates) })
    const { root } = await world.run()
    expect(brief(await world.pay(await world.leaf(root)))).toBe('200 allow settled')
    expect(brief(await world.pay(await world.leaf(root, { amount: 999 })))).toBe(
      '200 allow settled',
    )
    const second = await world.leaf(root)
    const answer = await world.pay(second)
    expect(brief(answer)).toBe('202 hold approval_required')
    await approve(world, await holdOf(world, bodyOf(answer).holdId))
    expect(brief(await world.pay(second))).toBe('200 allow settled')
  })

  it('are judged again while reserving: of two at once only one passes', async () => {
    const world = new World({ policy: createPolicy(duplicates) })
    const { root } = await world.run()
    const leaves = [await world.leaf(root), await world.leaf(root)]
    const answers = await Promise.all(leaves.map((leaf) => world.pay(leaf)))
    expect(answers.map(brief).sort()).toEqual(['200 allow settled', '202 hold approval_required'])
    const heldOne = answers.find(({ status }) => status === 202)
    expect(heldOne && statusesOf(heldOne)).toContain('passed held not-reached')
    expect(world.rail.orders).toHaveLength(1)
  })

  it('forget a payment that the rail declined', async () => {
    const world = new World({ policy: createPolicy(duplicates) })
    const { root } = await world.run()
    world.rail.next.push(async () => ({ kind: 'declined', reason: 'no' }))
    await world.pay(await world.leaf(root))
    expect(brief(await world.pay(await world.leaf(root)))).toBe('200 allow settled')
  })

  it('deny past the hourly count, also when asked all at once', async () => {
    const config: PolicyConfig = {
      rules: [{ kind: 'hourly_count', id: 'slow', most: 3, effect: 'deny' }],
    }
    const world = new World({ policy: createPolicy(config) })
    const { root } = await world.run()
    const leaves = await Promise.all(Array.from({ length: 6 }, () => world.leaf(root)))
    const told = (await Promise.all(leaves.map((leaf) => world.pay(leaf)))).map(brief)
    expect(told.filter((line) => line === '200 allow settled')).toHaveLength(3)
    expect(told.filter((line) => line === '403 deny policy')).toHaveLength(3)
  })

  it('know the second payment to a payee from the first', async () => {
    const config: PolicyConfig = {
      rules: [{ kind: 'first_payment_above', id: 'new', currency: 'INR', above: minor(500) }],
    }
    const world = new World({ policy: createPolicy(config) })
    const { root } = await world.run()
    expect(brief(await world.pay(await world.leaf(root)))).toBe('202 hold approval_required')
    expect(brief(await world.pay(await world.leaf(root, { amount: 500 })))).toBe(
      '200 allow settled',
    )
    expect(brief(await world.pay(await world.leaf(root)))).toBe('200 allow settled')
  })
})
