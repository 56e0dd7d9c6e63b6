/**
 * The thread in which the Biscuit library lives. It answers one task after another and decides nothing about itself:
 * the pool counts, measures and ends it.
 */
import { getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { libraryMemory, loadBiscuit } from './library.ts'
import type { FromWorker, Setup, ToWorker } from './messages.ts'
import { createRewind, type Rewind } from './rewind.ts'
import { createEngine, type Engine, outcomeOf } from './tasks.ts'

const port = parentPort
if (port === null) throw new Error('expected to run as a worker')
const tell = (message: FromWorker): void => port.postMessage(message)

interface Running {
  readonly engine: Engine
  readonly rewind: Rewind
  readonly memoryBytes: () => number
}

async function start(setup: Setup): Promise<Running> {
  const biscuit = await loadBiscuit()
  const memory = await libraryMemory()
  const rewind = createRewind(biscuit, memory)
  const engine = createEngine(biscuit, setup)
  // Warming up has used most of the room.
  rewind.rewind()
  return {
    engine,
    rewind,
    memoryBytes: () => getHeapStatistics().used_heap_size + memory.buffer.byteLength,
  }
}

let running: Running | undefined

port.on('message', async (message: ToWorker) => {
  if (message.kind === 'setup') {
    running = await start(message)
    tell({ kind: 'ready' })
  } else if (running !== undefined) {
    const { engine, rewind, memoryBytes } = running
    const outcome = outcomeOf(engine, message.task, message.now)
    tell({ kind: 'done', id: message.id, outcome, memoryBytes: memoryBytes() })
    rewind.rewindIfLow()
  }
})
