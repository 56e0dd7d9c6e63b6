/** The suite `ledger`: what a payment costs beside bare commits, and that neither a past nor a wide tree makes it dearer. */
import {
  type Ask,
  atLeast,
  atMost,
  type Figure,
  inTurn,
  MEBI,
  ratio,
  type Suite,
} from '../figure.ts'
import { askOnce, startProbe } from '../probe.ts'
import type { Rounds } from '../timing.ts'
import type { Commits, CommitsOrder } from './commits.ts'
import type { History, HistoryOrder } from './history.ts'
import type { Roots, RootsOrder } from './roots.ts'
import type { Verified, VerifyOrder } from './verify.ts'
import type { Width, WidthOrder } from './width.ts'

const COMMITS = new URL('./commits-probe.ts', import.meta.url)
const HISTORY = new URL('./history-probe.ts', import.meta.url)
const WIDTH = new URL('./width-probe.ts', import.meta.url)
const ROOTS = new URL('./roots-probe.ts', import.meta.url)
const VERIFY = new URL('./verify-probe.ts', import.meta.url)

/** Payments that are added to a past at a time. */
const STEP = 50_000

/** Turn and turn about, one call each: a disk's mood lasts longer than that. */
const rounds = (quick: boolean): Rounds =>
  quick ? { warm: 2, batches: 4, size: 1 } : { warm: 50, batches: 400, size: 1 }

const ms = (value: number | undefined): string => `${value?.toFixed(2)} ms`

export async function commitFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  tell('payments beside bare commits')
  const order: CommitsOrder = quick
    ? { atOnce: 64, rounds: 1, bare: 4, single: 4, reservations: 64, pair: rounds(true) }
    : { atOnce: 64, rounds: 15, bare: 120, single: 60, reservations: 320, pair: rounds(false) }
  const found = await askOnce<CommitsOrder, Commits>(COMMITS, order)
  const { reserved, payment, inSteps, twoBare } = found
  const inFlight = (others: string, value: number, rate: number): Figure => ({
    name: `reservations, ${order.atOnce} in flight, to ${others} one at a time`,
    value,
    unit: 'times',
    note: `${reserved.toFixed(0)} a second beside ${rate.toFixed(0)}, median of ${order.rounds} rounds of both`,
  })
  const alone = (name: string, value: number, about: string): Figure => ({
    name: `${name}, to two bare commits`,
    value: ratio(value, twoBare),
    unit: 'times',
    note: `${ms(value)} ${about}; two bare commits ${ms(twoBare)}`,
  })
  return [
    atLeast(8, inFlight('the same', found.toSingle, found.single)),
    inFlight('bare commits of one row', found.toBare, found.bare),
    atMost(
      3,
      alone('a payment alone', payment, 'in two commits: reserved and submitted, then settled'),
    ),
    alone('the same with a monitor', inSteps, 'in three commits: reserved, submitted, settled'),
  ]
}

export async function historyFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  const sizes = quick ? [40, 400] : [1_000, 1_000_000]
  const [short = 0, long = 0] = sizes
  const probe = startProbe<HistoryOrder, History>(HISTORY)
  try {
    for (const size of sizes) {
      for (let payments = Math.min(STEP, size); ; payments = Math.min(size, payments + STEP)) {
        tell(`a past of ${payments} payments, of ${size}`)
        await probe.ask({ kind: 'fill', store: `past-${size}.db`, payments })
        if (payments === size) break
      }
    }
    tell('payments after either past')
    const stores = sizes.map((size) => `past-${size}.db`)
    const [few, many] = await probe.ask({ kind: 'measure', stores, rounds: rounds(quick) })
    return [
      atMost(1.2, {
        name: `a payment after ${long} others, to one after ${short}`,
        value: ratio(many, few),
        unit: 'times',
        note: `p50 ${ms(many)} and ${ms(few)}, in two commits`,
      }),
    ]
  } finally {
    await probe.ask({ kind: 'end' })
    await probe.close()
  }
}

export async function widthFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  const order: WidthOrder = { narrow: 10, wide: quick ? 40 : 10_000, rounds: rounds(quick) }
  tell(`below a parent of ${order.wide} children and parents of ${order.narrow}`)
  const { payment, split } = await askOnce<WidthOrder, Width>(WIDTH, order)
  const flat = (name: string, [narrow, wide]: readonly number[]): Figure =>
    atMost(1.2, {
      name: `${name} below ${order.wide} children, to the same below ${order.narrow}`,
      value: ratio(wide, narrow),
      unit: 'times',
      note: `p50 ${ms(wide)} and ${ms(narrow)}`,
    })
  return [flat('a payment', payment), flat('a split', split)]
}

export async function rootFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  const order: RootsOrder = quick
    ? { leaves: 4, rounds: 1, callMs: 1 }
    : { leaves: 64, rounds: 2, callMs: 20 }
  tell(`${order.leaves} leaves of one run at once, over a stand-in for Firestore`)
  const { own, withAncestors } = await askOnce<RootsOrder, Roots>(ROOTS, order)
  const [mine, theirs] = [own, withAncestors].map((run) => run.paymentsPerSecond.toFixed(1))
  return [
    atMost(0.05, {
      name: `attempts aborted, ${order.leaves} leaves at once`,
      value: own.abortedPerPayment,
      unit: 'a payment',
      note: `Firestore’s stand-in with shared locks, ${order.callMs} ms a call`,
    }),
    atLeast(8, {
      name: 'the same, to a ledger that writes every ancestor',
      value: ratio(own.paymentsPerSecond, withAncestors.paymentsPerSecond),
      unit: 'times',
      note: `${mine} and ${theirs} payments a second; the other one lets payments queue before they meet in the store`,
    }),
  ]
}

export async function verifyFigures({ quick, tell }: Ask): Promise<readonly Figure[]> {
  const events = quick ? 2_000 : 1_000_000
  const figures: Figure[] = []
  for (const links of [true, false]) {
    const what = links ? 'links alone' : 'everything'
    tell(`verifying ${events} events, ${what}`)
    const found = await askOnce<VerifyOrder, Verified>(VERIFY, { events, links })
    const { verifySeconds, hashSeconds, streams, peakBytes } = found
    figures.push(
      atLeast(links ? 1 / 6 : 1 / 20, {
        name: `verifying ${events} events, ${what}, to hashing their texts`,
        value: ratio(hashSeconds, verifySeconds),
        unit: 'of its speed',
        note: `${verifySeconds.toFixed(1)} s, ${hashSeconds.toFixed(1)} s to work out each hash and nothing else; ${streams} streams, peak size ${(peakBytes / MEBI).toFixed(0)} MiB`,
      }),
    )
  }
  return figures
}

const PARTS = [commitFigures, widthFigures, rootFigures, verifyFigures, historyFigures]

export const LEDGER: Suite = {
  name: 'ledger',
  about: 'payments beside bare commits, after a long past, in a wide tree, at once; verifying',
  measure: inTurn(PARTS),
}
