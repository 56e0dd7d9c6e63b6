/** Ends the thread in the middle of a task of that name, as a thread that runs out of memory ends. */
import { parentPort } from 'node:worker_threads'
import type { ToWorker } from '../../runtime/tokens/messages.ts'

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'task' && message.task.kind === 'verify' && message.task.token === 'exit') {
    process.exit(1)
  }
})
