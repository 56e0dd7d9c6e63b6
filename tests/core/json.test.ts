import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, JsonError, parseJson } from '../../runtime/core/json.ts'
import { LIMITS } from '../../runtime/core/limits.ts'

const reasonOf = (text: string | Uint8Array): string => {
  try {
    parseJson(text)
    return 'accepted'
  } catch (error) {
    return error instanceof JsonError ? error.reason : 'another error'
  }
}

const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger().map((n) => (Object.is(n, -0) ? 0 : n)),
    fc.string({ unit: 'binary' }).filter((s) => s.isWellFormed()),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(
      fc
        .string({ unit: 'grapheme' })
        .filter((key) => !['__proto__', 'constructor', 'prototype'].includes(key)),
      tie('value'),
      { maxKeys: 5 },
    ),
  ),
})).value

describe('parseJson', () => {
  it('reads back whatever canonicalJson writes', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value)
        expect(canonicalJson(parseJson(text))).toBe(text)
      }),
    )
  })

  it('accepts only what JSON.parse accepts', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b"',
      '1',
      '-1',
      ' ',
      'null',
      '0',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 9 }), (parts) => {
        const text = parts.join('')
        if (reasonOf(text) === 'accepted') expect(() => JSON.parse(text)).not.toThrow()
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['{"payee":"a","payee":"b"}', 'duplicate_key'],
    ['{"a":1,"\\u0061":2}', 'duplicate_key'],
    ['{"__proto__":{}}', 'dangerous_key'],
    ['{"a":{"constructor":1}}', 'dangerous_key'],
    ['1e3', 'number'],
    ['1.5', 'number'],
    ['-0', 'number'],
    ['9007199254740992', 'number'],
    ['01', 'syntax'],
    ['+1', 'syntax'],
    ['NaN', 'syntax'],
    ['{"a":1,}', 'syntax'],
    ['{} {}', 'syntax'],
    ['"\\ud800"', 'syntax'],
    ['"a\nb"', 'syntax'],
    ['', 'syntax'],
  ])('refuses %s', (text, reason) => {
    expect(reasonOf(text)).toBe(reason)
  })

  it('refuses a byte-order mark, UTF-16 and bytes that are not UTF-8', () => {
    expect(reasonOf(Buffer.from('\ufeff{}'))).toBe('syntax')
    expect(reasonOf(Buffer.from('{}', 'utf16le'))).toBe('syntax')
    expect(reasonOf(Buffer.from([0x22, 0xff, 0x22]))).toBe('syntax')
  })

  it('reads nesting to the limit and refuses one level more, however many follow', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    expect(reasonOf(nested(LIMITS.jsonDepth))).toBe('accepted')
    expect(reasonOf(nested(LIMITS.jsonDepth + 1))).toBe('depth')
    expect(reasonOf(nested(100_000))).toBe('depth')
  })

  it('gives objects no prototype to pollute or to inherit from', () => {
    expect(Object.getPrototypeOf(parseJson('{"a":1}'))).toBeNull()
  })
})

describe('canonicalJson', () => {
  it('orders keys by UTF-16 code units as RFC 8785 section 3.2.3 has it', () => {
    expect(canonicalJson({ b: 1, a: [true, null], '€': 'x', '\r': 2 })).toBe(
      '{"\\r":2,"a":[true,null],"b":1,"€":"x"}',
    )
  })

  it.each([
    [undefined],
    [1.5],
    [2 ** 53],
    [-0],
    [Number.NaN],
    ['\ud800'],
    [1n],
    [{ a: undefined }],
    [{ constructor: 1 }],
  ])('refuses %s, which would not come back as it went', (value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError)
  })
})
