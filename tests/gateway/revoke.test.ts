import { describe, expect, it } from 'vitest'
import { parseEvent } from '../../runtime/core/events.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailOutcome } from '../../runtime/core/rail.ts'
import { brief, settledFor, World } from './world.ts'

async function withPlanner() {
  const world = new World()
  const { root } = await world.run()
  const planner = await world.child(root, 'planner', {}, 10)
  return { world, root, planner, leaf: await world.leaf(planner.id) }
}

describe('revoking', () => {
  it('a node that is not there is refused and changes nothing', async () => {
    const { world, root } = await withPlanner()
    const head = (await world.ledger.account(root))?.head
    expect(await world.gateway.revoke('nd_nowhere', 'olga')).toEqual({
      ok: false,
      code: 'not_found',
    })
    expect((await world.ledger.account(root))?.head).toEqual(head)
  })

  it('twice is one act: the same version, one event, and still what is on its way', async () => {
    const { world, planner, leaf } = await withPlanner()
    let settle: (outcome: RailOutcome) => void = () => undefined
    world.rail.next.push(
      () =>
        new Promise((resolve) => {
          settle = resolve
        }),
    )
    const paying = world.pay(leaf)
    while (world.rail.orders.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const first = await world.gateway.revoke(planner.id, 'olga')
    expect(first).toMatchObject({ ok: true, onTheirWay: [(await world.onlyPayment()).id] })
    expect(await world.gateway.revoke(planner.id, 'otto')).toEqual(first)
    const events = await world.ledger.events(planner.id, 0, 50)
    const acts = events
      .map(({ body }) => parseEvent(body).type)
      .filter((type) => type === 'revoked')
    expect(acts).toHaveLength(1)
    const [order] = world.rail.orders
    if (order) settle(settledFor(order))
    expect(brief(await paying)).toBe('200 allow settled')
    expect(await world.gateway.revoke(planner.id, 'olga')).toMatchObject({ onTheirWay: [] })
  })

  it('the root stops the whole run for good, and no other run', async () => {
    const { world, root, leaf } = await withPlanner()
    const other = await world.run()
    const elsewhere = await world.leaf(other.root)
    expect(await world.gateway.revoke(root, 'olga')).toMatchObject({ ok: true, onTheirWay: [] })
    expect(brief(await world.pay(leaf))).toBe('403 deny revoked')
    expect(await world.gateway.resume(root, 'olga')).toEqual({ ok: false, code: 'revoked' })
    expect(brief(await world.pay(elsewhere))).toBe('200 allow settled')
    expect((await world.gateway.sweep()).closed).toEqual([root])
    expect(await world.ledger.account(root)).toMatchObject({ available: 100_000, allotted: 0 })
  })

  it('a closed node changes nothing: it lets nothing through already', async () => {
    const { world, planner, leaf } = await withPlanner()
    await world.gateway.close(planner.id, 'olga')
    const head = (await world.ledger.account(planner.id))?.head
    expect(await world.gateway.revoke(planner.id, 'olga')).toMatchObject({
      ok: true,
      standing: { state: 'closed' },
      onTheirWay: [],
    })
    expect((await world.ledger.account(planner.id))?.head).toEqual(head)
    expect(brief(await world.pay(leaf))).toBe('403 deny run_closed')
  })

  it('leaves a freeze nothing to add, and a resume nothing to undo', async () => {
    const { world, planner, leaf } = await withPlanner()
    await world.gateway.freeze(planner.id, 'olga')
    await world.gateway.revoke(planner.id, 'olga')
    expect(await world.gateway.freeze(planner.id, 'olga')).toMatchObject({
      standing: { state: 'revoked' },
    })
    expect(await world.gateway.resume(planner.id, 'olga')).toEqual({ ok: false, code: 'revoked' })
    expect(brief(await world.pay(leaf))).toBe('403 deny revoked')
  })
})

describe('money that comes back below a revoked node', () => {
  it('is of no use to it, and goes home with the next sweep', async () => {
    const { world, root, planner, leaf } = await withPlanner()
    let answer: (outcome: RailOutcome) => void = () => undefined
    world.rail.next.push(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    const paying = world.pay(leaf)
    while (world.rail.orders.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await world.gateway.revoke(planner.id, 'olga')
    answer({ kind: 'declined', reason: 'no' })
    await paying
    // A leaf that is closed by hand returns what it had to the nearest node that is not closing: the revoked one.
    await world.gateway.close(leaf.id, 'olga')
    expect(await world.ledger.account(planner.id)).toMatchObject({ available: 10_000, allotted: 0 })
    await expect(
      world.child(planner.id, 'leaf', { ceiling: minor(1), payees: ['shop'] }),
    ).rejects.toThrow('revoked')
    expect((await world.gateway.sweep()).closed).toEqual([planner.id])
    expect(await world.ledger.account(planner.id)).toMatchObject({ ceiling: 0, available: 0 })
    expect(await world.ledger.account(root)).toMatchObject({ available: 100_000, allotted: 0 })
  })

  it('passes it by once it is closing', async () => {
    const { world, root, planner, leaf } = await withPlanner()
    world.rail.next.push(async () => ({ kind: 'unknown', reason: 'late' }))
    await world.pay(leaf)
    await world.gateway.revoke(planner.id, 'olga')
    await world.gateway.sweep()
    expect(await world.ledger.account(planner.id)).toMatchObject({ ceiling: 1_000, available: 0 })
    const { id } = await world.onlyPayment()
    const now = (await world.onlyPayment()).createdAtSeconds
    const from = 'submitted'
    await world.ledger.execute('release', { payment: id, from, reason: 'absent', now })
    expect(await world.ledger.account(planner.id)).toMatchObject({ ceiling: 0, available: 0 })
    expect(await world.ledger.account(root)).toMatchObject({ available: 100_000, allotted: 0 })
  })
})
