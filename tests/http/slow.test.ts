import { Writable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import { createFeeds } from '../../runtime/http/feed.ts'
import type { Operator } from '../../runtime/http/operators.ts'
import { createStreams, type Streams } from '../../runtime/http/stream.ts'
import { fakeFeed, RUN, settle } from './fake-feed.ts'

/** A response whose socket takes something only when the test lets it. */
class Response extends Writable {
  taken = ''
  stuck = true
  #waiting: (() => void) | undefined

  constructor() {
    super({ highWaterMark: 64, decodeStrings: false })
  }

  setHeader() {}
  writeHead() {}

  override _write(chunk: string, _encoding: string, done: () => void) {
    const take = () => {
      this.taken += chunk
      done()
    }
    if (this.stuck) this.#waiting = take
    else take()
  }

  release() {
    this.stuck = false
    this.#waiting?.()
  }
}

const operator: Operator = { kind: 'token', name: 'token', isStillIn: () => true }

const clock = { nowMs: () => 1_800_000_000_000 }

async function openStream(length: number) {
  const fake = fakeFeed(length)
  const streams = createStreams({ feeds: createFeeds(fake.ledger), clock })
  const raw = new Response()
  await follow(streams, raw)
  return { ...fake, streams, raw }
}

async function follow(streams: Streams, raw: Response): Promise<void> {
  const reply = { getHeaders: () => ({}), hijack: () => undefined, raw }
  await streams.open({ run: RUN, after: 0, operator, reply: reply as unknown as FastifyReply })
  await settle()
}

const positions = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))

describe('a reader that does not read', () => {
  it('is told bye once its queue is full, and what it was sent has no gap', async () => {
    const { streams, raw, grow } = await openStream(0)
    raw.stuck = false
    raw.release()
    await settle()
    raw.stuck = true
    grow(1)
    await settle()
    grow(LIMITS.streamQueue)
    await settle()
    expect(streams.count).toBe(1)
    grow(1)
    await settle()
    expect(streams.count).toBe(0)
    raw.release()
    await settle()
    const got = positions(raw.taken)
    expect(got).toEqual(got.map((_, i) => i + 1))
    expect(raw.taken).toMatch(/event: bye\ndata: {"reason":"slow"}\n\n$/)
  })

  it('is read for no faster than it reads, however much there is to catch up with', async () => {
    const { raw, state } = await openStream(100_000)
    const reads = state.reads
    await settle()
    expect(state.reads).toBe(reads)
    expect(raw.writableLength).toBeLessThan(200_000)
  })

  it('that overtook the tailer is given nothing twice', async () => {
    const fake = fakeFeed(0)
    const streams = createStreams({ feeds: createFeeds(fake.ledger), clock })
    const [first, second] = [new Response(), new Response()]
    for (const raw of [first, second]) raw.stuck = false
    await follow(streams, first)
    // The tailer's own read is held up while the second reader catches up by itself.
    const { promise, resolve } = Promise.withResolvers<void>()
    fake.state.gate = promise
    fake.grow(3)
    fake.state.gate = Promise.resolve()
    await follow(streams, second)
    expect(positions(second.taken)).toEqual([1, 2, 3])
    resolve()
    await settle()
    fake.grow(1)
    await settle()
    for (const raw of [first, second]) expect(positions(raw.taken)).toEqual([1, 2, 3, 4])
    streams.closeAll('shutdown')
  })

  it('is cut when the server closes, and holds nobody up', async () => {
    const { streams, raw } = await openStream(100_000)
    const closed = new Promise((resolve) => raw.once('close', resolve))
    streams.closeAll('shutdown')
    expect(streams.count).toBe(0)
    await closed
    expect(raw.destroyed).toBe(true)
  })
})
