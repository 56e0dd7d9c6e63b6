/**
 * MCP's stdio, one JSON-RPC message a line, as a transport for the library. Unlike its own it reads strictly, answers what
 * cannot be read, refuses an id in flight, keeps a cancelled call going (a payment on its way cannot be called back) and,
 * when its input ends, answers what was asked before it closes.
 */
import type { Readable } from 'node:stream'
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type Transport,
} from '@modelcontextprotocol/server'
import { LIMITS } from '../core/limits.ts'
import { createLanes, type Entered, keyOf } from './lanes.ts'
import {
  type ErrorMessage,
  errorMessage,
  type Message,
  type MessageId,
  plainError,
  readMessage,
  SAID,
} from './message.ts'

export interface LinesOptions {
  readonly input: Readable
  /** Takes one whole line with its end; nothing else may be written there. */
  readonly write: (line: string) => void
}

/** There is one caller on a pipe. */
const CALLER = 'stdio'
const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d

export class LinesTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: <T extends JSONRPCMessage>(message: T) => void
  readonly #options: LinesOptions
  readonly #lanes = createLanes()
  readonly #inFlight = new Map<string, Extract<Entered, { ok: true }>>()
  /** Bytes of a line whose end has not come; undefined while a line that is too long is passed over. */
  #line: Buffer[] | undefined = []
  #bytes = 0
  #ended = false
  #closed = false

  constructor(options: LinesOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { input } = this.#options
    input.on('data', this.#take)
    input.once('end', this.#end).once('close', this.#end).once('error', this.#end)
    // Later, when whoever listens for the end is there.
    if (input.readableEnded || input.destroyed) setImmediate(this.#end)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return
    if ('error' in message) {
      this.#write({ jsonrpc: '2.0', id: message.id ?? null, error: plainError(message.error) })
    } else {
      this.#write(message)
    }
    if (!('method' in message) && message.id !== undefined) this.#leave(message.id)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const { input } = this.#options
    input.off('data', this.#take)
    input.off('end', this.#end).off('close', this.#end).off('error', this.#end)
    input.pause()
    this.onclose?.()
  }

  /** No more is read; closes once everything that was asked has been answered. */
  drain(): void {
    this.#end()
  }

  readonly #take = (chunk: Buffer | string): void => {
    let rest = Buffer.from(chunk)
    for (;;) {
      const at = rest.indexOf(NEWLINE)
      if (at < 0) break
      this.#keep(rest.subarray(0, at))
      this.#lineEnded()
      rest = rest.subarray(at + 1)
    }
    this.#keep(rest)
  }

  #keep(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes > LIMITS.mcpLineBytes + 1) this.#line = undefined
    else if (bytes.length > 0) this.#line?.push(bytes)
  }

  #lineEnded(): void {
    const line = this.#line && Buffer.concat(this.#line)
    this.#line = []
    this.#bytes = 0
    if (line === undefined) {
      this.#write(errorMessage(null, -32600, SAID.tooLarge))
      return
    }
    const bytes = line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line
    if (bytes.length === 0) return
    const read = readMessage(bytes, LIMITS.mcpLineBytes)
    if (read.ok) this.#hear(read.message)
    else this.#refuse(read.error)
  }

  /** Under an id in flight this would be taken for the answer that a request is still waiting for. */
  #refuse({ id, error }: ErrorMessage): void {
    const isAwaited = id !== null && this.#inFlight.has(keyOf(id))
    this.#write(errorMessage(isAwaited ? null : id, error.code, error.message))
  }

  #hear({ id, method, text }: Message): void {
    // Nothing is ever asked of a client, so it has nothing to answer.
    if (method === undefined) return
    const message: unknown = JSON.parse(text)
    const isCancelling = method === 'notifications/cancelled'
    if (id === undefined) {
      if (!isCancelling && isJSONRPCNotification(message)) this.onmessage?.(message)
      return
    }
    // As a request it would be passed over, and its sender and our own end would wait for ever.
    if (isCancelling) {
      this.#refuse(errorMessage(id, -32601, SAID.method))
    } else if (!isJSONRPCRequest(message)) {
      this.#refuse(errorMessage(id, -32602, SAID.params))
    } else {
      const entered = this.#lanes.enter(CALLER, id)
      if (!entered.ok) {
        const said = entered.why === 'in_flight' ? SAID.inFlight : SAID.tooMany
        this.#refuse(errorMessage(id, -32600, said))
        return
      }
      this.#inFlight.set(keyOf(id), entered)
      this.onmessage?.(message)
    }
  }

  #leave(id: MessageId): void {
    this.#inFlight.get(keyOf(id))?.leave()
    this.#inFlight.delete(keyOf(id))
    this.#closeIfDone()
  }

  readonly #end = (): void => {
    this.#ended = true
    this.#options.input.off('data', this.#take)
    this.#closeIfDone()
  }

  #closeIfDone(): void {
    if (this.#ended && this.#inFlight.size === 0) void this.close()
  }

  #write(message: JSONRPCMessage | ErrorMessage): void {
    this.#options.write(`${JSON.stringify(message)}\n`)
  }
}
