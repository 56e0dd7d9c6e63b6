import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CASES } from '../../eval/attacks/cases/all.ts'
import { NOT_APPLICABLE } from '../../eval/attacks/cases/not-applicable.ts'
import { anyPublicKey, blockText, compile } from '../../eval/attacks/forge/datalog.ts'
import { signRaw, tamper } from '../../eval/attacks/forge/jws.ts'
import { newKey } from '../../eval/attacks/forge/tokens.ts'
import { LAYERS, layerOf, WORLDS } from '../../eval/attacks/types.ts'
import { encodeBlock } from '../../runtime/client/encode.ts'
import { CHECKS } from '../../runtime/core/codes.ts'
import { allottedNodeIdOf, sha256 } from '../../runtime/core/ids.ts'
import { parseJws, verifyJws } from '../../runtime/core/jws.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import { seconds } from '../../runtime/core/time.ts'

const LIST = process.env.ATTACK_CASES

/** Every number of the public list of cases, by the letter of its layer. */
const PUBLIC: { readonly [letter: string]: string } = {
  T: '01 02 03 04 05 06 07 08 10 11 12 13 14 15 16 17 18 19 20 21 23 24 25 26 27 29 30 32 33 34 35 36 38',
  Q: '01 02 03 05 06 07 08 09 10 11 13 14 16 17 18 19 20 22 23 24 25 26 27 29 30 31 33',
  L: '01 02 03 05 07 08 09 11 12 13 15 16 18 19 20 21 22 23',
  A: '01 02 03 04 05 06 07 08 09 10 11 13 14 15 16 18 19 20 21 22 24 25 26 28 29 32 33 35 36',
  M: '01 02 03 04 05 07 08 10 11 13 14',
  O: '01 02 03 04 05 06 07 08 10 12 13 14 15 16 17 18 19 20',
  R: '01 02 03 04 05 07 08 09 10 12 13 14 15 16 17',
  F: '01 02 03 06 07 09 10 12 13 14 16 18 19 21 23 24 25 28 29 30',
}
const PUBLIC_IDS = Object.entries(PUBLIC).flatMap(([letter, numbers]) =>
  numbers.split(' ').map((number) => `${letter}${number}`),
)

describe('the list of attacks', () => {
  it('tries every case of the public list, or says why it cannot', () => {
    const known = new Set([...CASES, ...NOT_APPLICABLE].map(({ id }) => id))
    expect(PUBLIC_IDS.filter((id) => !known.has(id))).toEqual([])
  })

  // The list itself is nobody's to copy in here; whoever has the file names it in ATTACK_CASES.
  it.skipIf(LIST === undefined)(
    '(needs ATTACK_CASES, a file) knows every case of the list itself',
    () => {
      const listed = z
        .array(z.object({ id: z.string() }))
        .parse(JSON.parse(readFileSync(LIST ?? '', 'utf8')))
      expect(listed.map(({ id }) => id).sort()).toEqual([...PUBLIC_IDS].sort())
    },
  )

  it('says of no case of the public list that it cannot be tried where it could be sent', () => {
    const variants = new Set(CASES.map(({ id }) => id.slice(0, 3)))
    const sent = NOT_APPLICABLE.filter(({ layer }) => layer === 'token' || layer === 'request')
    expect(sent.filter(({ id }) => !variants.has(id))).toEqual([])
  })

  it('tells the layer of a case by the letter of its number, and knows no other letter', () => {
    expect([...'TQLAMORF'].map((letter) => layerOf(`${letter}01`))).toEqual(LAYERS)
    expect(() => layerOf('X01')).toThrow('expected a case of a layer')
  })

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
    const layers = new Set(CASES.map(({ id }) => layerOf(id)))
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
    const letting = CASES.filter(({ id, expected }) => {
      const isStructural = ['token', 'monitor'].includes(layerOf(id))
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

  it('writes planners and leaves as we mint them, so that a refused one is refused for its change', async () => {
    const leaf = { ...claims, kind: 'leaf' as const, quote: sha256('q'), payees: ['eval-shop'] }
    for (const honest of [claims, leaf]) {
      const compiled = await compile(blockText(honest))
      expect(Buffer.from(compiled).equals(encodeBlock(honest, 1))).toBe(true)
    }
    const negative = await compile(blockText({ ...claims, ceiling: -5_000 }))
    expect(negative.length).toBeGreaterThan(encodeBlock(claims, 1).length)
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
