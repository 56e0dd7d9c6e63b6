import { describe, expect, it } from 'vitest'
import { CASES } from '../../eval/attacks/cases/all.ts'
import { NOT_APPLICABLE } from '../../eval/attacks/cases/not-applicable.ts'
import { anyPublicKey, compile, planText } from '../../eval/attacks/forge/datalog.ts'
import { signRaw, tamper } from '../../eval/attacks/forge/jws.ts'
import { newKey } from '../../eval/attacks/forge/tokens.ts'
import { LAYERS, WORLDS } from '../../eval/attacks/types.ts'
import { encodeBlock } from '../../runtime/client/encode.ts'
import { CHECKS } from '../../runtime/core/codes.ts'
import { allottedNodeIdOf } from '../../runtime/core/ids.ts'
import { parseJws, verifyJws } from '../../runtime/core/jws.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import { seconds } from '../../runtime/core/time.ts'

describe('the list of attacks', () => {
  it('gives each case a number of its own, a goal and a method', () => {
    const ids = CASES.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !/^[A-Z]\d{2}[a-z]?$/.test(id))).toEqual([])
    for (const { goal, method } of CASES) {
      expect(goal.length).toBeGreaterThan(10)
      expect(method.length).toBeGreaterThan(10)
    }
  })

  it('has cases on every layer and in every world', () => {
    const layers = new Set(CASES.map(({ layer }) => layer))
    expect(LAYERS.filter((layer) => !layers.has(layer))).toEqual([])
    const worlds = new Set(CASES.map(({ world }) => world ?? 'main'))
    expect(WORLDS.filter((world) => !worlds.has(world))).toEqual([])
    expect(CASES.length).toBeGreaterThanOrEqual(45)
  })

  it('has at least two cases for the worth of each check', () => {
    const counts = CHECKS.map(({ name }) => CASES.filter(({ guards }) => guards === name).length)
    expect(counts.filter((count) => count < 2)).toEqual([])
  })

  it('expects an answer that lets nothing through of every attack that no rail or run is asked about', () => {
    const letting = CASES.filter(({ layer, expected }) => {
      const isStructural = layer === 'token' || layer === 'monitor'
      return isStructural && (expected.status === 200 || expected.verdict === 'allow')
    })
    expect(letting.map(({ id }) => id)).toEqual([])
  })

  it('says of no case both that it is tried and that it cannot be', () => {
    const tried = new Set(CASES.map(({ id }) => id))
    expect(NOT_APPLICABLE.filter(({ id }) => tried.has(id))).toEqual([])
    expect(NOT_APPLICABLE.filter(({ reason }) => reason.length < 15)).toEqual([])
  })
})

describe('the forge', () => {
  const claims = {
    node: allottedNodeIdOf('nd_root', 0),
    kind: 'planner' as const,
    currency: 'INR' as const,
    ceiling: minor(5_000),
    holder: rawPublicKey(newKey()),
    expiresAtSeconds: seconds(1_900_000_000),
    payees: ['eval-other', 'eval-shop'],
  }

  it('writes a planner’s block as we mint it, so that a refused one is refused for its value', async () => {
    const compiled = await compile(planText(claims))
    expect(Buffer.from(compiled).equals(encodeBlock(claims, 1))).toBe(true)
    const negative = await compile(planText({ ...claims, ceiling: -5_000 }))
    expect(negative.length).toBeGreaterThan(compiled.length)
  })

  it('compiles scopes over keys, which our grammar does not have', async () => {
    const payload = await compile(`check if approved("human") trusting ${anyPublicKey()}`)
    expect(payload.length).toBeGreaterThan(60)
  })

  it('signs any text as a quote, and changes a signed one without its signature', () => {
    const key = newKey()
    const header = { alg: 'EdDSA', typ: 'quote+jwt' }
    const jws = signRaw({ key, header, payload: '{"amount":1000}' })
    const honest = parseJws(jws, 'quote+jwt')
    const changed = parseJws(
      tamper(jws, (text) => text.replace('1000', '9000')),
      'quote+jwt',
    )
    expect(honest && verifyJws(honest, key)).toBe(true)
    expect(changed?.claims).toEqual({ amount: 9_000 })
    expect(changed && verifyJws(changed, key)).toBe(false)
  })
})
