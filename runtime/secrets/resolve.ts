/**
 * Values for one host and one environment, and for nothing else. A name has one source: a variable, the file that
 * NAME_FILE names, the sealed file of the data folder, or Google Secret Manager where one of the first two says `sm://`.
 * There is no order among them, because a name that two of them give is refused.
 */
import { Fault } from '../core/errors.ts'
import {
  CATALOGUE,
  type CredentialName,
  inWords,
  isSamePlace,
  misfit,
  type Place,
  placesOf,
} from './catalogue.ts'
import type { SealedSecrets } from './sealed.ts'
import type { Secret } from './secret.ts'
import { isReference, type SecretManager } from './secret-manager.ts'

/** A value as the environment gives it; it may be a reference to Secret Manager. */
export interface Given {
  readonly from: 'variable' | 'file'
  readonly value: Secret
}
export type GivenCredentials = { readonly [name in CredentialName]?: Given }

export interface Sources {
  readonly given: GivenCredentials
  /** The data folder's sealed file, opened; absent where there is none. */
  readonly sealed?: SealedSecrets | undefined
  /** Made only where a reference is followed. */
  readonly secretManager: () => SecretManager
}

export interface Credential {
  readonly secret: Secret
  readonly from: Given['from'] | 'sealed file' | 'secret-manager'
}
export type Credentials = { readonly [name in CredentialName]?: Credential }

/** The value of a credential by the name of its variable; undefined where it was not given. */
export const revealed = (credentials: Credentials = {}, name: string): string | undefined =>
  Object.entries(credentials)
    .find(([each]) => each === name)?.[1]
    .secret.reveal()

export interface ToResolve extends Place {
  readonly names: readonly CredentialName[]
  /** Resolved where they are given. */
  readonly optional?: readonly CredentialName[]
  readonly sources: Sources
}

type Found = Credential | { readonly problem: string } | undefined

/** Throws Fault `config_invalid` with a sentence for every name that is missing, given twice or bound elsewhere. */
export async function resolveCredentials({
  names,
  optional = [],
  sources,
  ...place
}: ToResolve): Promise<Credentials> {
  const found: { [name in CredentialName]?: Credential } = {}
  const problems: string[] = []
  for (const name of [...names, ...optional]) {
    const one = await resolveOne(name, place, sources)
    if (one === undefined && names.includes(name)) problems.push(missing(name, place))
    else if (one !== undefined && 'problem' in one) problems.push(one.problem)
    else if (one !== undefined) found[name] = one
  }
  if (problems.length === 0) return found
  throw new Fault('config_invalid', problems.join('; '), { retryable: false })
}

const missing = (name: CredentialName, place: Place): string =>
  `expected ${name} for ${inWords(place)}: set it or ${name}_FILE, or \`headgate secrets set ${name}\``

async function resolveOne(name: CredentialName, place: Place, sources: Sources): Promise<Found> {
  const places = placesOf(name)
  if (!places.some((each) => isSamePlace(each, place)))
    return { problem: bound(name, places, place) }
  const given = sources.given[name]
  const sealedFor = (sources.sealed?.list() ?? []).filter((each) => each.name === name)
  if (given !== undefined && sealedFor.length > 0) return { problem: twice(name, given) }
  const credential =
    given === undefined
      ? sealedValue({ name, ...place }, sealedFor, sources)
      : await givenValue(name, given, sources)
  if (credential === undefined || 'problem' in credential) return credential
  const problem = misfit(name, place, credential.secret.reveal())
  return problem === undefined ? credential : { problem }
}

const twice = (name: string, { from }: Given): string =>
  `${name} is given twice: expected it as ${from === 'file' ? `${name}_FILE` : 'a variable'} or in the sealed file, not both`

const bound = (name: CredentialName, places: readonly Place[], asked: Place): string => {
  const to = places.length === 0 ? 'no host' : [...new Set(places.map(inWords))].join(' and ')
  return `${name} is bound to ${to}, and ${inWords(asked)} was asked for`
}

function sealedValue(
  asked: Place & { readonly name: CredentialName },
  sealedFor: readonly Place[],
  { sealed }: Sources,
): Found {
  const secret = sealed?.value(asked)
  if (secret !== undefined) return { secret, from: 'sealed file' }
  return sealedFor.length === 0 ? undefined : { problem: bound(asked.name, sealedFor, asked) }
}

async function givenValue(
  name: CredentialName,
  { from, value }: Given,
  sources: Sources,
): Promise<Credential | { readonly problem: string }> {
  if (!isReference(value.reveal())) return { secret: value, from }
  const read = await sources.secretManager().access(value.reveal())
  if (read.kind === 'value') return { secret: read.secret, from: 'secret-manager' }
  return { problem: `${name} cannot be read from Secret Manager: ${read.reason}` }
}

/** A value of the gateway's own, which is bound to no host; it may be a reference too. Throws Fault `config_invalid`. */
export async function resolveOwn(
  name: 'HEADGATE_SECRETS' | 'HEADGATE_PASSPHRASE',
  sources: Omit<Sources, 'sealed'>,
): Promise<Secret | undefined> {
  const given = sources.given[name]
  if (given === undefined) return undefined
  const read = await givenValue(name, given, sources)
  if ('secret' in read) return read.secret
  throw new Fault('config_invalid', read.problem, { retryable: false })
}

/** Names that came as plain variables: whoever can read the environment of the process has them. */
export const plainVariables = (given: GivenCredentials): readonly CredentialName[] =>
  (Object.keys(CATALOGUE) as CredentialName[]).filter((name) => {
    const each = given[name]
    return each?.from === 'variable' && !isReference(each.value.reveal())
  })
