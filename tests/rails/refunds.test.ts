/** Refunds at the simulated rail: its book, and the adapter's word for whatever comes back. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freshId } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailRefund } from '../../runtime/core/rail.ts'
import {
  type SimulatedRailServer,
  startSimulatedRail,
} from '../../runtime/rails/simulated/server.ts'
import { createSimulatedRail } from '../../runtime/rails/simulated.ts'
import { type Operator, operatorOf, orderOf, temporaryDirectory } from './support.ts'

let directory: ReturnType<typeof temporaryDirectory>
let server: SimulatedRailServer
let operator: Operator
let rail: Rail
let paymentKey: string

const start = async () => {
  server = await startSimulatedRail({ port: 0, directory: directory.path })
  operator = operatorOf(server.url, server.apiKey)
  rail = createSimulatedRail({ url: server.url, apiKey: server.apiKey, timeoutMs: 1_000 })
}
beforeEach(async () => {
  directory = temporaryDirectory()
  await start()
  const order = orderOf()
  paymentKey = order.key
  expect((await rail.pay(order)).kind).toBe('settled')
})
afterEach(async () => {
  await server.close()
  directory.remove()
})

const order = (amount: number, change: Partial<RailRefund> = {}): RailRefund => ({
  payment: 'pay_1',
  key: `hg-${freshId()}`,
  paymentKey,
  paymentAccount: 'acct-desk-bazaar',
  paymentReference: 'sim_1',
  amount: minor(amount),
  currency: 'JPY',
  ...change,
})
const refund = (of: RailRefund) => rail.refunds?.make(of)
const lookup = (of: RailRefund) => rail.refunds?.lookup(of)
const script = (rule: object) => operator.post('script', { on: 'refund', ...rule })
const back = async () => (await operator.book()).totals.JPY

describe('the simulated rail’s refunds', () => {
  it('give back in parts, and the look-up of the payment says each by its own id', async () => {
    const first = await refund(order(2_000))
    const second = await refund(order(500))
    expect(first).toMatchObject({ kind: 'refunded', amount: 2_000, currency: 'JPY' })
    const ids = [first, second].map((each) => each?.kind === 'refunded' && each.reference)
    expect(await rail.lookup(paymentKey)).toMatchObject({
      kind: 'settled',
      amount: 5_000,
      back: [
        { id: ids[0], kind: 'refunded', amount: 2_000 },
        { id: ids[1], kind: 'refunded', amount: 500 },
      ],
    })
    expect(await back()).toBe(2_500)
    await operator.post(`payouts/${paymentKey}/return`, {})
    const found = await rail.lookup(paymentKey)
    expect(found).not.toHaveProperty('returned')
    expect(found).toMatchObject({
      back: [{}, {}, { id: 'returned', kind: 'reversed', amount: 2_500 }],
    })
  })

  it('are made once for one key, also after a restart, and a key is for one request', async () => {
    const asked = order(1_000)
    const made = await refund(asked)
    await server.close()
    await start()
    expect(await refund(asked)).toEqual(made)
    expect(await lookup(asked)).toEqual(made)
    expect(await refund({ ...asked, amount: minor(999) })).toMatchObject({ kind: 'unknown' })
    expect((await operator.book()).refunds).toHaveLength(1)
  })

  it('are never more than was paid, and of nothing that is not there', async () => {
    await refund(order(3_000))
    expect(await refund(order(2_001))).toEqual({ kind: 'declined', reason: 'more_than_paid' })
    expect(await refund(order(1, { currency: 'INR' }))).toEqual({
      kind: 'declined',
      reason: 'another_currency',
    })
    expect(await refund(order(1, { paymentKey: 'hg-none' }))).toMatchObject({ kind: 'unknown' })
    expect(await back()).toBe(2_000)
    await operator.post(`payouts/${paymentKey}/return`, {})
    expect(await refund(order(1))).toEqual({ kind: 'declined', reason: 'not_settled' })
  })

  it.each(['lostReply', 'garbage', 'error500AfterSettle', 'wrongAmount'])(
    'that met %s are unknown though they were made',
    async (outcome) => {
      await script({ outcome })
      const asked = order(1_000)
      expect(await refund(asked)).toMatchObject({ kind: 'unknown' })
      expect(await back()).toBe(outcome === 'wrongAmount' ? 3_999 : 4_000)
      const found = await lookup(asked)
      expect(found?.kind).toBe(outcome === 'wrongAmount' ? 'unknown' : 'refunded')
    },
  )

  it('that never arrived are unknown, and absent when they are looked up', async () => {
    await script({ outcome: 'lostRequest' })
    const asked = order(1_000)
    expect(await refund(asked)).toMatchObject({ kind: 'unknown' })
    expect(await lookup(asked)).toEqual({ kind: 'absent' })
    expect(await back()).toBe(5_000)
  })

  it('use up no rule that is about payouts, and payouts none that is about refunds', async () => {
    await operator.post('script', { outcome: 'decline' })
    expect((await refund(order(1_000)))?.kind).toBe('refunded')
    await script({ outcome: 'decline', reason: 'too_old' })
    expect((await rail.pay(orderOf())).kind).toBe('declined')
    expect(await refund(order(1_000))).toEqual({ kind: 'declined', reason: 'too_old' })
  })

  it('are not sent where the rail cannot be reached or the order not be said, and a look-up then proves nothing', async () => {
    expect(await refund(order(1_000, { paymentKey: '../x' }))).toMatchObject({ kind: 'notSent' })
    await server.close()
    expect(await refund(order(1_000))).toMatchObject({ kind: 'notSent' })
    expect(await lookup(order(1_000))).toMatchObject({ kind: 'unknown' })
    await start()
  })
})
