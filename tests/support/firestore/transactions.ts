/**
 * What makes the double worth having: transactions that are isolated as the real store's are. Three ways, all
 * serializable: optimistic (what was read is compared at commit), pessimistic (exclusive fair locks) and hostile (shared
 * locks: two that read and both want to write block each other until one is aborted).
 *
 * Nothing awaits between the last check of a commit and its writes.
 */
import { randomBytes } from 'node:crypto'
import { type Document, Documents, nameOf, type WireWrite } from './documents.ts'
import { Locks } from './locks.ts'
import { matches, printOf, type Query, runQuery } from './queries.ts'
import { Refusal, refuse, STATUS } from './refusal.ts'
import { comparePaths } from './values.ts'

/** `broken` keeps nothing apart: tests show with it that they would notice. */
export type Mode = 'pessimistic' | 'optimistic' | 'hostile' | 'broken'

export interface EngineOptions {
  readonly mode: Mode
  /** How long a lock is waited for before the waiting transaction is aborted. */
  readonly lockMs: number
  /** How long a transaction that nobody uses keeps its locks. */
  readonly idleMs: number
}

export interface Transaction {
  readonly id: Buffer
  /** Set for a read-only transaction: the instant that it sees. */
  readonly readTime: bigint | undefined
  /** When each document that was read had last changed; 0 for a missing one. */
  readonly reads: Map<string, bigint>
  readonly queries: { readonly query: Query; readonly print: string }[]
  isDone: boolean
  timer: NodeJS.Timeout
}

/** Within a transaction, as of an instant, or as of now. */
interface Reading {
  readonly within: Transaction | undefined
  readonly at: bigint | undefined
}

export interface TransactionOptions {
  readonly readOnly?: object
  readonly readWrite?: object
}

/** The client looks for `transaction has expired` in it. */
const EXPIRED = 'The referenced transaction has expired or is no longer valid.'

export class Engine {
  readonly documents = new Documents()
  /** Transactions that were aborted, since the start. */
  aborted = 0
  readonly #options: EngineOptions
  readonly #locks: Locks
  readonly #open = new Map<string, Transaction>()

  constructor(options: EngineOptions) {
    this.#options = options
    this.#locks = new Locks({ isShared: options.mode === 'hostile', waitMs: options.lockMs })
  }

  begin(options: TransactionOptions): Transaction {
    const readTime = options.readOnly ? this.documents.tick() : undefined
    const id = randomBytes(16)
    const timer = setTimeout(() => {}, 0)
    clearTimeout(timer)
    const made = { id, readTime, reads: new Map(), queries: [], isDone: false, timer }
    this.#open.set(id.toString('hex'), made)
    this.#touch(made)
    return made
  }

  find(id: Buffer): Transaction {
    const found = this.#open.get(id.toString('hex'))
    if (found === undefined) throw new Refusal(STATUS.INVALID_ARGUMENT, EXPIRED)
    this.#touch(found)
    return found
  }

  /** Ends a transaction without a change; an unknown one is nobody's loss. */
  rollback(id: Buffer): void {
    const found = this.#open.get(id.toString('hex'))
    if (found) this.#end(found)
  }

  async read(
    names: readonly string[],
    { within, at }: Reading,
  ): Promise<Map<string, Document | undefined>> {
    if (within && at === undefined) await this.#lock(within, names, 'read')
    const found = new Map<string, Document | undefined>()
    for (const name of names) {
      const document = this.documents.get(name, at)
      found.set(name, document)
      if (within && at === undefined && !within.reads.has(name)) {
        within.reads.set(name, document?.updateTime ?? 0n)
      }
    }
    return found
  }

