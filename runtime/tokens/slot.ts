/**
 * One worker thread and its life: booting, idle, busy, dead. It owns the thread's streams (what the library prints
 * goes nowhere), its environment (empty) and its end; what to do next is the pool's business.
 */
import { Worker } from 'node:worker_threads'
import type { Seconds } from '../core/time.ts'
import type { FromWorker, Outcome, Setup, Task, ToWorker } from './messages.ts'

export interface SlotEvents {
  ready(slot: Slot): void
  /** The task given last has an outcome. */
  done(slot: Slot, outcome: Outcome): void
  /** The thread has ended, by `end` or by itself, and why where it said so; told once. */
  died(slot: Slot, cause?: unknown): void
}

export interface SlotOptions {
  readonly url: URL
  readonly setup: Setup
  readonly bootMs: number
  readonly replaces: Slot | undefined
}

/** Of JavaScript alone: several times what verifying the largest token takes. The library's own memory is apart. */
const HEAP = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 96 }

export class Slot {
  state: 'booting' | 'idle' | 'busy' | 'dead' = 'booting'
  /** Its canary has sung. */
  booted = false
  served = 0
  memoryBytes = 0
  /** The worn worker whose place it takes when it is ready. */
  replaces: Slot | undefined
  /** Its replacement is ready: it ends when it is next idle. */
  retiring = false
  /** A replacement has been asked for. */
  worn = false

  readonly #worker: Worker
  readonly #events: SlotEvents
  #task = 0

  constructor({ url, setup, bootMs, replaces }: SlotOptions, events: SlotEvents) {
    this.#events = events
    this.replaces = replaces
    this.#worker = new Worker(url, {
      name: 'headgate-tokens',
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: HEAP,
      stdout: true,
      stderr: true,
    })
    // What the library prints goes nowhere. (Reading the streams, too, would keep the process alive.)
    this.#worker.stdout.destroy()
    this.#worker.stderr.destroy()
    const boot = setTimeout(() => this.end(), bootMs)
    this.#worker.on('message', (message: FromWorker) => {
      clearTimeout(boot)
      this.#hear(message)
    })
    this.#worker.on('error', (cause) => this.end(cause))
    this.#worker.on('messageerror', (cause) => this.end(cause))
    this.#worker.on('exit', () => {
      clearTimeout(boot)
      this.#die()
    })
    this.#tell(setup)
  }

  #tell(message: ToWorker): void {
    this.#worker.postMessage(message)
  }

  #hear(message: FromWorker): void {
    if (this.state === 'dead') return
    if (message.kind === 'ready') {
      this.state = 'idle'
      this.booted = true
      // An idle worker keeps no process alive; whoever waits for an answer has a deadline that does.
      this.#worker.unref()
      this.#events.ready(this)
    } else if (message.id === this.#task) {
      this.state = 'idle'
      this.served += 1
      this.memoryBytes = message.memoryBytes
      this.#events.done(this, message.outcome)
    }
  }

  #die(cause?: unknown): void {
    if (this.state === 'dead') return
    this.state = 'dead'
    this.#events.died(this, cause)
  }

  give(task: Task, now: Seconds): void {
    this.state = 'busy'
    this.#task += 1
    this.#tell({ kind: 'task', id: this.#task, task, now })
  }

  /** Ends the thread whatever it is doing; resolves when it is gone. */
  async end(cause?: unknown): Promise<void> {
    this.#die(cause)
    await this.#worker.terminate()
  }
}
