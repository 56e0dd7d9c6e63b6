/**
 * The embedded ledger: one SQLite file, one writer thread, every answer durable before it is given. This side keeps
 * the list of questions that are waiting; a worker that dies fails them all, and every later call, because nobody
 * can say what it had written.
 */
import { Worker } from 'node:worker_threads'
import { Fault } from '../core/errors.ts'
import type { OrganisationId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { feedListeners, ledgerOf } from './reads.ts'
import {
  errorOf,
  failureOf,
  type Hello,
  type Numbered,
  type Outcome,
  type Reply,
  type Request,
  type WorkerOptions,
} from './sqlite-protocol.ts'

export interface SqliteLedgerOptions {
  /** The file; its folder must exist. `-wal`, `-shm` and `.lock` files stand beside it. */
  readonly path: string
  readonly organisation: OrganisationId
  /** How long to wait for a process that is just ending to let go of the file; 1 s by default. */
  readonly lockMs?: number
  /** The file may grow to this many pages of 4 KiB; then the store refuses, as on a full disk. */
  readonly maxPages?: number
  /** How the store's thread is started; a test may keep hold of it, or do without a thread. */
  readonly spawn?: (options: WorkerOptions) => Thread
}

/** What is needed of the store's thread. */
export interface Thread {
  /** Throws, and has posted nothing, where one of them cannot be passed between threads. */
  post(requests: readonly Numbered[]): void
  /** A `Hello` first, then replies. */
  onMessage(listener: (message: Hello | Reply) => void): void
  /** Once, when nothing more will come; with what broke it, if something did. */
  onEnd(listener: (cause?: unknown) => void): void
}

export const startWorker = (workerData: WorkerOptions): Worker =>
  new Worker(new URL('./sqlite-worker.ts', import.meta.url), {
    workerData,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })

/** A worker as the store's thread. */
export function threadOf(worker: Worker): Thread {
  let cause: unknown
  worker.once('error', (error) => {
    cause = error
  })
  return {
    post: (requests) => worker.postMessage(requests),
    onMessage: (listener) => void worker.on('message', listener),
    onEnd: (listener) => void worker.once('exit', () => listener(cause)),
  }
}

/**
 * Opens or creates the file. Throws Fault `store_newer` for a file of a newer program, `store_locked` while another
 * process has it open, `store_unavailable` where it cannot be written.
 */
export async function openSqliteLedger(options: SqliteLedgerOptions): Promise<Ledger> {
  const { path, organisation, lockMs = 1_000, maxPages } = options
  const { spawn = (workerData) => threadOf(startWorker(workerData)) } = options
  const thread = spawn({
    path,
    organisation,
    lockMs,
    ...(maxPages === undefined ? {} : { maxPages }),
  })
  const line = new Line(thread)
  await line.opened
  return ledgerOf({
    execute: (name, input) => line.ask({ kind: 'execute', name, input } as Request),
    read: (name, ...args) => line.ask({ kind: 'read', name, args } as Request),
    onFeed: line.onFeed,
    ping: () => line.ask({ kind: 'ping' }),
    close: () => line.close(),
  })
}

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Questions and answers between this thread and the store's. */
class Line {
  readonly opened: Promise<void>
  readonly #thread: Thread
  readonly #listeners = feedListeners()
  readonly #waiting = new Map<number, Waiting>()
  /** Asked in this turn and not posted yet: whoever asks together is posted together. */
  readonly #asking: Numbered[] = []
  readonly #ended: Promise<void>
  #asked = 0
  #broken: Fault | undefined
  #closing: Promise<void> | undefined

  constructor(thread: Thread) {
    this.#thread = thread
    this.opened = new Promise((resolve, reject) => {
      this.#waiting.set(0, { resolve: () => resolve(), reject })
    })
    this.#ended = new Promise((resolve) => {
      thread.onEnd((cause) => {
        this.#break(
          new Fault('store_unavailable', 'the ledger worker has ended', {
            retryable: false,
            cause,
          }),
        )
        resolve()
      })
    })
    thread.onMessage((message) => {
      if ('answers' in message) this.#take(message)
      else this.#settle(0, 'ready' in message ? { value: undefined } : message)
    })
  }

  get onFeed(): Ledger['onFeed'] {
    return this.#listeners.on
  }

  ask<T>(request: Request): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#broken) throw this.#broken
      if (this.#closing) throw new Fault('store_unavailable', 'the ledger is closed')
      this.#asked += 1
      const id = this.#asked
      this.#waiting.set(id, { resolve: (value) => resolve(value as T), reject })
      if (this.#asking.push({ ...request, id }) === 1) process.nextTick(() => this.#post())
    })
  }

  #post(): void {
    const asking = this.#asking.splice(0)
    if (this.#broken) return
    try {
      this.#thread.post(asking)
    } catch {
      for (const one of asking) this.#postAlone(one)
    }
  }

  #postAlone(request: Numbered): void {
    try {
      this.#thread.post([request])
    } catch (error) {
      this.#settle(request.id, { failure: failureOf(error) })
    }
  }

  /** Waits for everything asked before, then for the worker's end. */
  close(): Promise<void> {
    if (this.#broken) return this.#ended
    this.#closing ??= this.ask<void>({ kind: 'close' }).then(() => this.#ended)
    return this.#closing
  }

  #take({ answers, grown }: Reply): void {
    for (const { id, outcome } of answers) this.#settle(id, outcome)
    for (const [run, position] of grown) this.#listeners.tell(run, position)
  }

  #settle(id: number, outcome: Outcome): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if ('failure' in outcome) waiting?.reject(errorOf(outcome.failure))
    else waiting?.resolve(outcome.value)
  }

  #break(fault: Fault): void {
    this.#broken ??= fault
    for (const { reject } of this.#waiting.values()) reject(this.#broken)
    this.#waiting.clear()
  }
}
