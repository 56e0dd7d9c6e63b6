/**
 * Locks on documents. Exclusive and fair: whoever reads in a transaction locks, and those who wait are served in their
 * order. Shared and unfair: readers share, a writer waits until it is the only one, newcomers pass those who wait,
 * and who is woken is a matter of chance. Whoever waits too long loses all its locks and is aborted.
 */
import { Refusal, STATUS } from './refusal.ts'

export type Owner = object

interface Waiting {
  readonly owner: Owner
  readonly isWrite: boolean
  readonly grant: () => void
}

interface Lock {
  readonly readers: Set<Owner>
  writer: Owner | undefined
  waiting: Waiting[]
}

export interface LockOptions {
  readonly isShared: boolean
  readonly waitMs: number
}

export class Locks {
  readonly #options: LockOptions
  readonly #locks = new Map<string, Lock>()
  readonly #held = new Map<Owner, Set<string>>()
  #seed = 1

  constructor(options: LockOptions) {
    this.#options = options
  }

  /** Resolves when the owner holds the document; rejects with ABORTED, having let go of everything. */
  async acquire(owner: Owner, name: string, kind: 'read' | 'write'): Promise<void> {
    const lock = this.#locks.get(name) ?? { readers: new Set(), writer: undefined, waiting: [] }
    this.#locks.set(name, lock)
    const isWrite = kind === 'write' || !this.#options.isShared
    const mayPass = this.#options.isShared || lock.waiting.length === 0 || lock.writer === owner
    if (mayPass && canTake(lock, owner, isWrite)) return this.#take(lock, name, owner, isWrite)
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        lock.waiting = lock.waiting.filter((other) => other !== waiting)
        this.release(owner)
        reject(new Refusal(STATUS.ABORTED, 'Transaction lock timeout.'))
      }, this.#options.waitMs)
      const grant = () => {
        clearTimeout(timer)
        this.#take(lock, name, owner, isWrite)
        resolve()
      }
      const waiting: Waiting = { owner, isWrite, grant }
      lock.waiting.push(waiting)
    })
  }

  release(owner: Owner): void {
    const names = this.#held.get(owner) ?? []
    this.#held.delete(owner)
    for (const name of names) {
      const lock = this.#locks.get(name)
      if (lock === undefined) continue
      lock.readers.delete(owner)
      if (lock.writer === owner) lock.writer = undefined
      this.#wake(lock)
    }
  }

  #take(lock: Lock, name: string, owner: Owner, isWrite: boolean): void {
    if (isWrite) lock.writer = owner
    else lock.readers.add(owner)
    const held = this.#held.get(owner) ?? new Set()
    this.#held.set(owner, held.add(name))
  }

  #wake(lock: Lock): void {
    const order = this.#options.isShared ? this.#shuffled(lock.waiting) : [...lock.waiting]
    for (const waiting of order) {
      if (canTake(lock, waiting.owner, waiting.isWrite)) {
        lock.waiting = lock.waiting.filter((other) => other !== waiting)
        waiting.grant()
      } else if (!this.#options.isShared) return
    }
  }

  /** By chance, and the same chance in each run. */
  #shuffled<T>(items: readonly T[]): T[] {
    const next = () => {
      this.#seed = (this.#seed * 48_271) % 2_147_483_647
      return this.#seed
    }
    return items
      .map((item) => ({ item, at: next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item)
  }
}

function canTake(lock: Lock, owner: Owner, isWrite: boolean): boolean {
  if (lock.writer !== undefined && lock.writer !== owner) return false
  return !isWrite || [...lock.readers].every((reader) => reader === owner)
}