  async query(query: Query, { within, at }: Reading): Promise<Document[]> {
    if (within === undefined || at !== undefined) return runQuery(query, this.documents, at)
    for (;;) {
      const found = runQuery(query, this.documents)
      await this.#lock(
        within,
        found.map(({ name }) => name),
        'read',
      )
      const print = printOf(found)
      if (print !== printOf(runQuery(query, this.documents))) continue
      within.queries.push({ query, print })
      return found
    }
  }

  /** Applies all writes or none; returns the time of the commit. */
  async commit(writes: readonly WireWrite[], within?: Transaction): Promise<bigint> {
    const owner = within ?? this.begin({})
    if (owner.readTime !== undefined && writes.length > 0) {
      refuse(STATUS.INVALID_ARGUMENT, 'Cannot modify entities in a read-only transaction.')
    }
    try {
      const names = [...new Set(writes.map(nameOf))]
      await this.#lock(owner, names, 'write')
      if (this.#isLocking) await this.#awaitQueries(owner, writes)
      if (this.#options.mode !== 'broken') this.#assertCurrent(owner)
      const at = this.documents.tick()
      this.documents.install(this.documents.stage(writes, at), at)
      return at
    } finally {
      this.#end(owner)
    }
  }

  close(): void {
    for (const transaction of [...this.#open.values()]) this.#end(transaction)
  }

  get #isLocking(): boolean {
    return this.#options.mode === 'pessimistic' || this.#options.mode === 'hostile'
  }

  async #lock(owner: Transaction, names: readonly string[], kind: 'read' | 'write'): Promise<void> {
    if (!this.#isLocking) return
    for (const name of [...names].sort(comparePaths)) {
      try {
        await this.#locks.acquire(owner, name, kind)
      } catch (error) {
        this.aborted += 1
        this.#end(owner)
        throw error
      }
      if (owner.isDone) {
        this.#locks.release(owner)
        throw new Refusal(STATUS.INVALID_ARGUMENT, EXPIRED)
      }
    }
  }

  /** A write that would change what another open transaction's query found waits for that transaction. */
  async #awaitQueries(owner: Transaction, writes: readonly WireWrite[]): Promise<void> {
    const deadline = performance.now() + this.#options.lockMs
    while (this.#meetsQuery(owner, writes)) {
      if (performance.now() > deadline) {
        this.aborted += 1
        refuse(STATUS.ABORTED, 'Transaction lock timeout.')
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (owner.isDone) throw new Refusal(STATUS.INVALID_ARGUMENT, EXPIRED)
    }
  }

  #meetsQuery(owner: Transaction, writes: readonly WireWrite[]): boolean {
    const others = [...this.#open.values()].filter(
      ({ queries }) => queries.length > 0 && queries !== owner.queries,
    )
    if (others.length === 0) return false
    // Preconditions are judged when it is this commit's turn.
    const staged = this.documents.stage(
      writes.map(({ currentDocument, ...write }) => write),
      this.documents.tick(),
    )
    const changes = [...staged].map(([name, after]) => [this.documents.get(name), after] as const)
    return others.some(({ queries }) =>
      queries.some(({ query }) =>
        changes.some(([before, after]) => matches(query, before) || matches(query, after)),
      ),
    )
  }

  /** In the locking modes this cannot fail while the locks do their work, and is judged all the same. */
  #assertCurrent({ reads, queries }: Transaction): void {
    const isRead = [...reads].every(
      ([name, stamp]) => (this.documents.get(name)?.updateTime ?? 0n) === stamp,
    )
    const isFound = queries.every(
      ({ query, print }) => printOf(runQuery(query, this.documents)) === print,
    )
    if (isRead && isFound) return
    this.aborted += 1
    refuse(STATUS.ABORTED, 'Aborted due to cross-transaction contention.')
  }

  #touch(transaction: Transaction): void {
    clearTimeout(transaction.timer)
    transaction.timer = setTimeout(() => this.#end(transaction), this.#options.idleMs)
    transaction.timer.unref()
  }

  #end(transaction: Transaction): void {
    clearTimeout(transaction.timer)
    transaction.isDone = true
    this.#open.delete(transaction.id.toString('hex'))
    this.#locks.release(transaction)
  }
}
