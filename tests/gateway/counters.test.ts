import { describe, expect, it } from 'vitest'
import { deny, hold } from '../../runtime/core/codes.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Quote } from '../../runtime/core/quote.ts'
import { seconds } from '../../runtime/core/time.ts'
import {
  countersToRead,
  denialAt,
  periods,
  ruleCounters,
  ruleCounts,
  ruleUses,
  windowUses,
} from '../../runtime/gateway/counters.ts'

const utc = (text: string) => seconds(Date.parse(text) / 1000)

const quote = {
  iss: 'shop',
  payee: 'shop',
  amount: minor(1_000),
  currency: 'INR',
} as Quote

describe('a period', () => {
  it('begins at midnight of the named zone', () => {
    expect(periods('Asia/Kolkata', utc('2026-03-01T18:29:59Z')).day).toBe('2026-03-01')
    expect(periods('Asia/Kolkata', utc('2026-03-01T18:30:00Z')).day).toBe('2026-03-02')
    expect(periods('UTC', utc('2026-03-01T18:30:00Z')).day).toBe('2026-03-01')
  })

  it('tells the two hours of a clock that is set back apart', () => {
    const first = periods('Europe/Berlin', utc('2026-10-25T00:30:00Z'))
    const second = periods('Europe/Berlin', utc('2026-10-25T01:30:00Z'))
    expect(first.hour).toBe('2026-10-25T02+02:00')
    expect(second.hour).toBe('2026-10-25T02+01:00')
    expect(first.day).toBe(second.day)
  })

  it('is written in plain digits whatever the zone', () => {
    expect(periods('Asia/Riyadh', utc('2026-03-01T23:00:00Z')).hour).toBe('2026-03-02T02+03:00')
  })
})

describe('counters', () => {
  it('of a mandate’s window are only those that it limits', () => {
    const now = utc('2026-03-01T00:00:00Z')
    const zone = 'UTC'
    expect(windowUses('run_a', undefined, now)).toEqual([])
    expect(windowUses('run_a', { zone, perDay: minor(5) }, now)).toEqual([
      { use: { key: 'window-day:run_a:2026-03-01', maxAmount: 5 }, denial: deny('window') },
    ])
    expect(windowUses('run_a', { zone, perDay: minor(5), perHour: minor(1) }, now)).toHaveLength(2)
  })

  it('count a duplicate of yesterday evening this morning', () => {
    const evening = utc('2026-03-01T23:59:00Z')
    const morning = utc('2026-03-02T00:01:00Z')
    const { duplicate } = ruleCounters('run_a', quote, evening)
    expect(countersToRead('run_a', quote, morning)).toContain(duplicate)
    const counters = [{ key: duplicate, count: 1, amount: minor(1_000) }]
    expect(ruleCounts(counters, 'run_a', quote, morning).duplicateCount).toBe(1)
    const nextDay = utc('2026-03-03T00:01:00Z')
    expect(ruleCounts(counters, 'run_a', quote, nextDay).duplicateCount).toBe(0)
  })

  it('keep the bound of a rule that holds unless a person has answered it', () => {
    const keys = ruleCounters('run_a', quote, utc('2026-03-01T00:00:00Z'))
    const bounds = [
      { counter: 'duplicate', maxCount: 1, rule: 'a', effect: 'hold' },
      { counter: 'hour', maxCount: 3, rule: 'b', effect: 'deny' },
    ] as const
    const most = (approved: boolean) =>
      ruleUses(bounds, keys, approved).map(({ use }) => use.maxCount)
    expect(most(false)).toEqual([1, 3])
    expect(most(true)).toEqual([undefined, 3])
  })

  it('at their bound speak for the rule that set the tightest one', () => {
    const uses = [
      { use: { key: 'k', maxCount: 5 }, denial: deny('policy', 'loose') },
      { use: { key: 'k', maxCount: 2 }, denial: hold('approval_required', 'tight') },
      { use: { key: 'other', maxCount: 1 }, denial: deny('window') },
    ]
    expect(denialAt(uses, 'k')).toEqual(hold('approval_required', 'tight'))
  })
})
