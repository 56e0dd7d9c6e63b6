/** The configured rail of a gateway, for the commands that set it up: configuration and credentials are those of `serve`. */
import type { Command } from 'commander'
import { type Config, ConfigError, readConfig } from '../../config.ts'
import type { Place } from '../../secrets/catalogue.ts'
import { guardedError } from '../../secrets/guarded.ts'
import { type Credentials, revealed } from '../../secrets/resolve.ts'
import { type AtStart, credentialsAtStart, needsOfRail } from '../credentials.ts'
import { dataFile } from '../data-dir.ts'
import type { Io } from '../io.ts'
import { dataPath } from './context.ts'

export interface RailOptions {
  data?: string
  config?: string
  json?: boolean
}

export interface AtRail extends AtStart {
  readonly path: string
  readonly config: Config
  readonly place: Place
}

export const withPlace = (base: Command): Command =>
  base
    .option('--data <dir>', 'the gateway’s data folder (or HEADGATE_DATA)')
    .option('--config <file>', 'its configuration (or HEADGATE_CONFIG; default in the data folder)')

/** With what a gateway would serve with. What `act` throws holds none of it. */
export async function atRail(
  io: Io,
  options: RailOptions,
  act: (at: AtRail) => Promise<void>,
): Promise<void> {
  const path = dataPath(io, options.data)
  const config = readConfig(options.config ?? io.environment.configFile ?? dataFile(path, 'config'))
  const needs = needsOfRail(config.rail)
  const given = await credentialsAtStart(io, {
    data: path,
    needs: [needs],
    log: ({ message }) => io.err(`headgate: ${message}\n`),
  })
  try {
    await act({ ...given, path, config, place: needs })
  } catch (error) {
    throw guardedError(given.guard, error)
  }
}

export const otherRail = (name: string) =>
  new ConfigError([`\`rail.name\` is wrong: expected ${name}, which this is for`])

/** They were resolved, or nothing would have come so far. */
export const needed = (credentials: Credentials, name: string): string =>
  revealed(credentials, name) ?? ''
