/** Stores that are broken on purpose: a contract that does not notice them would prove nothing. */
import { afterEach, describe, expect, it } from 'vitest'
import type { CommandName, Ledger } from '../../runtime/core/ledger.ts'
import type { FeedEntry } from '../../runtime/core/records.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { startFirestoreDouble } from '../support/firestore/double.ts'
import { openTogether } from '../support/firestore/ledger.ts'
import { benchOf, type Opened } from './contract/bench.ts'
import { CLAIMS } from './contract/together.ts'

const memory = (): Ledger => createMemoryLedger({ organisation: 'acme' })

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const keep = (opened: Omit<Opened, 'dispose'>): Opened => ({ ...opened, dispose: async () => {} })

/** With the first split and what it opened the wrong way round. */
function turned(entries: readonly FeedEntry[]): FeedEntry[] {
  const at = entries.findIndex(({ seq, stream }, i) => i > 1 && seq === 1 && stream !== 'gateway')
  const [split, opened] = entries.slice(at - 1, at + 1)
  return split && opened ? entries.toSpliced(at - 1, 2, opened, split) : [...entries]
}

/** The claims that a store fails, each tried on a fresh one. */
async function failed(open: () => Promise<Opened>): Promise<string[]> {
  const names: string[] = []
  for (const [claim, holds] of Object.entries(CLAIMS)) {
    const opened = await open()
    ends.push(opened.dispose)
    const outcome = await holds(benchOf(() => opened)).then(
      () => true,
      () => false,
    )
    if (!outcome) names.push(claim)
  }
  return names
}

const [LEAVES, LEAF, QUOTE, MANDATE, PROOF, FREEZE, FEED] = Object.keys(CLAIMS)

/** Answers reads from a copy that misses some of the commands that it acknowledges. */
function forgetful(misses: (name: CommandName) => boolean): Ledger {
  const [told, kept] = [memory(), memory()]
  return {
    ...kept,
    execute: async (name, input) => {
      const result = await told.execute(name, input)
      if (!misses(name)) await kept.execute(name, input)
      return result
    },
  }
}

/** Reads miss the last thing that was written. */
function stale(): Ledger {
  const [now, before] = [memory(), memory()]
  let late: () => Promise<unknown> = async () => {}
  return {
    ...before,
    execute: async (name, input) => {
      const result = await now.execute(name, input)
      await late()
      late = () => before.execute(name, input)
      return result
    },
  }
}

/** Two instances with a ledger each: they agree on who there is, and on nothing that is spent. */
function twins(): readonly Ledger[] {
  const shared = new Set<CommandName>(['createRun', 'split'])
  const all = [memory(), memory()]
  return all.map((own) => ({
    ...own,
    execute: async (name, input) => {
      const result = await own.execute(name, input)
      const others = shared.has(name) ? all.filter((other) => other !== own) : []
      for (const other of others) await other.execute(name, input)
      return result
    },
  }))
}

describe('the contract notices', () => {
  it('nothing wrong with a sound store', async () => {
    expect(await failed(async () => keep({ ledger: memory(), many: 24 }))).toEqual([])
  })

  it('a write that was acknowledged and lost', async () => {
    let settled = 0
    const misses = (name: CommandName) => name === 'settle' && ++settled % 10 === 0
    expect(await failed(async () => keep({ ledger: forgetful(misses), many: 24 }))).toContain(
      LEAVES,
    )
  })

  it('a read that misses the last write', async () => {
    const names = await failed(async () => keep({ ledger: stale(), many: 24 }))
    expect(names).toEqual(expect.arrayContaining([LEAVES, LEAF]))
  })

  it('two instances that do not see what the other spends', async () => {
    const open = async () => {
      const [ledger = memory(), ...peers] = twins()
      return keep({ ledger, peers, many: 24 })
    }
    const names = await failed(open)
    expect(names).toEqual(expect.arrayContaining([LEAVES, LEAF, QUOTE, MANDATE, PROOF, FREEZE]))
  })

  it.each([
    ['misses an entry', (entries: FeedEntry[]) => entries.toSpliced(7, 1)],
    ['repeats an entry', (entries: FeedEntry[]) => entries.toSpliced(7, 0, ...entries.slice(6, 7))],
    ['puts an entry before what it follows', (entries: FeedEntry[]) => turned(entries)],
  ])(
    'a feed that %s',
    async (_fault, change) => {
      const open = async () => {
        const ledger = memory()
        const feed: Ledger['feed'] = async (...args) => {
          const entries = change([...(await ledger.feed(...args))])
          return entries.map((entry, i) => ({ ...entry, position: i + 1 }))
        }
        return keep({ ledger: { ...ledger, feed }, many: 24, patienceMs: 100 })
      }
      expect(await failed(open)).toEqual([FEED])
    },
    120_000,
  )

  it('transactions that are not kept apart', async () => {
    const double = await startFirestoreDouble({ mode: 'broken' })
    ends.push(() => double.close())
    // A freeze that takes its time: what is submitted meanwhile is in no list that it has read.
    double.before = async (method, { writes = [] }) => {
      const isFreeze = writes.some(({ update }) =>
        update?.fields?.text?.stringValue?.includes('"frozen"'),
      )
      if (method === 'Commit' && isFreeze) await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const names = await failed(async () => ({ ...(await openTogether(double.host, 3)), many: 24 }))
    expect(names).toContain(FREEZE)
  })
})
