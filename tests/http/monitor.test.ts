/** What operators, and nobody else, read of the monitor: beside payments, on cards, in the log and in the metrics. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Monitor, MonitorAnswer } from '../../runtime/core/judges.ts'
import {
  type Held,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

const usage = { calls: 1, inputTokens: 900, outputTokens: 14, costMicros: 250 }
let next: MonitorAnswer = { kind: 'allow' }

const monitor: Monitor = {
  judge: async ({ task }) => ({ ...(task === 'one lamp' ? next : { kind: 'object' }), usage }),
}

let gateway: TestGateway
let root: Held
let made = 0
beforeAll(async () => {
  const canaries = { every: 100, window: 5, floorPercent: 80 }
  const quota = { perLeaf: 2, perRun: 100, perHour: 100 }
  gateway = await startGateway({ overrides: { monitor, watching: { canaries, quota } } })
  root = await startOutsideRun(gateway)
}, 60_000)
afterAll(() => gateway.close())

async function pay(answer: MonitorAnswer) {
  next = answer
  // Another amount each time: an objection stands for the payment that it was made to.
  const amount = 2_500 - made
  const lines = [{ sku: 'lamp', title: 'A lamp', quantity: 1, unitAmount: amount }]
  const quote = gateway.quote({ amount, lines })
  const leaf = await splitLeaf(gateway, root, made++, quote)
  const told = await signed(gateway, leaf, 'POST', '/payments', { quote })
  const body = (await told.json()) as { paymentId: string; holdId?: string }
  return { status: told.status, text: JSON.stringify(body), leaf, ...body }
}

const read = async (path: string) => (await gateway.asOperator(path)).json()

describe('the monitor’s words', () => {
  it('stand beside the payment for operators, and neither its leaf nor a planner sees them', async () => {
    const { status, text, leaf, paymentId } = await pay({
      kind: 'object',
      concerns: ['unusual_payee', 'too_many'],
    })
    expect(status).toBe(403)
    const path = `/payments/${paymentId}`
    expect(await read(path)).toMatchObject({
      monitor: { answer: 'object', words: ['unusual_payee', 'too_many'] },
    })
    const seen = [text]
    for (const held of [leaf, root]) {
      seen.push(await (await signed(gateway, held, 'GET', path)).text())
    }
    seen.push(await (await signed(gateway, root, 'GET', `/runs/${root.run}`)).text())
    for (const answer of seen) expect(answer).not.toMatch(/unusual_payee|too_many/)
  })

  it('stand on the card of what waits for a person', async () => {
    const { status, text, holdId } = await pay({ kind: 'unavailable', why: 'rate_limited' })
    expect(status).toBe(202)
    expect(text).not.toContain('rate_limited')
    const { holds } = (await read('/holds')) as { holds: { id: string; rule?: string }[] }
    expect(holds.find(({ id }) => id === holdId)?.rule).toBe('rate_limited')
  })

  it('stand in the metrics, as numbers with closed labels', async () => {
    await pay({ kind: 'allow' })
    const text = await (await gateway.asOperator('/metrics')).text()
    const value = (name: string) =>
      text
        .split('\n')
        .find((line) => line.startsWith(`headgate_monitor_${name} `))
        ?.split(' ')[1]
    expect(value('calls_total')).toBe('6')
    expect(value('objections_total')).toBe('1')
    expect(value('allowed_total')).toBe('1')
    expect(value('failures_total{why="rate_limited"}')).toBe('1')
    expect(value('canaries_total')).toBe('3')
    expect(value('canaries_caught_total')).toBe('3')
    expect(value('catch_rate')).toBe('1')
    expect(value('believed')).toBe('1')
    expect(value('tokens_total{direction="input"}')).toBe('5400')
    expect(value('tokens_total{direction="output"}')).toBe('84')
    expect(Number(value('cost_usd_total'))).toBeCloseTo(0.0015)
  })

  it('are not in the metrics of a gateway without one', async () => {
    const bare = await startGateway()
    try {
      const text = await (await bare.asOperator('/metrics')).text()
      expect(text).not.toContain('headgate_monitor_')
    } finally {
      await bare.close()
    }
  })
})
