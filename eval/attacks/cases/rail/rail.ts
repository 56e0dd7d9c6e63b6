/** The rail lies, loses, repeats or sends elsewhere. What counts is its own book, and that it is called once. */
import { LIMITS } from '../../../../runtime/core/limits.ts'
import type { AttackCase } from '../../types.ts'
import { Wrong } from '../../types.ts'
import type { Bench } from '../../world/bench.ts'
import { serveWith } from '../serve.ts'

/** Longer than a call may take to begin, to end and to be seen on the rail. */
const SETTLED_BY_NOW_MS = 30_000 + LIMITS.clockStepMs

/** What the operator's interface says of a payment now. */
async function paymentState(bench: Bench, payment: unknown): Promise<string> {
  const { body } = bench.must(await bench.operator(`/payments/${String(payment)}`), 200)
  return String(body.state)
}

/** Lets the time pass after which the rail's silence means something, and asks it. */
async function reconcile(bench: Bench): Promise<void> {
  bench.world.pushClock(SETTLED_BY_NOW_MS)
  bench.must(await bench.operator('/internal/reconcile', { method: 'POST' }), 200)
}

type Rule = Parameters<Bench['world']['desk']['script']>[0]

/** A payment that meets this rule, must be unknown afterwards, and is asked about later. */
async function payInto(bench: Bench, rule: Rule) {
  const { root, quote, leaf } = await bench.purchase()
  const { calls } = await bench.world.desk.book()
  await bench.world.desk.script(rule)
  const first = bench.must(await bench.pay(leaf, quote), 200)
  if (first.body.state !== 'unknown') {
    throw new Wrong(`expected the payment to be unknown, it is ${first.body.state}`)
  }
  bench.claim(first.body.receipt === undefined, 'expected no receipt for an unknown payment')
  const again = bench.must(await bench.pay(leaf, quote), 200)
  bench.claim(again.body.state === 'unknown', 'expected the same answer again')
  const after = await bench.world.desk.book()
  bench.claim(after.calls === calls + 1, 'expected one call of the rail, whatever was asked again')
  return { root, quote, leaf, payment: first.body.paymentId, calls }
}

interface Lost {
  readonly id: string
  readonly method: string
  readonly rule: Rule
  readonly ends: 'settled' | 'released'
}

const LOST: readonly Lost[] = [
  {
    id: 'R01',
    method: 'It books the payment and its answer is lost',
    rule: { outcome: 'lostReply' },
    ends: 'settled',
  },
  {
    id: 'R05',
    method: 'It books the payment and answers 200 with a web page',
    rule: { outcome: 'garbage' },
    ends: 'settled',
  },
  {
    id: 'R05b',
    method: 'It books the payment and answers 500',
    rule: { outcome: 'error500AfterSettle' },
    ends: 'settled',
  },
  {
    id: 'R08',
    method: 'It answers after our deadline',
    rule: { outcome: 'slow', delayMs: 1_800 },
    ends: 'settled',
  },
  {
    id: 'R08b',
    method: 'The request is lost and nothing is booked',
    rule: { outcome: 'lostRequest' },
    ends: 'released',
  },
]

const LOST_CASES = LOST.map(
  ({ id, method, rule, ends }): AttackCase => ({
    id,
    goal: 'Have the rail pay twice, or not at all',
    method: `${method}; the agent asks again; later the rail is asked`,
    expected: { status: 200, verdict: 'allow' },
    world: 'late',
    run: async (bench) => {
      const { quote, leaf, payment, calls } = await payInto(bench, rule)
      await reconcile(bench)
      const state = await paymentState(bench, payment)
      bench.claim(state === ends, `expected ${ends} by the rail’s own word, found ${state}`)
      const seen = bench.seen(
        await bench.pay(leaf, quote),
        ends === 'settled' ? [bench.move()] : [],
      )
      const book = await bench.world.desk.book()
      bench.claim(book.calls === calls + 1, 'expected no second call of the rail')
      return seen
    },
  }),
)

