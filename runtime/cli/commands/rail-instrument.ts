/**
 * `rail save-instrument`: a payer agrees once, and what PayPal's vault keeps then pays merchants without asking them. Its
 * id is a credential: it goes into a file or is sealed, and is never printed.
 */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { freshId, sha256 } from '../../core/ids.ts'
import type { PaypalVault } from '../../rails/paypal/vault.ts'
import { createPaypalVault } from '../../rails/paypal.ts'
import { Secret } from '../../secrets/secret.ts'
import { Failure } from '../failure.ts'
import { type Io, shown, table } from '../io.ts'
import { changeSealedFile, openSealedFile } from '../sealed-file.ts'
import { command, emit } from './context.ts'
import {
  type AtRail,
  atRail,
  needed,
  otherRail,
  type RailOptions,
  withPlace,
} from './rail-place.ts'

interface SaveOptions extends RailOptions {
  setupToken?: string
  out?: string
  sealed?: boolean
}

export function saveInstrumentCommand(io: Io): Command {
  const base = command({
    name: 'save-instrument',
    summary:
      'save a payer’s instrument in PayPal’s vault: first they agree, then it is kept as PAYPAL_INSTRUMENT',
    examples: [
      'headgate rail save-instrument --data acme                       # prints where the payer agrees',
      'headgate rail save-instrument --data acme --setup-token ID --out instrument',
      'headgate rail save-instrument --data acme --setup-token ID --sealed',
    ],
  })
  return withPlace(base)
    .option('--setup-token <id>', 'what the first step printed, once the payer has agreed')
    .addOption(
      new Option('--out <file>', 'a new file for the instrument, for its owner alone').conflicts([
        'sealed',
      ]),
    )
    .option('--sealed', 'into the file of secrets of the data folder')
    .action((options: SaveOptions) => {
      const isKept = options.out !== undefined || options.sealed === true
      if (isKept !== (options.setupToken !== undefined)) {
        throw new Failure('usage', 'expected --setup-token together with --out or --sealed')
      }
      return atRail(io, options, (at) => saveInstrument(io, options, at))
    })
}

async function saveInstrument(io: Io, options: SaveOptions, at: AtRail): Promise<void> {
  const { rail, gateway } = at.config
  if (rail.name !== 'paypal') throw otherRail('paypal')
  const vault = createPaypalVault({
    mode: rail.mode,
    clientId: needed(at.credentials, 'PAYPAL_CLIENT_ID'),
    clientSecret: needed(at.credentials, 'PAYPAL_CLIENT_SECRET'),
    ...(rail.url === undefined ? {} : { url: rail.url }),
    clock: io.clock,
  })
  const { setupToken, out } = options
  if (setupToken === undefined) return begin(io, options, vault, gateway.url)
  const save = () => savedBy(vault, setupToken)
  if (out === undefined) await seal(at, save)
  else await keepIn(out, save)
  const kept = out ?? 'the file of secrets'
  emit(io, options, { saved: true, kept }, () =>
    out === undefined
      ? 'the instrument is sealed as PAYPAL_INSTRUMENT\n'
      : `the instrument is kept in ${out}: serve with PAYPAL_INSTRUMENT_FILE=${out}\n`,
  )
}

async function begin(io: Io, options: SaveOptions, vault: PaypalVault, url: string): Promise<void> {
  const begun = await vault.begin({ key: freshId(), returnUrl: `${url}/`, cancelUrl: `${url}/` })
  if (begun.kind !== 'begun') throw refused(begun)
  const { setupToken, approveUrl } = begun
  emit(io, options, { setupToken, approveUrl }, () =>
    table([
      ['the payer agrees at', shown(approveUrl, 2_000)],
      ['and then', `headgate rail save-instrument --setup-token ${setupToken} --out FILE`],
    ]),
  )
}

/** The same key for the same setup token: asked again after a lost answer, it is the same instrument. */
async function savedBy(vault: PaypalVault, setupToken: string): Promise<string> {
  if (!/^[A-Za-z0-9_-]{4,255}$/.test(setupToken)) {
    throw new Failure('usage', 'expected --setup-token as the first step printed it')
  }
  const saved = await vault.save({ key: `save-${sha256(setupToken)}`, setupToken })
  if (saved.kind === 'saved') return saved.instrument
  throw refused(saved)
}

const refused = ({ kind, reason }: { readonly kind: string; readonly reason: string }): Failure =>
  kind === 'declined'
    ? new Failure('refused', `PayPal declined it: ${reason}`)
    : new Failure('unavailable', `PayPal gave no word on it, try the same again: ${reason}`)

/** The place is there before the instrument is: what is saved and then lost would charge somebody, known to nobody. */
async function keepIn(out: string, save: () => Promise<string>): Promise<void> {
  let file: number
  try {
    file = openSync(out, 'wx', 0o600)
  } catch (cause) {
    throw new Failure('usage', 'expected --out to be a new file in a folder', { cause })
  }
  try {
    writeSync(file, `${await save()}\n`)
  } catch (error) {
    rmSync(out, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

async function seal(
  { path, passphrase, credentials, place }: AtRail,
  save: () => Promise<string>,
): Promise<void> {
  const bound = {
    name: 'PAYPAL_INSTRUMENT',
    host: place.host,
    environment: place.environment,
  } as const
  if (credentials.PAYPAL_INSTRUMENT !== undefined) {
    throw new Failure(
      'usage',
      'PAYPAL_INSTRUMENT is given already: expected it to be taken away first',
    )
  }
  if (passphrase === undefined) {
    throw new Failure('dataFolder', 'expected a file of secrets there: `headgate secrets init`')
  }
  await changeSealedFile(path, async () => {
    const before = await openSealedFile(path, passphrase)
    return before.with(bound, new Secret(await save()))
  })
}
