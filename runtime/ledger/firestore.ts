/**
 * The ledger on Firestore, for several instances at once: the rules are those of every store (`transitions.ts`), each
 * command one transaction, and the store's isolation is what keeps two instances from giving the same money twice.
 * No rail is called in here, nothing is incremented, and whatever cannot be known is looked up again.
 *
 * No hot root: a payment writes its leaf's account, its own record, its claim, its holder's proofs and its events, and
 * two payments write the same document only where a mandate or a rule makes them share a counter. What they share
 * besides are the standings of their ancestors, which they only read.
 *
 * A freeze is ordered with submits by two reads that cross. A submit reads the standing of the gateway and of every
 * node of its path, and writes its payment into what `onTheWay` lists for each of these. A freeze asks for that list, and
 * writes the standing. Were both to commit without having seen the other, each would have read what the other
 * changed, which no serial order allows; so the store aborts one of them, and it runs again and sees. With pessimistic
 * locks the submit waits for the lock on the standing or the freeze for that on the list; with optimistic ones the
 * later commit finds its read changed. The list is a query, so this rests on queries in transactions being free of
 * phantoms, to which the tests hold whatever stands in for the store.
 */
import type { Firestore } from '@google-cloud/firestore'
import { Fault } from '../core/errors.ts'
import { freshId, type OrganisationId } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type { CommandName, Commands, Ledger } from '../core/ledger.ts'
import { Connection, deadlineIn, type FirestoreAddress } from './firestore-client.ts'
import { commandOf, lanesOf } from './firestore-command.ts'
import { documentValue, type Place, placeOf } from './firestore-documents.ts'
import { Sequencer } from './firestore-feed.ts'
import { type Gather, gatherFrom } from './firestore-reads.ts'
import { createLanes } from './lanes.ts'
import {
  feedListeners,
  ledgerOf,
  type ReadArgs,
  type ReadName,
  type ReadResult,
  readFrom,
} from './reads.ts'
import { TRANSITIONS, type Transitions } from './transitions.ts'

export interface FirestoreLedgerOptions extends FirestoreAddress {
  readonly organisation: OrganisationId
  /** For one command or read with everything that it waits for; 10 s by default. */
  readonly deadlineMs?: number
  /** How often events of other instances are looked for; 1 s by default. */
  readonly pollMs?: number
  /** The rules, where they are not the product's: what others would cost is measured so. */
  readonly transitions?: Transitions
}

/** Longer than a commit that waits for others takes, shorter than a caller waits for an answer. */
const DEADLINE_MS = 10_000

/** What the documents look like; a store written by a later program is refused. */
const FORMAT = 1

/**
 * Opens or creates the organisation's documents, with a read that has to be answered. Throws Fault `store_newer` for
 * those of a newer program, `store_unavailable` where the store cannot be reached.
 */
export async function openFirestoreLedger(options: FirestoreLedgerOptions): Promise<Ledger> {
  const connection = new Connection(options)
  const place = placeOf(connection.db, options.organisation)
  const deadline = deadlineIn(options.deadlineMs ?? DEADLINE_MS)
  try {
    await connection.persist(() => assertFormat(connection.db, place), deadline)
  } catch (error) {
    // Not waited for: whoever cannot start wants to know it now.
    connection.end().catch(() => undefined)
    throw error
  }
  return new Store(connection, place, options).ledger
}

const assertFormat = (db: Firestore, { root }: Place): Promise<void> =>
  db.runTransaction(
    async (transaction) => {
      const found = documentValue(await transaction.get(root)) as { format: number } | undefined
      if (found === undefined) transaction.create(root, { text: canonicalJson({ format: FORMAT }) })
      if (found !== undefined && found.format > FORMAT) {
        throw new Fault('store_newer', 'the store was written by a newer program', {
          retryable: false,
        })
      }
    },
    { maxAttempts: 1 },
  )

class Store {
  readonly #connection: Connection
  readonly #place: Place
  readonly #organisation: OrganisationId
  readonly #deadlineMs: number
  readonly #transitions: Transitions
  readonly #gather: Gather
  readonly #lanes = createLanes()
  readonly #listeners = feedListeners()
  readonly #sequencer: Sequencer
  readonly #running = new Set<Promise<unknown>>()
  readonly #self = freshId()
  #closing: Promise<void> | undefined

  constructor(connection: Connection, place: Place, options: FirestoreLedgerOptions) {
    const { organisation, deadlineMs = DEADLINE_MS, pollMs = 1_000 } = options
    this.#connection = connection
    this.#place = place
    this.#organisation = organisation
    this.#deadlineMs = deadlineMs
    this.#transitions = options.transitions ?? TRANSITIONS
    this.#gather = gatherFrom(connection.db, place)
    const { tell } = this.#listeners
    this.#sequencer = new Sequencer({ connection, place, tell, deadlineMs, pollMs })
  }

  get ledger(): Ledger {
    return ledgerOf({
      execute: (name, input) => this.#track(() => this.#execute(name, structuredClone(input))),
      read: (name, ...args) => this.#track(() => this.#read(name, args)),
      onFeed: this.#listeners.on,
      ping: () => this.#track(() => this.#ping()),
      close: () => this.#close(),
    })
  }

  async #execute<K extends CommandName>(
    name: K,
    input: Commands[K]['input'],
  ): Promise<Commands[K]['result']> {
    const { db } = this.#connection
    const [place, organisation] = [this.#place, this.#organisation]
    const context = { db, place, organisation, transitions: this.#transitions }
    const attempt = commandOf(context, name, input)
    const deadline = deadlineIn(this.#deadlineMs)
    const { result, runs } = await this.#lanes.run(lanesOf(name, input), () =>
      this.#connection.persist(attempt, deadline),
    )
    for (const run of runs) this.#sequencer.announce(run)
    return result
  }

  async #read<K extends ReadName>(name: K, args: ReadArgs<K>): Promise<ReadResult<K>> {
    if (name === 'feed') await this.#sequencer.settled((args as ReadArgs<'feed'>)[0])
    const rows = await this.#connection.persist(
      () => this.#gather(name, args),
      deadlineIn(this.#deadlineMs),
    )
    return readFrom(rows, name, args)
  }

  /** Reads and writes for certain, in a document that no other instance touches. */
  #ping(): Promise<void> {
    const ref = this.#place.doc('pings', this.#self)
    const ping = () =>
      this.#connection.db.runTransaction(
        async (transaction) => {
          const count = documentValue(await transaction.get(ref)) as number | undefined
          transaction.set(ref, { text: canonicalJson((count ?? 0) + 1) })
        },
        { maxAttempts: 1 },
      )
    return this.#connection.persist(ping, deadlineIn(this.#deadlineMs))
  }

  async #track<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new Fault('store_unavailable', 'the ledger is closed')
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Waits for everything asked before, and for feeds to be told of it. */
  #close(): Promise<void> {
    this.#closing ??= (async () => {
      await Promise.allSettled(this.#running)
      await this.#sequencer.close()
      await this.#connection.end()
    })()
    return this.#closing
  }
}
