/** MCP over a pipe: one process, one token, one connection, until its input ends or it is told to stop. */
import type { Readable } from 'node:stream'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createQueue } from './lanes.ts'
import { LinesTransport } from './lines.ts'
import { createNodeServer, type NodeServerOptions } from './server.ts'

export interface PipeOptions extends Omit<NodeServerOptions, 'inOrder'> {
  readonly input: Readable
  readonly write: (line: string) => void
  /** Aborted: no more is read, what is under way is answered, and then it ends. */
  readonly signal: AbortSignal
}

/** Serves until the end; resolves once everything that was asked has been answered. */
export async function servePipe(options: PipeOptions): Promise<void> {
  const { input, write, signal, onBug } = options
  const inOrder = createQueue()
  const wire = new LinesTransport({ input, write })
  const stop = () => wire.drain()
  try {
    await new Promise<void>((resolve) => {
      const connection = serveStdio(() => createNodeServer({ ...options, inOrder }), {
        transport: wire,
        onerror: () => {},
      })
      const ended = wire.onclose
      wire.onclose = () => {
        ended?.()
        connection.close().then(resolve, (error) => {
          onBug(error)
          resolve()
        })
      }
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
    })
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
