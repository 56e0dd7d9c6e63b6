/**
 * `receipt verify`: for whoever was handed a receipt. It asks nobody about the receipt; only the keys may come from an
 * address, and whoever keeps them in a file needs no network at all.
 */
import { Command } from 'commander'
import type { z } from 'zod'
import { receiptIn } from '../../audit/verify.ts'
import { identifierSchema, shortReceiptIdOf } from '../../core/ids.ts'
import { type Jwks, jwksSchema, thumbprint } from '../../core/keys.ts'
import { CURRENCIES, currencySchema, formatMoney, minorSchema } from '../../core/money.ts'
import {
  openReceipt,
  parseReceipt,
  RECEIPT_FAULTS,
  type ReceiptFault,
} from '../../core/open-receipt.ts'
import type { Receipt } from '../../core/receipt.ts'
import { isoTime } from '../../core/time.ts'
import { createApi } from '../api.ts'
import { Failure } from '../failure.ts'
import { type Io, shown, table } from '../io.ts'
import {
  apiOf,
  command,
  emit,
  readDocument,
  readInput,
  type ServerOptions,
  withServer,
} from './context.ts'

interface VerifyOptions extends ServerOptions {
  readonly json?: boolean
  readonly jwks?: string
  readonly amount?: string
  readonly currency?: string
  readonly merchant?: string
  readonly gateway?: string
}

export function receiptCommand(io: Io): Command {
  const verify = command({
    name: 'verify',
    summary:
      'check a receipt against the gateway’s published keys, offline, and say in words what holds',
    examples: [
      'headgate receipt verify receipt.jws --jwks keys.json',
      'headgate receipt verify receipt.jws --jwks https://pay.example.com/.well-known/jwks.json',
      'headgate receipt verify receipt.jws --jwks keys.json --amount 250000 --currency INR \\\n  --merchant paper-lane',
    ],
  })
    .argument(
      '<file>',
      'the receipt as a compact JWS, or the answer of GET /receipts/{id} (- for stdin)',
    )
    .option('--jwks <file>', 'the gateway’s key set: a file, or an https address')
    .option('--amount <minor>', 'what must have been paid, in minor units: paise, cents, yen')
    .option('--currency <code>', 'in which currency')
    .option('--merchant <id>', 'who must have been paid')
    .option('--gateway <id>', 'which gateway must have signed it')
  return new Command('receipt')
    .description('verify receipts')
    .addCommand(withServer(verify).action((file: string, options) => run(io, file, options)))
}

async function run(io: Io, file: string, options: VerifyOptions): Promise<void> {
  const expected = expectedIn(options)
  const text = receiptIn(await readInput(file))
  const read = readReceipt(text, await keysFor(io, options))
  if ('why' in read) {
    const message = RECEIPT_FAULTS[read.why]
    if (options.json) emit(io, options, { valid: false, why: read.why, message }, () => '')
    throw new Failure('receiptFalse', message)
  }
  const { receipt, kid } = read
  const compared = compare(receipt, expected)
  const isMeant = Object.values(compared).every(Boolean)
  const shortId = shortReceiptIdOf(receipt.jti)
  const answer = { valid: isMeant, shortId, kid, compared, receipt }
  if (options.json || isMeant) emit(io, options, answer, () => receiptText(receipt, kid, compared))
  if (!isMeant) throw new Failure('receiptOther', `the receipt holds, but ${otherThan(compared)}`)
}

function readReceipt(
  text: string,
  { keys }: Jwks,
): { readonly receipt: Receipt; readonly kid: string } | { readonly why: ReceiptFault } {
  const shownReceipt = parseReceipt(text)
  if (shownReceipt === undefined) return { why: 'form' }
  const { kid } = shownReceipt
  const jwk = keys.find((key) => (key.kid ?? thumbprint(key)) === kid)
  const receipt = openReceipt(shownReceipt, jwk)
  return typeof receipt === 'string' ? { why: receipt } : { receipt, kid }
}

type Expected = ReturnType<typeof expectedIn>

