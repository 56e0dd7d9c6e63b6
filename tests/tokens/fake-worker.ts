/** A worker that does what its tasks say, so that a test can make it hang, break or leak. */
import { parentPort, threadId } from 'node:worker_threads'
import type { TokenVerdict } from '../../runtime/core/engine.ts'
import type { FromWorker, Outcome, ToWorker } from '../../runtime/tokens/messages.ts'

const tell = (message: FromWorker): void => parentPort?.postMessage(message)

/** Says which thread answered. */
const verdictOf = (n: number): TokenVerdict => ({
  ok: true,
  token: { rootKeyId: n, blocks: [], revocationIds: [], sealed: false },
})

function outcomeOf(command: string, argument: string): Outcome | undefined {
  switch (command) {
    case 'hang':
      return undefined
    case 'spin':
      for (;;);
    case 'slow':
    case 'slowly-broken':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(argument))
      if (command === 'slowly-broken') return { kind: 'broken' }
      break
    case 'exit':
      return process.exit(1)
    case 'throw':
      throw new Error('thrown in the worker')
    case 'broken':
      return { kind: 'broken' }
    case 'broken-on':
      if (argument === String(threadId)) return { kind: 'broken' }
      break
    case 'fault':
      return { kind: 'fault', code: 'engine_timeout', message: 'run limit' }
    case 'environment':
      return { kind: 'verdict', verdict: verdictOf(Object.keys(process.env).length) }
    case 'print':
      console.log('printed by a worker')
      console.error('printed by a worker')
  }
  return { kind: 'verdict', verdict: verdictOf(threadId) }
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'setup') return tell({ kind: 'ready' })
  const { task, id } = message
  const [command = '', argument = ''] = task.kind === 'verify' ? task.token.split(':') : ['broken']
  const outcome = outcomeOf(command, argument)
  const memoryBytes = command === 'memory' ? Number(argument) : 1
  if (outcome) tell({ kind: 'done', id, outcome, memoryBytes })
})
