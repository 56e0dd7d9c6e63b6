/**
 * The embedded store: many reservations in flight beside the same ones one at a time, on the same file, and a payment
 * alone beside bare commits on the same file system. Each round measures all sides at once and gives one ratio, because a
 * disk's mood changes within seconds.
 */
import { join } from 'node:path'
import { accepted } from '../../../tests/support/ledger.ts'
import { compare, median, type Rounds } from '../timing.ts'
import { type Bare, inFolder, openBare, openStore } from './folder.ts'
import { atOnce, openRun, pay, payInSteps, paymentOf, splitLeaves, supply } from './payments.ts'

export interface CommitsOrder {
  readonly atOnce: number
  readonly rounds: number
  /** Of one round: bare commits, reservations one at a time, and reservations in flight. */
  readonly bare: number
  readonly single: number
  readonly reservations: number
  readonly pair: Rounds
}

export interface Commits {
  /** Commits or reservations a second, medians over the rounds, and the medians of the rounds' ratios. */
  readonly bare: number
  readonly single: number
  readonly reserved: number
  readonly toSingle: number
  readonly toBare: number
  /** Milliseconds: a payment in two transactions, one in three, two bare commits. */
  readonly payment: number
  readonly inSteps: number
  readonly twoBare: number
}

export function measureCommits(order: CommitsOrder): Promise<Commits> {
  return inFolder(async (folder) => {
    const ledger = await openStore(join(folder, 'ledger.db'))
    const bare = openBare(join(folder, 'bare.db'))
    try {
      const { root } = await openRun(ledger, 'commits')
      const { warm, batches, size } = order.pair
      const alone = 2 * (warm + batches * size)
      const inRounds = (order.rounds + 1) * (order.single + order.reservations)
      const leaves = await splitLeaves(ledger, root, alone + inRounds)
      const next = supply(leaves.map(paymentOf))
      const commitTwice = () => {
        bare.commit()
        bare.commit()
      }
      const [payment = Number.NaN, inSteps = Number.NaN, twoBare = Number.NaN] = await compare(
        [
          { run: () => pay(ledger, next()) },
          { run: () => payInSteps(ledger, next()) },
          { run: commitTwice },
        ],
        order.pair,
      )
      const reserve = async (count: number, inFlight: number) => {
        const batch = Array.from({ length: count }, next)
        const ms = await atOnce(inFlight, batch, async (of) => {
          accepted(await ledger.execute('reserve', of.reserve))
        })
        return (count * 1000) / ms
      }
      const rates = { bare: [] as number[], single: [] as number[], reserved: [] as number[] }
      for (let round = 0; round <= order.rounds; round += 1) {
        const before = bareRate(bare, order.bare / 2)
        const single = await reserve(order.single, 1)
        const reserved = await reserve(order.reservations, order.atOnce)
        const after = bareRate(bare, order.bare / 2)
        // The first is the compiler's.
        if (round === 0) continue
        rates.bare.push(2 / (1 / before + 1 / after))
        rates.single.push(single)
        rates.reserved.push(reserved)
      }
      const to = (others: readonly number[]) =>
        median(rates.reserved.map((rate, i) => rate / (others[i] ?? Number.NaN)))
      return {
        bare: median(rates.bare),
        single: median(rates.single),
        reserved: median(rates.reserved),
        toSingle: to(rates.single),
        toBare: to(rates.bare),
        payment,
        inSteps,
        twoBare,
      }
    } finally {
      bare.close()
      await ledger.close()
    }
  })
}

/** One at a time, a second. */
function bareRate(bare: Bare, commits: number): number {
  const started = performance.now()
  for (let i = 0; i < commits; i += 1) bare.commit()
  return (commits * 1000) / (performance.now() - started)
}
