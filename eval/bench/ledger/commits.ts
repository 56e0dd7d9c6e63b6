/**
 * The embedded store beside bare commits on the same file system: many payments in flight, and one alone. Each round
 * measures both sides at once and gives one ratio, because a disk's mood changes within seconds.
 */
import { join } from 'node:path'
import { accepted } from '../../../tests/support/ledger.ts'
import { compare, median, type Rounds } from '../timing.ts'
import { type Bare, inFolder, openBare, openStore } from './folder.ts'
import { atOnce, openRun, pay, payInSteps, paymentOf, splitLeaves, supply } from './payments.ts'

export interface CommitsOrder {
  readonly atOnce: number
  readonly rounds: number
  /** Bare commits and reservations of one round. */
  readonly bare: number
  readonly reservations: number
  readonly pair: Rounds
}

export interface Commits {
  /** Commits or payments a second, medians over the rounds, and the median of the rounds' ratios. */
  readonly bare: number
  readonly reserved: number
  readonly submitted: number
  readonly reservedRatio: number
  readonly submittedRatio: number
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
      const inFlight = 2 * (order.rounds + 1) * order.reservations
      const leaves = await splitLeaves(ledger, root, alone + inFlight)
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
      const batch = () => Array.from({ length: order.reservations }, next)
      const reserve = async (step: 'reserve' | 'reserveAndSubmit') => {
        const ms = await atOnce(order.atOnce, batch(), async (of) => {
          accepted(await ledger.execute('reserve', of[step]))
        })
        return (order.reservations * 1000) / ms
      }
      const rates = { bare: [] as number[], reserved: [] as number[], submitted: [] as number[] }
      for (let round = 0; round <= order.rounds; round += 1) {
        const before = bareRate(bare, order.bare / 2)
        const reserved = await reserve('reserve')
        const submitted = await reserve('reserveAndSubmit')
        const after = bareRate(bare, order.bare / 2)
        // The first is the compiler's.
        if (round === 0) continue
        rates.bare.push(2 / (1 / before + 1 / after))
        rates.reserved.push(reserved)
        rates.submitted.push(submitted)
      }
      const ratios = (of: readonly number[]) =>
        median(of.map((rate, i) => rate / (rates.bare[i] ?? Number.NaN)))
      return {
        bare: median(rates.bare),
        reserved: median(rates.reserved),
        submitted: median(rates.submitted),
        reservedRatio: ratios(rates.reserved),
        submittedRatio: ratios(rates.submitted),
        ...{ payment, inSteps, twoBare },
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
