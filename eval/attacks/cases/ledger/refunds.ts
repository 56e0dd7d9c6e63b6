/** Attacks on what comes back: refunds that add up to more than was paid, one refund made twice, a budget refilled by it. */
import { type PaymentId, railKeyOf } from '../../../../runtime/core/ids.ts'
import type { AttackCase } from '../../types.ts'
import type { Answer, Bench } from '../../world/bench.ts'

async function paid(bench: Bench, amount = 1_000) {
  const { root, quote, leaf } = await bench.purchase({ amount })
  const { body } = bench.must(await bench.pay(leaf, quote), 200)
  return { root, leaf, payment: body.paymentId as PaymentId }
}

const refund = (
  bench: Bench,
  payment: PaymentId,
  amount: number,
  idempotencyKey: string,
): Promise<Answer> =>
  bench.operator(`/payments/${payment}/refunds`, {
    method: 'POST',
    body: { amount, idempotencyKey },
  })

/** What the rail's own book says came back of this payment, refund by refund. */
async function cameBack(bench: Bench, payment: PaymentId): Promise<readonly number[]> {
  const { refunds } = await bench.world.desk.book()
  return refunds
    .filter(({ payout, state }) => payout === railKeyOf(payment) && state === 'refunded')
    .map(({ amount }) => amount)
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, each) => total + each, 0)

export const REFUND_CASES: readonly AttackCase[] = [
  {
    id: 'L09',
    goal: 'Get more back than was paid',
    method: 'A refund of most of a payment, and then another of most of it',
    expected: { status: 422, code: 'refused' },
    run: async (bench) => {
      const { payment } = await paid(bench)
      bench.must(await refund(bench, payment, 1_001, 'all-and-one'), 422, 'refused')
      bench.must(await refund(bench, payment, 700, 'first'), 201)
      const seen = bench.seen(await refund(bench, payment, 301, 'second'), [bench.move()])
      const back = await cameBack(bench, payment)
      bench.claim(back.join() === '700', `expected 700 to have come back, found ${back.join()}`)
      return seen
    },
  },
  {
    id: 'L09a',
    goal: 'Get more back than was paid, by racing',
    method: 'Fifty refunds of a tenth at once, each a request of its own',
    expected: { status: 422, code: 'refused' },
    run: async (bench) => {
      const { payment } = await paid(bench)
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => refund(bench, payment, 100, `refund-${i}`)),
      )
      const made = answers.filter(({ status }) => status === 201)
      bench.claim(made.length === 10, `expected ten refunds, found ${made.length}`)
      const back = sum(await cameBack(bench, payment))
      bench.claim(back === 1_000, `expected 1,000 to have come back, found ${back}`)
      const other = answers.find(({ status }) => status !== 201)
      return bench.seen(other ?? ({} as Answer), [bench.move()])
    },
  },
  {
    id: 'L09b',
    goal: 'Have one refund made twice',
    method: 'The rail books a refund and loses its answer; the same is asked for ten times more',
    expected: { status: 202 },
    run: async (bench) => {
      const { payment } = await paid(bench)
      await bench.world.desk.script({ on: 'refund', outcome: 'lostReply' })
      bench.must(await refund(bench, payment, 600, 'one'), 202)
      const again = await Promise.all(
        Array.from({ length: 10 }, () => refund(bench, payment, 600, 'one')),
      )
      bench.must(await refund(bench, payment, 401, 'two'), 422, 'refused')
      const back = await cameBack(bench, payment)
      bench.claim(back.join() === '600', `expected one refund of 600, found ${back.join()}`)
      return bench.seen(again[0] ?? ({} as Answer), [bench.move()])
    },
  },
  {
    id: 'L09c',
    goal: 'Spend a ceiling over and over through a payee that refunds it',
    method: 'Everything is paid and comes back; the planner splits off another leaf of the same',
    expected: { status: 403, code: 'insufficient' },
    run: async (bench) => {
      const { root, leaf, payment } = await paid(bench, 100_000)
      bench.must(await refund(bench, payment, 100_000, 'all'), 201)
      const path = `/runs/${root.run}/nodes/${leaf.claims.node}/close`
      bench.must(await bench.call(root, { path }), 200)
      const next = bench.mintLeaf(root)
      const answer = await bench.register(root, next.leaf.token)
      return bench.seen(answer, [bench.move({ amount: 100_000 })])
    },
  },
  {
    id: 'L09d',
    goal: 'Have a tool that names no sum give everything back',
    method: 'A refund without an amount, which some rails take for the whole',
    expected: { status: 422, code: 'amount_needed' },
    run: async (bench) => {
      const { payment } = await paid(bench)
      bench.must(await refund(bench, payment, 300, 'first'), 201)
      const path = `/payments/${payment}/refunds`
      const body = { idempotencyKey: 'all' }
      const seen = bench.seen(await bench.operator(path, { method: 'POST', body }), [bench.move()])
      const back = await cameBack(bench, payment)
      bench.claim(back.join() === '300', `expected 300 to have come back, found ${back.join()}`)
      return seen
    },
  },
  {
    id: 'L09e',
    goal: 'Have a refund go to somebody else',
    method: 'A refund that names another payee than the one that was paid',
    expected: { status: 400, code: 'refund_rejected' },
    run: async (bench) => {
      const { payment } = await paid(bench)
      const path = `/payments/${payment}/refunds`
      const body = { amount: 500, idempotencyKey: 'one', payee: 'somebody-else' }
      const seen = bench.seen(await bench.operator(path, { method: 'POST', body }), [bench.move()])
      bench.claim((await cameBack(bench, payment)).length === 0, 'expected nothing to come back')
      return seen
    },
  },
]
