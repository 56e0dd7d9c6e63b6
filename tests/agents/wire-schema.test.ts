import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { monitorVerdictSchema } from '../../agents/monitor-shapes.ts'
import { actionsSchema, choiceSchema } from '../../agents/shapes.ts'
import { type WireSchema, wireOf } from '../../agents/wire-schema.ts'
import type { Json } from '../../runtime/core/json.ts'
import { CONCERNS } from '../../runtime/core/judges.ts'
import { planSchema } from '../../runtime/core/plan.ts'

const words = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
const amount = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const absent = <T>(made: fc.Arbitrary<T>) => fc.option(made, { nil: undefined })

/** Without the properties that are undefined: absent is what our schemas mean. */
const compact = <T extends object>(made: fc.Arbitrary<T>) =>
  made.map((value) =>
    Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)),
  )

const need = compact(
  fc.record({
    text: words,
    quantity: fc.integer({ min: 1, max: 1_000_000 }),
    maxUnit: absent(amount),
    maxTotal: absent(amount),
    prefer: fc.array(words, { maxLength: 3 }),
  }),
)
const part = fc.oneof(
  compact(
    fc.record({
      kind: fc.constant('branch'),
      label: words,
      task: words,
      ceiling: amount,
      nodes: absent(fc.integer({ min: 1, max: 10_000 })),
    }),
  ),
  fc.record({ kind: fc.constant('purchase'), label: words, need, ceiling: amount }),
)
const action = fc.oneof(
  compact(
    fc.record({
      kind: fc.constant('search'),
      text: words,
      merchants: absent(fc.array(fc.stringMatching(/^[a-z0-9]{1,9}$/), { maxLength: 3 })),
    }),
  ),
  fc.record({ kind: fc.constant('read'), item: fc.nat() }),
  fc.record({
    kind: fc.constant('picks'),
    picks: fc.array(
      fc.record({ item: fc.nat(), reason: words, score: fc.integer({ min: 0, max: 1000 }) }),
      { maxLength: 2 },
    ),
  }),
)
const MADE: readonly [string, z.ZodType, fc.Arbitrary<unknown>][] = [
  [
    'a plan',
    planSchema,
    fc.oneof(
      fc.record({ kind: fc.constant('parts'), parts: fc.array(part, { maxLength: 4 }) }),
      fc.record({ kind: fc.constant('unreadable'), reason: words }),
    ),
  ],
  [
    'a looker’s actions',
    actionsSchema,
    fc.record({ actions: fc.array(action, { minLength: 1, maxLength: 3 }) }),
  ],
  ['a choice', choiceSchema, fc.record({ index: fc.oneof(fc.nat(), fc.constant('none')) })],
  [
    'a monitor’s verdict',
    monitorVerdictSchema,
    fc.oneof(
      fc.record({ verdict: fc.constant('allow'), concerns: fc.constant([]) }),
      fc.record({
        verdict: fc.constant('object'),
        concerns: fc.array(fc.constantFrom(...CONCERNS), { minLength: 1, maxLength: 3 }),
      }),
    ),
  ],
]

/** What a model held to the schema writes for a value: every property there, null for what is absent. */
function written(schema: WireSchema, value: Json | undefined): Json {
  if (value === undefined) return null
  if ('anyOf' in schema) {
    const branch = schema.anyOf.find((one) => isOf(one, value))
    if (branch === undefined) throw new Error('no branch takes the value')
    return written(branch, value)
  }
  if (Array.isArray(value) && schema.items !== undefined) {
    const items = schema.items
    return value.map((item) => written(items, item))
  }
  if (schema.properties === undefined) return value
  const fields = value as { readonly [name: string]: Json }
  return Object.fromEntries(
    Object.entries(schema.properties).map(([name, inner]) => [name, written(inner, fields[name])]),
  )
}

