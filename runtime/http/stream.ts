/**
 * Server-sent events of one run: a lossless lane of facts, and heartbeats that carry the head so that a page can
 * see how far behind it is. A stream never blocks anything else: its queue is bounded, a reader that is too slow
 * is told `bye` and resumes from its cursor, and closing the server closes every stream first.
 *
 * The bytes are written to the raw response and not through @fastify/sse: its iterable form never settles when a
 * reader stops and then vanishes, and its single form writes once per event, while here everything that is due goes
 * out in one write.
 */
import { randomInt } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { RunId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { type Clock, nowSeconds } from '../core/time.ts'
import type { Feeds } from './feed.ts'
import type { Operator } from './operators.ts'
import { HttpProblem } from './problems.ts'

export type ByeReason = 'age' | 'shutdown' | 'slow' | 'signed_out' | 'unavailable'

export interface StreamTimings {
  readonly heartbeatMs: number
  readonly ageMs: number
}

export const STREAM_TIMINGS: StreamTimings = {
  heartbeatMs: LIMITS.heartbeatMs,
  ageMs: LIMITS.streamAgeMs,
}

/** Open streams of one process; each holds a socket and a queue. */
const STREAMS = 500
const STREAMS_PER_OPERATOR = 50
const QUEUE_CHARS = 1024 * 1024
/** How long an ended stream may take to drain before its socket is cut. */
const DRAIN_MS = 1_000
/** The same for a socket that was not taking anything before. */
const STUCK_MS = 50

const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

export interface StreamRequest {
  readonly run: RunId
  /** The last position that the client has. */
  readonly after: number
  readonly operator: Operator
  readonly reply: FastifyReply
}

export interface Streams {
  open(request: StreamRequest): Promise<void>
  readonly count: number
  closeAll(reason: ByeReason): void
}

/** One reader's connection: a bounded queue in front of a socket. */
class Connection {
  readonly #raw: ServerResponse
  #queue: string[] = []
  #chars = 0
  /** A write is due or the socket has not yet taken the last one. */
  #busy = false
  #ended = false
  #last: number
  #idle: (() => void)[] = []
  #atEnd: (() => void)[] = []

  constructor(raw: ServerResponse, after: number) {
    this.#raw = raw
    this.#last = after
    raw.once('close', () => this.#finish())
    raw.on('error', () => this.#finish())
  }

  /** The position of the last fact that was queued. */
  get last(): number {
    return this.#last
  }

  get ended(): boolean {
    return this.#ended
  }

  onceEnded(action: () => void): void {
    if (this.#ended) action()
    else this.#atEnd.push(action)
  }

  push(position: number, text: string): void {
    if (position <= this.#last) return
    this.#last = position
    this.send(text)
  }

  send(text: string): void {
    if (this.#ended) return
    this.#queue.push(text)
    this.#chars += text.length
    const full = this.#queue.length > LIMITS.streamQueue || this.#chars > QUEUE_CHARS
    if (full && this.#raw.writableNeedDrain) this.bye('slow')
    else if (!this.#busy) this.#schedule()
  }

  /** Resolves once the socket has taken what was queued, or the stream has ended. */
  async drained(): Promise<void> {
    if (this.#ended || !this.#busy) return
    await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  bye(reason: ByeReason): void {
    if (this.#ended) return
    const stuck = this.#raw.writableNeedDrain
    const rest = stuck ? '' : this.#queue.join('')
    this.#finish()
    const cut = setTimeout(() => this.#raw.destroy(), stuck ? STUCK_MS : DRAIN_MS)
    this.#raw.once('close', () => clearTimeout(cut))
    this.#raw.end(rest + event('bye', { reason }))
  }

  /** Everything that comes due within one turn of the loop goes out in one write. */
  #schedule(): void {
    this.#busy = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    if (this.#ended) return
    const text = this.#queue.join('')
    this.#queue = []
    this.#chars = 0
    if (this.#raw.write(text)) this.#taken()
    else this.#raw.once('drain', () => this.#taken())
  }

  #taken(): void {
    this.#busy = false
    if (this.#queue.length > 0) this.#schedule()
    else for (const resolve of this.#idle.splice(0)) resolve()
  }

  #finish(): void {
    if (this.#ended) return
    this.#ended = true
    this.#queue = []
    for (const action of this.#atEnd.splice(0)) action()
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

export function createStreams(options: {
  feeds: Feeds
  clock: Clock
  timings?: StreamTimings
}): Streams {
  const { feeds, clock } = options
  const timings = options.timings ?? STREAM_TIMINGS
  const open = new Map<Connection, string>()
  let closed = false

  const admit = (operator: Operator) => {
    if (closed) throw new HttpProblem('unavailable')
    const mine = [...open.values()].filter((name) => name === operator.name).length
    if (open.size >= STREAMS || mine >= STREAMS_PER_OPERATOR) {
      throw new HttpProblem('rate_limited', { headers: { 'retry-after': '5' } })
    }
  }

  const heartbeat = async (run: RunId): Promise<string> =>
    event('hb', { head: await feeds.head(run), now: nowSeconds(clock) })

  const beat = async (connection: Connection, run: RunId, operator: Operator) => {
    try {
      if (!operator.isStillIn()) return connection.bye('signed_out')
      feeds.poke(run)
      connection.send(await heartbeat(run))
    } catch {
      connection.bye('unavailable')
    }
  }

  const follow = async (connection: Connection, run: RunId): Promise<void> => {
    const reader = {
      push: (position: number, text: string) => connection.push(position, text),
      fail: () => connection.bye('unavailable'),
    }
    while (!connection.ended) {
      const page = await feeds.page(run, connection.last)
      for (const { position, text } of page) connection.push(position, text)
      await connection.drained()
      if (page.length === 0 && feeds.join(run, connection.last, reader)) {
        connection.onceEnded(() => feeds.leave(run, reader))
        return
      }
    }
  }

  return {
    get count() {
      return open.size
    },
    open: async ({ run, after, operator, reply }) => {
      admit(operator)
      const head = await feeds.head(run)
      const first = await heartbeat(run)
      admit(operator)
      const raw = hijack(reply)
      const connection = new Connection(raw, Math.min(after, head))
      open.set(connection, operator.name)
      const beats = setInterval(() => void beat(connection, run, operator), timings.heartbeatMs)
      const spread = randomInt(900, 1_101) / 1_000
      const old = setTimeout(() => connection.bye('age'), timings.ageMs * spread)
      connection.onceEnded(() => {
        clearInterval(beats)
        clearTimeout(old)
        open.delete(connection)
      })
      raw.write(`retry: 1000\n\n${first}`)
      // The id moves the browser's own cursor too, or it would come back with the same impossible one.
      if (after > head) connection.send(`id: ${head}\n${event('reset', { reason: 'ahead', head })}`)
      follow(connection, run).catch(() => connection.bye('unavailable'))
    },
    closeAll: (reason) => {
      closed = true
      for (const connection of [...open.keys()]) connection.bye(reason)
    },
  }
}

/** Takes the response over from Fastify with the headers that its hooks have set so far. */
function hijack(reply: FastifyReply): ServerResponse {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
  reply.hijack()
  reply.raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    // Not to be reused: a stream that has ended must not keep the server from closing.
    connection: 'close',
  })
  return reply.raw
}
