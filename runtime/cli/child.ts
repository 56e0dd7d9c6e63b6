/** Child processes that announce themselves with one JSON line on stdout, and that never outlive us. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { z } from 'zod'
import { childEnvironment } from '../config.ts'
import { parseJson } from '../core/json.ts'
import { Failure } from './failure.ts'

export interface Child<T> {
  readonly pid: number
  /** What its first line said. */
  readonly ready: T
  /** Ends at once with this signal, or politely by default; resolves when the process is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Once it is gone by itself or politely: its exit code, and the end of what it complained of. */
  ended(): { readonly code: number; readonly complaint: string } | undefined
}

export interface ChildSpec<T> {
  /** For people, in error sentences. */
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Where its stderr is kept. */
  readonly log: string
  readonly ready: z.ZodType<T>
}

const READY_MS = 30_000
/** After a polite signal, before the other kind. */
const STOP_MS = 10_000
const STDERR_CHARS = 4_000

/** Starts a Node process of ours and waits for its line. Throws Failure with its own words if it ends first. */
export async function startChild<T>(spec: ChildSpec<T>): Promise<Child<T>> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', spec.file, ...spec.args],
    {
      // The channel is how it notices that we are gone, however we went.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: childEnvironment(spec.env ?? {}),
    },
  )
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-STDERR_CHARS)
    keep(spec.log, text)
  })
  try {
    const line = await firstLine(child, READY_MS)
    const { pid } = child
    if (line === undefined || pid === undefined) {
      throw new Failure(
        'internal',
        `${spec.name} did not start: ${spokenIn(complaint) || 'no reason'}`,
      )
    }
    const ready = spec.ready.parse(parseJson(line))
    // Unread output would fill the pipe and stop the child.
    child.stdout?.resume()
    const ended = () =>
      child.exitCode === null ? undefined : { code: child.exitCode, complaint: complaint.trim() }
    return { pid, ready, stop: (signal) => stop(child, signal), ended }
  } catch (error) {
    await stop(child, 'SIGKILL')
    throw error
  }
}

/** Its sentences for people, without the lines of its log, which are kept in the file of it. */
const spokenIn = (complaint: string): string =>
  complaint
    .split('\n')
    .filter((line) => !line.startsWith('{'))
    .join('\n')
    .replace(/^headgate: /, '')
    .trim()

/** What a child complains of is worth keeping, and never worth ending for. */
function keep(file: string, text: string): void {
  try {
    appendFileSync(file, text)
  } catch {
    // The folder is gone or full.
  }
}

/** Undefined when the process ends, or the time passes, before a line. */
async function firstLine(child: ChildProcess, ms: number): Promise<string | undefined> {
  if (child.stdout === null) return undefined
  const lines = createInterface({ input: child.stdout })
  const given = new AbortController()
  const timer = setTimeout(() => given.abort(), ms)
  child.once('error', () => given.abort())
  child.once('exit', () => given.abort())
  try {
    const [line] = await once(lines, 'line', { signal: given.signal })
    return String(line)
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
    lines.close()
  }
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const gone = once(child, 'exit')
  child.kill(signal)
  // An open channel would keep it alive after it has closed everything else.
  if (child.connected) child.disconnect()
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
  await gone
  clearTimeout(timer)
}
