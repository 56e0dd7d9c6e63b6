import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBlock } from '../../runtime/client/encode.ts'
import { writeEnvelope } from '../../runtime/client/envelope.ts'
import { signFirstBlock } from '../../runtime/client/sign.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import {
  append,
  envelopeOf,
  holderOf,
  keyOf,
  leafAt,
  leafClaims,
  lookerClaims,
  NOW,
  plannerClaims,
  RING,
  ROOT_ID,
  root,
  rootClaims,
} from './fixtures.ts'
import { biscuit, rootPublicKey } from './warm.ts'

const verify = (token: string, ring = RING) => verifyToken(biscuit, ring, token)
const codeOf = (token: string, ring = RING) => {
  const verdict = verify(token, ring)
  return verdict.ok ? 'ok' : verdict.code
}

describe('an honest chain', () => {
  it('verifies, and says what every block says, block 0 first', () => {
    const { token, revocationIds } = leafAt(3)
    expect(verify(token)).toEqual({
      ok: true,
      token: {
        rootKeyId: ROOT_ID,
        blocks: [rootClaims(), plannerClaims(1), plannerClaims(2), leafClaims(3)],
        revocationIds,
        sealed: true,
      },
    })
  })

  it('verifies as a planner that is not sealed and as a looker that is', () => {
    expect(verify(root().token)).toMatchObject({ ok: true, token: { sealed: false } })
    const looker = append(root().token, lookerClaims(1)).token
    expect(verify(looker)).toMatchObject({ ok: true, token: { sealed: true } })
  })

  it('has the revocation ids and the bytes that the library has', () => {
    const { token, revocationIds } = leafAt(2)
    using parsed = biscuit.Biscuit.fromBase64(token, rootPublicKey())
    expect(parsed.getRevocationIdentifiers()).toEqual(revocationIds)
    expect(Buffer.from(parsed.toBytes()).toString('base64url')).toBe(token)
  })

  it('takes its text with padding, as the library writes it, and without', () => {
    for (const depth of [1, 2, 3]) {
      const { token } = leafAt(depth)
      using parsed = biscuit.Biscuit.fromBase64(token, rootPublicKey())
      expect(codeOf(parsed.toBase64())).toBe('ok')
    }
  })

  it('fits 32 payees a block at depth 8 into the longest token', () => {
    const payees = Array.from({ length: 32 }, (_, i) => `payee-${String(i).padStart(4, '0')}`)
    let { token } = root(rootClaims({ payees }))
    for (let n = 1; n < 9; n += 1) token = append(token, plannerClaims(n, { payees })).token
    expect(token.length).toBeLessThan(LIMITS.tokenChars)
    expect(codeOf(token)).toBe('ok')
  })
})

describe('the caps, before anything is parsed', () => {
  it('reads a text of the longest length and refuses one more character', () => {
    expect(codeOf('A'.repeat(LIMITS.tokenChars))).toBe('token_invalid')
    expect(codeOf('A'.repeat(LIMITS.tokenChars + 1))).toBe('too_large')
  })

  it('verifies a chain of the most blocks and refuses one more', () => {
    let { token } = root()
    for (let n = 1; n < LIMITS.tokenBlocks; n += 1) token = append(token, plannerClaims(n)).token
    expect(codeOf(token)).toBe('ok')
    const last = envelopeOf(token).blocks.at(-1)
    const { blocks, ...rest } = envelopeOf(token)
    const longer = writeEnvelope({ ...rest, blocks: last ? [...blocks, last] : blocks })
    expect(codeOf(longer.toString('base64url'))).toBe('too_large')
  })
})

describe('the root key', () => {
  const withRootKeyId = (rootKeyId: number | undefined) => {
    const { rootKeyId: _old, ...rest } = envelopeOf(root().token)
    const envelope = rootKeyId === undefined ? rest : { ...rest, rootKeyId }
    return writeEnvelope(envelope).toString('base64url')
  }

  it('is refused as unknown when its id is absent, was never known, or is retired', () => {
    expect(codeOf(withRootKeyId(undefined))).toBe('root_unknown')
    expect(codeOf(withRootKeyId(ROOT_ID + 1))).toBe('root_unknown')
    expect(codeOf(root().token, new Map())).toBe('root_unknown')
  })

  it('is never another than the one that the token names, even if that other would fit', () => {
    const other = Buffer.from(holderOf(201), 'base64url')
    const ring = new Map([...RING, [8, other] as const])
    expect(codeOf(withRootKeyId(8), ring)).toBe('token_invalid')
    expect(codeOf(root().token, new Map([[ROOT_ID, other]]))).toBe('token_invalid')
  })

  it('of a forger with the right id does not verify', () => {
    const payload = encodeBlock(rootClaims(), 0)
    const forged = signFirstBlock({ rootKey: keyOf(66), rootKeyId: ROOT_ID, payload })
    expect(codeOf(forged.token)).toBe('token_invalid')
  })

  it('may have the largest id and the id zero', () => {
    const payload = encodeBlock(rootClaims(), 0)
    for (const rootKeyId of [0, 0xffff_ffff]) {
      const { token } = signFirstBlock({ rootKey: keyOf(66), rootKeyId, payload })
      const ring = new Map([[rootKeyId, Buffer.from(holderOf(66), 'base64url')]])
      expect(verify(token, ring)).toMatchObject({ ok: true, token: { rootKeyId } })
    }
  })
})

