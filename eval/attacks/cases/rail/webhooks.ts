/** Who speaks in the rail's name, or repeats, reorders and invents what it said. The rail itself is what counts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { freshId, paymentIdOf, railKeyOf, sha256 } from '../../../../runtime/core/ids.ts'
import { LIMITS } from '../../../../runtime/core/limits.ts'
import type { AttackCase, Seen } from '../../types.ts'
import { Wrong } from '../../types.ts'
import type { Bench, Call } from '../../world/bench.ts'

const PATH = '/webhooks/razorpay'

interface Message {
  readonly id?: string
  readonly event?: string
  readonly ref?: string
  /** Instead of what the rail would have sent, under the signature of what it would have. */
  readonly body?: string
  readonly signature?: string
  readonly path?: string
  readonly headers?: NonNullable<Call['headers']>
}

function deliver(bench: Bench, message: Message) {
  const { id = freshId(), event = 'payout.processed', ref, path = PATH, headers = [] } = message
  const written = JSON.stringify(ref === undefined ? { event } : { event, ref })
  const signature = message.signature ?? bench.world.signature?.(written) ?? ''
  return bench.plain({
    method: 'POST',
    path,
    body: message.body ?? written,
    headers: [
      ['X-Razorpay-Signature', signature],
      ['X-Razorpay-Event-Id', id],
      ['Content-Type', 'application/json'],
      ...headers,
    ],
  })
}

/** A settled payment of this case, and its name at the rail. */
async function paid(bench: Bench) {
  const { quote, leaf } = await bench.purchase()
  const answer = bench.must(await bench.pay(leaf, quote), 200)
  const payout = (await bench.world.desk.book()).payouts.at(-1)
  if (payout === undefined) throw new Wrong('expected the payment on the rail’s book')
  return { leaf, quote, answer, payment: String(answer.body.paymentId), key: payout.key }
}

/** Nothing is parked any more: whatever was heard has had its effect. */
async function heardOut(bench: Bench): Promise<void> {
  for (let i = 0; i < 50; i += 1) {
    if ((await bench.world.ledger.parked(1)).length === 0) return
    bench.must(await bench.operator('/internal/reconcile', { method: 'POST' }), 200)
    bench.world.pushClock(LIMITS.messageRetryMostSeconds * 1000)
  }
  throw new Wrong('expected every message to have its effect')
}

const eventsOf = async (bench: Bench, node: string): Promise<readonly string[]> => {
  const events = await bench.world.ledger.events(node as `nd_${string}`, 0, 1_000)
  return events.map(({ body }) => String(JSON.parse(body).type))
}

const once = (bench: Bench, types: readonly string[], type: string) =>
  bench.claim(types.filter((each) => each === type).length === 1, `expected one ${type} in the log`)

/** A message that must not be heard: its status, and nothing of it kept. */
const refused = (
  id: string,
  method: string,
  { message, status = 401 }: { message: (bench: Bench) => Promise<Message>; status?: number },
): AttackCase => ({
  id,
  goal: 'Have the gateway believe what the rail never said',
  method,
  expected: { status },
  world: 'heard',
  run: async (bench) => {
    const event = `forged-${freshId()}`
    const streams = JSON.stringify(await bench.world.ledger.heads())
    const answer = await deliver(bench, { ...(await message(bench)), id: event })
    const kept = await bench.world.ledger.message({ rail: 'razorpay', id: event })
    bench.claim(kept === undefined, 'expected nothing of it in the inbox')
    const after = JSON.stringify(await bench.world.ledger.heads())
    bench.claim(streams === after, 'expected the ledger as it was')
    return { status: answer.status }
  },
})

const REFUSED: readonly AttackCase[] = [
  refused('R02', 'A message with a signature that nobody made', {
    message: async () => ({ ref: 'hg-x', signature: 'f'.repeat(64) }),
  }),
  refused('R02b', 'A message without a signature', {
    message: async () => ({ ref: 'hg-x', signature: '' }),
  }),
  refused('R02c', 'Another body under the signature of a true message', {
    message: async () => ({ ref: 'hg-x', body: '{"event":"payout.processed","ref":"hg-y"}' }),
  }),
  refused('R02d', 'An empty body under the signature of a true message', {
    message: async () => ({ ref: 'hg-x', body: '' }),
  }),
  refused('R02e', 'A body larger than any message', {
    message: async () => ({ ref: 'hg-x', body: 'x'.repeat(LIMITS.webhookBytes + 1) }),
    status: 413,
  }),
  refused('R02f', 'A true message at another rail’s address', {
    message: async () => ({ ref: 'hg-x', path: '/webhooks/paypal' }),
    status: 404,
  }),
]

