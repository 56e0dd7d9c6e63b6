/**
 * Values that are not what they look like. A payment's body has one field, so each value is tried three times: as a
 * field of its own beside the quote, inside a mandate that its principal really signed, and inside a quote that its
 * issuer did.
 */
import { freshId } from '../../../../runtime/core/ids.ts'
import { signRaw } from '../../forge/jws.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench } from '../../world/bench.ts'

interface Value {
  readonly id: string
  readonly goal: string
  readonly method: string
  readonly field: 'amount' | 'currency' | 'payee'
  /** JSON texts, exactly as they shall stand. */
  readonly texts: readonly string[]
}

const VALUES: readonly Value[] = [
  {
    id: 'Q02',
    goal: 'Be taken for a registered payee',
    method: 'The payee’s id with a Cyrillic letter that looks the same',
    field: 'payee',
    texts: ['"ev\u0430l-shop"'],
  },
  {
    id: 'Q03',
    goal: 'Be taken for a registered payee',
    method: 'Zero-width and bidirectional control characters in the payee’s id',
    field: 'payee',
    texts: ['"eval\u200b-shop"', '"\u202epohs-lave"'],
  },
  {
    id: 'Q05',
    goal: 'Have text taken for a number',
    method: 'The amount as a string',
    field: 'amount',
    texts: ['"1000"'],
  },
  {
    id: 'Q06',
    goal: 'Have one number read as two',
    method: 'The amount with an exponent, a leading zero, a plus sign, in hexadecimal',
    field: 'amount',
    texts: ['1e3', '01000', '+1000', '0x3e8'],
  },
  {
    id: 'Q07',
    goal: 'Be credited',
    method: 'A negative amount',
    field: 'amount',
    texts: ['-1000'],
  },
  {
    id: 'Q08',
    goal: 'Pass every comparison',
    method: 'NaN, Infinity, minus zero and null for an amount',
    field: 'amount',
    texts: ['NaN', 'Infinity', '-0', 'null'],
  },
  {
    id: 'Q09',
    goal: 'Have a number change on the way',
    method: 'An amount of 2^53 + 1 and one that overflows',
    field: 'amount',
    texts: ['9007199254740993', '1e400'],
  },
  {
    id: 'Q10',
    goal: 'Gain by rounding',
    method: 'More decimals than the currency has',
    field: 'amount',
    texts: ['10.005', '1000.0'],
  },
  {
    id: 'Q11',
    goal: 'Find out who is a payee for nothing',
    method: 'An amount of zero',
    field: 'amount',
    texts: ['0'],
  },
  {
    id: 'Q13',
    goal: 'Have an amount read in another currency',
    method: 'Lower-case and unknown currency codes',
    field: 'currency',
    texts: ['"inr"', '"XBT"', '"INR "'],
  },
]

/** A mandate in which one claim is this text. */
function mandateWith(bench: Bench, field: Value['field'], text: string): string {
  const { key, kid } = bench.world.principal
  const honest = Buffer.from(bench.mandate().split('.')[1] ?? '', 'base64url').toString()
  const payload = honest.replace(...MANDATE_CLAIMS[field](text))
  if (payload === honest) throw new Error('expected a claim to replace')
  return signRaw({ key, header: { alg: 'EdDSA', kid, typ: 'mandate+jwt' }, payload })
}

