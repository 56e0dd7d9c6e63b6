import { beforeAll, describe, expect, it } from 'vitest'
import { createCanary, sings, warmUp } from '../../runtime/tokens/canary.ts'
import { type Biscuit, loadBiscuit } from '../../runtime/tokens/library.ts'

let biscuit: Biscuit
beforeAll(async () => {
  biscuit = await loadBiscuit()
})

/** The library with its engine replaced by one that always says the same. */
function alwaysAnswering(authorize: () => number): Biscuit {
  class AuthorizerBuilder {
    addCodeWithParameters() {}
    buildAuthenticated() {
      return { authorizeWithLimits: authorize, [Symbol.dispose]() {} }
    }
  }
  return Object.assign({ ...biscuit }, { AuthorizerBuilder }) as unknown as Biscuit
}

const refuse = (): never => {
  throw { FailedLogic: {} }
}

describe('the canary', () => {
  it('sings in a working library once that is warm', () => {
    const canary = createCanary()
    warmUp(biscuit, canary)
    expect(sings(biscuit, canary)).toBe(true)
  })

  it('is silent in a library that permits everything, refuses everything, or breaks', () => {
    const canary = createCanary()
    const broken = () => {
      throw new Error('broken')
    }
    for (const authorize of [() => 0, refuse, broken]) {
      expect(sings(alwaysAnswering(authorize), canary)).toBe(false)
    }
  })

  it('keeps a worker from being ready while it is silent', () => {
    expect(() =>
      warmUp(
        alwaysAnswering(() => 0),
        createCanary(),
      ),
    ).toThrow(expect.objectContaining({ name: 'Fault', code: 'engine_failed' }))
  })

  it('does not live under any root key but its own', () => {
    const [one, other] = [createCanary(), createCanary()]
    expect(sings(biscuit, { ...one, ring: other.ring })).toBe(false)
  })
})
