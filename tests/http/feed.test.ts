import { describe, expect, it } from 'vitest'
import { createFeeds, findHead } from '../../runtime/http/feed.ts'
import { fakeFeed, RUN, reader, settle } from './fake-feed.ts'

describe('the head of a feed', () => {
  it.each([0, 1, 2, 3, 4, 7, 8, 9, 100, 1_023, 1_024, 1_025, 99_999])(
    'is found for a feed of %i',
    async (length) => {
      const { ledger, state } = fakeFeed(length)
      expect(await findHead(ledger, RUN)).toBe(length)
      expect(state.reads).toBeLessThan(2 * Math.ceil(Math.log2(length + 2)) + 4)
    },
  )
})

describe('a tailer', () => {
  it('is one for each run, however many readers, and ends with the last of them', () => {
    const { ledger } = fakeFeed(3)
    const feeds = createFeeds(ledger)
    const [a, b] = [reader(), reader()]
    expect([feeds.join(RUN, 3, a), feeds.join(RUN, 3, b)]).toEqual([true, true])
    expect(feeds.watched()).toBe(1)
    feeds.leave(RUN, a)
    expect(feeds.watched()).toBe(1)
    feeds.leave(RUN, b)
    expect(feeds.watched()).toBe(0)
  })

  it('reads each entry once for all readers', async () => {
    const { ledger, state, grow } = fakeFeed(0)
    const feeds = createFeeds(ledger)
    const readers = Array.from({ length: 50 }, reader)
    for (const each of readers) feeds.join(RUN, 0, each)
    await settle()
    const before = state.reads
    grow(1)
    await settle()
    expect(readers.map(({ got }) => got)).toEqual(readers.map(() => [1]))
    expect(state.reads - before).toBeLessThan(4)
  })

  it('sees an entry that was committed while it was reading', async () => {
    const { ledger, state, grow } = fakeFeed(0)
    const feeds = createFeeds(ledger)
    const each = reader()
    let release = () => undefined as undefined
    state.gate = new Promise((resolve) => {
      release = () => void resolve(undefined) as undefined
    })
    feeds.join(RUN, 0, each)
    await settle()
    // The read under way has looked already; its announcement finds the tailer busy.
    grow(1)
    release()
    await settle()
    expect(each.got).toEqual([1])
  })

  it('sends a reader that is behind it back to the store', async () => {
    const { ledger, grow } = fakeFeed(0)
    const feeds = createFeeds(ledger)
    feeds.join(RUN, 0, reader())
    grow(5)
    await settle()
    expect(feeds.join(RUN, 3, reader())).toBe(false)
    expect(feeds.join(RUN, 5, reader())).toBe(true)
  })

  it('ends its readers when the store cannot be read, and works again for the next', async () => {
    const { ledger, state, grow } = fakeFeed(0)
    const feeds = createFeeds(ledger)
    const first = reader()
    feeds.join(RUN, 0, first)
    await settle()
    state.broken = true
    grow(1)
    await settle()
    expect(first.state.failed).toBe(true)
    feeds.leave(RUN, first)
    state.broken = false
    const next = reader()
    feeds.join(RUN, 0, next)
    await settle()
    expect(next.got).toEqual([1])
  })

  it('listens to the store no longer once it is closed', () => {
    const { ledger, listeners } = fakeFeed(0)
    createFeeds(ledger).close()
    expect(listeners.size).toBe(0)
  })
})
