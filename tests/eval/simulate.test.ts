/** The simulation itself: it finds nothing in the product, and the same thing each time. */
import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { PLANTED } from '../../eval/simulate/planted.ts'
import { runSeed } from '../../eval/simulate/seed.ts'
import { QUICK } from '../../eval/simulate/signatures.ts'
import { simulate } from '../../eval/simulate/simulate.ts'
import { COUNTED } from '../../eval/simulate/world.ts'
import { parseJws, signJws, verifyJws } from '../../runtime/core/jws.ts'
import { filesIn, importsOf, read, withoutComments } from '../support/source.ts'

const seeds = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

describe('the money path, simulated', () => {
  it('holds every claim in each of ten histories, which have every kind of trouble', async () => {
    const missing = new Set(COUNTED)
    for (const seed of seeds(1, 10)) {
      const { violation, counts } = await runSeed(seed)
      expect({ seed, violation }).toEqual({ seed, violation: undefined })
      for (const name of COUNTED) if (counts[name] > 0) missing.delete(name)
    }
    expect([...missing]).toEqual([])
  })

  it('lives the same history twice from one seed, and another from another', async () => {
    const [first, again, other] = [await runSeed(7), await runSeed(7), await runSeed(8)]
    expect(again.digest).toBe(first.digest)
    expect(again.trace).toEqual(first.trace)
    expect(other.digest).not.toBe(first.digest)
  })
})

describe('the quick signatures of the simulation', () => {
  const [one, other] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
  const claims = { jti: 'a' }
  const toSign = { typ: 'cancel+jwt', key: one.privateKey, claims } as const
  const parsed = (text: string) => {
    const jws = parseJws(text, 'cancel+jwt')
    if (jws === undefined) throw new Error('expected a JWS')
    return jws
  }

  it('hold under the key that made them, in whatever form, and under no other', () => {
    const jws = parsed(signJws(toSign, QUICK))
    const { x = '' } = one.publicKey.export({ format: 'jwk' })
    const jwk = { kty: 'OKP', crv: 'Ed25519', x } as const
    for (const key of [one.publicKey, one.privateKey, jwk]) {
      expect(verifyJws(jws, key, QUICK)).toBe(true)
    }
    expect(verifyJws(jws, other.publicKey, QUICK)).toBe(false)
  })

  it('do not hold over a byte that was changed, nor for another algorithm', () => {
    const jws = parsed(signJws(toSign, QUICK))
    const signingInput = `${jws.signingInput.slice(0, -1)}${jws.signingInput.endsWith('A') ? 'B' : 'A'}`
    expect(verifyJws({ ...jws, signingInput }, one.publicKey, QUICK)).toBe(false)
    const header = { ...jws.header, alg: 'ES256' } as const
    expect(verifyJws({ ...jws, header }, one.publicKey, QUICK)).toBe(false)
  })

  it('mean nothing to the product, whose own mean nothing to them', () => {
    expect(verifyJws(parsed(signJws(toSign, QUICK)), one.publicKey)).toBe(false)
    expect(verifyJws(parsed(signJws(toSign)), one.publicKey, QUICK)).toBe(false)
  })

  const product = filesIn(['runtime', 'agents', 'merchant', 'console'], ['.ts', '.tsx', '.mjs'])

  it('are out of reach of the product: it imports nothing of an evaluation', () => {
    const reaching = product.filter((path) => importsOf(path).some((of) => of.startsWith('eval/')))
    expect(reaching).toEqual([])
  })

  it('cannot be configured: whoever composes or configures a gateway has no word for signatures', () => {
    const speaking = product.filter((path) => /\bsignatures\b/i.test(code(path)))
    expect(speaking.filter((path) => !PASSED_ON.includes(path))).toEqual([])
    const made = [...product, ...filesIn(['eval'], ['.ts'])].filter((path) =>
      /:\s*Signatures\s*=/.test(code(path)),
    )
    expect(made).toEqual(['runtime/core/signatures.ts', 'eval/simulate/signatures.ts'])
  })
})

/** A port's type, and where it is passed on from what somebody composed; none of these composes. */
const PASSED_ON = [
  'runtime/audit/checkpoint.ts',
  'runtime/audit/receipts.ts',
  'runtime/audit/seal.ts',
  'runtime/audit/signer.ts',
  'runtime/core/jws.ts',
  'runtime/core/open-receipt.ts',
  'runtime/core/quote.ts',
  'runtime/core/signatures.ts',
  'runtime/funnel/context.ts',
  'runtime/funnel/offers.ts',
  'runtime/gateway/gate.ts',
  'runtime/gateway/identify.ts',
  'runtime/gateway/mandates.ts',
  'runtime/gateway/purchase.ts',
  'runtime/tokens/proof.ts',
]

/** Without comments, and without the sentences that a person or a model is shown. */
const code = (path: string): string =>
  withoutComments(read(path)).replace(/'[^'\n]* [^'\n]*'|= `[^`$]*`/g, '')

async function run(...args: readonly string[]) {
  const said = { out: '', err: '' }
  const code = await simulate(args, {
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
  })
  return { code, ...said }
}

describe('npm run simulate', () => {
  it('prints one JSON document, and ends with 0 where nothing goes wrong', async () => {
    const { code, out, err } = await run('--seeds', '2', '--json')
    expect([code, err]).toEqual([0, ''])
    expect(JSON.parse(out)).toMatchObject({ seeds: 2, violations: 0, first: [] })
  })

  it('ends with 1 where a seed goes wrong, and says how to see it again', async () => {
    const name = 'a sum above what was asked is clipped'
    const { code, out } = await run('--seeds', '8', '--planted', name)
    expect(code).toBe(1)
    expect(out).toMatch(
      new RegExp(`^again: npm run simulate -- --seed \\d+ --trace --planted "${name}"$`, 'm'),
    )
  })

  it('says how it is used, with what can be planted', async () => {
    const { code, out, err } = await run('--help')
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('--trace')
    for (const name of Object.keys(PLANTED)) expect(out).toContain(`\n  ${name}\n`)
  })

  it.each([
    ['an option that is not there', ['--fast']],
    ['a word too many', ['12']],
    ['no number', ['--seeds', 'x']],
    ['no seeds at all', ['--seeds', '0']],
    ['a seed that is below 1', ['--seed=-1']],
    ['a fault that nobody wrote', ['--planted', 'toString']],
  ])('takes %s for a mistake of the caller, and simulates nothing', async (_what, args) => {
    const { code, out, err } = await run(...args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toMatch(/^simulate: .+\n\nUsage: /)
  })
})