const AGENT: AttackCase = {
  id: 'A40',
  goal: 'Have an agent speak in the rail’s name',
  method: 'A leaf posts a message about its own payment, with its token and a proof',
  expected: { status: 401 },
  world: 'heard',
  run: async (bench) => {
    const { leaf, quote } = await bench.purchase()
    const ref = railKeyOf(paymentIdOf(leaf.claims.node, sha256(quote)))
    const headers = [
      ['Authorization', `DPoP ${leaf.token}`],
      ['DPoP', 'x.y.z'],
    ] as const
    const answer = await deliver(bench, { ref, signature: 'f'.repeat(64), headers })
    const payments = await bench.world.ledger.payments({ run: leaf.run, limit: 9 })
    bench.claim(payments.length === 0, 'expected no payment')
    return { status: answer.status }
  },
}

/** One payment, and messages about it: however they come, it is settled once and stays so. */
const settledOnce = (
  id: string,
  method: string,
  tell: (bench: Bench, ref: string) => Promise<void>,
): AttackCase => ({
  id,
  goal: 'Have one settlement count twice, or be taken back',
  method,
  expected: { status: 200, verdict: 'allow' },
  world: 'heard',
  run: async (bench): Promise<Seen> => {
    const { leaf, answer, payment, key } = await paid(bench)
    await tell(bench, key)
    await heardOut(bench)
    const { body } = bench.must(await bench.operator(`/payments/${payment}`), 200)
    bench.claim(body.state === 'settled', `expected settled, found ${String(body.state)}`)
    const types = await eventsOf(bench, leaf.claims.node)
    once(bench, types, 'settled')
    bench.claim(!types.includes('released'), 'expected nothing to be taken back')
    return bench.seen(answer, [bench.move()])
  },
})

const REPEATED: readonly AttackCase[] = [
  settledOnce('L21', 'Two messages of different ids about one settlement', async (bench, ref) => {
    for (const id of ['a', 'b']) bench.must(await deliver(bench, { ref, id: ref + id }), 200)
  }),
  settledOnce('R12', 'Two messages of success with different ids, at once', async (bench, ref) => {
    const sent = ['c', 'd', 'c', 'd'].map((id) => deliver(bench, { ref, id: ref + id }))
    for (const answer of await Promise.all(sent)) bench.must(answer, 200)
  }),
  settledOnce('R03', 'The same message again, a day after it was heard', async (bench, ref) => {
    bench.must(await deliver(bench, { ref, id: `${ref}-day` }), 200)
    await heardOut(bench)
    bench.world.pushClock(24 * 3600 * 1000)
    bench.must(await deliver(bench, { ref, id: `${ref}-day` }), 200)
    const kept = await bench.world.ledger.message({ rail: 'razorpay', id: `${ref}-day` })
    bench.claim(kept?.state === 'done', 'expected it to stay done')
  }),
  settledOnce(
    'R04',
    'Messages of failure around one of success, in any order',
    async (bench, ref) => {
      for (const [i, event] of [
        'payout.failed',
        'payout.processed',
        'payout.failed',
        'payout.queued',
      ].entries()) {
        bench.must(await deliver(bench, { ref, event, id: `${ref}-${i}` }), 200)
      }
    },
  ),
]

export const WEBHOOK_CASES: readonly AttackCase[] = [
  ...REFUSED,
  AGENT,
  ...REPEATED,
  {
    id: 'R16',
    goal: 'Have somebody else’s money counted as ours',
    method: 'A true message about money that no payment of ours moved',
    expected: { status: 200 },
    world: 'heard',
    run: async (bench) => {
      const { root } = await bench.purchase()
      const moved = await bench.world.desk.stray({ direction: 'out', amount: 900, currency: 'EUR' })
      for (const id of ['one', 'two']) {
        bench.must(await deliver(bench, { ref: moved, id: `${moved}-${id}` }), 200)
      }
      await heardOut(bench)
      const alarms = bench.must(await bench.operator('/alarms'), 200)
      const outside = (alarms.body.outside ?? []) as readonly { object: string }[]
      const told = outside.filter(({ object }) => object === moved)
      bench.claim(told.length === 1, 'expected one alarm about it')
      const { run } = await bench.detail(root.run)
      bench.claim(run.totals.spent === 0, 'expected no balance of ours to change')
      return { status: 200 }
    },
  },
  {
    id: 'F25',
    goal: 'A message that overtakes the answer to our own call',
    method: 'The rail tells of a payment while its answer is still on its way',
    expected: { status: 200, verdict: 'allow' },
    world: 'heard',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const payment = paymentIdOf(leaf.claims.node, sha256(quote))
      const ref = railKeyOf(payment)
      await bench.world.desk.script({ outcome: 'slow', delayMs: 700 })
      const paying = bench.pay(leaf, quote)
      const { desk } = bench.world
      const isBooked = async () => (await desk.book()).payouts.some(({ key }) => key === ref)
      for (let waited = 0; !(await isBooked()); waited += 20) {
        bench.claim(waited < 10_000, 'expected the rail to have booked it by now')
        await sleep(20)
      }
      bench.must(await deliver(bench, { ref, id: ref }), 200)
      const answer = bench.must(await paying, 200)
      bench.claim(answer.body.state === 'settled', 'expected the payment to be settled')
      await heardOut(bench)
      once(bench, await eventsOf(bench, leaf.claims.node), 'settled')
      return bench.seen(answer, [bench.move()])
    },
  },
]
