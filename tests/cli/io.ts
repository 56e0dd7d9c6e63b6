/** The command line in this process, with what it wrote. */
import { runCli } from '../../runtime/cli/program.ts'
import type { Environment } from '../../runtime/config.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import type { Clock } from '../../runtime/core/time.ts'

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
  /** stdout as one JSON document. */
  json<T = Record<string, unknown>>(): T
}

export interface RunOptions {
  readonly environment?: Partial<Environment>
  /** What a person at the terminal types; absent: there is no terminal. */
  readonly answer?: string
  /** Lines of stdin, for what is asked without echo. */
  readonly lines?: readonly string[]
  readonly colour?: boolean
  readonly clock?: Clock
}

export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  let out = ''
  let err = ''
  const lines = [...(options.lines ?? [])]
  const code = await runCli(args, {
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    isTerminal: false,
    columns: 120,
    rows: 50,
    colour: options.colour ?? false,
    ask: async () => options.answer,
    askSecret: async (_question, from) => (from === 'terminal' ? undefined : lines.shift()),
    environment: {
      noColour: false,
      underNpm: false,
      onCloudRun: false,
      credentials: {},
      ...options.environment,
    },
    clock: options.clock ?? systemClock(),
    signal: new AbortController().signal,
  })
  const json = <T>() => {
    if (out === '') throw new Error(`expected an answer, got ${code}: ${err}`)
    return JSON.parse(out) as T
  }
  return { code, out, err, json }
}