const ajv = new Ajv2020({ strict: false })
const isOf = (schema: WireSchema, value: Json): boolean => {
  const full = 'properties' in schema ? written(schema, value) : value
  return ajv.validate(schema, full)
}

const wrapped = (schema: WireSchema, value: Json): Json =>
  'properties' in schema && Object.keys(schema.properties ?? {}).join() === 'answer'
    ? { answer: value }
    : value

/** Every schema within a schema, itself first. */
function within(schema: WireSchema): WireSchema[] {
  const inner =
    'anyOf' in schema ? schema.anyOf : [schema.items, ...Object.values(schema.properties ?? {})]
  return [schema, ...inner.flatMap((one) => (one === undefined ? [] : within(one)))]
}

describe.each(MADE)('the schema of %s, as providers take it', (_, schema, values) => {
  const wire = wireOf(schema)

  it('is an object whose every property is required, in words that both providers know', () => {
    const words = new Set(['type', 'anyOf', 'enum', 'items', 'properties', 'required'])
    expect(wire.schema).toMatchObject({ type: 'object' })
    for (const one of within(wire.schema)) {
      const known = [...words, 'additionalProperties', 'description']
      expect(Object.keys(one).filter((key) => !known.includes(key))).toEqual([])
      if (!('properties' in one)) continue
      expect(one.required).toEqual(Object.keys(one.properties ?? {}))
      expect(one.additionalProperties).toBe(false)
    }
  })

  it('takes every value of ours with nulls for what is absent, and gives it back without them', () => {
    fc.assert(
      fc.property(values, (value) => {
        const answer = written(wire.schema, wrapped(wire.schema, value as Json))
        expect(ajv.validate(wire.schema, answer), ajv.errorsText()).toBe(true)
        expect(wire.unwrap(answer)).toEqual(value)
        expect(schema.safeParse(wire.unwrap(answer))).toEqual({ success: true, data: value })
      }),
      { numRuns: 200 },
    )
  })
})

describe('an answer to a wire schema', () => {
  const plan = wireOf(planSchema)
  const reads = (answer: Json) => planSchema.safeParse(plan.unwrap(answer)).success

  it('is refused where a wrapper is missing, or holds anything more', () => {
    const unreadable = { kind: 'unreadable', reason: 'no' }
    expect(reads({ answer: unreadable })).toBe(true)
    expect(reads(unreadable)).toBe(false)
    expect(reads({ answer: unreadable, more: 1 })).toBe(false)
    expect(reads([unreadable])).toBe(false)
  })

  it('is refused with a null for what has to be there, and with a property that is not ours', () => {
    expect(reads({ answer: { kind: 'unreadable', reason: null } })).toBe(false)
    expect(reads({ answer: { kind: 'unreadable', reason: 'no', payee: null } })).toBe(false)
    expect(reads({ answer: { kind: null, reason: 'no' } })).toBe(false)
  })

  it('is held to the bounds of our schema, which the provider is told in words only', () => {
    const { schema, unwrap } = wireOf(actionsSchema)
    const picked = (score: number) => {
      const picks = [{ item: 0, reason: '', score }]
      return actionsSchema.safeParse(unwrap({ actions: [{ kind: 'picks', picks }] })).success
    }
    expect(JSON.stringify(schema)).toContain('0 to 1000')
    expect(picked(1000)).toBe(true)
    expect(picked(1001)).toBe(false)
  })

  it('keeps a null that our schema means', () => {
    const schema = z.strictObject({ note: z.string().nullable(), more: z.string().nullish() })
    expect(wireOf(schema).unwrap({ note: null, more: null })).toEqual({ note: null, more: null })
  })
})

it.each([
  ['an open object', z.object({ a: z.string() }).loose()],
  ['a record', z.record(z.string(), z.string())],
  ['anything', z.strictObject({ a: z.unknown() })],
  ['a tuple', z.tuple([z.string()])],
])('refuses %s, which no provider takes strictly', (_, schema) => {
  expect(() => wireOf(schema)).toThrow()
})
