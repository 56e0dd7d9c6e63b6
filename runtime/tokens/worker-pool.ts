/**
 * A bounded pool of token workers. Every task ends by its deadline: a worker that does not answer is terminated and
 * replaced, one that has leaked or counted enough is replaced while it still serves, and one whose library broke is
 * never asked again. It knows nothing of tokens but that one of them may be what breaks a worker.
 */
import { Fault } from '../core/errors.ts'
import type { HolderKey } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { type Clock, nowSeconds, type Seconds } from '../core/time.ts'
import type { Outcome, Setup, Task } from './messages.ts'
import { Slot, type SlotEvents } from './slot.ts'

export interface PoolLimits {
  /** One call, queueing included. */
  readonly callMs: number
  /** Calls that wait for a worker. */
  readonly queue: number
  /** Of these, calls with proofs by one and the same holder. */
  readonly queueOfOne: number
  readonly recycleCount: number
  readonly recycleBytes: number
  /** From the start of a thread until its canary has sung. */
  readonly bootMs: number
}

export const POOL_LIMITS: PoolLimits = {
  callMs: LIMITS.engineMs,
  queue: LIMITS.engineQueue,
  queueOfOne: LIMITS.engineQueueOfOne,
  recycleCount: LIMITS.engineRecycleCount,
  recycleBytes: LIMITS.engineRecycleBytes,
  bootMs: 20_000,
}

/** Boots that fail one after another before a start is given up. */
const BOOT_ATTEMPTS = 3
/** After a failed boot the next one waits this long, doubling up to the second number. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 5_000]
/** A worker whose successor does not come is ended anyway at this many times its limits. */
const WORN_OUT = 2
/** Of so many calls one is the oldest that waits, whoever makes it, so that nobody waits for ever. */
const TURNS_FOR_ALL = 4
/** A task is tried on a second worker when the first broke: it may have been the worker. */
const TASK_ATTEMPTS = 2

/** Gauges (`workers`, `busy`, `queued`, `memoryBytes`) and counts since the start. */
export interface PoolStats {
  readonly workers: number
  readonly busy: number
  readonly queued: number
  readonly memoryBytes: number
  readonly served: number
  readonly busyRefusals: number
  readonly timeouts: number
  readonly recycled: number
  readonly broken: number
  /** Milliseconds that workers spent on tasks. */
  readonly busyMs: number
}

interface Job {
  readonly task: Task
  /** It is ours, or a recorded holder's. */
  readonly isKnown: boolean
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (fault: Fault) => void
  readonly deadline: NodeJS.Timeout
  /** The gateway's time when it came: the clock may be distrusted later, which is then nobody's fault here. */
  readonly now: Seconds
  /** Its caller has been told. */
  ended: boolean
  /** Ends the worker that has it. */
  overtime: NodeJS.Timeout | undefined
  startedAtMs: number
  attempts: number
}

export interface PoolOptions {
  readonly size: number
  readonly url: URL
  readonly setup: Setup
  readonly limits: PoolLimits
  readonly clock: Clock
  /** Whose calls go before the others'. */
  readonly isKnown: (holder: HolderKey) => boolean
}

const closedFault = () => new Fault('engine_failed', 'the token engine is closed')

