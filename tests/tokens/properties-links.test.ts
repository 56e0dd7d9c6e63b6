/** Every rule at every link: a chain of depth 6 that is broken in one thing at one place, and honest elsewhere. */
import { beforeAll, describe, expect, it } from 'vitest'
import { widenedClaim } from '../../runtime/client/claims.ts'
import { encodeBlock } from '../../runtime/client/encode.ts'
import { signFirstBlock, signNextBlock } from '../../runtime/client/sign.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { minor } from '../../runtime/core/money.ts'
import { later } from '../../runtime/core/time.ts'
import { createCanary, warmUp } from '../../runtime/tokens/canary.ts'
import { type Biscuit, loadBiscuit } from '../../runtime/tokens/library.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import {
  envelopeOf,
  holderOf,
  keyOf,
  leafClaims,
  lookerClaims,
  NOW,
  payRequest,
  plannerClaims,
  QUOTE,
  RING,
  ROOT_ID,
  ROOT_KEY,
  rootClaims,
  withBlocks,
} from './fixtures.ts'
import { honestSource, libraryPayload } from './library-builder.ts'

let biscuit: Biscuit
beforeAll(async () => {
  biscuit = await loadBiscuit()
  warmUp(biscuit, createCanary())
})

const DEPTH = 6
const LINKS = [1, 2, 3, 4, 5, 6]

/** Less at each step in all that can be less. */
function honestAt(n: number): BlockClaims {
  const narrowed = { ceiling: minor(1_000 - 50 * n), expiresAtSeconds: later(NOW, 3_600 - n) }
  if (n === 0) return rootClaims(narrowed)
  return n === DEPTH
    ? leafClaims(n, { expiresAtSeconds: narrowed.expiresAtSeconds })
    : plannerClaims(n, narrowed)
}

interface Break {
  readonly claims?: (honest: BlockClaims, above: BlockClaims) => BlockClaims
  readonly payload?: (claims: BlockClaims, index: number) => Uint8Array
  readonly signer?: number
}

function chainWith(at: number, { claims, payload, signer }: Break = {}): string {
  let token = ''
  for (let n = 0; n <= DEPTH; n += 1) {
    const honest = honestAt(n)
    const said = n === at && claims ? claims(honest, honestAt(n - 1)) : honest
    const bytes = n === at && payload ? payload(said, n) : encodeBlock(said, n)
    token =
      n === 0
        ? signFirstBlock({ rootKey: ROOT_KEY, rootKeyId: ROOT_ID, payload: bytes }).token
        : signNextBlock({
            parent: envelopeOf(token),
            holder: keyOf(n === at && signer !== undefined ? signer : n),
            payload: bytes,
            sealed: n === DEPTH,
          }).token
  }
  return token
}

const verdictOf = (token: string, request = payRequest()) =>
  verifyToken(biscuit, RING, token, request)
const codeOf = (token: string) => {
  const verdict = verdictOf(token)
  return verdict.ok ? (verdict.token.widenedAt ?? 'ok') : verdict.code
}

it('a chain of depth 6 that is honest at every link is accepted', () => {
  const verdict = verdictOf(chainWith(-1))
  expect(verdict).toMatchObject({ ok: true, token: { authorised: true } })
  expect(codeOf(chainWith(-1))).toBe('ok')
})

const WIDER: readonly [string, (honest: BlockClaims, above: BlockClaims) => BlockClaims][] = [
  ['ceiling', (own, above) => ({ ...own, ceiling: minor(above.ceiling + 1) })],
  ['expiry', (own, above) => ({ ...own, expiresAtSeconds: later(above.expiresAtSeconds, 1) })],
  ['currency', (own) => ({ ...own, currency: 'USD' })],
  ['payees', (own) => ({ ...own, payees: own.kind === 'leaf' ? ['zz'] : [...own.payees, 'zz'] })],
]

