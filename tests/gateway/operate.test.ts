import { describe, expect, it } from 'vitest'
import type { RunId } from '../../runtime/core/ids.ts'
import { parseJws, signJws, verifyJws } from '../../runtime/core/jws.ts'
import { minor } from '../../runtime/core/money.ts'
import type { RailOutcome } from '../../runtime/core/rail.ts'
import { sealSchema } from '../../runtime/core/receipt.ts'
import { seconds } from '../../runtime/core/time.ts'
import { brief, type Signer, START, settledFor, signer, World } from './world.ts'

describe('freezing', () => {
  it('is acknowledged with the payments that were already on their way, and nothing follows', async () => {
    const world = new World()
    const { root } = await world.run()
    const [first, second] = [await world.leaf(root), await world.leaf(root)]
    let settle: (outcome: RailOutcome) => void = () => undefined
    world.rail.next.push(
      () =>
        new Promise((resolve) => {
          settle = resolve
        }),
    )
    const paying = world.pay(first)
    while (world.rail.orders.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const frozen = await world.gateway.freeze(root, 'olga')
    const { id } = await world.onlyPayment()
    expect(frozen).toMatchObject({ ok: true, onTheirWay: [id] })
    expect(brief(await world.pay(second))).toBe('403 deny frozen')
    const [order] = world.rail.orders
    if (order) settle(settledFor(order))
    expect(brief(await paying)).toBe('200 allow settled')
    await world.gateway.resume(root, 'olga')
    expect(brief(await world.pay(second))).toBe('200 allow settled')
  })
})

describe('cancelling', () => {
  const cancelText = (
    run: RunId,
    claims: Record<string, unknown> = {},
    by: Signer,
    typ: 'cancel+jwt' | 'mandate+jwt' = 'cancel+jwt',
  ) =>
    signJws({
      typ,
      key: by.key,
      ...(by.jwk.kid === undefined ? {} : { kid: by.jwk.kid }),
      claims: { iss: 'ada', aud: 'gw', run, iat: START, ...claims },
    })

  it('ends a run for good, brings the money home and seals it', async () => {
    const world = new World()
    const { run, root } = await world.run()
    const leaf = await world.leaf(root)
    const result = await world.gateway.cancel(run, 'olga')
    expect(result).toMatchObject({ ok: true, waiting: [], run: { state: 'cancelled' } })
    expect((await world.ledger.account(root))?.available).toBe(100_000)
    expect(brief(await world.pay(leaf))).toBe('403 deny run_closed')
    const seal = parseJws((await world.ledger.run(run))?.seal ?? '', 'seal+jwt')
    expect(seal && verifyJws(seal, world.deps.signing.key)).toBe(true)
    expect(sealSchema.parse(seal?.claims)).toMatchObject({ run, spent: 0, ceiling: 100_000 })
  })

  it('waits for a payment that is on its way, and the sweep seals once it has ended', async () => {
    const world = new World()
    const { run, root } = await world.run()
    const leaf = await world.leaf(root)
    world.rail.next.push(async () => ({ kind: 'unknown', reason: 'late' }))
    await world.pay(leaf)
    const { id } = await world.onlyPayment()
    const result = await world.gateway.cancel(run, 'olga')
    expect(result).toMatchObject({
      ok: true,
      waiting: [leaf.id, root],
      run: { state: 'cancelling' },
    })
    expect((await world.gateway.sweep()).finished).toEqual([])
    await world.ledger.execute('settle', {
      payment: id,
      amount: minor(1_000),
      railReference: 'r',
      now: seconds(START),
    })
    expect((await world.gateway.sweep()).finished).toEqual([run])
    const seal = parseJws((await world.ledger.run(run))?.seal ?? '', 'seal+jwt')
    expect(sealSchema.parse(seal?.claims).spent).toBe(1_000)
    expect((await world.gateway.sweep()).finished).toEqual([])
  })

  it('is taken from the principal’s own signature', async () => {
    const world = new World()
    const { run } = await world.run()
    const text = cancelText(run, {}, world.principal)
    expect(await world.gateway.cancelSigned(run, text)).toMatchObject({ ok: true })
    expect((await world.ledger.run(run))?.state).toBe('cancelled')
  })

  it('is rejected for any other signature, run, gateway or time', async () => {
    const world = new World()
    const { facts } = world.deps
    const eve = signer('e1')
    world.rebuild({
      facts: { ...facts, principals: [...facts.principals, { id: 'eve', keys: [eve.jwk] }] },
    })
    const { run } = await world.run()
    const { principal } = world
    const texts: [string, string][] = [
      [cancelText(run, {}, signer('p1')), 'signature'],
      [cancelText(run, { iss: 'eve' }, eve), 'iss'],
      [cancelText(run, { iss: 'nobody' }, eve), 'iss'],
      [cancelText('run_other', {}, principal), 'run'],
      [cancelText(run, { aud: 'gw2' }, principal), 'aud'],
      [cancelText(run, { iat: START + 3 }, principal), 'iat'],
      [cancelText(run, { more: 1 }, principal), 'cancel'],
      [cancelText(run, {}, principal, 'mandate+jwt'), 'cancel'],
    ]
    for (const [text, claim] of texts) {
      await expect(world.gateway.cancelSigned(run, text)).rejects.toMatchObject({ claim })
    }
    expect((await world.ledger.run(run))?.state).toBe('running')
  })

  it('of a run that is not there, or has ended otherwise, is refused', async () => {
    const world = new World()
    expect(await world.gateway.cancel('run_nowhere', 'olga')).toEqual({
      ok: false,
      code: 'not_found',
    })
    const { run, root } = await world.run()
    await world.gateway.close(root, 'olga')
    expect((await world.ledger.run(run))?.state).toBe('completed')
    expect(await world.gateway.cancel(run, 'olga')).toEqual({ ok: false, code: 'conflict' })
  })
})

describe('a sweep', () => {
  it('closes what has expired and gives its money back, and nothing else', async () => {
    const world = new World()
    const { root } = await world.run()
    const short = await world.leaf(root, {}, { expiresAtSeconds: seconds(START + 100) })
    const long = await world.leaf(root)
    world.clock.advance(99)
    expect((await world.gateway.sweep()).closed).toEqual([])
    world.clock.advance(1)
    expect((await world.gateway.sweep()).closed).toEqual([short.id])
    expect((await world.ledger.standing(short.id)).state).toBe('closed')
    expect((await world.ledger.standing(long.id)).state).toBe('live')
    expect((await world.ledger.account(root))?.available).toBe(99_000)
  })

  it('returns what is free below a revoked node to the nearest open one above', async () => {
    const world = new World()
    const { root } = await world.run()
    const planner = await world.child(root, 'planner', {}, 5)
    const leaf = await world.leaf(planner.id)
    await world.gateway.revoke(planner.id, 'olga')
    expect(brief(await world.pay(leaf))).toBe('403 deny revoked')
    await world.gateway.sweep()
    expect((await world.ledger.account(root))?.available).toBe(100_000)
    expect(brief(await world.pay(leaf))).toBe('403 deny run_closed')
  })

  it('ends and seals a run whose mandate has expired', async () => {
    const world = new World()
    const { run, root } = await world.run()
    await world.leaf(root)
    world.clock.advance(7_200)
    expect((await world.gateway.sweep()).finished).toEqual([run])
    expect(await world.ledger.run(run)).toMatchObject({ state: 'completed' })
  })

  it('begins at the topmost node that must end; what is below ends with it', async () => {
    const world = new World()
    const { root } = await world.run()
    const expiresAtSeconds = seconds(START + 100)
    const planner = await world.child(root, 'planner', { expiresAtSeconds }, 5)
    const leaf = await world.leaf(planner.id, {}, { expiresAtSeconds })
    world.clock.advance(100)
    expect((await world.gateway.sweep()).closed).toEqual([planner.id])
    expect((await world.ledger.standing(leaf.id)).state).toBe('closed')
  })

  it('does not finish a run whose reasons only the funnel knows', async () => {
    const world = new World()
    const { run, root } = await world.run()
    await world.ledger.execute('close', { node: root, by: 'funnel', now: seconds(START) })
    expect((await world.gateway.sweep()).finished).toEqual([])
    expect((await world.ledger.run(run))?.state).toBe('running')
  })

  it('leaves a run that the funnel is still working on alone', async () => {
    const world = new World()
    const { run, root } = await world.run()
    await world.leaf(root)
    expect(await world.gateway.sweep()).toEqual({ closed: [], finished: [] })
    expect((await world.ledger.run(run))?.state).toBe('running')
  })
})
