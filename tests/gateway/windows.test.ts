/**
 * The mandate's windows by the wall clock of its zone, through the gateway and on every store: where a day and an hour
 * begin, days of 23 and 25 hours, the hour that a clock shows twice, and what is settled after midnight.
 */
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { NodeId, PaymentId } from '../../runtime/core/ids.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { openSqliteLedger } from '../../runtime/ledger/sqlite.ts'
import { startFirestoreDouble } from '../support/firestore/double.ts'
import { openLedger } from '../support/firestore/ledger.ts'
import { temporaryFolder, withoutThread } from '../support/sqlite.ts'
import { brief, settledFor, World } from './world.ts'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const ending = (ledger: Ledger): Ledger => {
  ends.push(() => ledger.close())
  return ledger
}

const STORES: readonly [string, () => Promise<Ledger>][] = [
  ['in memory', async () => ending(createMemoryLedger({ organisation: 'acme' }))],
  [
    'in the embedded store',
    async () => {
      const folder = await temporaryFolder()
      ends.push(folder.remove)
      const path = join(folder.path, 'ledger.db')
      return ending(await openSqliteLedger({ path, organisation: 'acme', spawn: withoutThread }))
    },
  ],
  [
    'in Firestore',
    async () => {
      const double = await startFirestoreDouble()
      ends.push(() => double.close())
      return ending(await openLedger(double.host))
    },
  ],
]

const secondOf = (utc: string): number => Date.parse(utc) / 1000

/** A run from one instant on, whose leaves pay 1,000 each in a window of 1,500. */
async function running(ledger: Ledger, window: object, from: string) {
  const world = new World({ deps: { ledger } })
  const [iat, exp] = [secondOf(from), secondOf(from) + 3 * 86_400]
  world.clock.ms = iat * 1000
  const { run, root } = await world.run({ iat, exp, window })
  const payAt = async (utc: string) => {
    world.clock.ms = secondOf(utc) * 1000
    return brief(await world.pay(await world.leaf(root, { iat, exp })))
  }
  return { world, run, root, payAt }
}

const PAID = '200 allow settled'
const FULL = '403 deny window'

interface Case {
  readonly claim: string
  readonly window: object
  readonly from: string
  readonly pays: readonly (readonly [utc: string, answer: string])[]
}

const hour = (zone: string) => ({ zone, perHour: 1_500 })
const day = (zone: string) => ({ zone, perDay: 1_500 })

const CASES: readonly Case[] = [
  {
    claim: 'an hour of Kolkata begins at the half-hours of UTC',
    window: hour('Asia/Kolkata'),
    from: '2027-01-10T17:00:00Z',
    pays: [
      ['2027-01-10T17:30:00Z', PAID],
      ['2027-01-10T18:00:00Z', FULL],
      ['2027-01-10T18:29:59Z', FULL],
      ['2027-01-10T18:30:00Z', PAID],
      ['2027-01-10T19:29:59Z', FULL],
    ],
  },
  {
    claim: 'a day of Kolkata begins at 18:30 UTC and not at midnight there',
    window: day('Asia/Kolkata'),
    from: '2027-01-10T17:00:00Z',
    pays: [
      ['2027-01-10T18:29:59Z', PAID],
      ['2027-01-10T18:30:00Z', PAID],
      ['2027-01-11T00:00:00Z', FULL],
      ['2027-01-11T18:29:59Z', FULL],
      ['2027-01-11T18:30:00Z', PAID],
    ],
  },
  {
    claim: 'the day on which Berlin leaves an hour out ends after 23 hours',
    window: day('Europe/Berlin'),
    from: '2027-03-27T22:00:00Z',
    pays: [
      ['2027-03-27T22:59:59Z', PAID],
      ['2027-03-27T23:00:00Z', PAID],
      ['2027-03-28T21:59:59Z', FULL],
      ['2027-03-28T22:00:00Z', PAID],
    ],
  },
  {
    claim: 'the day on which New York has an hour twice ends after 25 hours',
    window: day('America/New_York'),
    from: '2026-11-01T03:00:00Z',
    pays: [
      ['2026-11-01T03:59:59Z', PAID],
      ['2026-11-01T04:00:00Z', PAID],
      ['2026-11-02T04:59:59Z', FULL],
      ['2026-11-02T05:00:00Z', PAID],
    ],
  },
  {
    claim: 'the hour that New York has twice is two windows',
    window: hour('America/New_York'),
    from: '2026-11-01T05:00:00Z',
    pays: [
      ['2026-11-01T05:00:00Z', PAID],
      ['2026-11-01T05:59:59Z', FULL],
      ['2026-11-01T06:00:00Z', PAID],
      ['2026-11-01T06:59:59Z', FULL],
      ['2026-11-01T07:00:00Z', PAID],
    ],
  },
  {
    claim: 'the hour that Berlin leaves out is nobody’s',
    window: hour('Europe/Berlin'),
    from: '2027-03-28T00:00:00Z',
    pays: [
      ['2027-03-28T00:59:59Z', PAID],
      ['2027-03-28T01:00:00Z', PAID],
      ['2027-03-28T01:59:59Z', FULL],
    ],
  },
]

describe.each(STORES)('windows %s', (_store, open) => {
  it.each(CASES)('$claim', async ({ window, from, pays }) => {
    const { payAt } = await running(await open(), window, from)
    for (const [utc, answer] of pays) expect([utc, await payAt(utc)]).toEqual([utc, answer])
  })

  it.each([
    ['settles for less', 400, 400, 1],
    ['is released', 0, 0, 0],
  ])(
    'what was reserved before midnight and %s after it counts there',
    async (_how, amount, sum, n) => {
      const ledger = await open()
      const window = { zone: 'Asia/Kolkata', perDay: 1_500, perHour: 1_500 }
      const { world, run, root, payAt } = await running(ledger, window, '2027-01-10T17:00:00Z')
      world.rail.next.push(async () => ({ kind: 'unknown', reason: 'late' }))
      expect(await payAt('2027-01-10T18:29:00Z')).toBe('200 allow unknown')
      const { railKey, counters } = await world.onlyPayment()
      expect(counters).toEqual([
        `window-day:${run}:2027-01-10`,
        `window-hour:${run}:2027-01-10T23+05:30`,
      ])
      expect(await payAt('2027-01-10T18:31:00Z')).toBe(PAID)
      const [order] = world.rail.orders
      if (order === undefined) throw new Error('expected an order')
      world.rail.book.set(
        railKey,
        amount === 0
          ? { kind: 'declined', reason: 'no_funds' }
          : { ...settledFor(order), amount: amount as typeof order.amount },
      )
      const { clock, rail } = world
      clock.advance(600)
      await createReconciler({ ledger, rail, clock }).runOnce()
      const today = [`window-day:${run}:2027-01-11`, `window-hour:${run}:2027-01-11T00+05:30`]
      expect(await countsOf(ledger, root, counters)).toEqual(counters.map(() => [n, sum]))
      expect(await countsOf(ledger, root, today)).toEqual(today.map(() => [1, 1_000]))
      expect(await payAt('2027-01-10T18:59:00Z')).toBe(FULL)
    },
  )
})

async function countsOf(ledger: Ledger, node: NodeId, counters: readonly string[]) {
  const snapshot = await ledger.snapshot({ node, payment: 'pay_none' as PaymentId, counters })
  return snapshot?.counters.map(({ count, amount }) => [count, amount])
}
