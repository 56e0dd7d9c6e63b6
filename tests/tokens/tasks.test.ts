/** What a worker makes of a library that fails in the middle of a task. */
import { describe, expect, it } from 'vitest'
import type { RequestFacts } from '../../runtime/core/block.ts'
import type { Minor } from '../../runtime/core/money.ts'
import type { Biscuit } from '../../runtime/tokens/library.ts'
import type { Task } from '../../runtime/tokens/messages.ts'
import { setupOf } from '../../runtime/tokens/root-keys.ts'
import { createEngine, type Engine, outcomeOf } from '../../runtime/tokens/tasks.ts'
import { keyOf, leafAt, NOW, payRequest, ROOT_ID, ROOT_KEY, rootClaims } from './fixtures.ts'
import { biscuit } from './warm.ts'

const rootKeys = { current: { id: ROOT_ID, privateKey: ROOT_KEY }, others: [] }
const engine = createEngine(biscuit, setupOf(rootKeys))

const verifyTask = (): Task => ({ kind: 'verify', token: leafAt(1).token, request: payRequest() })

/** The library, whose parser throws `thrown` the first `times` times that it is called. */
function failing(thrown: unknown, times: number): Engine {
  let left = times
  const { Biscuit: real } = biscuit
  const parse: typeof real.fromBytesWithProvider = (bytes, provider) => {
    if (left-- > 0) throw thrown
    return real.fromBytesWithProvider(bytes, provider)
  }
  const stub = { ...biscuit, Biscuit: { fromBytesWithProvider: parse } } as unknown as Biscuit
  return { ...engine, biscuit: stub }
}

const trap = () => Object.assign(new Error('unreachable'), { name: 'RuntimeError' })

describe('an engine', () => {
  it('does not start with a root key that the library could not use later', () => {
    const { ring, ...rest } = setupOf(rootKeys)
    const noPoint = new Uint8Array(32).fill(2)
    for (const key of [noPoint, noPoint.subarray(1)]) {
      expect(() =>
        createEngine(biscuit, { ...rest, ring: [...ring, { id: 8, publicKey: key }] }),
      ).toThrow()
    }
  })
})

describe('a task', () => {
  it('is answered by a working library', () => {
    expect(outcomeOf(engine, verifyTask(), NOW)).toMatchObject({
      kind: 'verdict',
      verdict: { ok: true, token: { authorised: true } },
    })
  })

  it('whose token makes a working library fail oddly is a refused token', () => {
    for (const thrown of ['AlreadySealed', new TypeError('x'), { Unheard: 'of' }, undefined]) {
      expect(outcomeOf(failing(thrown, 1), verifyTask(), NOW)).toEqual({
        kind: 'verdict',
        verdict: { ok: false, code: 'token_invalid' },
      })
    }
  })

  it('after which the canary is silent shows a broken library, whatever the token was', () => {
    expect(outcomeOf(failing('odd', 2), verifyTask(), NOW)).toEqual({ kind: 'broken' })
  })

  it('in which WebAssembly trapped shows a broken library even if the canary still sings', () => {
    expect(outcomeOf(failing(trap(), 1), verifyTask(), NOW)).toEqual({ kind: 'broken' })
  })

  it('whose request the engine cannot take is our fault, never a refused token', () => {
    const wrong = [{ amount: 0.5 as Minor }, { amount: (2 ** 53) as Minor }, { nowSeconds: NaN }]
    for (const changes of wrong) {
      const request = payRequest(changes as Partial<RequestFacts>)
      const task: Task = { kind: 'verify', token: leafAt(1).token, request }
      expect(outcomeOf(engine, task, NOW)).toMatchObject({ kind: 'fault', code: 'engine_failed' })
    }
    expect(outcomeOf(engine, verifyTask(), NOW)).toMatchObject({ verdict: { ok: true } })
  })

  it('that mints and fails oddly is our fault, not a refusal', () => {
    const task: Task = { kind: 'mint_root', claims: rootClaims() }
    expect(outcomeOf(failing('odd', 1), task, NOW)).toMatchObject({
      kind: 'fault',
      code: 'engine_failed',
    })
  })

  it('that cannot be minted is rejected by its code and the claim’s name', () => {
    const task: Task = { kind: 'mint_root', claims: rootClaims({ payees: [] }) }
    expect(outcomeOf(engine, task, NOW)).toMatchObject({
      ...{ kind: 'rejected', code: 'claims', claim: 'payees' },
    })
  })

  it('that mints under a root key which does not verify its own tokens hands none out', () => {
    const wrongRing = { ...engine, root: { id: ROOT_ID, privateKey: keyOf(66) } }
    const task: Task = { kind: 'mint_root', claims: rootClaims() }
    expect(outcomeOf(wrongRing, task, NOW)).toMatchObject({
      kind: 'rejected',
      code: 'token_invalid',
    })
  })
})
