/** Commands that serve: a configured gateway, a whole play world, and a fresh code to sign in with. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type ComposeOptions, compose, type Headgate } from '../../compose.ts'
import {
  assertStoreLasts,
  type Config,
  ConfigError,
  parseConfig,
  readConfig,
} from '../../config.ts'
import { engineSchema, modelProblems } from '../../config-models.ts'
import type { LogEntry } from '../../http/server.ts'
import { loginCodeAnswer } from '../../http/shapes.ts'
import { createSecretGuard } from '../../secrets/guard.ts'
import { guardedError } from '../../secrets/guarded.ts'
import type { Secret } from '../../secrets/secret.ts'
import {
  type AtStart,
  credentialsAtStart,
  credentialsIn,
  type Needs,
  needsOfModels,
  needsOfRail,
} from '../credentials.ts'
import { dataFile, openDataDir, replaceFile, secretsOfBundle, writeIdentity } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import { defaultMission, loadMission } from '../mission.ts'
import { type ExchangeOptions, openExchanges, withExchanges } from '../model-exchanges.ts'
import { openTraffic, type TrafficOptions, withTraffic } from '../rail-traffic.ts'
import { assertPortFree, startOutside } from '../world.ts'
import { type EngineName, engineOption, startModels } from '../world-models.ts'
import type { RailName } from '../world-rails.ts'
import { apiOf, command, dataPath, emit, type ServerOptions, withServer } from './context.ts'
import {
  assertNoPlayMoney,
  configBefore,
  isUnaccredited,
  needsNamed,
  railOption,
  type StandIn,
  withStandIn,
} from './serve-rail.ts'

interface ServeOptions extends TrafficOptions, ExchangeOptions {
  data?: string
  engine?: EngineName
  config?: string
  port?: string
  acceptRollback?: boolean
  rail?: RailName
  json?: boolean
}

const ACCEPT_ROLLBACK = [
  '--accept-rollback',
  'serve although store or clock are behind the last checkpoint, this once',
] as const

export function serveCommand(io: Io): Command {
  const base = command({
    name: 'serve',
    summary: 'serve a gateway from its configuration and data folder, until interrupted',
    examples: [
      'headgate serve --data /var/lib/headgate --config headgate.json',
      'HEADGATE_RAIL_KEY_FILE=rail.key headgate serve --data .headgate',
      'headgate serve --data try --config headgate.json --rail razorpay   # no account needed',
      'GEMINI_API_KEY_FILE=gemini.key headgate serve --data .headgate --engine gemini',
    ],
  })
  return withExchanges(withTraffic(base))
    .option('--data <dir>', 'store and keys, made on the first start (or HEADGATE_DATA)')
    .option(
      '--config <file>',
      'the configuration (or HEADGATE_CONFIG; default headgate.json in the data folder)',
    )
    .option('--port <n>', 'instead of the configured port')
    .addOption(
      railOption(
        'serve over this rail, or over a stand-in for it where no credentials of it are set',
      ),
    )
    .addOption(engineOption('what the agents think with, in the place of what is configured'))
    .option(...ACCEPT_ROLLBACK)
    .action((options: ServeOptions) => serve(io, options))
}

async function serve(io: Io, options: ServeOptions): Promise<void> {
  const path = dataPath(io, options.data)
  const file = options.config ?? io.environment.configFile ?? dataFile(path, 'config')
  const as = (config: Config) =>
    withEngine(withPort(config, options.port ?? io.environment.port), options.engine)
  const { rail } = options
  const place = { path, file, as }
  // Said at once, before anybody is asked for a passphrase.
  let config = rail === undefined ? as(readConfig(file)) : configBefore(rail, place)
  assertStoreLasts(config, io.environment)
  let standsIn: RailName | undefined
  const given = await credentialsAtStart(io, {
    data: path,
    needs: (isGiven) => {
      standsIn = rail !== undefined && isUnaccredited(rail, isGiven) ? rail : undefined
      if (standsIn !== undefined) return needsOfAsked(config, options)
      config = as(readConfig(file))
      return [...needsNamed(rail, config), ...needsOfAsked(config, options)]
    },
    log: (entry) => io.err(logLine(io, entry)),
  })
  const { guard, bundle } = given
  const acceptRollback = options.acceptRollback === true
  try {
    if (bundle !== undefined) {
      if (options.data !== undefined) throw new Failure('usage', TWO_PLACES)
      if (standsIn !== undefined) throw new Failure('usage', NO_PLACE)
      return await serveWithoutFolder(io, { ...given, bundle, config }, options)
    }
    const on = { path, acceptRollback, guard }
    if (standsIn === undefined) {
      assertNoPlayMoney(path)
      return await serveUntilStopped(io, { ...on, config, credentials: given.credentials }, options)
    }
    await withStandIn(standsIn, place, (over) => {
      const credentials = { ...given.credentials, ...over.credentials }
      return serveUntilStopped(io, { ...on, ...over, credentials }, options)
    })
  } catch (error) {
    // What a part says as it fails to start is printed too.
    throw guardedError(guard, error)
  }
}

const NO_PLACE =
  'a stand-in for the rail was asked for beside HEADGATE_SECRETS: expected a data folder of its own'

const TWO_PLACES =
  'HEADGATE_SECRETS and --data are both given: expected one place for the gateway’s keys'

/**
 * Nothing is read from a disk of its own and nothing is written to one: keys come as one secret, the ledger is
 * somewhere else, checkpoints go where the configuration says or into the log, and no login code is printed, because
 * what is printed here is kept by somebody.
 */
