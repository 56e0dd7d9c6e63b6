/**
 * Gives each event its place in its run's feed, just after the commit that wrote it. A position assigned inside that
 * commit would be one document that all payments of a run write; so a commit leaves a note in `pending` instead, and
 * one process at a time, the holder of the run's lease, turns notes into positions.
 *
 * Positions are contiguous and created once: the lease document says how far the feed goes, the transaction that
 * extends it reads that document first, and whoever has lost the lease finds another epoch there. Time only decides
 * who tries; that two who try cannot both succeed is the store's doing.
 *
 * An entry never comes before its predecessor or its anchor: the notes are read as of one instant after the end of the
 * feed was read, so whatever a note follows is either in the feed or among the notes, and those are put in the order of
 * their commits, each behind the note whose hash is its `prev`.
 */
import type { DocumentSnapshot } from '@google-cloud/firestore'
import { freshId, type RunId } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type { StreamId } from '../core/records.ts'
import { type Connection, deadlineIn } from './firestore-client.ts'
import { documentId, documentValue, feedId, type Place } from './firestore-documents.ts'

/** A lease that nobody has used for so long, by the store's own clock, is anybody's. */
const LEASE_MS = 3_000

/** Entries of one commit. */
const CHUNK = 100

/** Notes of one look for runs that nobody has given a place. */
const LOOK = 500

/** Runs whose feeds are read here and looked at for entries of other processes; the longest unread is dropped. */
const FOLLOWED = 1_000

interface Lease {
  readonly epoch: number
  readonly holder: string
  /** The last position of the feed; 0 for none. */
  readonly position: number
}

interface Pending {
  readonly doc: DocumentSnapshot
  readonly stream: StreamId
  readonly seq: string
  readonly prev: string
  readonly hash: string
}

export interface FeedOptions {
  readonly connection: Connection
  readonly place: Place
  readonly tell: (run: RunId, position: number) => void
  readonly deadlineMs: number
  /** How often notes and feeds of other processes are looked for. */
  readonly pollMs: number
}

