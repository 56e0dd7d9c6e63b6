/** The process that writes to a ledger, started and listened to. */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Told } from './ledger-writer.ts'

const WRITER = join(import.meta.dirname, 'ledger-writer.ts')

export interface Writer {
  readonly child: ChildProcess
  readonly told: Told[]
  readonly faults: { readonly fault: string; readonly retryable: boolean }[]
  readonly says: (word: string) => Promise<unknown>
  readonly ended: Promise<void>
}

/** Ready to begin: it waits for its line. No file of its may grow beyond so many blocks. */
export function startWriter(path: string, round: number, blocks?: number): Writer {
  const args = ['--disable-warning=ExperimentalWarning', WRITER, path, String(round)]
  const command = blocks === undefined ? 'exec "$0" "$@"' : `ulimit -f ${blocks}; exec "$0" "$@"`
  const child = spawn('sh', ['-c', command, process.execPath, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const told: Told[] = []
  const faults: Writer['faults'] = []
  const words = new Map(['ready', 'open'].map((word) => [word, Promise.withResolvers<void>()]))
  const ended = (async () => {
    if (child.stdout === null) throw new Error('expected output')
    for await (const line of createInterface({ input: child.stdout })) {
      words.get(line)?.resolve()
      // The last line may be cut: nobody was told what it would have said.
      if (!line.startsWith('{') || !line.endsWith('}')) continue
      const said = JSON.parse(line) as Told | Writer['faults'][number]
      if ('fault' in said) faults.push(said)
      else told.push(said)
    }
  })()
  child.stdin?.on('error', () => undefined)
  const says = (word: string) => Promise.race([words.get(word)?.promise, ended])
  return { child, told, faults, says, ended }
}
