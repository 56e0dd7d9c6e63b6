import { describe, expect, it } from 'vitest'
import { sha256 } from '../../runtime/core/ids.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { START, signer, World } from './world.ts'

describe('a run', () => {
  it('begins with a root that has the mandate’s ceiling, payees, expiry and digest', async () => {
    const world = new World()
    const text = world.mandate({ payees: ['stall', 'shop'] })
    const result = await world.gateway.createRun(text)
    if (!result.ok) throw new Error(result.code)
    const root = await world.ledger.node(result.node)
    expect(root).toMatchObject({ kind: 'planner', ceiling: 100_000, payees: ['shop', 'stall'] })
    const token = (await world.ledger.token(result.node)) ?? ''
    const verdict = await world.engine.verify(token)
    expect(verdict).toMatchObject({
      ok: true,
      token: {
        blocks: [
          {
            node: result.node,
            run: result.run.id,
            mandate: sha256(text),
            expiresAtSeconds: START + 7_200,
            holder: world.deps.holderKeys.publicKey(result.node),
          },
        ],
      },
    })
    expect(result.run).toMatchObject({ mandate: text, state: 'running' })
    expect(Object.keys(result.run.bindings)).toEqual(['stall', 'shop'])
    expect(result.token).toBeUndefined()
  })

  it('is the same run when its mandate is posted again, even all at once or after its expiry', async () => {
    const world = new World()
    const text = world.mandate()
    const results = await Promise.all([1, 2, 3].map(() => world.gateway.createRun(text)))
    const ids = new Set(results.map((result) => result.ok && result.run.id))
    expect(ids.size).toBe(1)
    expect(results.filter((result) => result.ok && result.created)).toHaveLength(1)
    world.clock.advance(10_000)
    expect(await world.gateway.createRun(text)).toMatchObject({ ok: true, created: false })
  })

  it('is never another mandate’s: the same jti under other words is rejected', async () => {
    const world = new World()
    await world.gateway.createRun(world.mandate({ jti: 'm1' }))
    const other = world.gateway.createRun(world.mandate({ jti: 'm1', ceiling: 5 }))
    await expect(other).rejects.toMatchObject({ claim: 'jti' })
  })

  it('raced for by two mandates of one jti is one of theirs', async () => {
    const world = new World()
    const results = await Promise.allSettled([
      world.gateway.createRun(world.mandate({ jti: 'm1' })),
      world.gateway.createRun(world.mandate({ jti: 'm1', ceiling: 5 })),
    ])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  it('gives its token away only where the mandate names the holder', async () => {
    const world = new World()
    const outside = signer('o')
    const holder = rawPublicKey(outside.key)
    const text = world.mandate({ holder })
    const first = await world.gateway.createRun(text)
    if (!first.ok || first.token === undefined) throw new Error('no token')
    const again = await world.gateway.createRun(text)
    expect(again).toMatchObject({ token: first.token })
    expect(await world.ledger.node(first.node)).toMatchObject({ holder, custody: 'outside' })
    const verdict = await world.engine.verify(first.token)
    expect(verdict).toMatchObject({ ok: true, token: { blocks: [{ holder }] } })
  })

  it('does not begin while the gateway is frozen', async () => {
    const world = new World()
    await world.gateway.freeze('gateway', 'olga')
    expect(await world.gateway.createRun(world.mandate())).toEqual({ ok: false, code: 'frozen' })
  })
})
