/** Operators' routes about a payment's later life, through a composed gateway. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/core/clock.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import type { Rail, RailLookup } from '../../runtime/core/rail.ts'
import {
  fakeRail,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

interface Shown {
  readonly id: string
  readonly state: string
  readonly overdueAtSeconds?: number
}

/** A rail that has no word on anything until a test gives it one. */
class QuietRail {
  word: RailLookup = { kind: 'unknown', reason: 'late' }
  readonly port: Rail = {
    ...fakeRail(),
    pay: async () => ({ kind: 'unknown', reason: 'late' }),
    lookup: async () => this.word,
  }
}

let gateway: TestGateway
let rail: QuietRail
let aheadMs: number

beforeEach(async () => {
  rail = new QuietRail()
  aheadMs = 0
  const clock = systemClock()
  const ahead = { nowMs: () => clock.nowMs() + aheadMs }
  gateway = await startGateway({ overrides: { rail: rail.port, clock: ahead } })
})
afterEach(() => gateway.close())

async function unknownPayment(): Promise<string> {
  const quote = gateway.quote()
  const leaf = await splitLeaf(gateway, await startOutsideRun(gateway), 0, quote)
  const answer = await signed(gateway, leaf, 'POST', '/payments', { quote })
  const { paymentId, state } = (await answer.json()) as { paymentId: string; state: string }
  expect(state).toBe('unknown')
  return paymentId
}

const alarms = async () =>
  ((await (await gateway.asOperator('/alarms')).json()) as { alarms: Shown[] }).alarms

const reconcile = async () => (await gateway.asOperator('/internal/reconcile', {})).json()

describe('what stays unknown', () => {
  it('is listed at once, and says when its alarm was raised', async () => {
    const id = await unknownPayment()
    expect(await alarms()).toMatchObject([{ id, state: 'unknown' }])
    expect((await alarms())[0]?.overdueAtSeconds).toBeUndefined()
    aheadMs = LIMITS.overdueMs + 2_000
    expect(await reconcile()).toMatchObject({ settled: [], waiting: [id], overdue: [id] })
    expect(await reconcile()).toMatchObject({ waiting: [id], overdue: [] })
    expect((await alarms())[0]?.overdueAtSeconds).toBeDefined()
    expect(gateway.logged.filter((entry) => entry.startsWith('overdue'))).toEqual([
      `overdue: ${id}`,
    ])
  })

  it('leaves the list when the rail has spoken', async () => {
    const id = await unknownPayment()
    aheadMs = 60_000
    rail.word = { kind: 'declined', reason: 'account_closed' }
    expect(await reconcile()).toMatchObject({ released: [id] })
    expect(await alarms()).toEqual([])
  })
})
