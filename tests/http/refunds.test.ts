/** Refunds through a composed gateway and the simulated rail as it is: its own book says how often money came back. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import type { PaymentId } from '../../runtime/core/ids.ts'
import { freshId, paymentIdSchema, refundIdOf, refundKeyOf } from '../../runtime/core/ids.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import { nowSeconds } from '../../runtime/core/time.ts'
import { type Problem, runDetailSchema } from '../../runtime/core/wire.ts'
import type { refundAnswer } from '../../runtime/http/shapes.ts'
import {
  type SimulatedRailServer,
  startSimulatedRail,
} from '../../runtime/rails/simulated/server.ts'
import { createSimulatedRail } from '../../runtime/rails/simulated.ts'
import { operatorOf, temporaryDirectory } from '../rails/support.ts'
import {
  lasting,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

type Answer = z.infer<typeof refundAnswer>

let gateway: TestGateway
let server: SimulatedRailServer
let directory: ReturnType<typeof temporaryDirectory>
let aheadMs: number
let payment: PaymentId
const clock = systemClock()
const ahead = { nowMs: () => clock.nowMs() + aheadMs }
const ledger = () => gateway.headgate.ledger
const railPort = () =>
  createSimulatedRail({ url: server.url, apiKey: server.apiKey, timeoutMs: 3_000 })

beforeEach(async () => {
  aheadMs = 0
  directory = temporaryDirectory()
  server = await startSimulatedRail({ port: 0, directory: directory.path })
  gateway = await startGateway({
    overrides: { rail: railPort(), clock: ahead, ledger: lasting() },
  })
  const quote = gateway.quote()
  const leaf = await splitLeaf(gateway, await startOutsideRun(gateway), 0, quote)
  const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
  payment = paymentIdSchema.parse(((await paid.json()) as { paymentId: string }).paymentId)
})
afterEach(async () => {
  const log = await (await gateway.asOperator('/audit')).text()
  expect(verifyExport(log.split('\n')).broken).toBeUndefined()
  await gateway.close()
  await server.close()
  directory.remove()
})

const refund = async (amount: number | undefined, idempotencyKey: string, of: string = payment) => {
  const path = `/payments/${of}/refunds`
  const answer = await gateway.asOperator(path, { amount, idempotencyKey })
  const body = (await answer.json()) as Answer & Partial<Problem>
  return { status: answer.status, replayed: answer.headers.get('idempotent-replayed'), ...body }
}
const script = (rule: object) =>
  operatorOf(server.url, server.apiKey).post('script', { on: 'refund', ...rule })
const book = () => operatorOf(server.url, server.apiKey).book()
const came = async () =>
  (await book()).refunds.filter(({ state }) => state === 'refunded').map(({ amount }) => amount)

/** Long enough that the rail's silence is believed, by a process that has watched for so long. */
async function reconcile(): Promise<{ reversed: string[] }> {
  aheadMs += 30_000 + LIMITS.clockStepMs
  return (await (await gateway.asOperator('/internal/reconcile', {})).json()) as never
}
const shown = async () =>
  (await (await gateway.asOperator(`/payments/${payment}`)).json()) as Answer['payment']