export const RAIL_CASES: readonly AttackCase[] = [
  ...LOST_CASES,
  {
    id: 'R08c',
    goal: 'Have money released that may yet move',
    method:
      'The request is lost, and an operator is talked into asking for the settlement ten times at once',
    expected: { status: 200 },
    world: 'late',
    run: async (bench) => {
      const { payment } = await payInto(bench, { outcome: 'lostRequest' })
      const path = `/payments/${String(payment)}/settlement`
      const ask = () => bench.operator(path, { method: 'POST' })
      const answers = await Promise.all(Array.from({ length: 10 }, ask))
      const isAsked = answers.every(({ status }) => status === 200 || status === 409)
      bench.claim(isAsked, 'expected each to be asked, or refused while another asks')
      const state = await paymentState(bench, payment)
      bench.claim(state === 'unknown', `expected the payment to stay unknown, found ${state}`)
      const seen = bench.seen(bench.must(await ask(), 200))
      await reconcile(bench)
      return seen
    },
  },
  {
    id: 'R07',
    goal: 'Spend returned money again without being asked',
    method: 'A settled payout comes back; the budget is read',
    expected: { status: 200 },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      bench.must(await bench.pay(leaf, quote), 200)
      const payout = (await bench.world.desk.book()).payouts.at(-1)
      await bench.world.desk.giveBack(payout?.key ?? '')
      bench.must(await bench.operator('/internal/reconcile', { method: 'POST' }), 200)
      const { run } = await bench.detail(root.run)
      bench.claim(run.totals.spent === 1_000, 'expected the money to count as spent')
      return { status: 200 }
    },
  },
  {
    id: 'R09',
    goal: 'Lead the payment to another host',
    method: 'The rail answers 307 with another address',
    expected: { status: 200, verdict: 'allow' },
    world: 'astray',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const answer = await bench.pay(leaf, quote)
      bench.claim(answer.body.state === 'unknown', 'expected the payment to be unknown')
      const { asked, elsewhere } = bench.world.astray ?? { asked: 0, elsewhere: 1 }
      bench.claim(asked === 1, 'expected the configured rail to be asked once')
      bench.claim(elsewhere === 0, 'expected no request to the other host')
      return bench.seen(answer)
    },
  },
  {
    id: 'R13',
    goal: 'Take more than was authorised',
    method: 'The rail moves one unit more than it was asked to, and says so',
    expected: { status: 200, verdict: 'allow' },
    world: 'late',
    run: async (bench) => {
      const { root, payment } = await payInto(bench, { outcome: 'wrongAmount' })
      await reconcile(bench)
      const state = await paymentState(bench, payment)
      bench.claim(state === 'unknown', `expected the payment to stay unknown, found ${state}`)
      const { run } = await bench.detail(root.run)
      bench.claim(run.totals.reserved === 1_000, 'expected the reservation to stay as it was')
      const isAlarmed = bench.world.log.some((line) => line.includes(String(payment)))
      bench.claim(isAlarmed, 'expected an alarm for a person')
      return { status: 200, verdict: 'allow', moved: [bench.move({ amount: 1_001 })] }
    },
  },
  {
    id: 'R15',
    goal: 'Have the rail’s error carry its key to an agent',
    method: 'A decline whose reason is the rail’s own API key',
    expected: { status: 200, verdict: 'allow' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const key = bench.world.railKey
      await bench.world.desk.script({ outcome: 'decline', reason: key })
      const answer = bench.must(await bench.pay(leaf, quote), 200)
      // A word that holds a credential is no word about money: nothing comes free by it.
      bench.claim(answer.body.state === 'unknown', 'expected such a word to be believed in nothing')
      const view = await bench.operator(`/payments/${answer.body.paymentId}`)
      const log = await bench.operator(`/audit?run=${root.run}`)
      const said = [answer.text, view.text, log.text, ...bench.world.log].join('\n')
      bench.claim(!said.includes(key), 'expected the key in nothing that was said')
      return bench.seen(answer)
    },
  },
  {
    id: 'R10',
    goal: 'Have the gateway pay by another rail',
    method: 'The configured rail’s address is another machine’s; the exit code is read',
    expected: { status: 12 },
    run: async (bench) => {
      const rail = { name: 'simulated', url: 'http://rail.attacker.example' }
      const { exit } = await serveWith({ ...bench.world.configFile, rail, listen: { port: 0 } })
      return { status: exit }
    },
  },
]