function expectedIn({ amount, currency, merchant, gateway }: VerifyOptions) {
  return {
    amount: option(
      '--amount',
      minorSchema,
      /^\d{1,16}$/.test(amount ?? '') ? Number(amount) : amount,
    ),
    currency: option('--currency', currencySchema, currency),
    merchant: option('--merchant', identifierSchema, merchant),
    gateway: option('--gateway', identifierSchema, gateway),
  }
}

const WANTED: Readonly<Record<string, string>> = {
  '--amount': 'a whole number of minor units',
  '--currency': `one of ${CURRENCIES.join(', ')}`,
}

function option<T>(name: string, schema: z.ZodType<T>, value: unknown): T | undefined {
  if (value === undefined) return undefined
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new Failure('usage', `expected ${name} to be ${WANTED[name] ?? 'an id'}`)
}

/** Only what was asked for is compared; a merchant is paid under its own id. */
function compare(
  receipt: Receipt,
  { amount, currency, merchant, gateway }: Expected,
): Readonly<Record<string, boolean>> {
  return {
    ...(amount === undefined ? {} : { amount: receipt.amount === amount }),
    ...(currency === undefined ? {} : { currency: receipt.currency === currency }),
    ...(merchant === undefined ? {} : { merchant: receipt.payee === merchant }),
    ...(gateway === undefined ? {} : { gateway: receipt.iss === gateway }),
  }
}

const OTHER: Readonly<Record<string, string>> = {
  amount: 'it is about another amount',
  currency: 'it is in another currency',
  merchant: 'somebody else was paid',
  gateway: 'another gateway signed it',
}

const otherThan = (compared: Readonly<Record<string, boolean>>): string =>
  Object.keys(compared)
    .filter((name) => !compared[name])
    .map((name) => OTHER[name] ?? '')
    .join(', ')

function receiptText(
  receipt: Receipt,
  kid: string,
  compared: Readonly<Record<string, boolean>>,
): string {
  const asked = Object.keys(compared)
  return table([
    ['receipt', receipt.jti, 'the signature holds, under a published key', kid],
    ['', shortReceiptIdOf(receipt.jti), 'the same on the payee’s statement'],
    ['paid', formatMoney(receipt.amount, receipt.currency), `to ${receipt.payee}`],
    ['by', receipt.iss, isoTime(receipt.iat)],
    ['payment', receipt.payment, shown(`${receipt.rail} ${receipt.railReference}`, 160)],
    ['run', receipt.run, receipt.node],
    ['quote', receipt.quote],
    ['log', receipt.head.hash, `event ${receipt.head.seq} of ${receipt.head.stream}`],
    asked.length === 0
      ? ['asked', 'nothing: --amount, --currency, --merchant and --gateway compare']
      : ['asked', `${asked.join(', ')}: as expected`],
    ['not told', 'what came back since, and whether the log still says so: ask the gateway, or'],
    ['', 'hold an export against it with `headgate audit verify --receipt`'],
  ])
}

async function keysFor(io: Io, options: VerifyOptions): Promise<Jwks> {
  if (options.jwks !== undefined) return readJwks(options.jwks)
  const url = options.url ?? io.environment.url
  // Published keys need no credential.
  const api = url === undefined ? apiOf(io, options) : createApi({ url })
  return api.get('/.well-known/jwks.json', jwksSchema)
}

const LOOPBACK = /^(127\.0\.0\.1|\[::1\]|localhost|[a-z0-9-]+\.localhost)$/

/** A key set from a file, or from an address that nobody on the way can change. Throws Failure. */
export async function readJwks(source: string): Promise<Jwks> {
  if (!/^https?:\/\//i.test(source)) {
    return readDocument(source, jwksSchema, `${source} is wrong: expected a JSON Web Key Set`)
  }
  const url = URL.parse(source)
  if (url === null || (url.protocol !== 'https:' && !LOOPBACK.test(url.hostname))) {
    throw new Failure('usage', 'expected --jwks to be a file or an https address')
  }
  return createApi({ url: url.origin }).get(url.href, jwksSchema)
}