const MANDATE_CLAIMS: {
  readonly [field in Value['field']]: (text: string) => [RegExp, string]
} = {
  amount: (text) => [/"ceiling":\d+/, `"ceiling":${text}`],
  currency: (text) => [/"currency":"\w+"/, `"currency":${text}`],
  payee: (text) => [/"payees":\[/, `"payees":[${text},`],
}

/** A quote in which one claim is this text; the amount is that of its only line too. */
function quoteWith(bench: Bench, field: Value['field'], text: string): string {
  const { shop } = bench
  const now = bench.now()
  const claim = (name: Value['field'], usual: string) => (name === field ? text : usual)
  const amount = claim('amount', '1000')
  const payload =
    `{"amount":${amount},"currency":${claim('currency', '"INR"')},"exp":${now + 600},"iat":${now},` +
    `"iss":"${shop.id}","jti":"${freshId()}","kind":"merchant",` +
    `"lines":[{"quantity":1,"sku":"THING","title":"A thing","unitAmount":${amount}}],` +
    `"payee":${claim('payee', `"${shop.id}"`)}}`
  return signRaw({
    key: shop.key,
    header: { alg: 'EdDSA', kid: shop.kid, typ: 'quote+jwt' },
    payload,
  })
}

async function tryValue(bench: Bench, { field, texts }: Value) {
  const root = await bench.run()
  const { quote: good, leaf } = await bench.purchaseIn(root)
  for (const text of texts) {
    const body = `{"quote":"${good}","${field}":${text}}`
    bench.must(await bench.pay(leaf, good, { body }), 401, 'malformed')
  }
  let answer = bench.must(await bench.pay(leaf, good, { body: '{}' }), 401, 'malformed')
  for (const text of texts) {
    const mandate = mandateWith(bench, field, text)
    bench.must(await bench.plain({ path: '/runs', body: { mandate } }), 400, 'mandate_rejected')
    const quote = quoteWith(bench, field, text)
    answer = await bench.pay(await bench.leaf(root, quote), quote)
    bench.must(answer, 403, 'quote_invalid')
  }
  const { nodes } = await bench.detail(root.run)
  const left = 100_000 - 1_000 * (texts.length + 1)
  const isSame = nodes.some(({ id, available }) => id === root.claims.node && available === left)
  bench.claim(isSame, 'expected the root to have what it did not give to its leaves')
  return bench.seen(answer)
}

const REFUSED = { status: 403, code: 'quote_invalid', verdict: 'deny' } as const

/** The claims of `quoteWith`, with another one’s text changed as well. */
const resigned = (bench: Bench, quote: string, from: string, to: string): string => {
  const { key, kid } = bench.shop
  const payload = Buffer.from(quote.split('.')[1] ?? '', 'base64url').toString()
  const header = { alg: 'EdDSA', kid, typ: 'quote+jwt' }
  return signRaw({ key, header, payload: payload.replace(from, to) })
}

export const VALUE_CASES: readonly AttackCase[] = [
  ...VALUES.map(
    (value): AttackCase => ({
      id: value.id,
      goal: value.goal,
      method: value.method,
      expected: REFUSED,
      run: (bench) => tryValue(bench, value),
    }),
  ),
  {
    id: 'Q11b',
    goal: 'Find out who is a payee for nothing, by comparing answers',
    method: 'Quotes over zero to a payee, to one of others, and to nobody',
    expected: REFUSED,
    run: async (bench) => {
      const root = await bench.run()
      const { shop } = bench
      const answers = []
      for (const payee of [shop.id, bench.world.stranger.id, 'nobody-at-all']) {
        const zero = quoteWith(bench, 'amount', '0')
        const quote = resigned(bench, zero, `"payee":"${shop.id}"`, `"payee":"${payee}"`)
        answers.push(await bench.pay(await bench.leaf(root, quote), quote))
      }
      const [first, ...others] = answers.map(({ status, body: { reason } }) =>
        JSON.stringify([status, reason]),
      )
      bench.claim(
        others.every((other) => other === first),
        'expected one answer whoever the payee is',
      )
      const [answer] = answers
      if (answer === undefined) throw new Error('expected an answer')
      return bench.seen(answer)
    },
  },
  {
    id: 'Q23b',
    goal: 'Have two readers see two payees in one quote',
    method: 'A quote, really signed, that names its payee twice',
    expected: REFUSED,
    run: async (bench) => {
      const { id } = bench.world.shops[1]
      const quote = quoteWith(bench, 'payee', `"${id}","payee":"${bench.shop.id}"`)
      const leaf = await bench.leaf(await bench.run(), quote)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
]
