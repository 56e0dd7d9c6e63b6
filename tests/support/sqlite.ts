/** The embedded store without its thread: the same code over a message channel, which opens in milliseconds. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { Thread } from '../../runtime/ledger/sqlite.ts'
import type { WorkerOptions } from '../../runtime/ledger/sqlite-protocol.ts'
import { serve } from '../../runtime/ledger/sqlite-serve.ts'

export function withoutThread(options: WorkerOptions): Thread {
  const { port1, port2 } = new MessageChannel()
  serve(port2, options)
  return {
    post: (requests) => port1.postMessage(requests),
    onMessage: (listener) => void port1.on('message', listener),
    onEnd: (listener) => void port1.on('close', () => listener()),
  }
}

/** A folder of its own for one file; `remove` deletes it with everything in it. */
export async function temporaryFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'headgate-ledger-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}
