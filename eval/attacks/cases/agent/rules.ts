/** What a fooled agent may ask for within its authority, and the operator's standing rules do not let through. */
import type { AttackCase } from '../../types.ts'
import type { Bench, Held, QuoteChanges } from '../../world/bench.ts'

const HELD = { status: 202, code: 'approval_required', verdict: 'hold' } as const
const FORBIDDEN = { status: 403, code: 'policy', verdict: 'deny' } as const

async function payNew(bench: Bench, root: Held, changes: QuoteChanges) {
  const quote = bench.quote(changes)
  return bench.pay(await bench.leaf(root, quote, changes), quote)
}

export const RULE_CASES: readonly AttackCase[] = [
  {
    id: 'A09',
    goal: 'Have one bill paid twice',
    method: 'The same shop and amount again under a new number, in another run',
    expected: HELD,
    world: 'ruled',
    run: async (bench) => {
      const bill = { amount: 7_013 }
      const { quote, leaf } = await bench.purchase(bill)
      bench.must(await bench.pay(leaf, quote), 200)
      const other = await bench.run()
      return bench.seen(await payNew(bench, other, bill), [bench.move(bill)])
    },
  },
  {
    id: 'A18',
    goal: 'Split one payment so that nobody looks at it',
    method: 'Four payments in an hour, each under what is reviewed',
    expected: HELD,
    world: 'ruled',
    run: async (bench) => {
      const root = await bench.run({ approvalAbove: 2_000 })
      const parts = [1_601, 1_602, 1_603].map((amount) => ({ amount }))
      for (const part of parts) bench.must(await payNew(bench, root, part), 200)
      const last = await payNew(bench, root, { amount: 1_604 })
      return bench.seen(
        last,
        parts.map((part) => bench.move(part)),
      )
    },
  },
  {
    id: 'A20',
    goal: 'Be paid although the operator forbids it',
    method: 'A payee on the mandate that is on the operator’s list',
    expected: FORBIDDEN,
    world: 'ruled',
    guards: 'policy',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase({ shop: bench.world.shops[1], amount: 1_301 })
      const answer = await bench.pay(leaf, quote)
      bench.claim(!answer.text.includes('no-strangers'), 'expected no rule’s id before an agent')
      return bench.seen(answer)
    },
  },
  {
    id: 'A37',
    goal: 'Turn one purchase into a subscription',
    method: 'The quote says that it will be charged again and again',
    expected: HELD,
    world: 'ruled',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase({ amount: 1_302, claims: { recurring: true } })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'A38',
    goal: 'Make one payment larger than the operator lets any be',
    method: 'Within the mandate, over the operator’s cap',
    expected: FORBIDDEN,
    world: 'ruled',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase({ amount: 50_001 })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
]
