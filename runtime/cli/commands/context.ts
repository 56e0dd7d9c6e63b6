/** What every command is given, and the options that several of them share. */
import { existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import { z } from 'zod'
import type { Secret } from '../../config.ts'
import { parseJson } from '../../core/json.ts'
import { type Api, createApi } from '../api.ts'
import { dataFile, readOperatorToken } from '../data-dir.ts'
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

/** The gateway that the options name, and the operator token from its data folder. */
export function apiOf(io: Io, options: ServerOptions): Api {
  const data = dataPath(io, options.data)
  const token: Secret = readOperatorToken(data)
  return createApi({ url: options.url ?? io.environment.url ?? localUrl(data), token })
}

function localUrl(data: string): string {
  const file = dataFile(data, 'server')
  if (!existsSync(file)) {
    throw new Failure('unreachable', `no gateway is serving from ${data}: start one, or give --url`)
  }
  return serverFileSchema.parse(parseJson(readFileSync(file))).local
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

/** A file that the user names; `-` is stdin. */
export function readInput(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (cause) {
    throw new Failure('usage', `${path === '-' ? 'stdin' : path} cannot be read`, { cause })
  }
}
