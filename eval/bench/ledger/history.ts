/** A payment in a store with much behind it, beside the same in one with little: two real stores, open at once. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { compare, type Rounds } from '../timing.ts'
import { openStore } from './folder.ts'
import { openPast, type Past } from './past.ts'
import { openRun, pay, paymentOf, splitLeaves, supply } from './payments.ts'
import { writePrototype } from './prototype.ts'

/** Leaves, and payments, of the run that is copied. */
export const LEAVES = 20

export type HistoryOrder =
  /** Begins a store, or makes what is behind it longer: payments in all. */
  | { readonly kind: 'fill'; readonly store: string; readonly payments: number }
  | { readonly kind: 'measure'; readonly stores: readonly string[]; readonly rounds: Rounds }
  | { readonly kind: 'end' }

/** Milliseconds of a payment in each store. */
export type History = readonly number[]

let folder: Promise<string> | undefined
const pasts = new Map<string, { readonly past: Past; copies: number }>()

export async function carryOutHistory(order: HistoryOrder): Promise<History> {
  folder ??= mkdtemp(join(tmpdir(), 'headgate-bench-'))
  const within = await folder
  switch (order.kind) {
    case 'fill':
      await fill(join(within, order.store), order.payments)
      return []
    case 'measure':
      return measure(
        order.stores.map((store) => join(within, store)),
        order.rounds,
      )
    case 'end':
      await rm(within, { recursive: true, force: true })
      return []
  }
}

async function fill(path: string, payments: number): Promise<void> {
  const filled = pasts.get(path) ?? { past: await begin(path), copies: 0 }
  const copies = Math.round(payments / LEAVES) - 1
  filled.past.add(filled.copies + 1, copies)
  pasts.set(path, { ...filled, copies })
}

async function begin(path: string): Promise<Past> {
  const ledger = await openStore(path)
  await writePrototype(ledger, { leaves: LEAVES, isClosed: false })
  await ledger.close()
  return openPast(path)
}

async function measure(paths: readonly string[], rounds: Rounds): Promise<History> {
  const ledgers: Ledger[] = []
  try {
    const sides = []
    for (const path of paths) {
      pasts.get(path)?.past.close()
      const ledger = await openStore(path)
      ledgers.push(ledger)
      const { root } = await openRun(ledger, 'present')
      const count = rounds.warm + rounds.batches * rounds.size
      const next = supply((await splitLeaves(ledger, root, count)).map(paymentOf))
      sides.push({ run: () => pay(ledger, next()) })
    }
    return await compare(sides, rounds)
  } finally {
    for (const ledger of ledgers) await ledger.close()
  }
}
