/**
 * The embedded store at work: the only writer of its file, asked through a message port.
 *
 * Commands that arrive while one commit is being written are decided one after another in the next one (group
 * commit): each sees what those before it changed, a refusal writes nothing, and all are answered after COMMIT has
 * returned. Where one fails while it is being written, the whole commit is undone and each is tried again in one of
 * its own: that costs only those who are rare, where a savepoint for each had SQLite copy every page that any of
 * them touched. Reads are answered between two transactions, so they see no half of one.
 */
import type { MessagePort } from 'node:worker_threads'
import type { RunId } from '../core/ids.ts'
import type { CommandName } from '../core/ledger.ts'
import { type ReadName, readFrom } from './reads.ts'
import { asFault, Database } from './sqlite-database.ts'
import {
  failureOf,
  type Hello,
  type Numbered,
  type Outcome,
  type Reply,
  type WorkerOptions,
} from './sqlite-protocol.ts'
import { SqliteRows } from './sqlite-rows.ts'
import { type Decision, decide } from './transitions.ts'

/** Commands of one commit: measured, more gain little and the last would wait for the first. */
const BATCH = 64

type Execute = Extract<Numbered, { kind: 'execute' }>

class Store {
  readonly #db: Database
  readonly #rows: SqliteRows
  readonly #options: WorkerOptions

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#db = new Database(options)
    this.#rows = new SqliteRows(this.#db, options.organisation)
  }

  /** Answers everything of one batch: writes first, in one transaction, then reads of what is committed. */
  work(batch: readonly Numbered[]): Reply {
    const grown = new Map<RunId, number>()
    const outcomes = new Map<number, Outcome>()
    const commands = batch.filter((request) => request.kind === 'execute')
    if (commands.length > 0) {
      const committed = this.#commit(commands, grown)
      for (const [id, outcome] of committed) outcomes.set(id, outcome)
      this.#scrubAfter(commands, outcomes)
    }
    for (const request of batch) {
      if (request.kind !== 'execute') outcomes.set(request.id, this.#answer(request))
    }
    const answers = batch.flatMap(({ id }) => {
      const outcome = outcomes.get(id)
      return outcome === undefined ? [] : [{ id, outcome }]
    })
    return { answers, grown: [...grown] }
  }

  #commit(commands: readonly Execute[], grown: Map<RunId, number>): Map<number, Outcome> {
    const outcomes = new Map<number, Outcome>()
    const grew = new Map<RunId, number>()
    try {
      this.#db.run('BEGIN IMMEDIATE')
      for (const command of commands) outcomes.set(command.id, this.#attempt(command, grew))
      this.#db.run('COMMIT')
      for (const [run, position] of grew) grown.set(run, position)
      return outcomes
    } catch (error) {
      this.#rollback()
      // Whichever it was that failed half written, all are undone, and each is now on its own.
      if (commands.length > 1) {
        return new Map(commands.flatMap((command) => [...this.#commit([command], grown)]))
      }
      const failure = failureOf(asFault(error))
      return new Map(commands.map(({ id }) => [id, { failure }]))
    }
  }

  /** One command inside the batch's transaction; throws only once it may have written. */
  #attempt({ name, input }: Execute, grown: Map<RunId, number>): Outcome {
    const { organisation } = this.#options
    const { load } = this.#rows
    let decision: Decision<CommandName>
    try {
      decision = decide<CommandName>(name, input, { organisation, load })
    } catch (error) {
      // A full disk may end the transaction by itself: then nothing of the batch has happened.
      if (!this.#db.isTransaction) throw error
      return { failure: failureOf(asFault(error)) }
    }
    const { result, draft } = decision
    for (const [run, position] of draft ? this.#rows.apply(draft) : []) grown.set(run, position)
    return { value: result }
  }

  /** An erasure is answered once no old page holds it any more; sent again, this is done again. */
  #scrubAfter(commands: readonly Execute[], outcomes: Map<number, Outcome>): void {
    const erased = commands.filter(({ name, id }) => {
      const outcome = outcomes.get(id)
      return name === 'erase' && outcome !== undefined && 'value' in outcome
    })
    if (erased.length === 0) return
    try {
      this.#db.scrub()
    } catch (error) {
      const failure = failureOf(asFault(error))
      for (const { id } of erased) outcomes.set(id, { failure })
    }
  }

  #rollback(): void {
    if (this.#db.isTransaction) this.#db.run('ROLLBACK')
  }

  #answer(request: Exclude<Numbered, Execute>): Outcome {
    try {
      if (request.kind === 'close') this.#db.close()
      if (request.kind === 'ping') this.#ping()
      const value = request.kind === 'read' ? this.#read(request) : undefined
      return { value }
    } catch (error) {
      return { failure: failureOf(asFault(error)) }
    }
  }

  #read({ name, args }: Extract<Numbered, { kind: 'read' }>): unknown {
    return readFrom<ReadName>(this.#rows, name, args)
  }

  /** Writes for certain: a store that can only be read is not ready. */
  #ping(): void {
    try {
      this.#db.run('BEGIN IMMEDIATE')
      const sql = `INSERT INTO pings (organisation, count) VALUES (?, 1)
        ON CONFLICT (organisation) DO UPDATE SET count = count + 1`
      this.#db.run(sql, this.#options.organisation)
      this.#db.run('COMMIT')
    } finally {
      this.#rollback()
    }
  }
}

/** Opens the store, says so or says why not, and answers until it is asked to close. */
export function serve(port: MessagePort, options: WorkerOptions): void {
  let store: Store
  try {
    store = new Store(options)
  } catch (error) {
    port.postMessage({ failure: failureOf(error) } satisfies Hello)
    port.close()
    return
  }
  const queue: Numbered[] = []
  const drain = () => {
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH)
      port.postMessage(store.work(batch))
      if (batch.some(({ kind }) => kind === 'close')) return port.close()
    }
  }
  port.on('message', (requests: readonly Numbered[]) => {
    // What arrives in this turn of the loop is one batch: nobody waits for a timer.
    if (queue.length === 0) setImmediate(drain)
    queue.push(...requests)
  })
  port.postMessage({ ready: true } satisfies Hello)
}
