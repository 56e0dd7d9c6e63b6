/** What every command is given, and the options that several of them share. */
import { existsSync, readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { Command } from 'commander'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import type { Ledger } from '../../core/ledger.ts'
import { openSqliteLedger } from '../../ledger/sqlite.ts'
import type { Secret } from '../../secrets/secret.ts'
import { isReference } from '../../secrets/secret-manager.ts'
import { type Api, createApi } from '../api.ts'
import { type DataDir, dataFile, readIdentity, readOperatorToken } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'

/** Where a local gateway keeps its data unless told otherwise. */
export const DEFAULT_DATA = '.headgate'

export interface CommandSpec {
  readonly name: string
  readonly summary: string
  readonly examples: readonly string[]
}

/** A command with `--json` and examples in its help, as every command of ours has. */
export function command({ name, summary, examples }: CommandSpec): Command {
  return new Command(name)
    .description(summary)
    .option('--json', 'print one JSON document on stdout')
    .addHelpText(
      'after',
      `\nExamples:\n${examples.map((line) => `  $ ${line.replaceAll('\n', '\n    ')}\n`).join('')}`,
    )
}

export interface ServerOptions {
  readonly data?: string
  readonly url?: string
}

/** Options of commands that call a running gateway. */
export const withServer = (base: Command): Command =>
  base
    .option('--data <dir>', `the gateway’s data folder (or HEADGATE_DATA; default ${DEFAULT_DATA})`)
    .option('--url <url>', 'its address (or HEADGATE_URL; default: what the data folder says)')

export const dataPath = (io: Io, given: string | undefined): string =>
  given ?? io.environment.dataDir ?? DEFAULT_DATA

/** Written by a gateway while it serves: where the command line finds it. */
export const serverFileSchema = z.strictObject({
  /** Reachable from this machine without resolving a name. */
  local: z.string(),
  url: z.string(),
  pid: z.number().int(),
})

const NO_REFERENCE = 'HEADGATE_OPERATOR_TOKEN is a reference (sm://): expected the token itself'

/** The gateway that the options name, and the operator’s own token, or the one of its data folder. */
export function apiOf(io: Io, options: ServerOptions): Api {
  const data = dataPath(io, options.data)
  const own = io.environment.credentials.HEADGATE_OPERATOR_TOKEN?.value
  if (own !== undefined && isReference(own.reveal())) throw new Failure('config', NO_REFERENCE)
  const token: Secret = own ?? readOperatorToken(data)
  return createApi({ url: options.url ?? io.environment.url ?? localUrl(data), token })
}

function localUrl(data: string): string {
  const file = dataFile(data, 'server')
  if (!existsSync(file)) {
    throw new Failure('unreachable', `no gateway is serving from ${data}: start one, or give --url`)
  }
  return serverFileSchema.parse(parseJson(readFileSync(file))).local
}

/** Whether there is a gateway to ask: one that is named, or one that serves from the data folder. */
export const isServed = (io: Io, { data, url }: ServerOptions): boolean =>
  (url ?? io.environment.url) !== undefined || existsSync(dataFile(dataPath(io, data), 'server'))

/** The store of a data folder that is held, for as long as `act` takes. Throws Failure, Fault. */
export async function withStore<T>(
  { path, store }: DataDir,
  act: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const { organisation } = readIdentity(path)
  const ledger = await openSqliteLedger({ path: store, organisation })
  try {
    return await act(ledger)
  } finally {
    await ledger.close()
  }
}

/** An option that may be given again for more. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value]

/** Goes on once a person has typed yes. Throws Failure: of anything else, and where nobody is there to be asked. */
export async function confirm(
  io: Io,
  question: string,
  { otherwise, instead = '--yes' }: { readonly otherwise: string; readonly instead?: string },
): Promise<void> {
  const answer = await io.ask(`${question}? type yes: `)
  if (answer === undefined) {
    throw new Failure('usage', `expected ${instead}, because there is nobody here to ask`)
  }
  if (answer.trim().toLowerCase() !== 'yes') throw new Failure('no', otherwise)
}

/** Prints data once: as JSON where asked for, otherwise as text for a person. */
export function emit(
  io: Io,
  options: { json?: boolean },
  data: unknown,
  human: () => string,
): void {
  io.out(options.json ? `${JSON.stringify(data)}\n` : human())
}

/** A JSON document that the user names, `-` for stdin. Throws Failure, with the sentence `wrong` where it is none such. */
export async function readDocument<T>(
  path: string,
  schema: z.ZodType<T>,
  wrong: string,
): Promise<T> {
  const text = await readInput(path)
  try {
    return schema.parse(parseJson(text))
  } catch (cause) {
    throw new Failure('usage', wrong, { cause })
  }
}

/**
 * A file that the user names; `-` is stdin, as a stream: a pipe gives EAGAIN to whoever reads it at once before the other
 * side has written, because Node sets it to non-blocking as soon as anything looks at `process.stdin`.
 */
export async function readInput(path: string): Promise<string> {
  try {
    const bytes = path === '-' ? await buffer(process.stdin) : readFileSync(path)
    return bytes.toString('utf8')
  } catch (cause) {
    throw new Failure('usage', `${path === '-' ? 'stdin' : path} cannot be read`, { cause })
  }
}
