/** `keys new` and `mandate sign`: what a principal does on their own device. Neither needs a gateway. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fchmodSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { Command, Option } from 'commander'
import { z } from 'zod'
import { issueSentences } from '../../config.ts'
import { freshId, sha256 } from '../../core/ids.ts'
import { parseJson } from '../../core/json.ts'
import { signJws } from '../../core/jws.ts'
import {
  type PrivateJwk,
  privateJwkSchema,
  privateKeyOf,
  publicJwkOf,
  thumbprint,
} from '../../core/keys.ts'
import { type Mandate, mandateSchema } from '../../core/mandate.ts'
import { nowSeconds } from '../../core/time.ts'
import { newPrivateJwk } from '../data-dir.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import { worstCase } from '../worst-case.ts'
import { bundleCommand } from './bundle.ts'
import { collect, command, emit, readDocument } from './context.ts'
import { rotateCommand } from './rotate.ts'

interface NewKeyOptions {
  kind: 'principal' | 'holder' | 'root'
  out: string
  alg: 'EdDSA' | 'ES256'
  id: string
  json?: boolean
}

export function keysCommand(io: Io): Command {
  const create = command({
    name: 'new',
    summary: 'make a key pair: the private key goes to a file, the public one to stdout',
    examples: [
      'headgate keys new --kind principal --out alice.jwk',
      'headgate keys new --kind root --id 2 --out root-key.json',
    ],
  })
    .addOption(
      new Option('--kind <kind>', 'whose key it is')
        .choices(['principal', 'holder', 'root'])
        .makeOptionMandatory(),
    )
    .requiredOption('--out <file>', 'where the private key is written; never over another file')
    .addOption(
      new Option('--alg <alg>', 'signature algorithm; holders and roots take EdDSA only')
        .choices(['EdDSA', 'ES256'])
        .default('EdDSA'),
    )
    .option('--id <n>', 'root key id, for --kind root', '1')
    .action((options: NewKeyOptions) => newKey(io, options))
  return new Command('keys')
    .description('make and replace keys')
    .addCommand(create)
    .addCommand(operatorCommand(io))
    .addCommand(rotateCommand(io))
    .addCommand(bundleCommand(io))
}

function operatorCommand(io: Io): Command {
  return command({
    name: 'operator',
    summary: 'make a named operator’s own token: it goes to a file, its digest to stdout',
    examples: ['headgate keys operator --out asha.token'],
  })
    .requiredOption('--out <file>', 'where the token is written; never over another file')
    .action((options: { out: string; json?: boolean }) => {
      const token = randomBytes(32).toString('base64url')
      writePrivateText(options.out, token)
      const tokenDigest = sha256(token)
      emit(io, options, { tokenDigest }, () => `${tokenDigest}\n`)
    })
}

function newKey(io: Io, options: NewKeyOptions): void {
  if (options.alg === 'ES256' && options.kind !== 'principal') {
    throw new Failure('usage', 'only a principal’s key may be ES256')
  }
  const key = options.alg === 'ES256' ? newP256Jwk() : newPrivateJwk()
  const isRoot = options.kind === 'root'
  writePrivateFile(options.out, isRoot ? { id: rootId(options.id), key } : key)
  const shown = publicJwkOf(key)
  emit(io, options, shown, () => `${JSON.stringify(shown, null, 2)}\n`)
}

function rootId(text: string): number {
  if (!/^(0|[1-9]\d{0,8})$/.test(text))
    throw new Failure('usage', 'expected --id to be a whole number')
  return Number(text)
}

function newP256Jwk(): PrivateJwk {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const jwk = privateJwkSchema.parse(privateKey.export({ format: 'jwk' }))
  return { ...jwk, kid: thumbprint(publicJwkOf(jwk)) }
}

/** Writes a file that only its owner can read; an existing file is never touched. */
export const writePrivateFile = (path: string, value: unknown): void =>
  writePrivateText(path, JSON.stringify(value))

function writePrivateText(path: string, text: string): void {
  let fd: number
  try {
    fd = openSync(path, 'wx', 0o600)
  } catch (cause) {
    throw new Failure('usage', `${path} cannot be written: expected a new file in a folder`, {
      cause,
    })
  }
  fchmodSync(fd, 0o600)
  writeSync(fd, `${text}\n`)
  closeSync(fd)
}

/** A private key that `keys new` wrote. Throws Failure, also where others may read it. */
export function readPrivateKey(path: string): PrivateJwk {
  if (!existsSync(path)) throw new Failure('usage', `${path} cannot be read`)
  try {
    if ((statSync(path).mode & 0o077) !== 0) {
      throw new Failure('usage', `${path} may be read by others: expected mode 0600`)
    }
    return privateJwkSchema.parse(parseJson(readFileSync(path)))
  } catch (cause) {
    if (cause instanceof Failure) throw cause
    throw new Failure('usage', `${path} is wrong: expected a private key written by \`keys new\``, {
      cause,
    })
  }
}

