import { beforeAll, describe, expect, it } from 'vitest'
import { createCanary, warmUp } from '../../runtime/tokens/canary.ts'
import { type Biscuit, libraryMemory, loadBiscuit } from '../../runtime/tokens/library.ts'
import { createReserve } from '../../runtime/tokens/reserve.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import { leafAt, payRequest, RING } from './fixtures.ts'

let biscuit: Biscuit
let memoryBytes: () => number
beforeAll(async () => {
  biscuit = await loadBiscuit()
  memoryBytes = await libraryMemory()
  warmUp(biscuit, createCanary())
})

const { token } = leafAt(2)
const verifyTimes = (n: number) => {
  for (let i = 0; i < n; i += 1) verifyToken(biscuit, RING, token, payRequest())
}

describe('the library’s memory', () => {
  it('is measured: it grows with the calls, which leak', () => {
    const before = memoryBytes()
    verifyTimes(60)
    expect(memoryBytes()).toBeGreaterThan(before)
  })

  it('does not grow for the next calls once there is a reserve', () => {
    createReserve(biscuit, memoryBytes).refill()
    const before = memoryBytes()
    verifyTimes(60)
    expect(memoryBytes()).toBe(before)
  })

  it('gets no second reserve while the first one lasts', () => {
    const reserve = createReserve(biscuit, memoryBytes)
    reserve.refill()
    const before = memoryBytes()
    for (let i = 0; i < 20; i += 1) reserve.refill()
    expect(memoryBytes()).toBe(before)
  })

  it('gets another when the calls have used the first one up', () => {
    let size = 1
    let refills = 0
    const fromBytes = () => {
      refills += 1
      size += 1
      throw { InvalidKeySize: 1 }
    }
    const stub = { ...biscuit, PublicKey: { fromBytes } } as unknown as Biscuit
    const reserve = createReserve(stub, () => size)
    reserve.refill()
    reserve.refill()
    expect(refills).toBe(1)
    size += 1
    reserve.refill()
    expect(refills).toBe(2)
  })
})
