/** `secrets`: credentials in one sealed file of the data folder, each for one host and environment. */
import { Argument, Command, Option } from 'commander'
import {
  type CredentialEnvironment,
  type CredentialName,
  ENVIRONMENTS,
  inWords,
  misfit,
  type Place,
  placesOf,
  SEALABLE,
  specOf,
} from '../../secrets/catalogue.ts'
import { type Bound, newSealed, type SealedSecrets } from '../../secrets/sealed.ts'
import type { Secret } from '../../secrets/secret.ts'
import { Failure } from '../failure.ts'
import { type Io, table } from '../io.ts'
import {
  askFor,
  askPassphrase,
  changeSealedFile,
  isSealedThere,
  LEAST_PASSPHRASE,
  openSealedFile,
} from '../sealed-file.ts'
import { collect, command, DEFAULT_DATA, dataPath, emit } from './context.ts'

interface Options {
  data?: string
  environment?: CredentialEnvironment
  json?: boolean
}

const OWNERS = [...new Set(SEALABLE.map((name) => specOf(name).of))]

const withData = (base: Command): Command =>
  base.option(
    '--data <dir>',
    `the gateway’s data folder (or HEADGATE_DATA; default ${DEFAULT_DATA})`,
  )

const withEnvironment = (base: Command): Command =>
  withData(base).addOption(
    new Option(
      '--environment <name>',
      'test or sandbox unless `live` is said; loopback is a stand-in on this machine',
    ).choices(ENVIRONMENTS),
  )

const named = (base: Command): Command =>
  base.addArgument(new Argument('<name>', 'of the credential').choices(SEALABLE))

export function secretsCommand(io: Io): Command {
  const init = withEnvironment(
    command({
      name: 'init',
      summary:
        'make a file of secrets: asks for a passphrase and for each credential, without echo',
      examples: [
        'headgate secrets init --data acme --for razorpay',
        'headgate secrets init --data acme --for paypal --environment live',
        'headgate secrets init --data acme < answers   # passphrase twice, then one line each',
      ],
    }),
  )
    .addOption(
      new Option('--for <whom>', `whose to ask for; repeat for more (default: all)`)
        .choices(OWNERS)
        .argParser(ownersOf),
    )
    .action((options: Options & { for?: string[] }) => initialise(io, options))
  const set = named(
    withEnvironment(
      command({
        name: 'set',
        summary: 'seal one credential, or another one in its place; asks for it without echo',
        examples: [
          'headgate secrets set RAZORPAY_KEY_SECRET --data acme',
          'headgate secrets set RAZORPAY_KEY_ID --data acme --environment live',
        ],
      }),
    ),
  ).action((name: CredentialName, options: Options) => setOne(io, name, options))
  const remove = named(
    withEnvironment(
      command({
        name: 'remove',
        summary: 'take one credential out of the file of secrets',
        examples: ['headgate secrets remove PAYPAL_CLIENT_SECRET --data acme --environment live'],
      }),
    ),
  ).action((name: CredentialName, options: Options) => removeOne(io, name, options))
  const list = withData(
    command({
      name: 'list',
      summary: 'say which credentials are sealed, and for what; never a value',
      examples: ['headgate secrets list --data acme', 'headgate secrets list --data acme --json'],
    }),
  ).action((options: Options) => listAll(io, options))
  return new Command('secrets')
    .description('keep credentials in a sealed file')
    .addCommand(init)
    .addCommand(set)
    .addCommand(list)
    .addCommand(remove)
}

function ownersOf(value: string, before?: string[]): string[] {
  if (OWNERS.some((owner) => owner === value)) return collect(value, before)
  throw new Failure('usage', `expected --for to be one of ${OWNERS.join(', ')}`)
}

