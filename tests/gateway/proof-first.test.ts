/** A proof is judged before its token costs anything. */
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { brief, World } from './world.ts'

async function holding() {
  const world = new World()
  const { root } = await world.run({})
  return { world, root, leaf: await world.leaf(root), looker: await world.child(root, 'looker') }
}

const thief = () => generateKeyPairSync('ed25519').privateKey

describe('a holder of a recorded node', () => {
  it('is recognised by the engine once it has proved itself, and a thief is not', async () => {
    const { world, leaf, looker } = await holding()
    world.engine.recognised.length = 0
    const stolen = { ...looker, key: thief() }
    await world.gateway.search(world.request(stolen, '/search', { query: 'tea' }))
    expect(world.engine.recognised).toEqual([])
    await world.gateway.pay(world.request(leaf, '/payments', { quote: leaf.quote }))
    expect(world.engine.recognised).toEqual([rawPublicKey(leaf.key)])
  })
})

describe('a stolen token', () => {
  it('with a proof that does not hold never reaches the engine', async () => {
    const { world, leaf } = await holding()
    world.engine.verified.length = 0
    const honest = world.request(leaf, '/payments', { quote: leaf.quote })
    const broken = honest.headers.map(([name, value]) =>
      name.toLowerCase() === 'dpop'
        ? ([name, `${value.slice(0, -4)}AAAA`] as const)
        : [name, value],
    ) as typeof honest.headers
    const elsewhere = world.request(leaf, '/search', { quote: leaf.quote })
    for (const raw of [
      { ...honest, headers: broken },
      { ...honest, headers: elsewhere.headers },
    ]) {
      expect(brief(await world.gateway.pay(raw))).toBe('401 unauthenticated')
    }
    expect(world.engine.verified).toEqual([])
    expect(world.gateway.pendingCounts().get('proof_invalid')).toBe(2)
  })

  it('with a good proof by another key is refused before anything is read of the store', async () => {
    const { world, leaf } = await holding()
    let reads = 0
    const { snapshot } = world.ledger
    Object.assign(world.ledger, {
      snapshot: (...of: Parameters<typeof snapshot>) => {
        reads += 1
        return snapshot.apply(world.ledger, of)
      },
    })
    const raw = world.request({ ...leaf, key: thief() }, '/payments', { quote: leaf.quote })
    expect(brief(await world.gateway.pay(raw))).toBe('401 unauthenticated')
    expect(reads).toBe(0)
    expect(world.gateway.pendingCounts().get('proof_invalid')).toBe(1)
  })
})
