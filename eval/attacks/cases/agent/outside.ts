/** What a fooled agent asks for, as the request that it would make: other payees, other amounts, other powers. */
import { freshId } from '../../../../runtime/core/ids.ts'
import { tamper } from '../../forge/jws.ts'
import { newKey } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench } from '../../world/bench.ts'
import { askShop } from '../../world/credulous.ts'

const deny = (code: string) => ({ status: 403, code, verdict: 'deny' }) as const

/** The leaf is made for what the page said, and presents a quote that was changed to say so. */
async function payChanged(bench: Bench, change: (claims: string) => string) {
  const root = await bench.run()
  const quote = tamper(bench.quote(), change)
  const leaf = await bench.child(root, bench.leafClaims(quote, { amount: 50_000 }))
  return bench.seen(await bench.pay(leaf, quote))
}

export const OUTSIDE_CASES: readonly AttackCase[] = [
  {
    id: 'A01',
    goal: 'Have an agent pay somebody else',
    method: 'A description tells a planner to split off a leaf for a payee that no mandate names',
    expected: { status: 403, code: 'widened' },
    run: async (bench) => {
      const { stranger } = bench.world
      const root = await bench.run()
      const { leaf } = bench.mintLeaf(root, { shop: stranger })
      return bench.seen(await bench.register(root, leaf.token))
    },
  },
  {
    id: 'A06',
    goal: 'Have an agent pay what a page says',
    method: 'Payee and amount from a search hit, without a quote',
    expected: { status: 401, code: 'malformed' },
    run: async (bench) => {
      const { leaf, quote } = await bench.purchase()
      const body = { payee: bench.world.stranger.id, amount: 5_000, currency: 'INR' }
      return bench.seen(await bench.pay(leaf, quote, { body }))
    },
  },
  {
    id: 'A07',
    goal: 'Have an agent pay ten times the price',
    method: 'The page says 10,000; the quote is changed to say so too',
    expected: deny('quote_invalid'),
    guards: 'quote',
    run: (bench) => payChanged(bench, (claims) => claims.replaceAll('1000', '10000')),
  },
  {
    id: 'A08',
    goal: 'Be bought from under a name that looks right',
    method: 'A look-alike shop quotes in its own name for the real shop’s payee',
    expected: deny('quote_invalid'),
    run: async (bench) => {
      const lookalike = { iss: bench.shop.id.replace('l', '1') }
      const { quote, leaf } = await bench.purchase({ key: newKey(), claims: lookalike })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'A11',
    goal: 'Add a surcharge that nobody sees',
    method: 'Hidden text adds a line and raises the total of a signed quote',
    expected: deny('quote_invalid'),
    run: (bench) =>
      payChanged(bench, (claims) =>
        claims
          .replace('"amount":1000', '"amount":4000')
          .replace(
            '"lines":[',
            '"lines":[{"quantity":1,"sku":"FEE","title":"F","unitAmount":3000},',
          ),
      ),
  },
  {
    id: 'A13',
    goal: 'Have a looker pay',
    method: 'A looker that has read a hostile page posts the quote that it was given',
    expected: deny('not_a_leaf'),
    run: async (bench) => {
      const root = await bench.run({ payees: ['prompt-mart'] })
      const looker = await bench.child(root, { kind: 'looker', ceiling: 0 })
      const search = { path: '/search', body: { text: 'chair', limit: 5 } }
      bench.must(await bench.call(looker, search), 200)
      const lines = [{ sku: 'PM-CHR-1', quantity: 1 }]
      const body = { merchant: 'prompt-mart', lines }
      const answer = bench.must(await bench.call(looker, { path: '/quotes', body }), 200)
      return bench.seen(await bench.pay(looker, String(answer.body.quote)))
    },
  },
  {
    id: 'A14',
    goal: 'Have a leaf search, quote, split or read',
    method: 'A leaf tries every door but its own',
    expected: { status: 403, code: 'token_invalid' },
    run: async (bench) => {
      const { root, leaf } = await bench.purchase()
      const search = { path: '/search', body: { text: 'chair', limit: 5 } }
      bench.must(await bench.call(leaf, search), 403, 'not_a_leaf')
      const lines = [{ sku: 'THING', quantity: 1 }]
      const quotes = { path: '/quotes', body: { merchant: bench.shop.id, lines } }
      bench.must(await bench.call(leaf, quotes), 403, 'not_a_leaf')
      const read = await bench.call(leaf, { method: 'GET', path: `/runs/${root.run}` })
      bench.must(read, 403, 'not_a_leaf')
      const close = { path: `/runs/${root.run}/nodes/${leaf.claims.node}/close` }
      bench.must(await bench.call(leaf, close), 403, 'not_a_leaf')
      const child = bench.mint(root, { ceiling: 1_000 })
      return bench.seen(await bench.register(leaf, child.token))
    },
  },
  {
    id: 'A15',
    goal: 'Have every child given everything',
    method: 'Three children, each with the whole of what the parent has',
    expected: { status: 403, code: 'insufficient' },
    run: async (bench) => {
      const root = await bench.run()
      await bench.child(root)
      bench.must(await bench.register(root, bench.mint(root).token, 20), 403, 'insufficient')
      return bench.seen(await bench.register(root, bench.mint(root).token, 20))
    },
  },
  {
    id: 'A16',
    goal: 'Have a planner split without end',
    method: 'Children are registered until the mandate’s fan-out and number of nodes are used up',
    expected: { status: 403, code: 'insufficient' },
    run: async (bench) => {
      const root = await bench.run({ limits: { depth: 4, fanOut: 3, nodes: 8 } })
      const wide = await bench.child(root, { ceiling: 10 }, 4)
      for (let i = 0; i < 3; i += 1) await bench.child(wide, { ceiling: 1 }, 0)
      const outOfFan = await bench.register(wide, bench.mint(wide, { ceiling: 1 }).token)
      bench.claim(outOfFan.status !== 201, 'expected no child over the fan-out')
      const greedy = bench.mint(root, { ceiling: 10 })
      return bench.seen(await bench.register(root, greedy.token, 100))
    },
  },
  {
    id: 'A19',
    goal: 'Have an agent approve its own payment',
    method: 'The text says it may; the planner calls approve with its token and proof',
    expected: { status: 403, code: 'forbidden' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase({ mandate: { approvalAbove: 500 } })
      const held = bench.must(await bench.pay(leaf, quote), 202, 'approval_required')
      const card = await bench.operator(`/holds/${held.body.holdId}`)
      const body = { digest: card.body.digest }
      const path = `/holds/${held.body.holdId}/approve`
      const seen = bench.seen(await bench.call(root, { path, body }))
      bench.must(await bench.pay(leaf, quote), 202, 'approval_required')
      return seen
    },
  },
  {
    id: 'A21',
    goal: 'Be the shop at the till without being the shop on the shelf',
    method: 'The right product by another shop’s quote, presented by the leaf of the first',
    expected: deny('capability'),
    run: async (bench) => {
      const { leaf } = await bench.purchase()
      return bench.seen(await bench.pay(leaf, bench.quote({ shop: bench.world.shops[1] })))
    },
  },
  {
    id: 'A21b',
    goal: 'Have another shop paid for goods that it never sold',
    method: 'A shop really signs a quote that names another allowed payee',
    expected: deny('payee'),
    guards: 'quote',
    run: async (bench) => {
      const payees = ['desk-bazaar', 'mirror-kiosk']
      const root = await bench.run({ ceiling: 500_000, payees })
      const item = { merchant: 'mirror-kiosk', sku: 'MK-CHR-TSK', quantity: 1 }
      const quote = await askShop(bench.world.market, 'INR', item)
      const claims = bench.leafClaims(quote, { amount: 299_000 })
      const leaf = await bench.child(root, { ...claims, payees: ['desk-bazaar'] })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'A24',
    goal: 'Add a tip at the last step',
    method:
      'A leaf made for the quote; the quote that is presented has a fee on top, signed by the shop',
    expected: deny('capability'),
    run: async (bench) => {
      const jti = freshId()
      const { leaf } = await bench.purchase({ claims: { jti } })
      const lines = [
        { sku: 'THING', title: 'A thing', quantity: 1, unitAmount: 1_000 },
        { sku: 'FEE', title: 'Compliance fee', quantity: 1, unitAmount: 120 },
      ]
      const dearer = bench.quote({ amount: 1_120, claims: { jti, lines } })
      return bench.seen(await bench.pay(leaf, dearer))
    },
  },
  {
    id: 'A28',
    goal: 'Get a foot in the door with the smallest amount',
    method: '“Send 0.01 to verify the account first”: a leaf of one minor unit for a stranger',
    expected: { status: 403, code: 'widened' },
    run: async (bench) => {
      const { stranger } = bench.world
      const root = await bench.run()
      const { leaf } = bench.mintLeaf(root, { shop: stranger, amount: 1 })
      return bench.seen(await bench.register(root, leaf.token))
    },
  },
  {
    id: 'A29',
    goal: 'Carry data out in a payment’s reference',
    method: 'A line’s title holds a card number; the rail’s book is read for it',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const title = 'Thing for card 4111 1111 1111 1111'
      const lines = [{ sku: 'THING', title, quantity: 1, unitAmount: 1_000 }]
      const { quote, leaf } = await bench.purchase({ claims: { lines } })
      const seen = bench.seen(await bench.pay(leaf, quote), [bench.move()])
      const book = JSON.stringify(await bench.world.desk.book())
      bench.claim(!book.includes('4111'), 'expected no word of the quote on the rail')
      return seen
    },
  },
  {
    id: 'A33',
    goal: 'Have a refund go to another account',
    method: 'A leaf asks for its payment back, to an account that the text names',
    expected: { status: 403, code: 'forbidden' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const paid = bench.must(await bench.pay(leaf, quote), 200)
      const path = `/payments/${paid.body.paymentId}/refunds`
      const body = { account: 'acct-7f31c', amount: 1_000, idempotencyKey: 'text' }
      // An operator who was fooled names no account either: a refund goes to where it was paid from.
      bench.must(await bench.operator(path, { method: 'POST', body }), 400, 'malformed')
      return bench.seen(await bench.call(leaf, { path, body }), [bench.move()])
    },
  },
  {
    id: 'A36',
    goal: 'Be believed about what was paid',
    method: 'One agent says that it paid and did not; another denies having paid and asks again',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const before = await bench.detail(root.run)
      bench.claim(before.run.totals.spent === 0, 'expected nothing spent where nothing was paid')
      bench.must(await bench.pay(leaf, quote), 200)
      const again = await bench.pay(leaf, quote)
      const isReplay = again.headers.get('idempotent-replayed') === 'true'
      bench.claim(isReplay, 'expected the first answer to be told again')
      const after = await bench.detail(root.run)
      bench.claim(after.run.totals.spent === 1_000, 'expected what the rail says, once')
      return bench.seen(again, [bench.move()])
    },
  },
]
