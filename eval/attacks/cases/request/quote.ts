/** Quotes that are somebody else's, spent, old, changed, or for more than was given. */
import { rawPublicKey } from '../../../../runtime/core/keys.ts'
import { signRaw, tamper } from '../../forge/jws.ts'
import { newKey } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'

const deny = (code: string) => ({ status: 403, code, verdict: 'deny' }) as const

export const QUOTE_CASES: readonly AttackCase[] = [
  {
    id: 'Q17',
    goal: 'Have one offer paid twice',
    method: 'A second leaf, made for a quote that the first has paid',
    expected: deny('quote_spent'),
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const again = await bench.leaf(root, quote)
      bench.must(await bench.pay(leaf, quote), 200)
      return bench.seen(await bench.pay(again, quote), [bench.move()])
    },
  },
  {
    id: 'Q17b',
    goal: 'Have one offer paid from two people’s money',
    method:
      'The same quote from a leaf of another run, and re-signed by its issuer under the same jti',
    expected: deny('quote_spent'),
    run: async (bench) => {
      const jti = { claims: { jti: `offer-${bench.now()}-${Math.trunc(performance.now())}` } }
      const { quote, leaf } = await bench.purchase(jti)
      bench.must(await bench.pay(leaf, quote), 200)
      const other = await bench.run()
      bench.must(await bench.pay(await bench.leaf(other, quote), quote), 403, 'quote_spent')
      const changes = { claims: { ...jti.claims, ext: { copy: 2 } } }
      const resigned = bench.quote(changes)
      const leaf2 = await bench.leaf(other, resigned)
      return bench.seen(await bench.pay(leaf2, resigned), [bench.move()])
    },
  },
  {
    id: 'Q18',
    goal: 'Pay one shop for another’s offer',
    method: 'A leaf for shop A, made for the digest of shop B’s quote',
    expected: deny('capability'),
    run: async (bench) => {
      const root = await bench.run()
      const quote = bench.quote({ shop: bench.world.shops[1] })
      const leaf = await bench.child(root, bench.leafClaims(quote, { shop: bench.shop }))
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q18b',
    goal: 'Speak for another shop',
    method: 'A quote in shop B’s name, signed by shop A’s key under B’s key id',
    expected: deny('quote_invalid'),
    guards: 'quote',
    run: async (bench) => {
      const [a, b] = bench.world.shops
      const { quote, leaf } = await bench.purchase({ shop: b, key: a.key })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q19',
    goal: 'Pay an old price',
    method: 'A quote that expired one second ago; the leaf is still good',
    expected: deny('quote_expired'),
    world: 'late',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase({ claims: { exp: bench.now() + 30 } })
      bench.world.pushClock(31_000)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q19b',
    goal: 'Have an offer outlive its shop’s clock',
    method: 'A quote that is dated an hour ahead',
    expected: deny('quote_invalid'),
    run: async (bench) => {
      const claims = { iat: bench.now() + 3600, exp: bench.now() + 7200 }
      const { quote, leaf } = await bench.purchase({ claims })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q20',
    goal: 'Be paid more than the leaf was given',
    method: 'A quote of one minor unit above its leaf’s ceiling',
    expected: deny('capability'),
    guards: 'capability',
    run: async (bench) => {
      const root = await bench.run()
      const quote = bench.quote({ amount: 1_001 })
      const leaf = await bench.child(root, bench.leafClaims(quote, { amount: 1_000 }))
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q20b',
    goal: 'Hide a difference between lines and total',
    method: 'A signed quote whose lines add up to less than its amount',
    expected: deny('quote_invalid'),
    run: async (bench) => {
      const lines = [{ sku: 'THING', title: 'A thing', quantity: 1, unitAmount: 400 }]
      const { quote, leaf } = await bench.purchase({ claims: { lines } })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q21',
    goal: 'Pay in a currency that was never allowed',
    method: 'A signed quote in USD for a leaf in INR',
    expected: deny('capability'),
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase({ currency: 'USD' })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q28',
    goal: 'Have a quote verified under a key that comes with it',
    method: 'A quote with the attacker’s public key in its header, in a registered shop’s name',
    expected: deny('quote_invalid'),
    run: async (bench) => {
      const key = newKey()
      const honest = bench.quote({ key })
      const [, payload = ''] = honest.split('.')
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key) }
      const quote = signRaw({
        key,
        header: { alg: 'EdDSA', typ: 'quote+jwt', jwk },
        payload: Buffer.from(payload, 'base64url').toString(),
      })
      const root = await bench.run()
      const leaf = await bench.leaf(root, quote)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'Q32',
    goal: 'Raise one’s own mandate',
    method: 'A mandate with its ceiling changed after it was signed',
    expected: { status: 400, code: 'mandate_rejected' },
    run: async (bench) => {
      const mandate = tamper(bench.mandate(), (text) =>
        text.replace('"ceiling":100000', '"ceiling":900000'),
      )
      return bench.seen(await bench.plain({ path: '/runs', body: { mandate } }))
    },
  },
]
