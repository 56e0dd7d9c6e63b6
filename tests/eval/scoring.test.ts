import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCase } from '../../eval/attacks/run.ts'
import type { AttackCase } from '../../eval/attacks/types.ts'
import type { Bench } from '../../eval/attacks/world/bench.ts'
import { type Scene, startScene, startWorld } from '../../eval/attacks/world/start.ts'
import type { World } from '../../eval/attacks/world/world.ts'

/** The scorer itself, on cases that lie about what they did: each lie must come out. */
describe('the scorer', () => {
  let scene: Scene
  let world: World

  beforeAll(async () => {
    scene = await startScene()
    world = await startWorld(scene, 'main')
  }, 60_000)

  afterAll(async () => {
    await world?.close()
    await scene?.close()
  })

  const attack = (run: AttackCase['run'], expected = { status: 403 }): AttackCase => ({
    id: 'T00',
    goal: 'Be scored',
    method: 'By doing this',
    expected,
    run,
  })

  const pay = async (bench: Bench) => {
    const { quote, leaf } = await bench.purchase()
    return bench.pay(leaf, quote)
  }

  it('finds nothing wrong with a case that went as it says', async () => {
    const honest = attack(async (bench) => bench.seen(await pay(bench), [bench.move()]), {
      status: 200,
    })
    expect(await runCase(honest, world)).not.toHaveProperty('why')
  })

  it('finds money on the rail’s book that a case does not speak of, whatever the case answers', async () => {
    const silent = attack(async (bench) => {
      await pay(bench)
      return { status: 403 }
    })
    const { why, moneyWrong } = await runCase(silent, world)
    expect(why).toContain('should have moved nothing and moved INR 1000')
    expect(moneyWrong).toBe(true)
  })

  it('misses money that a case claims and the rail’s book does not have', async () => {
    const boast = attack(async (bench) => ({ status: 403, moved: [bench.move()] }))
    expect((await runCase(boast, world)).why).toContain('moved nothing')
  })

  it('takes another code for wrong, and a case that breaks, and says why', async () => {
    const other = { status: 401, code: 'signer' }
    const wrongCode = attack(async () => ({ status: 401, code: 'grammar' }), other)
    expect((await runCase(wrongCode, world)).why).toBe('expected 401 signer, got 401 grammar')
    const broken = attack(() => Promise.reject(new TypeError('no such thing')))
    expect((await runCase(broken, world)).why).toBe('the case broke: no such thing')
  })

  it('finds books that do not add up', async () => {
    const edited = attack(async (bench) => {
      const { root } = await bench.purchase()
      world.editStore(
        'UPDATE accounts SET allotted = 0, available = available + allotted WHERE node = ?',
        root.claims.node,
      )
      return { status: 403 }
    })
    expect((await runCase(edited, world)).why).toContain('has not allotted what its children have')
  })
})
