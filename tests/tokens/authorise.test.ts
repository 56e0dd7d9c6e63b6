import { describe, expect, it } from 'vitest'
import type { Operation, RequestFacts } from '../../runtime/core/block.ts'
import { OPERATIONS } from '../../runtime/core/block.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { type Minor, minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import { authorise, RUN_LIMITS } from '../../runtime/tokens/authorise.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import {
  append,
  leafAt,
  leafClaims,
  lookerClaims,
  NOW,
  payRequest,
  plannerClaims,
  RING,
  ROOT_ID,
  root,
} from './fixtures.ts'
import { biscuit } from './warm.ts'

const permits = (token: string, request: RequestFacts) => {
  const verdict = verifyToken(biscuit, RING, token, request)
  return verdict.ok ? verdict.token.authorised : verdict.code
}

const withoutQuote = ({ quote: _quote, ...rest }: RequestFacts): RequestFacts => rest
const searchRequest = (operation: Operation = 'search'): RequestFacts =>
  withoutQuote(payRequest({ operation, amount: minor(0) }))

describe('a leaf', () => {
  it('may pay its quote up to its ceiling until its last second', () => {
    const { token } = leafAt(2)
    expect(permits(token, payRequest())).toBe(true)
    expect(permits(token, payRequest({ amount: minor(1) }))).toBe(true)
    expect(permits(token, payRequest({ nowSeconds: later(NOW, 3_600) }))).toBe(true)
  })

  const refused: readonly [string, Partial<RequestFacts>][] = [
    ['one unit more', { amount: minor(251) }],
    ['nothing', { amount: minor(0) }],
    ['a negative amount', { amount: -1 as Minor }],
    ['another currency', { currency: 'USD' }],
    ['another payee that its parent may pay', { payee: 'globex' }],
    ['another quote', { quote: sha256('another') }],
    ['one second later', { nowSeconds: later(NOW, 3_601) }],
  ]
  for (const [what, changes] of refused) {
    it(`may not pay ${what}`, () => {
      expect(permits(leafAt(2).token, payRequest(changes))).toBe(false)
    })
  }

  it('may not pay without naming its quote', () => {
    expect(permits(leafAt(1).token, withoutQuote(payRequest()))).toBe(false)
  })

  it('may do nothing but pay', () => {
    for (const operation of OPERATIONS) {
      expect(permits(leafAt(1).token, payRequest({ operation }))).toBe(operation === 'pay')
    }
  })

  it('is bound by the blocks above even where its own block is wider', () => {
    const narrow = append(root().token, plannerClaims(1, { ceiling: minor(100), payees: ['acme'] }))
    const wide = append(narrow.token, leafClaims(2, { ceiling: minor(500) })).token
    expect(permits(wide, payRequest({ amount: minor(100) }))).toBe(true)
    expect(permits(wide, payRequest({ amount: minor(101) }))).toBe(false)
    const elsewhere = append(narrow.token, leafClaims(2, { payees: ['globex'] })).token
    const request = payRequest({ amount: minor(1), payee: 'globex' })
    expect(permits(elsewhere, request)).toBe(false)
  })

  it('below a looker may not pay, whatever it says', () => {
    const looker = append(root().token, lookerClaims(1), { sealed: false })
    expect(permits(append(looker.token, leafClaims(2)).token, payRequest())).toBe(false)
  })
})

describe('a looker', () => {
  it('may search and ask for quotes and do nothing else', () => {
    const { token } = append(root().token, lookerClaims(1))
    const allowed = OPERATIONS.filter((operation) => permits(token, searchRequest(operation)))
    expect(allowed).toEqual(['search', 'quote'])
  })

  it('may not name an amount', () => {
    const { token } = append(root().token, lookerClaims(1))
    expect(permits(token, { ...searchRequest(), amount: minor(1) })).toBe(false)
  })
})

describe('a planner', () => {
  it('may do everything within its ceiling, for every payee of its own', () => {
    const { token } = append(root().token, plannerClaims(1))
    for (const operation of OPERATIONS) {
      expect(permits(token, withoutQuote(payRequest({ operation })))).toBe(true)
    }
    for (const payee of plannerClaims(1).payees) {
      expect(permits(token, searchRequest()), payee).toBe(true)
    }
    const umbrella = { ...searchRequest(), payee: 'umbrella' }
    expect(permits(token, umbrella)).toBe(false)
    expect(permits(token, payRequest({ amount: minor(1_001) }))).toBe(false)
  })
})

describe('a run limit', () => {
  const parsed = () => {
    const key = biscuit.PublicKey.fromBytes(RING.get(ROOT_ID) ?? new Uint8Array(), 0)
    return biscuit.Biscuit.fromBase64(leafAt(1).token, key)
  }

  it('that is reached is a fault, not a refusal', () => {
    const limits = { ...RUN_LIMITS, microseconds: 0 }
    using token = parsed()
    expect(() => authorise(biscuit, token, payRequest(), limits)).toThrow(
      expect.objectContaining({ name: 'Fault', code: 'engine_timeout', retryable: true }),
    )
  })

  it('leaves room for the largest chain of ours', () => {
    const payees = Array.from({ length: 32 }, (_, i) => `p${String(i).padStart(2, '0')}`)
    let { token } = root({ ...plannerClaims(0), payees, mandate: sha256('m'), run: 'run_one' })
    for (let n = 1; n < 16; n += 1) token = append(token, plannerClaims(n, { payees })).token
    token = append(token, leafClaims(16, { payees: ['p31'] })).token
    expect(permits(token, payRequest({ payee: 'p31' }))).toBe(true)
  })
})