async function initialise(io: Io, options: Options & { for?: string[] }): Promise<void> {
  const path = dataPath(io, options.data)
  const { for: owners = OWNERS } = options
  if (isSealedThere(path)) {
    throw new Failure(
      'usage',
      'there is a file of secrets already: expected `headgate secrets set`',
    )
  }
  const asked = SEALABLE.filter((name) => owners.includes(specOf(name).of)).flatMap((name) => {
    const place = placeIn(name, options.environment)
    return place === undefined ? [] : [{ name, ...place }]
  })
  const sealed = await changeSealedFile(path, async () => {
    // Once more, now that nobody else can make one.
    if (isSealedThere(path)) throw new Failure('usage', 'there is a file of secrets already')
    let made = await newSealed(await newPassphrase(io))
    for (const bound of asked) {
      const value = await askValue(io, bound, 'empty leaves it out')
      if (value !== undefined) made = made.with(bound, value)
    }
    return made
  })
  say(io, options, sealed)
}

async function setOne(io: Io, name: CredentialName, options: Options): Promise<void> {
  const path = dataPath(io, options.data)
  const bound = boundOf(name, options)
  const sealed = await changeSealedFile(path, async () => {
    const before = await openSealedFile(path, await askPassphrase(io, 'stdin'))
    const value = await askValue(io, bound, 'empty changes nothing')
    if (value === undefined) throw new Failure('usage', `expected a value for ${name}`)
    return before.with(bound, value)
  })
  say(io, options, sealed)
}

async function removeOne(io: Io, name: CredentialName, options: Options): Promise<void> {
  const path = dataPath(io, options.data)
  const bound = boundOf(name, options)
  const sealed = await changeSealedFile(path, async () => {
    const before = await openSealedFile(path, await askPassphrase(io, 'stdin'))
    if (before.value(bound) !== undefined) return before.without(bound)
    throw new Failure('notFound', `${name} is not sealed for ${inWords(bound)}`)
  })
  say(io, options, sealed)
}

async function listAll(io: Io, options: Options): Promise<void> {
  const path = dataPath(io, options.data)
  say(io, options, await openSealedFile(path, await askPassphrase(io, 'stdin')))
}

/** Without a word of the operator's the first that moves no real money, where there is one. */
function placeIn(name: CredentialName, environment?: CredentialEnvironment): Place | undefined {
  const places = placesOf(name)
  return environment === undefined
    ? places[0]
    : places.find((place) => place.environment === environment)
}

function boundOf(name: CredentialName, { environment }: Options): Bound {
  const place = placeIn(name, environment)
  if (place !== undefined) return { name, ...place }
  const known = placesOf(name).map((each) => each.environment)
  throw new Failure('usage', `expected --environment to be one of ${known.join(', ')} for ${name}`)
}

async function newPassphrase(io: Io): Promise<Secret> {
  const given = io.environment.credentials.HEADGATE_PASSPHRASE !== undefined
  const once = given
    ? await askPassphrase(io, 'stdin')
    : await askFor(io, `a passphrase of ${LEAST_PASSPHRASE} or more characters: `, 'stdin')
  if (once === undefined || [...once.reveal()].length < LEAST_PASSPHRASE) {
    throw new Failure(
      'passphrase',
      `expected a passphrase of at least ${LEAST_PASSPHRASE} characters`,
    )
  }
  const again = given ? once : await askFor(io, 'the same again: ', 'stdin')
  if (again?.reveal() === once.reveal()) return once
  throw new Failure('passphrase', 'the two passphrases differ: expected the same twice')
}

async function askValue(io: Io, bound: Bound, empty: string): Promise<Secret | undefined> {
  const { name } = bound
  const question = `${name} for ${inWords(bound)} (${empty}): `
  let value = await askFor(io, question, 'stdin')
  while (value !== undefined) {
    const problem = misfit(name, bound, value.reveal())
    if (problem === undefined) return value
    // Somebody at a terminal may have slipped; a script has not.
    io.err(`headgate: ${problem}\n`)
    value = await askFor(io, question, 'terminal')
    if (value === undefined) throw new Failure('usage', `expected another value for ${name}`)
  }
  return undefined
}

function say(io: Io, options: Options, sealed: SealedSecrets): void {
  const secrets = sealed.list()
  emit(io, options, { secrets }, () =>
    secrets.length === 0
      ? 'no credential is sealed\n'
      : table(secrets.map(({ name, host, environment }) => [name, host, environment])),
  )
}
