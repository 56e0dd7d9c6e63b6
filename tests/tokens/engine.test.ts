/** The engine as it runs: real workers, the real library. */
import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BlockClaims } from '../../runtime/core/block.ts'
import type { NodeId } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import { later, type Seconds, seconds } from '../../runtime/core/time.ts'
import { createTokenEngine, type TokenPool } from '../../runtime/tokens/pool.ts'
import {
  append,
  holderOf,
  keyOf,
  leafClaims,
  lookerClaims,
  NOW,
  payRequest,
  plannerClaims,
  ROOT_ID,
  ROOT_KEY,
  root,
  rootClaims,
} from './fixtures.ts'

const clock = { nowMs: () => performance.now() }
let engine: TokenPool
let rotated: TokenPool

beforeAll(async () => {
  const current = { id: ROOT_ID, privateKey: ROOT_KEY }
  const next = { id: 8, privateKey: keyOf(201) }
  engine = await createTokenEngine({ rootKeys: { current, others: [] }, workers: 1, clock })
  const retiresAtSeconds = seconds(4_000_000_000)
  const others = [{ id: ROOT_ID, publicKey: createPublicKey(ROOT_KEY), retiresAtSeconds }]
  rotated = await createTokenEngine({ rootKeys: { current: next, others }, workers: 1, clock })
})
afterAll(() => Promise.all([engine.close(), rotated.close()]))

describe('the engine', () => {
  it('mints a chain, verifies it and authorises what it permits', async () => {
    const one = await engine.mintRoot(rootClaims())
    const two = await engine.mintChild(one.token, keyOf(1), plannerClaims(1))
    const three = await engine.mintChild(two.token, keyOf(2), leafClaims(2))
    expect(three.revocationIds.slice(0, 2)).toEqual(two.revocationIds)
    const verdict = await engine.verify(three.token, payRequest())
    expect(verdict).toEqual({
      ok: true,
      token: {
        rootKeyId: ROOT_ID,
        blocks: [rootClaims(), plannerClaims(1), leafClaims(2)],
        revocationIds: three.revocationIds,
        sealed: true,
        authorised: true,
      },
    })
    const over = await engine.verify(three.token, payRequest({ amount: minor(251) }))
    expect(over).toMatchObject({ ok: true, token: { authorised: false } })
    expect(await engine.verify(three.token)).toMatchObject({ ok: true })
  })

  it('runs a token’s own checks for its last holder alone', async () => {
    const { token } = append(root().token, leafClaims(1))
    const ours = await engine.verify(token, payRequest(), holderOf(2))
    expect(ours).toMatchObject({ ok: true, token: { authorised: true } })
    for (const other of [1, 3]) {
      const refused = { ok: false, code: 'proof_invalid' }
      expect(await engine.verify(token, payRequest(), holderOf(other))).toEqual(refused)
      // A request that the engine cannot take is a fault if it is asked at all.
      const odd = payRequest({ nowSeconds: Number.NaN as Seconds })
      expect(await engine.verify(token, odd, holderOf(other))).toEqual(refused)
    }
  })

  it('reports whether a hostile chain widens, and asks nothing when no request is given', async () => {
    const { token } = append(root().token, leafClaims(1, { ceiling: minor(5_000) }))
    const verdict = await engine.verify(token)
    expect(verdict).toMatchObject({ ok: true, token: { widenedAt: 1 } })
    expect(verdict.ok && verdict.token.authorised).toBeUndefined()
  })

  it('signs with the current root key and still verifies under the others', async () => {
    const old = await engine.mintRoot(rootClaims())
    const fresh = await rotated.mintRoot(rootClaims())
    expect(await rotated.verify(old.token)).toMatchObject({ ok: true, token: { rootKeyId: 7 } })
    expect(await rotated.verify(fresh.token)).toMatchObject({ ok: true, token: { rootKeyId: 8 } })
    expect(await engine.verify(fresh.token)).toEqual({ ok: false, code: 'root_unknown' })
  })

  it('counts what its workers hold, the library’s own memory included', async () => {
    await engine.verify(root().token)
    expect(engine.stats().memoryBytes).toBeGreaterThan(2_900_000)
    expect(engine.stats()).toMatchObject({ workers: 1, busy: 0, queued: 0, broken: 0 })
  })

  it('answers many calls at once, each with its own token', async () => {
    const chains = Array.from({ length: 30 }, (_, i) =>
      append(root().token, plannerClaims(1, { node: `nd_child-${i}` })),
    )
    const verdicts = await Promise.all(chains.map(({ token }) => engine.verify(token)))
    expect(verdicts.map((v) => v.ok && v.token.blocks[1]?.node)).toEqual(
      chains.map((_, i) => `nd_child-${i}`),
    )
  })
})