describe('a refund', () => {
  it('comes back on the rail’s own book, and is shown beside the payment and its receipt', async () => {
    const receipt = await (await gateway.asOperator(`/receipts/${payment}`)).json()
    const made = await refund(1_000, 'one')
    expect(made.status).toBe(201)
    expect(made.refund).toMatchObject({ state: 'made', amount: 1_000, by: 'operator:token' })
    expect(await came()).toEqual([1_000])
    expect((await book()).totals).toEqual({ INR: 1_500 })
    expect(await shown()).toMatchObject({
      ...{ state: 'settled', settledAmount: 2_500 },
      ...{ refundedAmount: 1_000, reversedAmount: 1_000 },
    })
    const after = await (await gateway.asOperator(`/receipts/${payment}`)).json()
    const back = [{ kind: 'refunded', state: 'made', amount: 1_000, atSeconds: expect.any(Number) }]
    expect(after).toEqual({
      ...(receipt as object),
      ...{ refundedAmount: 1_000, returnedAmount: 1_000, back },
    })
    // What the rail says of the payment afterwards is what is known already.
    expect((await reconcile()).reversed).toEqual([])
    expect((await shown()).reversedAmount).toBe(1_000)
    const tree = await gateway.asOperator(`/runs/${(await shown()).run}`)
    const { nodes } = runDetailSchema.parse(await tree.json())
    expect(nodes.flatMap((node) => node.payment?.reversed ?? [])).toEqual([1_000])
  })

  it('asked for again with its key is answered as before and not made again', async () => {
    await refund(1_000, 'one')
    const again = await refund(1_000, 'one')
    expect([again.status, again.replayed, again.refund.state]).toEqual([200, 'true', 'made'])
    expect((await refund(900, 'one')).status).toBe(409)
    expect(await came()).toEqual([1_000])
  })

  it('of more than is left is refused before the rail hears of it', async () => {
    await refund(2_000, 'one')
    const more = await refund(501, 'two')
    expect([more.status, more.code]).toEqual([422, 'refused'])
    expect(more.left).toEqual({ amount: 500, currency: 'INR', text: 'INR 5.00' })
    expect(more.title).toContain('INR 5.00 (500) of this payment can still come back')
    expect((await book()).refunds).toHaveLength(1)
    expect((await refund(500, 'three')).status).toBe(201)
    expect((await refund(1, 'four')).status).toBe(422)
  })

  it('of a hundred asked for at once comes back as often as there is money', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => refund(100, `key-${i}`)))
    expect(all.filter(({ status }) => status === 201)).toHaveLength(25)
    expect(all.filter(({ status }) => status === 422)).toHaveLength(75)
    expect((await came()).reduce((sum, amount) => sum + amount, 0)).toBe(2_500)
  }, 20_000)

  it('needs an amount and a key, and takes no account', async () => {
    for (const body of [
      { amount: 5 },
      { amount: 5, idempotencyKey: 'a', account: 'x' },
      { amount: 0, idempotencyKey: 'a' },
      { amount: '5', idempotencyKey: 'a' },
    ]) {
      const answer = await gateway.asOperator(`/payments/${payment}/refunds`, body)
      expect([body, answer.status]).toEqual([body, 400])
    }
    expect((await refund(1, 'a', 'pay_none')).status).toBe(404)
    expect((await book()).refunds).toEqual([])
  })

  it('without an amount does nothing, and says what is left with its price', async () => {
    await refund(900, 'one')
    const answer = await refund(undefined, 'two')
    expect([answer.status, answer.code]).toEqual([422, 'amount_needed'])
    expect(answer.left).toEqual({ amount: 1_600, currency: 'INR', text: 'INR 16.00' })
    expect((await refund(undefined, 'two', 'pay_none')).status).toBe(404)
    expect((await book()).refunds).toHaveLength(1)
  })

  it('that names somebody else than the payment’s payee is refused with a sentence', async () => {
    const { payee } = await shown()
    const path = `/payments/${payment}/refunds`
    const body = { amount: 100, idempotencyKey: 'one' }
    const other = await gateway.asOperator(path, { ...body, payee: 'somebody' })
    expect([other.status, await other.json()]).toMatchObject([
      400,
      { code: 'refund_rejected', claim: 'payee', title: expect.stringContaining('payee of this') },
    ])
    expect(await came()).toEqual([])
    expect((await gateway.asOperator(path, { ...body, payee })).status).toBe(201)
  })

  it('that the rail declines is failed, and another may be asked for', async () => {
    await script({ outcome: 'decline', reason: 'too_old' })
    const declined = await refund(1_000, 'one')
    expect([declined.status, declined.refund]).toMatchObject([
      200,
      { state: 'failed', reason: 'too_old' },
    ])
    expect((await refund(2_500, 'two')).status).toBe(201)
  })
})

