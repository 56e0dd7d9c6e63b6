/** What the parts of the contract share: the ledger that is tested now, and ways to ask it. */
import { expect } from 'vitest'
import { parseEvent } from '../../../runtime/core/events.ts'
import type { NodeId } from '../../../runtime/core/ids.ts'
import type { CommandName, Commands, Ledger, LedgerRefusal } from '../../../runtime/core/ledger.ts'
import type { Account, StreamId } from '../../../runtime/core/records.ts'
import { later } from '../../../runtime/core/time.ts'
import { NOW } from '../../support/ledger.ts'

export interface Opened {
  readonly ledger: Ledger
  /** Further instances over the same store, where there can be any. */
  readonly peers?: readonly Ledger[]
  /** How many do one thing at once; two hundred unless a store takes too long for that. */
  readonly many?: number
  /** How long a feed may take to have everything in it; ten seconds. */
  readonly patienceMs?: number
  /** Waits until every listener has been told of what was committed, where that takes longer than the commit. */
  readonly told?: (ledger: Ledger) => Promise<void>
  /** Changes an account behind the store's back. */
  readonly edit?: (node: StreamId, change: (account: Account) => Account) => Promise<void>
  /** The same store as it is after a restart, or as another process has it. */
  readonly again?: () => Promise<Ledger>
  /** Another organisation in the same place. */
  readonly other?: () => Promise<Ledger>
  /** Ends the store and whatever it left behind. */
  readonly dispose: () => Promise<void>
}

export const LATER = later(NOW, 48 * 3600)

export interface Bench {
  /** The ledger of the test that runs now. */
  ledger(): Ledger
  /** An even number. */
  readonly many: number
  readonly patienceMs: number
  /** One of the instances over the store, in turn. */
  instance(i: number): Ledger
  told(): Promise<void>
  edit(node: StreamId, change: (account: Account) => Account): Promise<void>
  again(): Promise<Ledger>
  other(): Promise<Ledger>
  toldOf(ledger: Ledger): Promise<void>
  /** Runs a command that must be refused so, and must change nothing. */
  refusedBy<K extends CommandName>(
    command: K,
    input: Commands[K]['input'],
    code: LedgerRefusal,
  ): Promise<void>
  /** Runs a recorded command again: the same answer, and nothing new. */
  unchangedBy<K extends CommandName>(
    command: K,
    input: Commands[K]['input'],
    expected: object,
  ): Promise<void>
  account(id: NodeId): Promise<Account>
  balances(
    id: NodeId,
  ): Promise<Pick<Account, 'ceiling' | 'available' | 'reserved' | 'spent' | 'allotted'>>
  types(stream: NodeId | 'gateway'): Promise<string[]>
}

export function benchOf(opened: () => Opened): Bench {
  const ledger = () => opened().ledger
  const account = async (id: NodeId) => {
    const found = await ledger().account(id)
    if (!found) throw new Error('expected an account')
    return found
  }
  return {
    ledger,
    get many() {
      return opened().many ?? 200
    },
    get patienceMs() {
      return opened().patienceMs ?? 10_000
    },
    instance: (i) => {
      const all = [ledger(), ...(opened().peers ?? [])]
      return all[i % all.length] ?? ledger()
    },
    told: async () => opened().told?.(ledger()),
    edit: async (node, change) => {
      const { edit } = opened()
      if (edit === undefined) throw new Error('expected a store that can be edited')
      await edit(node, change)
    },
    other: async () => {
      const { other } = opened()
      if (other === undefined) throw new Error('expected a place for two organisations')
      return other()
    },
    toldOf: async (of) => opened().told?.(of),
    again: async () => (await opened().again?.()) ?? ledger(),
    refusedBy: async (command, input, code) => {
      const before = await everything(ledger())
      const result = await ledger().execute(command, input)
      expect(result).toMatchObject({ ok: false, code })
      expect(await everything(ledger())).toEqual(before)
    },
    unchangedBy: async (command, input, expected) => {
      const before = await everything(ledger())
      const result = await ledger().execute(command, input)
      expect(result).toMatchObject({ ok: true, ...expected })
      expect(await everything(ledger())).toEqual(before)
    },
    account,
    balances: async (id) => {
      const { ceiling, available, reserved, spent, allotted } = await account(id)
      return { ceiling, available, reserved, spent, allotted }
    },
    types: async (stream) =>
      (await ledger().events(stream, 0, 1_000)).map(({ body }) => parseEvent(body).type),
  }
}

/** Everything that a reader could tell apart: the whole log, every node, payment and hold. */
export async function everything(ledger: Ledger): Promise<unknown> {
  const runs = await ledger.runs({ limit: 1_000 })
  const [heads, trees, payments, holds, gateway] = await Promise.all([
    ledger.heads(),
    Promise.all(runs.map(({ id }) => ledger.tree(id))),
    ledger.payments({ limit: 10_000 }),
    ledger.holds({ limit: 10_000 }),
    ledger.standing('gateway'),
  ])
  return { runs, heads, trees, payments, holds, gateway }
}
