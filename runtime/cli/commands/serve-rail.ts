/**
 * `--rail` of a gateway that serves: where nobody has given the rail's credentials, a stand-in on this machine takes its
 * place, so that it can be tried without an account. It moves play money, and a store is of play money or of real for
 * ever: a stand-in that was asked about real payments would say that there are none, and they would be made again.
 */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Option } from 'commander'
import { z } from 'zod'
import { type Change, type Config, ConfigError, readConfig } from '../../config.ts'
import type { Credentials } from '../../secrets/resolve.ts'
import {
  credentialsIn,
  type IsGiven,
  type Needs,
  namesOfRail,
  needsOfRail,
} from '../credentials.ts'
import { dataFile, openDataDir } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import { assertPortFree, freePort } from '../world.ts'
import { RAIL_NAMES, type RailName, startRail, type WorldRail } from '../world-rails.ts'

export const railOption = (what: string): Option =>
  new Option('--rail <name>', what).choices(RAIL_NAMES)

/** What is served, and where its configuration lies. */
export interface Place {
  readonly path: string
  readonly file: string
  /** As the command line changes what was read. */
  readonly as: (config: Config) => Config
}

/** What a person and a script are told. */
export interface StandIn {
  readonly rail: RailName
  readonly url: string
  readonly pid: number
  /** Payees that were given an account there. */
  readonly accounts: readonly string[]
  readonly said: string
}

export interface Served {
  readonly config: Config
  readonly credentials: Credentials
  readonly standIn: StandIn
}

/** Whether a stand-in takes this rail's place: none of its credentials is given, for whatever mode. */
export const isUnaccredited = (rail: RailName, isGiven: IsGiven): boolean =>
  !namesOfRail(rail).some(isGiven)

/** What the rail needs that is asked for by name and has credentials. Throws ConfigError where another is configured. */
export function needsNamed(rail: RailName | undefined, config: Config): readonly Needs[] {
  if (rail === undefined || config.rail.name === rail) return [needsOfRail(config.rail)]
  throw new ConfigError([
    `\`rail.name\` is wrong: expected ${rail}, which --rail asks for and credentials are given of`,
  ])
}

/** What stands in until the stand-in has said its own: enough to say at once what else is wrong. */
const BEFORE = { isKnown: () => true, accountOf: () => 'account' }
const UNKNOWN: Readonly<Record<RailName, WorldRail['config']>> = {
  simulated: { name: 'simulated', url: 'http://127.0.0.1:9' },
  razorpay: { name: 'razorpay', accountNumber: '00000' },
  paypal: { name: 'paypal' },
}

/** The configuration over a stand-in, before it is started. Throws ConfigError. */
export const configBefore = (rail: RailName, { file, as }: Place): Config =>
  as(readConfig(file, overRail({ ...BEFORE, name: rail, config: UNKNOWN[rail] }, [])))

/** Starts a stand-in, serves over it, and ends it, however serving ends. */
export async function withStandIn(
  rail: RailName,
  place: Place,
  serve: (served: Served) => Promise<void>,
): Promise<void> {
  const { path, file, as } = place
  const { listen } = configBefore(rail, place)
  // Before a process is started: a taken port or an unusable folder must cost nothing.
  const port = listen.port === 0 ? await freePort() : listen.port
  await assertPortFree(port, listen.host)
  assertNoRealMoney(path)
  openDataDir(path).close()
  const dir = dataFile(path, 'standIn')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const child = await startRail(rail, dir, `http://${hostToCall(listen.host)}:${port}`)
  try {
    const accounts: string[] = []
    const config = heardAt(port, as(readConfig(file, overRail(child.ready, accounts))))
    const credentials = await credentialsIn(child.ready.env, needsOfRail(config.rail))
    const { url } = child.ready
    const said = saidOf(rail, url, accounts.length, config.payees.length)
    markPlayMoney(path)
    await serve({ config, credentials, standIn: { rail, url, pid: child.pid, accounts, said } })
  } finally {
    await child.stop()
  }
}

const hostToCall = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/** The stand-in calls from this machine, whatever name the gateway has for others. */
const heardAt = (port: number, config: Config): Config => {
  const { listen } = config
  const hosts = [...new Set([...listen.hosts, `${hostToCall(listen.host)}:${port}`])]
  return { ...config, listen: { ...listen, port, hosts } }
}

const saidOf = (rail: RailName, url: string, given: number, payees: number): string =>
  `play money, nothing real moves: no credentials of ${rail} are set, so a stand-in for it serves at ${url}` +
  `, and ${given} of ${payees} payees have an account there that it made up`

const openConfig = z.looseObject({
  payees: z.array(
    z.looseObject({ id: z.string(), accounts: z.record(z.string(), z.unknown()).default({}) }),
  ),
})

/** Puts the rail into a configuration, and an account on it to every payee without one; `given` gets their ids. */
function overRail(
  rail: Pick<WorldRail, 'name' | 'config' | 'accountOf' | 'isKnown'>,
  given: string[],
): Change {
  return (json) => {
    const open = openConfig.safeParse(json)
    // Whatever is wrong with it is said where it is read.
    if (!open.success) return json
    const payees = open.data.payees.map((payee, index) => {
      const own = Object.hasOwn(payee.accounts, rail.name) ? payee.accounts[rail.name] : undefined
      if (own !== undefined && (typeof own !== 'string' || rail.isKnown(own))) return payee
      given.push(payee.id)
      const account = rail.accountOf(payee.id, index)
      return { ...payee, accounts: { ...payee.accounts, [rail.name]: account } }
    })
    return { ...open.data, payees, rail: rail.config }
  }
}

const markOf = (path: string): string => join(dataFile(path, 'standIn'), 'play-money')
/** A folder that was opened has an empty store. */
const isStored = (path: string): boolean =>
  (statSync(dataFile(path, 'store'), { throwIfNoEntry: false })?.size ?? 0) > 0

const markPlayMoney = (path: string): void => writeFileSync(markOf(path), '', { mode: 0o600 })

function assertNoRealMoney(path: string): void {
  if (!isStored(path) || existsSync(markOf(path))) return
  throw new Failure(
    'dataFolder',
    'the data folder is of a gateway without a stand-in: expected --data to name one of its own for play money',
  )
}

/** Throws Failure where a stand-in served from this folder: no other rail knows of its payments. */
export function assertNoPlayMoney(path: string): void {
  if (!existsSync(markOf(path))) return
  // It was marked, and nothing came of it.
  if (!isStored(path)) {
    rmSync(markOf(path))
    return
  }
  throw new Failure(
    'dataFolder',
    'the data folder is of play money: expected --rail without credentials, or --data to name another one',
  )
}
