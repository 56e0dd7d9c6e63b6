/**
 * The thread in which the Biscuit library lives. It answers one task after another and decides nothing about itself:
 * the pool counts, measures and ends it.
 */
import { getHeapStatistics } from 'node:v8'
import { parentPort } from 'node:worker_threads'
import { libraryMemory, loadBiscuit } from './library.ts'
import type { FromWorker, Setup, ToWorker } from './messages.ts'
import { createReserve, type Reserve } from './reserve.ts'
import { createEngine, type Engine, outcomeOf } from './tasks.ts'

const port = parentPort
if (port === null) throw new Error('expected to run as a worker')
const tell = (message: FromWorker): void => port.postMessage(message)

interface Running {
  readonly engine: Engine
  readonly reserve: Reserve
  readonly memoryBytes: () => number
}

async function start(setup: Setup): Promise<Running> {
  const engine = createEngine(await loadBiscuit(), setup)
  const libraryBytes = await libraryMemory()
  const reserve = createReserve(engine.biscuit, libraryBytes)
  reserve.refill()
  return {
    engine,
    reserve,
    memoryBytes: () => getHeapStatistics().used_heap_size + libraryBytes(),
  }
}

let running: Running | undefined

port.on('message', async (message: ToWorker) => {
  if (message.kind === 'setup') {
    running = await start(message)
    tell({ kind: 'ready' })
  } else if (running !== undefined) {
    const { engine, reserve, memoryBytes } = running
    const outcome = outcomeOf(engine, message.task, message.now)
    tell({ kind: 'done', id: message.id, outcome, memoryBytes: memoryBytes() })
    reserve.refill()
  }
})