describe('a refund on which the rail has no word', () => {
  const UNKNOWN = ['lostReply', 'garbage', 'error500AfterSettle'] as const
  it.each(UNKNOWN)(
    'after %s is unknown, keeps its right, and is looked up once, not sent again',
    async (outcome) => {
      await script({ outcome })
      const first = await refund(1_000, 'one')
      expect([first.status, first.refund.state]).toEqual([202, 'unknown'])
      expect((await refund(1_501, 'two')).status).toBe(422)
      expect((await refund(1_000, 'one')).status).toBe(202)
      const alarms = await (await gateway.asOperator('/alarms')).json()
      expect(alarms).toMatchObject({ alarms: [{ id: payment }] })
      expect((await reconcile()).reversed).toEqual([payment])
      expect((await refund(1_000, 'one')).refund.state).toBe('made')
      expect(await came()).toEqual([1_000])
      expect(await shown()).toMatchObject({ refundedAmount: 1_000, reversedAmount: 1_000 })
    },
  )

  it('and that never arrived is failed once its absence is proof, and not before', async () => {
    await script({ outcome: 'lostRequest' })
    expect((await refund(1_000, 'one')).refund.state).toBe('unknown')
    aheadMs += 17_500
    await gateway.asOperator('/internal/reconcile', {})
    expect((await refund(1_000, 'one')).refund.state).toBe('unknown')
    await reconcile()
    const failed = await refund(1_000, 'one')
    expect(failed.refund).toMatchObject({ state: 'failed', reason: 'absent_at_rail' })
    expect(await came()).toEqual([])
    expect((await refund(2_500, 'two')).status).toBe(201)
  })

  it('of another amount than was asked stays unknown, with what really came back noted', async () => {
    await script({ outcome: 'wrongAmount', amount: 1_200 })
    expect((await refund(1_000, 'one')).refund.state).toBe('unknown')
    expect(gateway.logged.join()).toContain('rail_amount')
    await reconcile()
    expect(await shown()).toMatchObject({ refundedAmount: 0, reversedAmount: 1_200 })
  })
})

describe('a gateway that died in the middle', () => {
  const take = async (key: string) => {
    const now = nowSeconds(ahead)
    const nowMs = ahead.nowMs()
    const id = refundIdOf(payment, key)
    const asked = { payment, id, amount: minor(1_000), by: 'op', nonce: freshId(), nowMs, now }
    expect((await ledger().execute('refund', asked)).ok).toBe(true)
    return id
  }

  it('before it called the rail refunds nothing when it is back, and frees the right', async () => {
    await take('one')
    expect((await refund(1_000, 'one')).refund.state).toBe('pending')
    await reconcile()
    expect((await refund(1_000, 'one')).refund.state).toBe('failed')
    expect(await came()).toEqual([])
  })

  it('is shown among the alarms where the rail does not answer, and nothing is sent', async () => {
    await take('one')
    const closed = server
    server = { ...server, close: async () => {} }
    const before = (await book()).refunds
    await closed.close()
    await reconcile().catch(() => undefined)
    const alarms = await (await gateway.asOperator('/alarms')).json()
    expect(alarms).toMatchObject({ alarms: [{ id: payment, refunds: [{ state: 'unknown' }] }] })
    expect(before).toEqual([])
  })

  it('after it called the rail finds that refund and makes no second', async () => {
    const id = await take('one')
    const record = await ledger().payment(payment)
    const said = await railPort().refunds?.make({
      ...{ payment, key: refundKeyOf(id), paymentKey: record?.railKey ?? '' },
      ...{
        paymentReference: '',
        paymentAccount: record?.account ?? '',
        amount: minor(1_000),
        currency: 'INR',
      },
    })
    expect(said?.kind).toBe('refunded')
    const [a, b] = await Promise.all([reconcile(), reconcile()])
    expect([...a.reversed, ...b.reversed]).toContain(payment)
    expect((await refund(1_000, 'one')).refund.state).toBe('made')
    expect(await came()).toEqual([1_000])
    expect((await shown()).reversedAmount).toBe(1_000)
  })
})
