/**
 * Measuring in a process of its own, so that what one measurement leaves behind (memory that the library leaks, threads,
 * optimised code) is no part of the next.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

interface Call {
  readonly id: number
  readonly order: unknown
}

/** `error` is the text of what was thrown; else `result` is the answer. */
interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

/** A process that carries out one order after another. */
export interface Probe<Order, Result> {
  readonly pid: number
  readonly ask: (order: Order) => Promise<Result>
  /** Ends it; resolves when it is gone. */
  readonly close: () => Promise<void>
}

/** Starts `file`, which calls `serveProbe` with a function of the same types. */
export function startProbe<Order, Result>(file: URL): Probe<Order, Result> {
  const child: ChildProcess = fork(fileURLToPath(file), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
  })
  const waiting = new Map<number, (reply: Reply) => void>()
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.on('message', (reply: Reply) => waiting.get(reply.id)?.(reply))
  child.on('error', () => child.kill())
  void gone.then(() => {
    for (const [id, answer] of waiting) answer({ id, error: 'its process ended early' })
  })
  let last = 0
  return {
    pid: child.pid ?? 0,
    ask: async (order) => {
      last += 1
      const id = last
      const reply = await new Promise<Reply>((resolve) => {
        waiting.set(id, resolve)
        child.send({ id, order } satisfies Call, (error) => {
          if (error) resolve({ id, error: error.message })
        })
      })
      waiting.delete(id)
      if (reply.error !== undefined) throw new Error(`a measurement failed: ${reply.error}`)
      return reply.result as Result
    },
    close: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** One order in a fresh process. */
export async function askOnce<Order, Result>(file: URL, order: Order): Promise<Result> {
  const probe = startProbe<Order, Result>(file)
  try {
    return await probe.ask(order)
  } finally {
    await probe.close()
  }
}

/** The other end: answers every order, and ends with whoever started it. */
export function serveProbe<Order, Result>(carryOut: (order: Order) => Promise<Result>): void {
  process.on('message', async ({ id, order }: { id: number; order: Order }) => {
    const reply: Reply = await carryOut(order).then(
      (result) => ({ id, result }),
      (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) }),
    )
    process.send?.(reply)
  })
}