export class WorkerPool {
  readonly #options: PoolOptions
  readonly #slots = new Set<Slot>()
  readonly #jobs = new Map<Slot, Job>()
  readonly #pauses = new Set<NodeJS.Timeout>()
  #queue: Job[] = []
  #turns = 0
  #closed = false
  #failedBoots = 0
  #starting: { resolve: () => void; reject: (fault: Fault) => void } | undefined
  readonly #counts = {
    served: 0,
    busyRefusals: 0,
    timeouts: 0,
    recycled: 0,
    broken: 0,
    busyMs: 0,
  }

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Resolves when every worker is warm; rejects with Fault `engine_failed` when none comes up. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#starting = { resolve, reject }
      for (let i = 0; i < this.#options.size; i += 1) this.#boot()
    })
  }

  /** The task's outcome, never `broken`; rejects with Fault `engine_busy`, `engine_timeout` or `engine_failed`. */
  run(task: Task): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closedFault())
      const now = nowSeconds(this.#options.clock)
      const isKnown = this.#isKnown(task)
      if (this.#isFull(task) && !(isKnown && this.#makeRoom())) return reject(this.#busy())
      const deadline = setTimeout(() => this.#late(job), this.#options.limits.callMs)
      const begun = { ended: false, overtime: undefined, startedAtMs: 0, attempts: 0 }
      const job: Job = { task, isKnown, now, resolve, reject, deadline, ...begun }
      this.#queue.push(job)
      this.#dispatch()
    })
  }

  #busy(): Fault {
    this.#counts.busyRefusals += 1
    return new Fault('engine_busy', 'too many calls wait for the token engine')
  }

  /** Only a caller that has been heard out already makes a call that comes without a proof. */
  #isKnown(task: Task): boolean {
    const holder = task.kind === 'verify' ? task.holder : undefined
    return holder === undefined || this.#options.isKnown(holder)
  }

  /** The last to come of those never heard of gives up its place. */
  #makeRoom(): boolean {
    const last = this.#queue.findLast((job) => !job.isKnown)
    if (last === undefined || this.#queue.length < this.#options.limits.queue) return false
    this.#queue = this.#queue.filter((job) => job !== last)
    this.#fail(last, this.#busy())
    return true
  }

  /** A holder fills its own part of the queue and not the others'. */
  #isFull(task: Task): boolean {
    const { queue, queueOfOne } = this.#options.limits
    if (this.#queue.length >= queue) return true
    if (task.kind !== 'verify' || task.holder === undefined) return false
    const { holder } = task
    const own = this.#queue.filter(
      (job) => job.task.kind === 'verify' && job.task.holder === holder,
    )
    return own.length >= queueOfOne
  }

  stats(): PoolStats {
    const slots = [...this.#slots]
    return {
      workers: slots.filter((slot) => slot.booted).length,
      busy: this.#jobs.size,
      queued: this.#queue.length,
      memoryBytes: slots.reduce((sum, slot) => sum + slot.memoryBytes, 0),
      ...this.#counts,
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const job of [...this.#queue, ...this.#jobs.values()]) this.#fail(job, closedFault())
    this.#queue = []
    for (const pause of this.#pauses) clearTimeout(pause)
    await Promise.all([...this.#slots].map((slot) => slot.end()))
  }

  #boot(replaces?: Slot): void {
    const { url, setup, limits } = this.#options
    const events: SlotEvents = {
      ready: (slot) => this.#ready(slot),
      done: (slot, outcome) => this.#done(slot, outcome),
      died: (slot, cause) => this.#died(slot, cause),
    }
    this.#slots.add(new Slot({ url, setup, bootMs: limits.bootMs, replaces }, events))
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      if (slot.state !== 'idle') continue
      const job = this.#next()
      if (job === undefined) return
      job.attempts += 1
      job.startedAtMs = performance.now()
      job.overtime = setTimeout(() => this.#overtime(slot), this.#options.limits.callMs)
      this.#jobs.set(slot, job)
      slot.give(job.task, job.now)
    }
  }

  /** Keys never heard of have all workers but one, which is there for whoever is known. */
  #next(): Job | undefined {
    if (this.#queue.length === 0) return undefined
    this.#turns += 1
    const strangers = [...this.#jobs.values()].filter((job) => !job.isKnown).length
    const isForAll = strangers < Math.max(this.#options.size - 1, 1)
    const isOldest = isForAll && this.#turns % TURNS_FOR_ALL === 0
    const known = isOldest ? -1 : this.#queue.findIndex((job) => job.isKnown)
    if (known < 0 && !isForAll) return undefined
    return this.#queue.splice(Math.max(known, 0), 1)[0]
  }

  #ready(slot: Slot): void {
    this.#failedBoots = 0
    const worn = slot.replaces
    slot.replaces = undefined
    if (worn?.state === 'idle') this.#retire(worn)
    else if (worn !== undefined) worn.retiring = true
    if ([...this.#slots].every((each) => each.booted)) {
      this.#starting?.resolve()
      this.#starting = undefined
    }
    this.#dispatch()
  }

  #done(slot: Slot, outcome: Outcome): void {
    const job = this.#take(slot)
    if (outcome.kind === 'broken') {
      this.#counts.broken += 1
      if (job) this.#again(job)
      void slot.end()
    } else {
      this.#counts.served += 1
      if (job) this.#answer(job, outcome)
      if (slot.retiring) this.#retire(slot)
      else this.#wear(slot)
    }
    this.#dispatch()
  }

  /**
   * A worker that has done enough gets a successor while it still serves. They come one at a time: workers of one age
   * wear out together, and a start takes as much of a core as hundreds of calls.
   */
  #wear(slot: Slot): void {
    const { recycleCount, recycleBytes } = this.#options.limits
    const used = Math.max(slot.served / recycleCount, slot.memoryBytes / recycleBytes)
    if (used >= WORN_OUT) this.#retire(slot)
    else if (used >= 1 && !slot.worn && [...this.#slots].every((each) => each.booted)) {
      slot.worn = true
      this.#boot(slot)
    }
  }

  #retire(slot: Slot): void {
    this.#counts.recycled += 1
    void slot.end()
  }

  #died(slot: Slot, cause: unknown): void {
    this.#slots.delete(slot)
    const job = this.#take(slot)
    if (this.#closed) return
    if (job) {
      this.#counts.broken += 1
      this.#again(job)
    }
    for (const each of this.#slots) if (each.replaces === slot) each.replaces = undefined
    if (slot.booted) this.#refill()
    else this.#bootFailed(slot, cause)
  }

  /** Successors do not count: they take a place that is still filled. */
  #refill(): void {
    let places = [...this.#slots].filter((slot) => slot.replaces === undefined).length
    for (; !this.#closed && places < this.#options.size; places += 1) this.#boot()
  }

  #bootFailed({ replaces }: Slot, cause: unknown): void {
    this.#failedBoots += 1
    if (this.#starting && this.#failedBoots >= BOOT_ATTEMPTS) {
      const message = 'no token worker could be started'
      this.#starting.reject(new Fault('engine_failed', message, { cause }))
      this.#starting = undefined
      void this.close()
      return
    }
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (this.#failedBoots - 1), LONGEST_PAUSE_MS)
    const pause = setTimeout(() => {
      this.#pauses.delete(pause)
      if (replaces !== undefined) replaces.worn = false
      this.#refill()
    }, pauseMs)
    this.#pauses.add(pause)
    if (this.#starting === undefined) pause.unref()
  }

  /** A worker that has it goes on: most of the time may have passed in the queue, and that is not the worker's doing. */
  #late(job: Job): void {
    this.#counts.timeouts += 1
    this.#queue = this.#queue.filter((each) => each !== job)
    this.#fail(job, new Fault('engine_timeout', 'the token engine did not answer in time'))
  }

  /** One task has held this worker for as long as a whole call may take. */
  #overtime(slot: Slot): void {
    this.#take(slot)
    void slot.end()
  }

  /** What broke two workers is what breaks them: such a token is refused, anything else is our fault. */
  #again(job: Job): void {
    if (job.ended) return
    if (job.attempts < TASK_ATTEMPTS) this.#queue.unshift(job)
    else if (job.task.kind === 'verify') {
      this.#answer(job, { kind: 'verdict', verdict: { ok: false, code: 'token_invalid' } })
    } else this.#fail(job, new Fault('engine_failed', 'the token library broke while minting'))
  }

  #take(slot: Slot): Job | undefined {
    const job = this.#jobs.get(slot)
    if (job !== undefined) {
      this.#jobs.delete(slot)
      clearTimeout(job.overtime)
      this.#counts.busyMs += performance.now() - job.startedAtMs
    }
    return job
  }

  #answer(job: Job, outcome: Outcome): void {
    clearTimeout(job.deadline)
    job.ended = true
    job.resolve(outcome)
  }

  #fail(job: Job, fault: Fault): void {
    clearTimeout(job.deadline)
    job.ended = true
    job.reject(fault)
  }
}
