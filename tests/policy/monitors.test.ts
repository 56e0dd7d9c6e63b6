import { describe, expect, it } from 'vitest'
import type { MonitorFacts } from '../../runtime/core/judges.ts'
import { minor } from '../../runtime/core/money.ts'
import { createScriptedMonitor, monitorScriptSchema } from '../../runtime/policy/monitors.ts'

const facts: MonitorFacts = {
  payee: 'shop',
  merchant: 'stall',
  currency: 'INR',
  amount: minor(1_000),
  lines: [{ sku: 'pen', quantity: 1, unitAmount: minor(1_000) }],
  recurring: false,
  depth: 1,
  payeeCount: 0,
  hourCount: 0,
  duplicateCount: 0,
  task: '1 pen',
  payeeName: 'The shop',
  ceiling: minor(5_000),
  provenance: {
    payee: [{ source: 'mandate' }],
    amount: [{ source: 'quote' }],
    currency: [{ source: 'mandate' }],
    quantity: [{ source: 'quote' }],
    recurring: [{ source: 'quote' }],
  },
}

const judge = (steps: unknown[], signal = new AbortController().signal) =>
  createScriptedMonitor(monitorScriptSchema.parse({ steps })).judge(facts, signal)

describe('a scripted monitor', () => {
  it('answers by the first step whose every condition matches', async () => {
    const steps = [
      { when: { payee: 'other' }, answer: 'object' },
      { when: { payee: 'shop', amountAbove: 1_000 }, answer: 'object' },
      { when: { merchant: 'stall', sku: 'pen', amountAbove: 999 }, answer: 'allow' },
      { answer: 'object' },
    ]
    expect(await judge(steps)).toEqual({ kind: 'allow' })
    expect(await judge(steps.slice(3))).toEqual({ kind: 'object' })
  })

  it('is unavailable where its script says nothing, and where the quota is used up', async () => {
    expect(await judge([])).toMatchObject({ kind: 'unavailable' })
    expect(await judge([{ answer: 'over_quota' }])).toMatchObject({ kind: 'unavailable' })
  })

  it('can be late: it answers only once nobody waits any more', async () => {
    const stop = new AbortController()
    let answered = false
    const answer = judge([{ answer: 'late' }], stop.signal)
    void answer.then(() => {
      answered = true
    })
    await Promise.resolve()
    expect(answered).toBe(false)
    stop.abort()
    expect(await answer).toEqual({ kind: 'allow' })
  })
})