describe('minting', () => {
  const rejects = (code: string, claim?: string) =>
    expect.objectContaining({ name: 'Rejected', code, ...(claim !== undefined && { claim }) })
  const mintBelowRoot = (claims: BlockClaims, signer = 1) =>
    engine.mintChild(root().token, keyOf(signer), claims)

  it('refuses a root that is no planner, or that lacks its mandate or its run', async () => {
    const wrong: readonly [Partial<BlockClaims>, string][] = [
      [{ kind: 'leaf', payees: ['acme'], quote: leafClaims(0).quote ?? '' }, 'kind'],
      [{ mandate: 'short' }, 'mandate'],
      [{ payees: [] }, 'payees'],
      [{ payees: ['b', 'a'] }, 'payees'],
      [{ payees: ['a', 'a'] }, 'payees'],
      [{ payees: ['a"); payee("b'] }, 'payees'],
      [
        { payees: Array.from({ length: 33 }, (_, i) => `p${String(i).padStart(2, '0')}`) },
        'payees',
      ],
      [{ node: 'nd_' as NodeId }, 'node'],
      [{ node: 'run_x' as NodeId }, 'node'],
      [{ holder: 'x' }, 'holder'],
      [{ holder: `${'A'.repeat(42)}B` }, 'holder'],
      [{ ceiling: -1 as never }, 'ceiling'],
      [{ ceiling: 0.5 as never }, 'ceiling'],
      [{ ceiling: (2 ** 53) as never }, 'ceiling'],
      [{ expiresAtSeconds: seconds(253_402_300_800) }, 'expiresAtSeconds'],
      [{ currency: 'EUR' as never }, 'currency'],
    ]
    for (const [changes, claim] of wrong) {
      const claims = rootClaims(changes)
      await expect(engine.mintRoot(claims), claim).rejects.toEqual(rejects('claims', claim))
    }
    const { mandate: _mandate, ...noMandate } = rootClaims()
    await expect(engine.mintRoot(noMandate)).rejects.toEqual(rejects('claims', 'mandate'))
    const { run: _run, ...noRun } = rootClaims()
    await expect(engine.mintRoot(noRun)).rejects.toEqual(rejects('claims', 'run'))
  })

  it('refuses a child that is wider than its parent', async () => {
    const wider: readonly [BlockClaims, string][] = [
      [plannerClaims(1, { ceiling: minor(1_001) }), 'ceiling'],
      [lookerClaims(1, { ceiling: minor(1) }), 'ceiling'],
      [plannerClaims(1, { expiresAtSeconds: later(NOW, 3_601) }), 'expiresAtSeconds'],
      [plannerClaims(1, { payees: ['umbrella'] }), 'payees'],
      [plannerClaims(1, { currency: 'USD' }), 'currency'],
    ]
    for (const [claims, claim] of wider) {
      await expect(mintBelowRoot(claims), claim).rejects.toEqual(rejects('widened', claim))
    }
  })

  it('refuses a child’s claims that a later block may not hold', async () => {
    const { quote: _quote, ...noQuote } = leafClaims(1)
    const wrong: readonly [BlockClaims, string][] = [
      [noQuote, 'quote'],
      [plannerClaims(1, { quote: leafClaims(1).quote ?? '' }), 'quote'],
      [leafClaims(1, { payees: ['acme', 'globex'] }), 'payees'],
      [plannerClaims(1, { mandate: leafClaims(1).quote ?? '' }), 'mandate'],
      [plannerClaims(1, { run: 'run_two' }), 'run'],
    ]
    for (const [claims, claim] of wrong) {
      await expect(mintBelowRoot(claims), claim).rejects.toEqual(rejects('claims', claim))
    }
  })

  it('refuses another key than the parent’s holder, and a child’s key that is used above', async () => {
    await expect(mintBelowRoot(leafClaims(1), 66)).rejects.toEqual(rejects('signer'))
    const reused = plannerClaims(1, { holder: rootClaims().holder })
    await expect(mintBelowRoot(reused)).rejects.toEqual(rejects('signer', 'holder'))
  })

  it('refuses a parent that is sealed, that is no token, and that does not verify', async () => {
    const leaf = append(root().token, leafClaims(1)).token
    await expect(engine.mintChild(leaf, keyOf(2), leafClaims(2))).rejects.toEqual(rejects('sealed'))
    await expect(engine.mintChild('x', keyOf(1), leafClaims(1))).rejects.toEqual(
      rejects('token_invalid'),
    )
    const foreign = await rotated.mintRoot(rootClaims())
    await expect(engine.mintChild(foreign.token, keyOf(1), leafClaims(1))).rejects.toEqual(
      rejects('root_unknown'),
    )
    const stolen = append(root().token, plannerClaims(1), { signer: 66 }).token
    await expect(engine.mintChild(stolen, keyOf(2), leafClaims(2))).rejects.toEqual(
      rejects('signer'),
    )
  })

  it('makes another token every time, and the same claims', async () => {
    const [one, two] = [await engine.mintRoot(rootClaims()), await engine.mintRoot(rootClaims())]
    expect(one.revocationIds).not.toEqual(two.revocationIds)
  })
})
