/** Attacks by going deeper or wider than what was given: at registration, and in a store that was made to agree. */
import { appendClaims } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench, ChildChanges } from '../../world/bench.ts'

/** Registers a child that claims more than its parent, minted past every check that our own client makes. */
async function registerWider(bench: Bench, changes: ChildChanges) {
  const root = await bench.run()
  const narrow = await bench.child(root, { ceiling: 5_000, payees: [bench.shop.id] })
  return bench.seen(await bench.register(narrow, bench.mint(narrow, changes).token))
}

const WIDENED = { status: 403, code: 'widened' } as const

export const DEPTH_CASES: readonly AttackCase[] = [
  {
    id: 'T29',
    goal: 'Have the request’s word on depth believed',
    method: 'A body that says depth 1',
    expected: { status: 401, code: 'malformed' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      return bench.seen(await bench.pay(leaf, quote, { body: { quote, depth: 1 } }))
    },
  },
  {
    id: 'T29b',
    goal: 'Delegate deeper than the mandate allows',
    method: 'A leaf at depth 3 where the mandate says 2',
    expected: { status: 403, code: 'depth' },
    guards: 'depth',
    run: async (bench) => {
      const root = await bench.run({ limits: { depth: 2, fanOut: 10, nodes: 50 } })
      const one = await bench.child(root, { ceiling: 50_000 })
      const two = await bench.child(one, { ceiling: 20_000 }, 5)
      const { leaf } = bench.mintLeaf(two)
      return bench.seen(await bench.register(two, leaf.token))
    },
  },
  {
    id: 'T29c',
    goal: 'Pay from deeper than the mandate allows',
    method: 'The same leaf, put into the store past the gateway',
    expected: { status: 403, code: 'depth', verdict: 'deny' },
    guards: 'depth',
    run: async (bench) => {
      const root = await bench.run({ limits: { depth: 1, fanOut: 10, nodes: 50 } })
      const one = await bench.child(root, { ceiling: 50_000 })
      const { quote, leaf } = bench.mintLeaf(one)
      await bench.smuggle(one, leaf)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'T29d',
    goal: 'Have the request’s word on depth believed, where it is needed',
    method: 'A chain five deep where four are allowed, with headers that say 1',
    expected: { status: 403, code: 'depth', verdict: 'deny' },
    guards: 'depth',
    run: async (bench) => {
      let parent = await bench.run({ limits: { depth: 4, fanOut: 10, nodes: 50 } })
      for (const left of [15, 10, 5, 1]) {
        parent = await bench.child(parent, { ceiling: 50_000 }, left)
      }
      const { quote, leaf } = bench.mintLeaf(parent)
      await bench.smuggle(parent, leaf)
      const headers = [
        ['X-Depth', '1'],
        ['Depth', '1'],
      ] as const
      return bench.seen(await bench.pay(leaf, quote, { headers }))
    },
  },
  {
    id: 'T40',
    goal: 'Give a child a payee that its planner may not pay',
    method: 'A block of the right grammar whose payees are not among its parent’s',
    expected: WIDENED,
    run: (bench) => registerWider(bench, { ceiling: 1_000, payees: [bench.world.shops[1].id] }),
  },
  {
    id: 'T41',
    goal: 'Outlive the parent',
    method: 'A block that expires an hour after the one above it',
    expected: WIDENED,
    run: async (bench) => {
      const root = await bench.run()
      const later = (root.claims.expiresAtSeconds + 3600) as typeof root.claims.expiresAtSeconds
      const child = bench.mint(root, { ceiling: 1_000, expiresAtSeconds: later })
      return bench.seen(await bench.register(root, child.token))
    },
  },
  {
    id: 'T42',
    goal: 'Delegate from a node that may not',
    method: 'A looker that was left unsealed, with a child below it',
    expected: { status: 401, code: 'token_invalid' },
    run: async (bench) => {
      const root = await bench.run()
      const sealed = bench.mint(root, { kind: 'looker', ceiling: 0 })
      const open = { holder: root.holder, claims: sealed.claims, sealed: false }
      const looker = { ...sealed, token: appendClaims(root.token, open).token }
      const { quote, leaf } = bench.mintLeaf(looker)
      bench.must(await bench.register(root, looker.token), 403, 'grammar')
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'T43',
    goal: 'Pay with a chain that widens',
    method: 'A leaf that outlives its planner, put into the store past the gateway',
    expected: { status: 403, code: 'widened', verdict: 'deny' },
    guards: 'depth',
    run: async (bench) => {
      const root = await bench.run()
      const soon = (bench.now() + 600) as typeof root.claims.expiresAtSeconds
      const planner = await bench.child(root, { ceiling: 50_000, expiresAtSeconds: soon })
      const quote = bench.quote()
      const later = root.claims.expiresAtSeconds
      const leaf = bench.mint(planner, { ...bench.leafClaims(quote), expiresAtSeconds: later })
      await bench.smuggle(planner, leaf)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
]
