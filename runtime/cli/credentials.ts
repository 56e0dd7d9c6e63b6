/** What a gateway is given of credentials at its start: by whom, for which host, and what is said about it. */
import { type Config, ConfigError, readEnvironment } from '../config.ts'
import { PROVIDER_KEYS } from '../core/agents.ts'
import type { LogEntry } from '../http/server.ts'
import {
  CREDENTIAL_NAMES,
  type CredentialName,
  isSamePlace,
  type Place,
  specOf,
} from '../secrets/catalogue.ts'
import { createSecretGuard, type SecretGuard } from '../secrets/guard.ts'
import {
  type Credentials,
  plainVariables,
  resolveCredentials,
  resolveOwn,
  type Sources,
} from '../secrets/resolve.ts'
import type { SealedSecrets } from '../secrets/sealed.ts'
import type { Secret } from '../secrets/secret.ts'
import { createSecretManager, isReference, type SecretManager } from '../secrets/secret-manager.ts'
import type { Io } from './io.ts'
import { askPassphrase, isSealedThere, openSealedFile } from './sealed-file.ts'

/** Which credentials something needs, and for which one host and environment. */
export interface Needs extends Place {
  readonly names: readonly CredentialName[]
  readonly optional?: readonly CredentialName[]
}

/** A stand-in on this machine is given nothing that is bound to a rail of its own. */
const LOOPBACK: Place = { host: '127.0.0.1', environment: 'loopback' }

/** What the configured rail needs. `live` stands in the configuration or is not asked for. */
export function needsOfRail(rail: Config['rail']): Needs {
  switch (rail.name) {
    case 'simulated':
      return { ...LOOPBACK, names: ['HEADGATE_RAIL_KEY'] }
    case 'razorpay':
      return {
        ...(rail.url === undefined
          ? { host: 'api.razorpay.com', environment: rail.mode }
          : LOOPBACK),
        names: ['RAZORPAY_KEY_ID', 'RAZORPAY_KEY_SECRET', 'RAZORPAY_WEBHOOK_SECRET'],
        optional: ['RAZORPAY_WEBHOOK_SECRET_PREVIOUS'],
      }
    case 'paypal':
      return {
        ...(rail.url === undefined ? PAYPAL[rail.mode] : LOOPBACK),
        names: ['PAYPAL_CLIENT_ID', 'PAYPAL_CLIENT_SECRET'],
        optional: ['PAYPAL_WEBHOOK_ID', 'PAYPAL_INSTRUMENT'],
      }
  }
}

const MODEL_HOSTS = { gemini: 'generativelanguage.googleapis.com', groq: 'api.groq.com' } as const

/** What the configured models need: those of the agents and the monitor's. A provider has one key, and that one place. */
export function needsOfModels({ engine, monitor }: Pick<Config, 'engine' | 'monitor'>): Needs[] {
  const needs: Needs[] = []
  for (const configured of [engine, monitor]) {
    if (configured.kind !== 'gemini' && configured.kind !== 'groq') continue
    const host = MODEL_HOSTS[configured.kind]
    const place = configured.url === undefined ? ({ host, environment: 'live' } as const) : LOOPBACK
    needs.push({ ...place, names: [PROVIDER_KEYS[configured.kind]] })
  }
  const [first, second] = needs
  if (first === undefined || second === undefined || first.names[0] !== second.names[0]) {
    return needs
  }
  if (isSamePlace(first, second)) return [first]
  throw new ConfigError([
    `\`monitor.url\` is wrong: expected what \`engine\` has, because ${first.names[0]} is good for one place`,
  ])
}

/** Every credential of a rail, of whatever place. */
export const namesOfRail = (rail: Config['rail']['name']): readonly CredentialName[] =>
  CREDENTIAL_NAMES.filter((name) => specOf(name).of === rail)

const PAYPAL = {
  sandbox: { host: 'api-m.sandbox.paypal.com', environment: 'sandbox' },
  live: { host: 'api-m.paypal.com', environment: 'live' },
} as const

export interface AtStart {
  /** Knows every value that the environment gave, resolved or not, and every one that was resolved. */
  readonly guard: SecretGuard
  /** The gateway's own keys, where they come as one secret. */
  readonly bundle?: Secret
  readonly credentials: Credentials
  /** Of the file of secrets, where there is one. */
  readonly passphrase?: Secret
}

export type IsGiven = (name: CredentialName) => boolean

export interface Start {
  /** A folder that may hold a file of secrets; undefined where nothing is read from a disk. */
  readonly data?: string | undefined
  /** They may depend on which credentials are given at all, for whatever place. */
  readonly needs: readonly Needs[] | ((isGiven: IsGiven) => readonly Needs[])
  readonly log: (entry: LogEntry) => void
  readonly secretManager?: () => SecretManager
}

/** Reads everything once, before anything is served. Throws Failure, SealError, Fault `config_invalid`. */
export async function credentialsAtStart(io: Io, start: Start): Promise<AtStart> {
  const given = io.environment.credentials
  const guard = createSecretGuard()
  // A reference is no secret, and a sentence about it may name it.
  const values = Object.values(given).filter(({ value }) => !isReference(value.reveal()))
  guard.watch(...values.map(({ value }) => value))
  for (const name of plainVariables(given)) start.log(weaker(name))
  let manager: SecretManager | undefined
  const secretManager = () => {
    manager ??= (start.secretManager ?? createSecretManager)()
    return manager
  }
  try {
    const bundle = await resolveOwn('HEADGATE_SECRETS', { given, secretManager })
    const folder = bundle === undefined ? start.data : undefined
    const opened = await sealedIn(io, folder, guard)
    const sources: Sources = { given, secretManager, sealed: opened?.sealed }
    const isGiven: IsGiven = (name) =>
      given[name] !== undefined ||
      (sources.sealed?.list() ?? []).some((sealed) => sealed.name === name)
    const needs = typeof start.needs === 'function' ? start.needs(isGiven) : start.needs
    const credentials = await allOf(needs, sources)
    guard.watch(...Object.values(credentials).map(({ secret }) => secret))
    if (bundle !== undefined) guard.watch(bundle)
    return {
      guard,
      credentials,
      ...(bundle === undefined ? {} : { bundle }),
      ...(opened === undefined ? {} : { passphrase: opened.passphrase }),
    }
  } finally {
    await manager?.close()
  }
}

/** What a part of a play world gave as variables, resolved as a gateway's own would be. Throws Fault `config_invalid`. */
export const credentialsIn = (
  variables: Readonly<Record<string, string>>,
  ...needs: readonly Needs[]
): Promise<Credentials> => {
  const given = readEnvironment(variables).credentials
  return allOf(needs, { given, secretManager: createSecretManager })
}

async function allOf(needs: readonly Needs[], sources: Sources): Promise<Credentials> {
  let all: Credentials = {}
  for (const need of needs) all = { ...all, ...(await resolveCredentials({ ...need, sources })) }
  return all
}

async function sealedIn(
  io: Io,
  data: string | undefined,
  guard: SecretGuard,
): Promise<{ readonly sealed: SealedSecrets; readonly passphrase: Secret } | undefined> {
  if (data === undefined || !isSealedThere(data)) return undefined
  const passphrase = await askPassphrase(io, 'terminal')
  guard.watch(passphrase)
  return { sealed: await openSealedFile(data, passphrase), passphrase }
}

const weaker = (name: CredentialName): LogEntry => ({
  level: 'warn',
  code: 'secret_in_environment',
  message: `${name} came as a plain variable, the weaker way: expected ${name}_FILE, the file of secrets, or sm://`,
})
