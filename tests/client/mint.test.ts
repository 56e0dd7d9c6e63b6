/** Minting as an outside planner does it, judged by the reference library and by the gateway's own verification. */
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { mintChild, readToken } from '../../runtime/client/mint.ts'
import { minor } from '../../runtime/core/money.ts'
import { verifyToken } from '../../runtime/tokens/verify.ts'
import {
  append,
  keyOf,
  leafClaims,
  lookerClaims,
  plannerClaims,
  RING,
  root,
  rootClaims,
} from '../tokens/fixtures.ts'
import { biscuit, rootPublicKey } from '../tokens/warm.ts'

const rejects = (code: string, claim?: string) =>
  expect.objectContaining({ name: 'Rejected', code, ...(claim !== undefined && { claim }) })

describe('a child minted in the planner’s own process', () => {
  it('verifies as the library and as the gateway read it, and needs no key but the planner’s', () => {
    const child = mintChild(root().token, keyOf(1), plannerClaims(1))
    const leaf = mintChild(child.token, keyOf(2), leafClaims(2))
    using parsed = biscuit.Biscuit.fromBase64(leaf.token, rootPublicKey())
    expect(parsed.getRevocationIdentifiers()).toEqual(leaf.revocationIds)
    expect(verifyToken(biscuit, RING, leaf.token)).toMatchObject({
      ok: true,
      token: { revocationIds: leaf.revocationIds, sealed: true },
    })
  })

  it('may be signed with a JSON Web Key', () => {
    const { d = '', x = '' } = keyOf(1).export({ format: 'jwk' })
    const holder = { kty: 'OKP', crv: 'Ed25519', d, x } as const
    const { token } = mintChild(root().token, holder, lookerClaims(1))
    expect(verifyToken(biscuit, RING, token)).toMatchObject({ ok: true, token: { sealed: true } })
  })

  it('is sealed for lookers and leaves, so that nobody can go on from there', () => {
    const { token } = mintChild(root().token, keyOf(1), leafClaims(1))
    expect(() => mintChild(token, keyOf(2), leafClaims(2))).toThrow(rejects('sealed'))
  })

  it('is refused before signing when it would be refused later', () => {
    const { token } = root()
    const mint =
      (claims: Parameters<typeof mintChild>[2], key = 1) =>
      () =>
        mintChild(token, keyOf(key), claims)
    expect(mint(plannerClaims(1, { ceiling: minor(1_001) }))).toThrow(rejects('widened', 'ceiling'))
    expect(mint(leafClaims(1, { payees: ['a"b'] }))).toThrow(rejects('claims', 'payees'))
    expect(mint(leafClaims(1), 66)).toThrow(rejects('signer'))
    expect(() => mintChild('nothing', keyOf(1), leafClaims(1))).toThrow(rejects('token_invalid'))
  })

  it('never says in an error what was handed in', () => {
    const secretive = 'sk_live_do-not-repeat'
    for (const call of [
      () => mintChild(secretive, keyOf(1), leafClaims(1)),
      () => mintChild(root().token, keyOf(1), leafClaims(1, { payees: [`${secretive} `] })),
    ]) {
      expect(call).toThrow(expect.objectContaining({ name: 'Rejected' }))
      expect(call).not.toThrow(secretive)
    }
  })

  it('is minted without loading the library, and without a line on standard output', () => {
    const script = `
      import { mintChild } from './runtime/client/mint.ts'
      import { append, keyOf, plannerClaims, root } from './tests/tokens/fixtures.ts'
      const { token } = mintChild(root().token, keyOf(1), plannerClaims(1))
      process.stdout.write(JSON.stringify({ token }))
    `
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
    const out = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 })
    const { token } = JSON.parse(out)
    expect(verifyToken(biscuit, RING, token)).toMatchObject({ ok: true })
  })
})

describe('a token that its holder reads', () => {
  it('says what every node from the root down may do', () => {
    const { token } = append(root().token, leafClaims(1))
    expect(readToken(token)).toEqual([rootClaims(), leafClaims(1)])
  })

  it('is refused when it holds anything else', () => {
    expect(() => readToken('')).toThrow(rejects('token_invalid'))
    expect(() => readToken(append(root().token, rootClaims()).token)).toThrow(rejects('grammar'))
  })
})
