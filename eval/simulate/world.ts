/**
 * One simulated world: what outlives a process (the store, the checkpoints, the rail's book, the tokens, people and their
 * patience), the process that runs at the moment, and the one queue in which everything waits, so that one seed is one
 * history. A crash drops all of the process; another is composed anew from the same code and resumes.
 */
import type { NodeId, RunId } from '../../runtime/core/ids.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import { Claims } from './claims.ts'
import type { Planted } from './planted.ts'
import { type Process, startProcess } from './process.ts'
import { RailBook } from './rail.ts'
import { Random, Scheduler } from './scheduler.ts'
import { CheckpointLines, Store } from './store.ts'
import { KeyRing, Tokens } from './tokens.ts'

export const START_MS = 1_800_000_000_000

/** What is counted of a history; all but the first two are troubles that the money had to come through. */
export const COUNTED = [
  'payments',
  'attempts',
  'crashes',
  'lostRequests',
  'lostReplies',
  'duplicates',
  'clockJumps',
  'lostLeases',
  'overdue',
  'resolved',
  'contradicted',
  'reversals',
  'refunded',
  'erased',
  'regained',
  'checkpoints',
  'compared',
  'rollbacksRefused',
  'pending',
  'taken',
  'drawn',
  'voided',
] as const

export type Counted = (typeof COUNTED)[number]
export type Counts = Readonly<Record<Counted, number>>

export class World {
  readonly seed: number
  readonly planted: Planted | undefined
  readonly random: Random
  readonly scheduler: Scheduler
  readonly tokens = new Tokens()
  readonly keys = new KeyRing()
  readonly rail = new RailBook(this)
  readonly claims: Claims
  readonly store: Store
  readonly checkpoints = new CheckpointLines(this)
  readonly runs = new Set<RunId>()
  readonly frozen = new Set<NodeId | 'gateway'>()
  readonly counts: Record<Counted, number>
  readonly hasMonitor: boolean
  isFaulty = true
  violation: string | undefined
  /** How far the wall clock is from true time. */
  wallOffsetMs = 0
  /** A start was refused because the clock stood before the last checkpoint. */
  wasClockRefused = false
  process: Process
  #made = 0

  constructor(seed: number, planted: Planted | undefined, keepLines: number) {
    this.seed = seed
    this.planted = planted
    this.random = new Random(seed)
    this.scheduler = new Scheduler(START_MS, keepLines)
    this.counts = Object.fromEntries(COUNTED.map((name) => [name, 0])) as Record<Counted, number>
    this.claims = new Claims(this.rail, this.rail.holds, (why) => this.fail(why))
    this.store = new Store(this, planted?.transitions)
    this.hasMonitor = this.random.chance(0.5)
    this.process = startProcess(this, 1)
  }

  wallMs(): number {
    return this.scheduler.nowMs + this.wallOffsetMs
  }

  fresh(): string {
    this.#made += 1
    return `${this.seed}-${this.#made}`
  }

  count(what: Counted): void {
    this.counts[what] += 1
  }

  trace(line: string): void {
    this.scheduler.trace(line)
  }

  fail(why: string): void {
    if (this.violation !== undefined) return
    this.violation = why
    this.trace(`VIOLATION ${why}`)
  }

  never(): Promise<never> {
    return new Promise(() => undefined)
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.scheduler.after(ms, () => resolve()))
  }

  /** Something that the process waits for; a process that has died meanwhile never hears of it. */
  io<T>(
    process: Process,
    what: string,
    act: () => T | Promise<T>,
    ms = this.random.between(0, 4),
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      this.scheduler.after(ms, async () => {
        if (!process.isAlive) return
        try {
          const value = await act()
          if (process.isAlive) resolve(value)
        } catch (error) {
          if (!process.isAlive) return
          this.trace(`p${process.id} ${what} failed`)
          reject(error)
        }
      })
    })
  }

  /**
   * A call from outside: its request or its reply may be lost, the process may die of it or not be up yet; undefined is
   * no answer.
   */
  async outside<T>(act: (gateway: Process['gateway']) => Promise<T>): Promise<T | undefined> {
    const { process, random } = this
    if (!process.isUp) return undefined
    if (this.isFaulty && random.chance(0.03)) {
      this.count('lostRequests')
      return undefined
    }
    try {
      const answer = await Promise.race([act(process.gateway), process.death])
      const isLost = this.isFaulty && random.chance(0.05)
      if (isLost) this.count('lostReplies')
      return isLost ? undefined : answer
    } catch {
      return undefined
    }
  }

  /** A verdict that an agent was told must have its record. */
  answered({ status, body }: Answer): void {
    const { paymentId, verdict, reason } = body as {
      paymentId?: never
      verdict?: string
      reason?: { code: string }
    }
    this.trace(`answer ${status} ${verdict ?? ''} ${reason?.code ?? ''}`)
    if (paymentId === undefined) return
    const { reference, refused } = this.claims
    const hasRecord =
      verdict === 'allow'
        ? reference.payments.has(paymentId)
        : refused.has(`${paymentId} ${reason?.code}`)
    if (!hasRecord) this.fail('a verdict has no record')
  }

  crash(): void {
    const { process, claims } = this
    if (!process.isAlive) return
    this.count('crashes')
    for (const [payment, { holder, until }] of claims.late.leases) {
      const isAwaited = ['submitted', 'unknown'].includes(claims.reference.paid(payment).state)
      const isTheirs = process.leases.has(holder) && until * 1000 > this.wallMs()
      if (isAwaited && isTheirs) this.count('lostLeases')
    }
    this.trace(`p${process.id} crashed`)
    this.replace(process)
  }

  /** The next process, which begins where the store says that this one stopped. */
  replace(process: Process): void {
    process.isAlive = false
    process.isUp = false
    process.die()
    this.process = startProcess(this, process.id + 1)
  }
}
