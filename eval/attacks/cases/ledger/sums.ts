/** Attacks on the sums: races, over-allotting, leaks, negative amounts, approvals that add up to too much. */
import type { PaymentId } from '../../../../runtime/core/ids.ts'
import { blockText, compile } from '../../forge/datalog.ts'
import { append, appendClaims } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Answer, Bench, Held } from '../../world/bench.ts'
import { approve, holdOf } from '../people.ts'

const count = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length

/** What is left at a node, as the operator reads it. */
async function availableAt(bench: Bench, node: Held): Promise<number> {
  const { nodes } = await bench.detail(node.run)
  return nodes.find(({ id }) => id === node.claims.node)?.available ?? -1
}

async function closeNode(bench: Bench, parent: Held, child: Held): Promise<Answer> {
  return bench.call(parent, { path: `/runs/${parent.run}/nodes/${child.claims.node}/close` })
}

export const LEDGER_CASES: readonly AttackCase[] = [
  {
    id: 'L01',
    goal: 'Have one payment made many times',
    method: 'Fifty requests at once with one leaf and one quote, each with a proof of its own',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const { calls } = await bench.world.desk.book()
      const answers = await Promise.all(Array.from({ length: 50 }, () => bench.pay(leaf, quote)))
      const odd = answers.find(({ status }) => status !== 200 && status !== 409)
      bench.claim(odd === undefined, `expected 200 or 409 for each, got ${odd?.status}`)
      const after = await bench.world.desk.book()
      bench.claim(after.calls === calls + 1, 'expected exactly one call of the rail')
      return bench.seen(await bench.pay(leaf, quote), [bench.move()])
    },
  },
  {
    id: 'L02',
    goal: 'Spend more than the root has, by racing',
    method: 'Twenty children of a tenth each are registered at once, and all of them pay at once',
    expected: { status: 403, code: 'insufficient' },
    run: async (bench) => {
      const root = await bench.run({ ceiling: 10_000 })
      const wanted = Array.from({ length: 20 }, () => bench.mintLeaf(root))
      const registered = await Promise.all(
        wanted.map(({ leaf }) => bench.register(root, leaf.token)),
      )
      bench.claim(count(registered, 201) === 10, 'expected exactly ten children to be recorded')
      const paid = await Promise.all(wanted.map(({ leaf, quote }) => bench.pay(leaf, quote)))
      bench.claim(count(paid, 200) === 10, 'expected exactly ten payments')
      const refused = registered.find(({ status }) => status !== 201)
      const moves = Array.from({ length: 10 }, () => bench.move())
      return bench.seen(refused ?? registered[0] ?? paid[0] ?? ({} as Answer), moves)
    },
  },
  {
    id: 'L03',
    goal: 'Cross the total with payments that are each allowed',
    method: 'Payments under the limit for one, until their sum would be over the ceiling',
    expected: { status: 403, code: 'insufficient' },
    run: async (bench) => {
      const root = await bench.run({ ceiling: 3_500, perPayment: 1_000 })
      const moves = []
      for (let i = 0; i < 3; i += 1) {
        const quote = bench.quote()
        bench.must(await bench.pay(await bench.leaf(root, quote), quote), 200)
        moves.push(bench.move())
      }
      const { leaf } = bench.mintLeaf(root)
      return bench.seen(await bench.register(root, leaf.token), moves)
    },
  },
  {
    id: 'L04',
    goal: 'Make one payment that is larger than any may be',
    method: 'A leaf with money enough, over the mandate’s limit for one payment',
    expected: { status: 403, code: 'per_payment', verdict: 'deny' },
    guards: 'funds',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase({ mandate: { perPayment: 999 } })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'L05',
    goal: 'Leak the budget away',
    method: 'A hundred children opened and closed again; then one payment of everything',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const root = await bench.run()
      const pieces = Array.from({ length: 100 }, () => bench.mint(root, { ceiling: 1_000 }))
      for (let at = 0; at < pieces.length; at += 10) {
        const some = pieces.slice(at, at + 10)
        const opened = await Promise.all(some.map(({ token }) => bench.register(root, token, 0)))
        const closed = await Promise.all(some.map((piece) => closeNode(bench, root, piece)))
        bench.claim(count(opened, 201) === 10 && count(closed, 200) === 10, 'expected ten and ten')
      }
      const all = { amount: 100_000 }
      const { quote, leaf } = await bench.purchaseIn(root, all)
      return bench.seen(await bench.pay(leaf, quote), [bench.move(all)])
    },
  },
  {
    id: 'L11',
    goal: 'Open a spent window again',
    method: 'Two payments in one hour of the mandate’s zone that are together over its limit',
    expected: { status: 403, code: 'window', verdict: 'deny' },
    guards: 'funds',
    run: async (bench) => {
      const window = { zone: 'Pacific/Kiritimati', perDay: 1_500 }
      const { root, quote, leaf } = await bench.purchase({ mandate: { window } })
      bench.must(await bench.pay(leaf, quote), 200)
      const next = await bench.purchaseIn(root)
      return bench.seen(await bench.pay(next.leaf, next.quote), [bench.move()])
    },
  },
  {
    id: 'L12',
    goal: 'Open yesterday’s window again',
    method: 'The window of a day is spent, and the gateway’s clock is set back two days',
    expected: { status: 503, code: 'unavailable' },
    world: 'late',
    run: async (bench) => {
      const window = { zone: 'UTC', perDay: 1_000 }
      const { root, quote, leaf } = await bench.purchase({ mandate: { window } })
      bench.must(await bench.pay(leaf, quote), 200)
      const next = await bench.purchaseIn(root, { amount: 900 })
      const proof = bench.proof(next.leaf, { path: '/payments' })
      bench.world.pushClock(-2 * 24 * 3_600_000)
      try {
        const answer = await bench.pay(next.leaf, next.quote, { headers: [['DPoP', proof]] })
        return bench.seen(answer, [bench.move()])
      } finally {
        bench.world.pushClock(2 * 24 * 3_600_000)
      }
    },
  },
  {
    id: 'L13',
    goal: 'Have two approvals spend what one may',
    method: 'Two held payments, both approved, together over the mandate’s limit for a day',
    expected: { status: 403, code: 'window', verdict: 'deny' },
    run: async (bench) => {
      const mandate = { approvalAbove: 500, window: { zone: 'Asia/Kolkata', perDay: 1_500 } }
      const { root, quote, leaf } = await bench.purchase({ mandate })
      const next = await bench.purchaseIn(root)
      await approve(bench, await holdOf(bench, leaf, quote))
      await approve(bench, await holdOf(bench, next.leaf, next.quote))
      bench.must(await bench.pay(leaf, quote), 200)
      return bench.seen(await bench.pay(next.leaf, next.quote), [bench.move()])
    },
  },
  {
    id: 'L15',
    goal: 'Allot more than there is',
    method: 'A second child that gets all although the first already has half',
    expected: { status: 403, code: 'insufficient' },
    run: async (bench) => {
      const root = await bench.run()
      await bench.child(root, { ceiling: 50_000 })
      const second = bench.mint(root, { ceiling: 100_000 })
      return bench.seen(await bench.register(root, second.token, 20))
    },
  },
  {
    id: 'L15b',
    goal: 'Spend more than the ledger gave',
    method: 'A leaf whose token says 1,000 and whose account was opened with 400',
    expected: { status: 403, code: 'insufficient', verdict: 'deny' },
    guards: 'funds',
    run: async (bench) => {
      const root = await bench.run()
      const { quote, leaf } = bench.mintLeaf(root)
      await bench.smuggle(root, leaf, { ceiling: 400 })
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'L22',
    goal: 'Gain by giving',
    method: 'A child with a negative ceiling, which would raise what its parent has left',
    expected: { status: 403, code: 'grammar' },
    run: async (bench) => {
      const root = await bench.run()
      const { claims } = bench.mint(root)
      const payload = await compile(blockText({ ...claims, ceiling: -50_000 }))
      const { token } = append(root.token, { holder: root.holder, payload, sealed: false })
      const seen = bench.seen(await bench.register(root, token, 5))
      bench.claim((await availableAt(bench, root)) === 100_000, 'expected the same left as before')
      return seen
    },
  },
  {
    id: 'L23',
    goal: 'Pay on after the parent was revoked',
    method:
      'The planner is revoked while one leaf’s payment is on its way and another’s is to come',
    expected: { status: 403, code: 'revoked', verdict: 'deny' },
    run: async (bench) => {
      const root = await bench.run()
      const middle = await bench.child(root, { ceiling: 50_000 })
      const [first, second] = [bench.quote(), bench.quote()]
      const early = await bench.leaf(middle, first)
      const late = await bench.leaf(middle, second)
      await bench.world.desk.script({ outcome: 'lostReply' })
      const unknown = bench.must(await bench.pay(early, first), 200)
      bench.claim(unknown.body.state === 'unknown', 'expected the first payment to be unknown')
      const path = `/runs/${root.run}/nodes/${middle.claims.node}`
      const stop = bench.must(await bench.operator(`${path}/revoke`, { method: 'POST' }), 200)
      const onTheirWay = stop.body.onTheirWay as readonly PaymentId[]
      bench.claim(Array.isArray(onTheirWay), 'expected a list of what was on its way')
      const seen = bench.seen(await bench.pay(late, second), [bench.move()])
      bench.must(await bench.operator(`${path}/close`, { method: 'POST' }), 200)
      const left = await availableAt(bench, root)
      bench.claim(left === 99_000, `expected all but the unknown payment to be home, found ${left}`)
      return seen
    },
  },
  {
    id: 'L24',
    goal: 'Raise a ceiling where it is kept',
    method:
      'The run’s record in the store’s file is edited: first the ceiling, then the mandate itself',
    expected: { status: 403, code: 'mandate_invalid', verdict: 'deny' },
    guards: 'standing',
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const edit = (path: string, value: string | number) =>
        bench.world.editStore(
          'UPDATE runs SET record = json_set(record, ?, ?) WHERE id = ?',
          path,
          value,
          root.run,
        )
      edit('$.ceiling', 900_000)
      bench.must(await bench.pay(leaf, quote), 403, 'mandate_invalid')
      edit('$.ceiling', 100_000)
      edit('$.mandate', bench.mandate({ ceiling: 900_000 }))
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'L25',
    goal: 'Write oneself money',
    method: 'The leaf’s account in the store’s file is given more, balanced in itself',
    expected: { status: 503, code: 'unavailable' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const add = (amount: number) =>
        bench.world.editStore(
          'UPDATE accounts SET ceiling = ceiling + ?, available = available + ? WHERE node = ?',
          amount,
          amount,
          leaf.claims.node,
        )
      add(5_000)
      try {
        // A refusal writes an event; it must not make the edited balances look like recorded ones.
        bench.must(await bench.pay(leaf, bench.quote()), 503, 'unavailable')
        return bench.seen(await bench.pay(leaf, quote))
      } finally {
        add(-5_000)
      }
    },
  },
  {
    id: 'L26',
    goal: 'Write oneself money back',
    method:
      'Money that was spent is made available again in the store’s file, and a second leaf is split off',
    expected: { status: 503, code: 'unavailable' },
    run: async (bench) => {
      const root = await bench.run({ ceiling: 1_000 })
      const first = await bench.purchaseIn(root)
      bench.must(await bench.pay(first.leaf, first.quote), 200)
      const shift = (amount: number) =>
        bench.world.editStore(
          'UPDATE accounts SET allotted = allotted - ?, available = available + ? WHERE node = ?',
          amount,
          amount,
          root.claims.node,
        )
      shift(1_000)
      try {
        const { leaf } = bench.mintLeaf(root)
        return bench.seen(await bench.register(root, leaf.token), [bench.move()])
      } finally {
        shift(-1_000)
      }
    },
  },
  {
    id: 'L27',
    goal: 'Spend what was given back',
    method: 'The planner closes its leaf, whose money goes home; then the leaf pays',
    expected: { status: 403, code: 'run_closed', verdict: 'deny' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      bench.must(await closeNode(bench, root, leaf), 200)
      const seen = bench.seen(await bench.pay(leaf, quote))
      bench.claim((await availableAt(bench, root)) === 100_000, 'expected all of it at the root')
      return seen
    },
  },
  {
    id: 'L28',
    goal: 'Have one split counted once and used twice',
    method: 'The same child registered again, then another chain under the same node id',
    expected: { status: 409, code: 'conflict' },
    run: async (bench) => {
      const root = await bench.run()
      const child = await bench.child(root, { ceiling: 40_000 })
      bench.must(await bench.register(root, child.token, 20), 201)
      bench.claim((await availableAt(bench, root)) === 60_000, 'expected one split')
      const twin = appendClaims(root.token, { holder: root.holder, claims: child.claims })
      return bench.seen(await bench.register(root, twin.token, 20))
    },
  },
]
