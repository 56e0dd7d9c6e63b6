/**
 * The thread in which the Biscuit library lives. It answers one task after another and decides nothing about itself:
 * the pool counts, measures and ends it.
 */
import { getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { loadBiscuit } from './library.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { createEngine, type Engine, outcomeOf } from './tasks.ts'

/** The library's own memory counts as external. */
function memoryBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
  return heap + external
}

const port = parentPort
if (port === null) throw new Error('expected to run as a worker')
const tell = (message: FromWorker): void => port.postMessage(message)

let engine: Engine | undefined

port.on('message', async (message: ToWorker) => {
  if (message.kind === 'setup') {
    engine = createEngine(await loadBiscuit(), message)
    tell({ kind: 'ready' })
  } else if (engine !== undefined) {
    const outcome = outcomeOf(engine, message.task)
    tell({ kind: 'done', id: message.id, outcome, memoryBytes: memoryBytes() })
  }
})