interface SignOptions {
  key: string
  claims?: string
  iss?: string
  aud?: string
  task?: string
  currency?: string
  ceiling?: string
  perPayment?: string
  approvalAbove?: string
  payee?: string[]
  expiresIn: string
  depth: string
  fanOut: string
  nodes: string
  holder?: string
  json?: boolean
}

export function mandateCommand(io: Io): Command {
  const sign = command({
    name: 'sign',
    summary: 'sign a mandate; it goes to stdout, and what it can cost at worst to stderr',
    examples: [
      'headgate mandate sign --key alice.jwk --claims mandate.json > mandate.jws',
      'headgate mandate sign --key alice.jwk --iss alice --aud headgate.local --currency INR \\\n' +
        '  --ceiling 5000000 --payee acme --payee globex --task "two desk lamps" > mandate.jws',
    ],
  })
    .requiredOption('--key <file>', 'the principal’s private key')
    .option('--claims <file>', 'the claims as JSON (- for stdin); flags replace single claims')
    .option('--iss <principal>', 'who signs')
    .option('--aud <gateway>', 'the gateway’s id')
    .option('--task <words>', 'what it is for')
    .option('--currency <code>', 'INR, USD, JPY or KWD')
    .option('--ceiling <minor>', 'the most in all, in minor units (paise, cents, yen, fils)')
    .option('--per-payment <minor>', 'the most in one payment')
    .option('--approval-above <minor>', 'above this a person is asked')
    .option('--payee <id>', 'who may be paid; repeat for more', collect)
    .option('--expires-in <seconds>', 'how long it is good, where the claims do not say', '3600')
    .option('--depth <n>', 'how deep it may be split', '5')
    .option('--fan-out <n>', 'children of one node', '16')
    .option('--nodes <n>', 'nodes in all', '200')
    .option('--holder <key>', 'an outside planner’s public key (base64url)')
    .action((options: SignOptions) => signMandate(io, options))
  return new Command('mandate').description('sign mandates').addCommand(sign)
}

async function signMandate(io: Io, options: SignOptions): Promise<void> {
  const key = readPrivateKey(options.key)
  const mandate = await mandateOf(io, options)
  const jws = signJws({
    typ: 'mandate+jwt',
    key: privateKeyOf(key),
    claims: mandate,
    kid: key.kid ?? thumbprint(publicJwkOf(key)),
  })
  io.err(`${worstCase(mandate)}\n`)
  emit(
    io,
    options,
    { mandate: jws, claims: mandate, worstCase: worstCase(mandate) },
    () => `${jws}\n`,
  )
}

const claims = z.record(z.string(), z.unknown())
const NO_CLAIMS = 'the claims are wrong: expected one strict JSON object'

const whole = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN

async function mandateOf(io: Io, options: SignOptions): Promise<Mandate> {
  const now = nowSeconds(io.clock)
  const given =
    options.claims === undefined ? {} : await readDocument(options.claims, claims, NO_CLAIMS)
  const defaults = {
    jti: freshId(),
    iat: now,
    exp: now + Number(whole(options.expiresIn)),
    limits: {
      depth: whole(options.depth),
      fanOut: whole(options.fanOut),
      nodes: whole(options.nodes),
    },
  }
  const flags = {
    iss: options.iss,
    aud: options.aud,
    task: options.task,
    currency: options.currency,
    ceiling: whole(options.ceiling),
    perPayment: whole(options.perPayment),
    approvalAbove: whole(options.approvalAbove),
    payees: options.payee,
    holder: options.holder,
  }
  const set = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined))
  const parsed = mandateSchema.safeParse({ ...defaults, ...given, ...set })
  if (parsed.success) return parsed.data
  const wrong = parsed.error.issues.flatMap((issue) => {
    const claim = String(issue.path[0] ?? '')
    const hint = Object.hasOwn(HINTS, claim) ? HINTS[claim] : undefined
    return hint === undefined ? issueSentences(issue, 'the mandate') : [`\`${claim}\`: ${hint}`]
  })
  throw new Failure('usage', ['the mandate is wrong', ...new Set(wrong)].join('\nheadgate: '))
}

const AMOUNT = 'in minor units without comma or point, such as 5000 for INR 50.00'

/** What a person who typed the flag needs to read. */
const HINTS: Readonly<Record<string, string>> = {
  iss: 'expected --iss, the principal’s id at the gateway',
  aud: 'expected --aud, the gateway’s id',
  task: 'expected --task, in words',
  currency: 'expected --currency INR, USD, JPY or KWD',
  ceiling: `expected --ceiling ${AMOUNT}`,
  perPayment: `expected --per-payment ${AMOUNT}`,
  approvalAbove: `expected --approval-above ${AMOUNT}`,
  payees: 'expected --payee, each id once',
  exp: 'expected --expires-in as whole seconds',
}