export class Sequencer {
  readonly #options: FeedOptions
  readonly #self = freshId()
  /** One pass at a time for each run; `isWanted` asks for one more after it. */
  readonly #passes = new Map<RunId, { promise: Promise<void>; isWanted: boolean }>()
  /** The last position told of each run that is followed here. */
  readonly #told = new Map<RunId, number>()
  readonly #timer: NodeJS.Timeout
  #polling: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      this.#polling = this.#polling
        .then(() => options.connection.persist(() => this.#poll(), deadlineIn(options.deadlineMs)))
        .catch(() => undefined)
    }, options.pollMs)
    this.#timer.unref()
  }

  /** There are new notes of this run. */
  announce(run: RunId): void {
    const pass = this.#passes.get(run)
    if (pass) pass.isWanted = true
    else this.#start(run)
  }

  /** Waits until notes that were announced before have been given places, or somebody else is at it. */
  async settled(run: RunId): Promise<void> {
    this.#follow(run, this.#told.get(run))
    await this.#passes.get(run)?.promise
  }

  /** Waits until what was announced has been given its places. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#polling
    await Promise.all([...this.#passes.values()].map(({ promise }) => promise))
    this.#isClosed = true
  }

  #start(run: RunId): void {
    const pass = { promise: Promise.resolve(), isWanted: true }
    const work = async () => {
      try {
        while (pass.isWanted && !this.#isClosed) {
          pass.isWanted = false
          await this.#pass(run)
        }
      } catch {
        // The notes are still there, and the next look finds them.
      } finally {
        this.#passes.delete(run)
      }
    }
    this.#passes.set(run, pass)
    pass.promise = work()
  }

  /** Gives places until no note of the run is left, or somebody else holds the lease. */
  async #pass(run: RunId): Promise<void> {
    const { connection, deadlineMs } = this.#options
    for (;;) {
      const lease = await connection.persist(() => this.#extend(run), deadlineIn(deadlineMs))
      if (lease) this.#tell(run, lease.position)
      if (!lease?.hasMore) return
    }
  }

  /** One chunk; undefined where it is not ours to do or was done by another meanwhile. */
  async #extend(run: RunId): Promise<(Lease & { hasMore: boolean }) | undefined> {
    const { place, connection } = this.#options
    const { db } = connection
    const ref = place.doc('feeds', documentId([run]))
    const found = await ref.get()
    const before = leaseOf(found)
    if (before.holder !== this.#self && isAlive(found)) return undefined
    const notes = inOrder((await place.of('pending').where('run', '==', run).get()).docs)
    if (notes.length === 0) return { ...before, hasMore: false }
    const chunk = notes.slice(0, CHUNK)
    const lease: Lease = {
      epoch: before.holder === this.#self ? before.epoch : before.epoch + 1,
      holder: this.#self,
      position: before.position + chunk.length,
    }
    return await db.runTransaction(
      async (transaction) => {
        const now = leaseOf(await transaction.get(ref))
        // Ours already, if the answer to this very chunk was lost; otherwise the notes are no longer true.
        const isMoved = now.epoch !== before.epoch || now.position !== before.position
        if (isMoved) return { ...now, hasMore: now.holder === this.#self }
        chunk.forEach(({ doc, stream, seq }, i) => {
          const entry = place.doc('feed', feedId(run, before.position + i + 1))
          transaction.create(entry, { stream, seq })
          transaction.delete(doc.ref)
        })
        transaction.set(ref, { text: canonicalJson(lease) })
        return { ...lease, hasMore: notes.length > chunk.length }
      },
      { maxAttempts: 1 },
    )
  }

  /** Notes that nobody is at, and entries that another process has placed. */
  async #poll(): Promise<void> {
    const { place, connection } = this.#options
    if (this.#isClosed) return
    const notes = await place.of('pending').limit(LOOK).get()
    const runs = new Set(notes.docs.map((doc) => doc.get('run') as RunId))
    for (const run of runs) this.announce(run)
    const followed = [...this.#told.keys()].filter((run) => !this.#passes.has(run))
    if (followed.length === 0 || this.#isClosed) return
    const refs = followed.map((run) => place.doc('feeds', documentId([run])))
    const feeds = await connection.db.getAll(...refs)
    feeds.forEach((found, i) => {
      const run = followed[i]
      if (run) this.#tell(run, leaseOf(found).position)
    })
  }

  #tell(run: RunId, position: number): void {
    if (position <= (this.#told.get(run) ?? 0)) return
    this.#follow(run, position)
    this.#options.tell(run, position)
  }

  #follow(run: RunId, position = 0): void {
    this.#told.delete(run)
    this.#told.set(run, position)
    const [oldest] = this.#told.keys()
    if (this.#told.size > FOLLOWED && oldest) this.#told.delete(oldest)
  }
}

const leaseOf = (found: DocumentSnapshot): Lease =>
  (documentValue(found) as Lease | undefined) ?? { epoch: 0, holder: '', position: 0 }

const isAlive = ({ readTime, updateTime }: DocumentSnapshot): boolean =>
  updateTime !== undefined && readTime.toMillis() - updateTime.toMillis() < LEASE_MS

/** By the store's time of the commit, then by place within it; each behind the note whose hash is its `prev`. */
function inOrder(docs: readonly DocumentSnapshot[]): Pending[] {
  const text = (doc: DocumentSnapshot, field: string) => String(doc.get(field))
  const order = (doc: DocumentSnapshot) =>
    `${doc.createTime?.valueOf() ?? ''}|${text(doc, 'index')}`
  const notes = docs
    .map((doc) => ({ doc, order: order(doc) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ doc }) => ({
      doc,
      stream: text(doc, 'stream') as StreamId,
      seq: text(doc, 'seq'),
      prev: text(doc, 'prev'),
      hash: text(doc, 'hash'),
    }))
  const waiting = new Map(notes.map((note) => [note.hash, note]))
  const placed: Pending[] = []
  for (const note of notes) {
    const behind: Pending[] = []
    let next: Pending | undefined = waiting.get(note.hash)
    while (next) {
      behind.push(next)
      waiting.delete(next.hash)
      next = waiting.get(next.prev)
    }
    placed.push(...behind.reverse())
  }
  return placed
}