async function serveWithoutFolder(
  io: Io,
  {
    config,
    bundle,
    guard,
    credentials,
  }: AtStart & { readonly bundle: Secret; readonly config: Config },
  options: ServeOptions,
): Promise<void> {
  if (config.store.kind !== 'firestore') {
    throw new ConfigError([
      '`store.kind` is wrong: expected firestore where HEADGATE_SECRETS stands in for a data folder',
    ])
  }
  const traffic = openTraffic(options, credentials)
  const { exchanges, end } = openExchanges(options, guard)
  const headgate = await compose({
    config,
    ...traffic,
    ...(exchanges === undefined ? {} : { exchanges }),
    secrets: secretsOfBundle(bundle.reveal()),
    checkpoints: 'log',
    acceptRollback: options.acceptRollback === true,
    guard,
    credentials,
    askRail: true,
    log: (entry) => io.err(logLine(io, entry)),
  })
  try {
    const { url, local } = headgate
    emit(io, options, { url, local, pid: process.pid }, () => `headgate is ready at ${url}\n`)
    await stopped(io.signal)
  } finally {
    await headgate.close()
  }
  traffic.end()
  end()
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new Failure('usage', 'expected --port, or PORT, to be a port number')
}

const withPort = (config: Config, port: string | undefined): Config =>
  port === undefined ? config : { ...config, listen: { ...config.listen, port: portOf(port) } }

/** The configured engine where it is of that kind, else that kind's own defaults. Throws ConfigError as a file would. */
function withEngine(config: Config, name: EngineName | undefined): Config {
  if (name === undefined || config.engine.kind === name) return config
  const changed = { ...config, engine: engineSchema.parse({ kind: name }) }
  const problems = modelProblems(changed)
  if (problems.length > 0) throw new ConfigError(problems)
  return changed
}

/** A replay asks no model. */
const needsOfAsked = (config: Config, { replay }: ExchangeOptions): readonly Needs[] =>
  replay === undefined ? needsOfModels(config) : []

interface ToServe
  extends Pick<
    ComposeOptions,
    'config' | 'guard' | 'credentials' | 'demoMandate' | 'acceptRollback'
  > {
  readonly path: string
  readonly standIn?: StandIn | undefined
}

/** Opens the data folder, serves from it, says where, and puts everything away when the signal fires. */
async function serveUntilStopped(
  io: Io,
  toServe: ToServe,
  options: TrafficOptions & ExchangeOptions & { json?: boolean },
): Promise<void> {
  const { path, standIn, ...rest } = toServe
  const { host, port } = toServe.config.listen
  // Said at once, before anything is opened; listening would find out last.
  if (port !== 0) await assertPortFree(port, host)
  const data = openDataDir(path)
  try {
    const traffic = openTraffic(options, toServe.credentials ?? {})
    const { exchanges, end } = openExchanges(options, toServe.guard ?? createSecretGuard())
    const { organisation, gateway } = toServe.config
    writeIdentity(path, { organisation, gateway: gateway.id })
    const headgate = await compose({
      ...rest,
      ...traffic,
      ...(exchanges === undefined ? {} : { exchanges }),
      secrets: data,
      store: data.store,
      checkpoints: dataFile(path, 'checkpoints'),
      askRail: true,
      log: (entry) => io.err(logLine(io, entry)),
    })
    try {
      announce(io, headgate, { path, standIn }, options)
      await stopped(io.signal)
    } finally {
      rmSync(dataFile(path, 'server'), { force: true })
      await headgate.close()
    }
    traffic.end()
    end()
  } finally {
    data.close()
  }
}

