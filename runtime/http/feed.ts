/**
 * One tailer for each watched run and process: it reads each committed event once, encodes it once and hands the
 * same text to every reader. Readers that lag behind read the store themselves until they have caught up.
 * Positions are contiguous from 1, which is what lets a reader know that it has missed nothing.
 */
import type { RunId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { FeedEntry } from '../core/records.ts'
import type { Fact } from '../core/wire.ts'

/** One reader of the live end. `push` must not throw and must not wait. */
export interface FeedReader {
  push(position: number, text: string): void
  /** The feed cannot be read now; the reader ends its stream and the client comes back. */
  fail(): void
}

export interface Feeds {
  /** The last position of a run’s feed; 0 when it has none. */
  head(run: RunId): Promise<number>
  /** Entries after a position as ready event-stream text, at most one page. */
  page(
    run: RunId,
    after: number,
  ): Promise<readonly { readonly position: number; readonly text: string }[]>
  /**
   * Adds a reader that has everything up to `position`. False when the tailer is already past it: read another
   * page and try again. There is no wait between the question and the joining, so no entry falls between. A
   * tailer that is behind the reader repeats what the reader has: it must skip positions that it knows.
   */
  join(run: RunId, position: number, reader: FeedReader): boolean
  leave(run: RunId, reader: FeedReader): void
  /** Looks for entries that nobody announced. */
  poke(run: RunId): void
  /** Runs that have a tailer now. */
  watched(): number
  close(): void
}

/** An entry as the `fact` event that it is on the stream; its SSE id is the feed position. */
export function factText(entry: FeedEntry): string {
  const fact: Fact = {
    position: entry.position,
    stream: entry.stream,
    seq: entry.seq,
    hash: entry.hash,
    body: entry.body,
  }
  return `id: ${entry.position}\nevent: fact\ndata: ${JSON.stringify(fact)}\n\n`
}

/**
 * The last position of a feed whose positions are contiguous from 1, by doubling and halving: a few reads of one
 * entry, however long the feed is.
 */
export async function findHead(ledger: Ledger, run: RunId, known = 0): Promise<number> {
  const has = async (position: number) => (await ledger.feed(run, position - 1, 1)).length > 0
  let low = known
  let step = 1
  while (await has(low + step)) {
    low += step
    step *= 2
  }
  let high = low + step
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (await has(middle)) low = middle
    else high = middle
  }
  return low
}

interface Tailer {
  position: number
  /** Commits announced so far: a read that began before the latest of them proves nothing about the end. */
  announced: number
  reading: boolean
  readonly readers: Set<FeedReader>
}

export function createFeeds(ledger: Ledger): Feeds {
  const tailers = new Map<RunId, Tailer>()

  const pump = async (run: RunId, tailer: Tailer): Promise<void> => {
    if (tailer.reading) return
    tailer.reading = true
    try {
      for (;;) {
        const announced = tailer.announced
        const entries = await ledger.feed(run, tailer.position, LIMITS.pageItems)
        for (const entry of entries) {
          const text = factText(entry)
          tailer.position = entry.position
          for (const reader of tailer.readers) reader.push(entry.position, text)
        }
        if (entries.length === 0 && tailer.announced === announced) return
      }
    } catch {
      for (const reader of [...tailer.readers]) reader.fail()
    } finally {
      tailer.reading = false
    }
  }

  const poke = (run: RunId) => {
    const tailer = tailers.get(run)
    if (tailer === undefined) return
    tailer.announced += 1
    void pump(run, tailer)
  }
  const unsubscribe = ledger.onFeed(poke)

  return {
    head: async (run) => tailers.get(run)?.position ?? (await findHead(ledger, run)),
    page: async (run, after) => {
      const entries = await ledger.feed(run, after, LIMITS.pageItems)
      return entries.map((entry) => ({ position: entry.position, text: factText(entry) }))
    },
    join: (run, position, reader) => {
      let tailer = tailers.get(run)
      if (tailer === undefined) {
        tailer = { position, announced: 0, reading: false, readers: new Set() }
        tailers.set(run, tailer)
      }
      if (tailer.position > position) return false
      tailer.readers.add(reader)
      // What was committed before this tailer existed announced itself to nobody.
      poke(run)
      return true
    },
    poke,
    leave: (run, reader) => {
      const tailer = tailers.get(run)
      tailer?.readers.delete(reader)
      if (tailer?.readers.size === 0) tailers.delete(run)
    },
    watched: () => tailers.size,
    close: () => {
      unsubscribe()
      tailers.clear()
    },
  }
}
