/** A payment, and a split, below a parent of many children beside the same below parents of few, in one store. */
import { join } from 'node:path'
import type { NodeRecord } from '../../../runtime/core/records.ts'
import { aChild, accepted, aSplit } from '../../../tests/support/ledger.ts'
import { compare, type Rounds } from '../timing.ts'
import { inFolder, openStore } from './folder.ts'
import { openRun, PRICE, pay, paymentOf, splitLeaves, splitOf, supply } from './payments.ts'

export interface WidthOrder {
  readonly narrow: number
  readonly wide: number
  readonly rounds: Rounds
}

/** Milliseconds below the narrow parents and below the wide one. */
export interface Width {
  readonly payment: readonly number[]
  readonly split: readonly number[]
}

export function measureWidth({ narrow, wide, rounds }: WidthOrder): Promise<Width> {
  return inFolder(async (folder) => {
    const ledger = await openStore(join(folder, 'ledger.db'))
    try {
      const { root } = await openRun(ledger, 'width')
      const count = rounds.warm + rounds.batches * rounds.size
      const planner = async (step: string): Promise<NodeRecord> => {
        const child = aChild(root, step, { kind: 'planner', ceiling: PRICE * (wide + count) })
        const split = aSplit(child, { nodes: wide + count, fanOut: 1_000_000 })
        return accepted(await ledger.execute('split', split)).child
      }
      // A leaf pays once and a split makes a parent wider: so there are many narrow parents, each used a few times.
      const parents: NodeRecord[] = []
      const narrowLeaves: NodeRecord[] = []
      while (narrowLeaves.length < count) {
        const parent = await planner(`narrow ${parents.length}`)
        parents.push(parent)
        narrowLeaves.push(...(await splitLeaves(ledger, parent, narrow)))
      }
      while (parents.length < count) {
        const parent = await planner(`narrow ${parents.length}`)
        parents.push(parent)
        await splitLeaves(ledger, parent, narrow)
      }
      const wideParent = await planner('wide')
      const wideLeaves = await splitLeaves(ledger, wideParent, wide)
      const side = (leaves: readonly NodeRecord[]) => {
        const next = supply(leaves.slice(0, count).map(paymentOf))
        return { run: () => pay(ledger, next()) }
      }
      const payment = await compare([side(narrowLeaves), side(wideLeaves)], rounds)
      const splitSide = (splits: readonly ReturnType<typeof splitOf>[]) => {
        const next = supply(splits)
        return { run: async () => accepted(await ledger.execute('split', next())) }
      }
      const split = await compare(
        [
          splitSide(parents.slice(0, count).map((parent) => splitOf(parent, 'one more'))),
          splitSide(Array.from({ length: count }, (_, i) => splitOf(wideParent, `more ${i}`))),
        ],
        rounds,
      )
      return { payment, split }
    } finally {
      await ledger.close()
    }
  })
}
