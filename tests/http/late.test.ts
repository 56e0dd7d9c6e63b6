/** Operators' routes about a payment's later life, through a composed gateway. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/core/clock.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailLookup } from '../../runtime/core/rail.ts'
import {
  fakeRail,
  post,
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
    truth: { ...fakeRail().truth, afterSuccess: ['reversed'] },
  }
}

const TOKENS = { asha: 'a'.repeat(43), bela: 'b'.repeat(43) }

let gateway: TestGateway
let rail: QuietRail
let aheadMs: number

beforeEach(async () => {
  rail = new QuietRail()
  aheadMs = 0
  const clock = systemClock()
  const ahead = { nowMs: () => clock.nowMs() + aheadMs }
  const operators = Object.entries(TOKENS).map(([id, token]) => {
    return { id, tokenDigest: sha256(token) }
  })
  gateway = await startGateway({
    overrides: { rail: rail.port, clock: ahead },
    config: { operators },
  })
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

const reconcile = async () => {
  const answer = await gateway.asOperator('/internal/reconcile', {})
  return (await answer.json()) as { reversed: string[] }
}

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

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const WORD = { outcome: 'settled', amount: 2_500, evidence: 'statement 4, line 7' }

async function resolve(payment: string, headers: Record<string, string>, word: object = WORD) {
  const answer = await gateway.fetch(`/payments/${payment}/resolve`, post(word, headers))
  const body = (await answer.json()) as { state?: string; code?: string; resolution?: object }
  return { status: answer.status, is: body.state ?? body.code, body }
}

describe('resolving', () => {
  const { asha, bela } = TOKENS

  it('takes two operators with names, who say the same', async () => {
    const id = await unknownPayment()
    expect(await resolve(id, bearer(asha))).toMatchObject({ status: 202, is: 'unknown' })
    expect(await resolve(id, bearer(asha))).toMatchObject({ status: 409, is: 'same_operator' })
    expect(await alarms()).toMatchObject([{ id, resolution: { ...WORD, by: 'operator:asha' } }])
    const done = await resolve(id, bearer(bela))
    expect(done).toMatchObject({ status: 200, is: 'settled' })
    expect(done.body.resolution).toMatchObject({ confirmedBy: 'operator:bela' })
    expect(await alarms()).toEqual([])
  })

  it('counts every session of a person as that person', async () => {
    const id = await unknownPayment()
    await resolve(id, bearer(asha))
    const asked = await gateway.fetch('/login-codes', post({}, bearer(asha)))
    const { code } = (await asked.json()) as { code: string }
    const answer = await gateway.fetch('/login', post({ code }))
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''
    const page = { cookie, 'sec-fetch-site': 'same-origin' }
    expect(await resolve(id, page)).toMatchObject({ status: 409, is: 'same_operator' })
    const session = await (await gateway.fetch('/session', { headers: page })).json()
    expect(session).toMatchObject({ operator: expect.stringMatching(/^asha:session:/) })
  })

  it('is not done by whoever can read the data folder, in a session or not', async () => {
    const id = await unknownPayment()
    const { code } = gateway.headgate.newLoginCode()
    const answer = await gateway.fetch('/login', post({ code }))
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? ''
    const nobody = [bearer(gateway.token), { cookie, 'sec-fetch-site': 'same-origin' }]
    for (const headers of nobody) {
      expect(await resolve(id, headers)).toMatchObject({ status: 403, is: 'unnamed' })
    }
  })

  it('is stale once the rail has spoken', async () => {
    const id = await unknownPayment()
    await resolve(id, bearer(asha))
    aheadMs = 60_000
    rail.word = { kind: 'declined', reason: 'account_closed' }
    await reconcile()
    expect(await resolve(id, bearer(bela))).toMatchObject({ status: 409, is: 'conflict' })
  })

  it.each([
    { ...WORD, amount: 0 },
    { ...WORD, amount: '2500' },
    { ...WORD, outcome: 'unknown' },
    { ...WORD, evidence: '' },
    { ...WORD, evidence: 'x'.repeat(LIMITS.evidenceChars + 1) },
    { ...WORD, by: 'operator:bela' },
  ])('refuses a body of another shape: %j', async (word) => {
    expect(await resolve('pay_none', bearer(asha), word)).toMatchObject({ status: 400 })
  })

  it('shows no planner what operators said', async () => {
    const quote = gateway.quote()
    const planner = await startOutsideRun(gateway)
    const leaf = await splitLeaf(gateway, planner, 0, quote)
    const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
    const { paymentId } = (await paid.json()) as { paymentId: string }
    await resolve(paymentId, bearer(asha))
    const path = `/payments/${paymentId}`
    const seen = await (await signed(gateway, planner, 'GET', path)).text()
    expect(seen).toContain('"state":"unknown"')
    expect(seen).not.toContain('statement 4')
    expect(await (await gateway.asOperator(path)).text()).toContain('statement 4')
  })
})

describe('what comes back', () => {
  it('counts as spent until an operator puts it to use again, once', async () => {
    const id = await unknownPayment()
    aheadMs = 60_000
    const paid = { kind: 'settled', reference: 'r', amount: minor(2_500), currency: 'INR' } as const
    rail.word = paid
    expect(await reconcile()).toMatchObject({ settled: [id] })
    rail.word = { ...paid, returned: true }
    const rounds = [await reconcile(), await reconcile()]
    expect(rounds.flatMap(({ reversed }) => reversed)).toEqual([id])
    const view = await (await gateway.asOperator(`/payments/${id}`)).json()
    expect(view).toMatchObject({ state: 'settled', reversedAmount: 2_500 })
    expect(gateway.logged).toContain(`reversed: ${id}`)
    const back = (reversedAmount: number) =>
      gateway.asOperator(`/payments/${id}/return`, { reversedAmount, evidence: 'statement 9' })
    expect((await back(2_499)).status).toBe(409)
    const done = await back(2_500)
    expect([done.status, await done.json()]).toMatchObject([200, { regainedAmount: 2_500 }])
    expect((await back(2_500)).status).toBe(409)
  })
})