function announce(
  io: Io,
  headgate: Headgate,
  { path, standIn }: Pick<ToServe, 'path' | 'standIn'>,
  options: { json?: boolean },
): void {
  const { url, local } = headgate
  const port = new URL(local).port
  const consoleUrl = `http://headgate.localhost:${port}`
  const { code } = headgate.newLoginCode()
  const { pid } = process
  replaceFile(dataFile(path, 'server'), { local, url, pid })
  const ready = { url, local, console: consoleUrl, loginCode: code, pid, data: path }
  if (standIn !== undefined && !options.json) io.err(`${standIn.said}\n`)
  emit(io, options, { ...ready, ...(standIn === undefined ? {} : { standIn }) }, () =>
    [
      `headgate is ready`,
      `  console     ${consoleUrl}`,
      `  login code  ${code}   (once, for ten minutes; \`headgate login-code\` makes another)`,
      `  interface   ${url}`,
      `  data        ${path}`,
      `stop with Ctrl-C`,
      '',
    ].join('\n'),
  )
}

const logLine = (io: Io, entry: LogEntry): string =>
  `${JSON.stringify({ at: new Date(io.clock.nowMs()).toISOString(), ...entry })}\n`

const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

export function startCommand(io: Io): Command {
  return command({
    name: 'start',
    summary: 'start a play world on this machine: rail, shops, gateway and console',
    examples: [
      'headgate start',
      'headgate start --port 9090 --data /tmp/try',
      'headgate start --rail paypal --data /tmp/try-paypal',
      'headgate start --engine groq',
    ],
  })
    .option('--data <dir>', 'where the world is kept (or HEADGATE_DATA; default .headgate)')
    .option('--port <n>', 'of the gateway and its console', '8080')
    .addOption(
      railOption('what moves its play money: of a real rail, a stand-in').default('simulated'),
    )
    .addOption(
      engineOption('what its agents think with: a provider where its key is set, else a stand-in'),
    )
    .option(...ACCEPT_ROLLBACK)
    .action((options: ServeOptions) => start(io, options))
}

async function start(io: Io, options: ServeOptions): Promise<void> {
  const path = dataPath(io, options.data)
  const port = portOf(options.port ?? '8080')
  // Before any child is started: a taken port or an unusable folder must cost nothing.
  await assertPortFree(port)
  openDataDir(path).close()
  const { rail = 'simulated', engine = 'scripted' } = options
  const outside = await startOutside({
    dir: join(path, 'world'),
    port,
    clock: io.clock,
    rail,
    models: (dir) => startModels(engine, dir, io.environment.credentials),
  })
  try {
    const config = parseConfig(JSON.stringify(outside.config))
    const { said } = outside.models
    if (said !== undefined && !options.json) io.err(`${said}\n`)
    if (rail !== 'simulated' && !options.json) io.err(`a stand-in for ${rail} moves play money\n`)
    const mission = loadMission(defaultMission(rail))
    const demoMandate = () => outside.sign(mission.mandate)
    const acceptRollback = options.acceptRollback === true
    const needs = [needsOfRail(config.rail), ...needsOfModels(config)]
    const credentials = await credentialsIn(outside.env, ...needs)
    const toServe = { path, config, credentials, demoMandate, acceptRollback }
    await serveUntilStopped(io, toServe, options)
  } finally {
    await outside.close()
  }
}

export function loginCodeCommand(io: Io): Command {
  const base = command({
    name: 'login-code',
    summary: 'make a one-time code to sign in to the console of a running gateway',
    examples: ['headgate login-code', 'headgate login-code --data /var/lib/headgate --json'],
  })
  return withServer(base).action(async (options: ServerOptions & { json?: boolean }) => {
    const answer = await apiOf(io, options).post('/login-codes', {}, loginCodeAnswer)
    emit(io, options, answer, () => `${answer.code}\n`)
  })
}