describe('a text that is no token', () => {
  it('is refused, whatever it is, without an exception', () => {
    const texts = ['', '=', 'a', 'é', '\0', 'eyJhbGciOiJFZERTQSJ9.e30.x', 'A'.repeat(1000), '////']
    for (const text of texts) expect(codeOf(text)).toBe('token_invalid')
  })

  it('is refused for any bytes at all', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(['token_invalid', 'root_unknown']).toContain(
          codeOf(Buffer.from(bytes).toString('base64url')),
        )
      }),
      { numRuns: 1_000 },
    )
  })

  it('is refused for a token with any one bit changed', () => {
    const bytes = Buffer.from(leafAt(2).token, 'base64url')
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ (1 << bit)
        expect(codeOf(changed.toString('base64url'))).not.toBe('ok')
      }),
      { numRuns: 500 },
    )
  })
})

describe('narrowing', () => {
  const widenedAt = (token: string) => {
    const verdict = verify(token)
    return verdict.ok ? verdict.token.widenedAt : verdict.code
  }
  const child = (changes: Partial<BlockClaims>, make = plannerClaims) =>
    widenedAt(append(root().token, make(1, changes)).token)

  it('accepts a child with the same as its parent', () => {
    expect(child({})).toBeUndefined()
  })

  const wider: readonly [string, Partial<BlockClaims>][] = [
    ['a larger ceiling', { ceiling: minor(1_001) }],
    ['a later expiry', { expiresAtSeconds: later(rootClaims().expiresAtSeconds, 1) }],
    ['a payee more', { payees: ['acme', 'globex', 'initech', 'umbrella'] }],
    ['another payee', { payees: ['umbrella'] }],
    ['another currency', { currency: 'USD' }],
  ]
  for (const [what, changes] of wider) {
    it(`tells which block has ${what} than its parent`, () => {
      expect(child(changes)).toBe(1)
      expect(
        child({ ...changes, ...(changes.payees && { payees: ['umbrella'] }) }, leafClaims),
      ).toBe(1)
    })
  }

  it('tells of a looker that may spend', () => {
    expect(child({ ceiling: minor(1) }, lookerClaims)).toBe(1)
    expect(child({ ceiling: minor(0) }, lookerClaims)).toBeUndefined()
  })

  it('tells of any child of a leaf or a looker', () => {
    for (const make of [leafClaims, lookerClaims]) {
      const parent = append(root().token, make(1, { ceiling: minor(0) }), { sealed: false })
      const { token } = append(parent.token, leafClaims(2, { ceiling: minor(0) }))
      expect(widenedAt(token)).toBe(2)
    }
  })

  it('tells the first block that widens, not the last', () => {
    const one = append(root().token, plannerClaims(1, { ceiling: minor(10) }))
    const two = append(one.token, plannerClaims(2, { ceiling: minor(20) }))
    const three = append(two.token, leafClaims(3, { ceiling: minor(30) }))
    expect(widenedAt(three.token)).toBe(2)
  })

  it('measures against the parent, so a narrow parent bounds what its own parent allowed', () => {
    const one = append(root().token, plannerClaims(1, { payees: ['acme'] }))
    expect(widenedAt(append(one.token, leafClaims(2, { payees: ['globex'] })).token)).toBe(2)
  })
})

describe('sealing', () => {
  it('is refused as another grammar when a leaf or a looker is open, or a planner is sealed', () => {
    expect(codeOf(append(root().token, leafClaims(1), { sealed: false }).token)).toBe('grammar')
    expect(codeOf(append(root().token, lookerClaims(1), { sealed: false }).token)).toBe('grammar')
    expect(codeOf(append(root().token, plannerClaims(1), { sealed: true }).token)).toBe('grammar')
  })
})

describe('a root that is no planner', () => {
  it('is refused as another grammar', () => {
    const leaf = leafClaims(0, { mandate: QUOTE_DIGEST, run: 'run_one' })
    expect(codeOf(root(leaf).token)).toBe('grammar')
  })
})

const QUOTE_DIGEST = leafClaims(0).quote ?? ''

describe('expiry', () => {
  it('is not judged by the chain itself, which knows no clock', () => {
    const past = rootClaims({ expiresAtSeconds: later(NOW, -10) })
    expect(codeOf(root(past).token)).toBe('ok')
  })
})
