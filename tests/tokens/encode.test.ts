import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBlock } from '../../runtime/client/decode.ts'
import { DEFAULT_SYMBOLS, encodeBlock } from '../../runtime/client/encode.ts'
import type { BlockClaims, NodeKind } from '../../runtime/core/block.ts'
import { CURRENCIES, minor } from '../../runtime/core/money.ts'
import { seconds } from '../../runtime/core/time.ts'
import { leafClaims, plannerClaims, rootClaims } from './fixtures.ts'
import { libraryBlock, sameAsOurs } from './library-builder.ts'
import { biscuit } from './warm.ts'

/** Words that the grammar or the default symbol table uses itself: a payee may be called any of them. */
const WORDS = [
  ...DEFAULT_SYMBOLS,
  ...['kind', 'payee', 'leaf', 'pay', 'quote', 'search', 'delegate', 'value', 'INR', 'req_amount'],
]
const identifier = fc.oneof(fc.stringMatching(/^[A-Za-z0-9_.-]{1,80}$/), fc.constantFrom(...WORDS))
const bytes32 = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('base64url'))
const suffix = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/)
const sortedPayees = (maxLength: number) =>
  fc
    .uniqueArray(identifier, { minLength: 1, maxLength })
    .map((ids) => ids.sort((a, b) => (a < b ? -1 : 1)))

/** Any claims that may stand at this place of a chain. */
const claimsAt = (index: number): fc.Arbitrary<BlockClaims> =>
  fc.constantFrom<NodeKind>(...(index === 0 ? ['planner' as const] : NODE_KINDS)).chain((kind) =>
    fc.record({
      node: suffix.map((text) => `nd_${text}` as const),
      kind: fc.constant(kind),
      currency: fc.constantFrom(...CURRENCIES),
      ceiling: fc.maxSafeNat().map(minor),
      holder: bytes32,
      expiresAtSeconds: fc.integer({ min: 0, max: 253_402_300_799 }).map(seconds),
      payees: sortedPayees(kind === 'leaf' ? 1 : 32),
      ...(kind === 'leaf' && { quote: bytes32 }),
      ...(index === 0 && {
        mandate: bytes32,
        run: suffix.map((text) => `run_${text}` as const),
      }),
    }),
  )

const NODE_KINDS: readonly NodeKind[] = ['planner', 'looker', 'leaf']

describe('the own encoder', () => {
  for (const index of [0, 1]) {
    it(`writes the library's bytes for any claims of block ${index}`, () => {
      fc.assert(
        fc.property(claimsAt(index), (claims) => sameAsOurs(biscuit, claims, index)),
        { numRuns: 300 },
      )
    })

    it(`reads back any claims that it wrote for block ${index}`, () => {
      fc.assert(
        fc.property(claimsAt(index), (claims) => {
          expect(decodeBlock(encodeBlock(claims, index), index)).toEqual(claims)
        }),
        { numRuns: 300 },
      )
    })
  }

  it('writes the library’s bytes where lengths need a second byte and numbers an eighth', () => {
    const payees = Array.from({ length: 32 }, (_, i) => `payee-${String(i).padStart(74, '0')}`)
    const ceiling = minor(Number.MAX_SAFE_INTEGER)
    expect(sameAsOurs(biscuit, plannerClaims(1, { payees, ceiling }), 1)).toBe(true)
  })

  it('orders a set by symbol number, as the library does, when a payee is a default symbol', () => {
    const claims = rootClaims({ payees: ['acme', 'node', 'read', 'zed'] })
    expect(sameAsOurs(biscuit, claims, 0)).toBe(true)
  })
})

describe('the decoder', () => {
  it('refuses any single changed byte unless it makes other claims', () => {
    const original = encodeBlock(leafClaims(1), 1)
    fc.assert(
      fc.property(
        fc.nat(original.length - 1),
        fc.integer({ min: 1, max: 255 }),
        (at, difference) => {
          const changed = Buffer.from(original)
          changed[at] = (changed[at] ?? 0) ^ difference
          const claims = decodeBlock(changed, 1)
          expect(claims === undefined || encodeBlock(claims, 1).equals(changed)).toBe(true)
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('refuses any other bytes without an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(decodeBlock(bytes, 1)).toBeUndefined()
      }),
      { numRuns: 2_000 },
    )
  })

  it('refuses a varint that never ends and one with padding', () => {
    const block = encodeBlock(plannerClaims(1), 1)
    const endless = Buffer.concat([block, Buffer.alloc(400, 0x80)])
    expect(decodeBlock(endless, 1)).toBeUndefined()
    expect(decodeBlock(Buffer.concat([Buffer.from([0x8a, 0x00]), block.subarray(1)]), 1)).toBe(
      undefined,
    )
  })

  it('refuses block 0 at another place and a later block at place 0', () => {
    expect(decodeBlock(encodeBlock(rootClaims(), 0), 1)).toBeUndefined()
    expect(decodeBlock(encodeBlock(plannerClaims(1), 1), 0)).toBeUndefined()
  })

  it('refuses the Datalog version of the other place', () => {
    expect(decodeBlock(encodeBlock(rootClaims(), 1), 0)).toBeUndefined()
    expect(decodeBlock(encodeBlock(plannerClaims(1), 0), 1)).toBeUndefined()
    expect(decodeBlock(libraryBlock(biscuit, plannerClaims(1), 1), 1)).toEqual(plannerClaims(1))
  })

  it('refuses text that is not UTF-8 where an identifier stands', () => {
    const block = encodeBlock(plannerClaims(1), 1)
    const at = block.indexOf('acme')
    block[at] = 0xff
    expect(decodeBlock(block, 1)).toBeUndefined()
  })
})
