/** The process: reads arguments and environment, hears signals, and is the only file that exits. */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { EXIT } from './cli/failure.ts'
import type { Io } from './cli/io.ts'
import { failureOf, runCli } from './cli/program.ts'
import { type Environment, readEnvironment } from './config.ts'
import { systemClock } from './core/clock.ts'

/** How long a command may take to put things away after a signal: Cloud Run, as others do, kills ten seconds after its own. */
const GRACE_MS = 9_000

/** A second signal within this time is the first one again: a terminal and npm pass on the same key press. */
const SAME_WISH_MS = 1_000

/** How often a process under npm looks whether the shell between them is still there. */
const PARENT_MS = 1_000

function interruptible({ underNpm }: Environment): AbortSignal {
  const controller = new AbortController()
  let mayInsist = false
  const stop = () => {
    if (controller.signal.aborted) return
    controller.abort()
    setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS).unref()
    setTimeout(() => {
      mayInsist = true
    }, SAME_WISH_MS).unref()
  }
  const insist = () => {
    if (mayInsist) process.exit(EXIT.interrupted)
    stop()
  }
  // Only a person insists: whoever sends SIGTERM has SIGKILL for that.
  process.on('SIGINT', insist).on('SIGTERM', stop)
  // Started by a parent with an IPC channel: do not outlive it.
  process.once('disconnect', stop)
  const parent = process.ppid
  if (underNpm) setInterval(() => process.ppid !== parent && stop(), PARENT_MS).unref()
  return controller.signal
}

async function ask(question: string, signal: AbortSignal): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await reader.question(question, { signal })
  } catch {
    return undefined
  } finally {
    reader.close()
  }
}

/** What is typed is drawn nowhere and kept in no history. */
async function askUnseen(question: string, signal: AbortSignal): Promise<string | undefined> {
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  const closed = new Promise<undefined>((resolve) => reader.once('close', () => resolve(undefined)))
  // In raw mode the terminal turns no key press into a signal.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  // Not before: until the reader is there the terminal itself shows what is typed.
  process.stderr.write(question)
  try {
    return await Promise.race([reader.question('', { signal }), closed])
  } catch {
    return undefined
  } finally {
    reader.close()
    process.stderr.write('\n')
  }
}

let lines: AsyncIterator<string> | undefined

/** One reader for all of stdin: another one would miss what the first has taken in. */
async function nextLine(): Promise<string | undefined> {
  lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  const { value, done } = await lines.next()
  return done ? undefined : value
}

async function askSecret(
  question: string,
  from: 'terminal' | 'stdin',
  signal: AbortSignal,
): Promise<string | undefined> {
  if (process.stdin.isTTY && process.stderr.isTTY) return askUnseen(question, signal)
  return from === 'stdin' && !process.stdin.isTTY ? nextLine() : undefined
}

function createIo(): Io {
  const { stdout, stderr } = process
  const environment = readEnvironment()
  const signal = interruptible(environment)
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isTerminal: stdout.isTTY === true,
    columns: stdout.columns ?? 120,
    rows: stdout.rows ?? 50,
    colour: stdout.isTTY === true && !environment.noColour,
    ask: (question) => ask(question, signal),
    askSecret: (question, from) => askSecret(question, from, signal),
    environment,
    clock: systemClock(),
    signal,
  }
}

/** Exits once what was written has been taken, because a pipe takes it later. */
function finish(code: number): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

// A reader that goes away (`| head`) ends us without a word.
process.stdout.on('error', () => process.exit(EXIT.ok))

try {
  finish(await runCli(process.argv.slice(2), createIo()))
} catch (error) {
  const failure = failureOf(error)
  process.stderr.write(`headgate: ${failure.message}\n`)
  finish(EXIT[failure.exit])
}