describe.each(LINKS)('link %i', (at) => {
  it.each(WIDER)('is named when it widens: %s', (_what, claims) => {
    expect(codeOf(chainWith(at, { claims }))).toBe(at)
  })

  it.each(WIDER)(
    'is stopped by the engine alone for what only the wider link permits: %s',
    (_what, claims) => {
      const wider = claims(honestAt(at), honestAt(at - 1))
      const request = payRequest({
        amount: minor(Math.min(wider.ceiling, at === DEPTH ? wider.ceiling : 250)),
        currency: wider.currency,
        payee: wider.payees.at(-1) ?? 'acme',
        nowSeconds: wider.expiresAtSeconds,
      })
      const verdict = verdictOf(chainWith(at, { claims }), request)
      expect(verdict).toMatchObject({ ok: true, token: { widenedAt: at, authorised: false } })
    },
  )

  it.each(WIDER)(
    'is stopped by the chain rule alone, where the engine is not asked: %s',
    (_what, claims) => {
      const verdict = verifyToken(biscuit, RING, chainWith(at, { claims }))
      expect(verdict.ok && verdict.token).toMatchObject({ widenedAt: at })
      expect(verdict.ok && verdict.token.authorised).toBe(undefined)
      expect(widenedClaim(honestAt(at - 1), claims(honestAt(at), honestAt(at - 1)))).toBeDefined()
    },
  )

  it('is refused when anybody but the holder above signs it', () => {
    for (const signer of [at + 1, at - 1, 99].filter((n) => n > 0)) {
      expect(codeOf(chainWith(at, { signer }))).toBe('signer')
    }
  })

  it('is refused when its holder stands in another place of the chain', () => {
    const other = at === 1 ? 3 : 1
    const claims = (own: BlockClaims) => ({ ...own, holder: holderOf(other) })
    expect(codeOf(chainWith(at, { claims }))).toBe('signer')
  })

  it('is refused with a claim that only block 0 may state, or one that is not its kind’s', () => {
    const edits: readonly ((own: BlockClaims) => BlockClaims)[] = [
      (own) => ({ ...own, run: 'run_two' }),
      (own) => ({ ...own, mandate: QUOTE }),
      ({ quote, ...own }) => (quote === undefined ? { ...own, quote: QUOTE } : own),
      (own) => ({ ...own, payees: ['zz', 'aa'] }),
      (own) => ({ ...own, payees: [] }),
    ]
    for (const claims of edits) expect(codeOf(chainWith(at, { claims }))).toBe('grammar')
  })

  it('has nothing but planners above it', () => {
    if (at === DEPTH) return
    const kinds = [
      (own: BlockClaims) => lookerClaims(at, { expiresAtSeconds: own.expiresAtSeconds }),
      (own: BlockClaims) => leafClaims(at, { expiresAtSeconds: own.expiresAtSeconds }),
    ]
    for (const claims of kinds) expect(codeOf(chainWith(at, { claims }))).toBe(at + 1)
  })
})

describe.each([0, ...LINKS])('block %i', (at) => {
  const additions = [
    'ceiling("INR", 1);',
    'kind("planner");',
    'node("nd_x");',
    'expires(2030-01-01T00:00:00Z);',
    'holder(hex:00);',
    'check if true;',
    'allowed($x) <- node($x);',
    'req_amount(1);',
    'reject if req_operation("none");',
  ]
  it('is refused as another grammar with anything more in it', () => {
    for (const more of additions) {
      const payload = (claims: BlockClaims, index: number) =>
        libraryPayload(biscuit, index, `${honestSource(claims)} ${more}`)
      expect([more, codeOf(chainWith(at, { payload }))]).toEqual([more, 'grammar'])
    }
  })

  const SCOPE = Buffer.from([0x3a, 0x02, 0x08, 0x01])
  const CONTEXT = Buffer.from([0x12, 0x01, 0x61])
  const UNKNOWN = Buffer.from([0x7a, 0x01, 0x00])
  const codeWith = (change: (payload: Buffer) => Buffer) =>
    codeOf(chainWith(at, { payload: (claims, index) => change(encodeBlock(claims, index)) }))

  // The library keeps a payload as it came, so all of these verify: our own reading refuses them.
  it('is refused as another grammar with a scope or an unknown field behind it, or a context', () => {
    expect(codeWith((own) => Buffer.concat([own, SCOPE]))).toBe('grammar')
    expect(codeWith((own) => Buffer.concat([own, UNKNOWN]))).toBe('grammar')
    expect(codeWith((own) => Buffer.concat([CONTEXT, own]))).toBe('grammar')
  })

  it('is refused with any signature changed', () => {
    const token = chainWith(-1)
    const flip = (bytes: Uint8Array) => bytes.map((byte, i) => (i === 9 ? byte ^ 4 : byte))
    const own = withBlocks(token, (all) =>
      all.map((block, i) => (i === at ? { ...block, signature: flip(block.signature) } : block)),
    )
    expect(codeOf(own)).toBe('token_invalid')
    if (at === 0) return
    const holders = withBlocks(token, (all) =>
      all.map((block, i) =>
        i === at && block.external
          ? { ...block, external: { ...block.external, signature: flip(block.external.signature) } }
          : block,
      ),
    )
    expect(codeOf(holders)).toBe('token_invalid')
  })
})
