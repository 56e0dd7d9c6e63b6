import { describe, expect, it } from 'vitest'
import { Rejected } from '../../runtime/core/errors.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { START, signer, World } from './world.ts'

/** The claim that the gateway names when it rejects this text, having stored nothing. */
async function rejected(world: World, text: string): Promise<string | undefined> {
  const error: unknown = await world.gateway.createRun(text).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Rejected)) throw new Error('expected a rejection', { cause: error })
  expect(await world.ledger.runs({ limit: 10 })).toEqual([])
  expect(await world.ledger.events('gateway', 0, 10)).toEqual([])
  return error.claim
}

/** The compact JWS with its payload put in by hand; its signature does not matter for what is tested. */
function withPayload(text: string, change: (payload: string) => string): string {
  const [head, body = '', mac] = text.split('.')
  const payload = change(Buffer.from(body, 'base64url').toString())
  return [head, Buffer.from(payload).toString('base64url'), mac].join('.')
}

describe('a mandate is rejected, and nothing is stored of it, for', () => {
  const claims: [name: string, claims: Record<string, unknown>, claim: string][] = [
    ['an unknown principal', { iss: 'eve' }, 'iss'],
    ['another gateway', { aud: 'gw2' }, 'aud'],
    ['an unknown claim', { bonus: true }, 'bonus'],
    ['an expiry that has come', { exp: START }, 'exp'],
    ['an expiry that is too far', { exp: START + LIMITS.mandateSeconds + 1 }, 'exp'],
    ['a beginning in the future', { nbf: START + 1 }, 'nbf'],
    ['an issue date in the future', { iat: START + LIMITS.skewSeconds + 1 }, 'iat'],
    ['a ceiling of zero', { ceiling: 0 }, 'ceiling'],
    ['a negative ceiling', { ceiling: -1 }, 'ceiling'],
    ['a ceiling in words', { ceiling: '100' }, 'ceiling'],
    ['a currency that is not carried', { currency: 'EUR' }, 'currency'],
    ['a currency in lower case', { currency: 'inr' }, 'currency'],
    ['a payee that is not registered', { payees: ['shop', 'nobody'] }, 'payees'],
    ['a payee with a letter that only looks right', { payees: ['shоp'] }, 'payees'],
    ['a payee given twice', { payees: ['shop', 'shop'] }, 'payees'],
    ['no payee', { payees: [] }, 'payees'],
    [
      'more payees than a token holds',
      { payees: Array.from({ length: 33 }, (_, i) => `p${i}`) },
      'payees',
    ],
    ['an empty task', { task: '' }, 'task'],
    ['limits beyond the product’s', { limits: { depth: 17, fanOut: 1, nodes: 1 } }, 'limits'],
    ['a depth of zero', { limits: { depth: 0, fanOut: 1, nodes: 1 } }, 'limits'],
    ['a zone that does not exist', { window: { zone: 'Mars/Base', perDay: 1 } }, 'window'],
    ['an offset in place of a zone', { window: { zone: '+05:30', perDay: 1 } }, 'window'],
    ['a holder that is no key', { holder: 'short' }, 'holder'],
    ['a jti with a slash', { jti: 'a/b' }, 'jti'],
  ]
  for (const [name, change, claim] of claims) {
    it(name, async () => {
      const world = new World()
      expect(await rejected(world, world.mandate(change))).toBe(claim)
    })
  }

  const written: [name: string, from: string, to: string, claim: string][] = [
    ['a fractional ceiling', '"ceiling":100000', '"ceiling":100.5', 'ceiling'],
    ['a ceiling over 2^53', '"ceiling":100000', '"ceiling":9007199254740993', 'ceiling'],
    ['a ceiling with an exponent', '"ceiling":100000', '"ceiling":1e5', 'mandate'],
    ['a claim given twice', '"ceiling":100000', '"ceiling":1,"ceiling":100000', 'mandate'],
    [
      'a changed claim under an honest signature',
      '"ceiling":100000',
      '"ceiling":900000',
      'signature',
    ],
  ]
  for (const [name, from, to, claim] of written) {
    it(name, async () => {
      const world = new World()
      const text = withPayload(world.mandate(), (payload) => payload.replace(from, to))
      expect(await rejected(world, text)).toBe(claim)
    })
  }

  it('a signature by somebody else, a key that is not the principal’s, or no JWS at all', async () => {
    const world = new World()
    expect(await rejected(world, world.mandate({}, signer('p1')))).toBe('signature')
    expect(await rejected(world, world.mandate({}, signer('p2')))).toBe('kid')
    const { kid: _none, ...unnamed } = world.principal.jwk
    const anonymous = { key: world.principal.key, jwk: unnamed as typeof world.principal.jwk }
    expect(await rejected(world, world.mandate({}, anonymous))).toBe('kid')
    expect(await rejected(world, 'not a jws')).toBe('mandate')
    expect(await rejected(world, world.merchants.sign())).toBe('typ')
    const none = world
      .mandate()
      .replace(/^[^.]+/, btoa('{"alg":"none","typ":"mandate+jwt"}').replace(/=+$/, ''))
    expect(await rejected(world, none)).toBe('alg')
  })

  it('a payee without an account on the rail', async () => {
    const world = new World()
    const { facts } = world.deps
    world.rebuild({
      facts: { ...facts, payees: [{ id: 'shop', name: 'Shop', accounts: { other: 'x' } }] },
    })
    expect(await rejected(world, world.mandate({ payees: ['shop'] }))).toBe('payees')
  })
})

describe('a rejection', () => {
  it('names the claim and what was expected, never what was sent', async () => {
    const world = new World()
    const text = world.mandate({ task: '', note: 'sensitive words' })
    const error: unknown = await world.gateway.createRun(text).catch((thrown: unknown) => thrown)
    expect(String(error)).not.toContain('sensitive')
  })

  it('names no claim that could not be one', async () => {
    const world = new World()
    expect(await rejected(world, world.mandate({ '<script>': 1 }))).toBe('mandate')
  })
})

describe('a mandate is accepted', () => {
  it('signed with Ed25519 or P-256, at the last second and at the longest', async () => {
    const world = new World()
    const p256 = signer('p256', 'P-256')
    const { facts } = world.deps
    const keys = [world.principal.jwk, p256.jwk]
    world.rebuild({ facts: { ...facts, principals: [{ id: 'ada', keys }] } })
    const accepted = [
      world.mandate({}, p256),
      world.mandate({ exp: START + 1 }),
      world.mandate({ exp: START + LIMITS.mandateSeconds }),
      world.mandate({ nbf: START, iat: START + LIMITS.skewSeconds }),
      world.mandate({ ceiling: Number.MAX_SAFE_INTEGER }),
    ]
    for (const text of accepted) {
      expect(await world.gateway.createRun(text)).toMatchObject({ ok: true, created: true })
    }
  })
})
