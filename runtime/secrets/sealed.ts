/**
 * Credentials in one sealed text. The passphrase goes through Argon2id (RFC 9106); from its key two are derived, one for
 * the text as a whole and one for single values, each used with AES-256-GCM. The header, with everything that the key
 * depends on, is additional data of the whole; name, host and environment are additional data of each value, so a value
 * opens for the place that it was sealed for and for no other. Names, hosts and lengths cannot be read without the key.
 */
import {
  type Argon2Parameters,
  argon2,
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  randomBytes,
} from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { sha256 } from '../core/ids.ts'
import { canonicalJson, parseJson } from '../core/json.ts'
import { type CredentialName, ENVIRONMENTS, type Place, SEALABLE } from './catalogue.ts'
import { Secret } from './secret.ts'

/** Why a sealed text does not open: each is another thing to do for a person. */
export type SealProblem = 'damaged' | 'passphrase' | 'newer'

const SENTENCES: Readonly<Record<SealProblem, string>> = {
  damaged: 'the file of secrets was changed or cut short: put a copy back, or make it anew',
  passphrase: 'the passphrase does not open the file of secrets',
  newer: 'the file of secrets was written by another version of headgate; use that one',
}

export class SealError extends Error {
  readonly problem: SealProblem

  constructor(problem: SealProblem) {
    super(SENTENCES[problem])
    this.name = 'SealError'
    this.problem = problem
  }
}

const VERSION = 1
const SALT_BYTES = 16
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** A text of all credentials is a few KiB; anything larger is not one of ours. */
const MOST_CHARS = 1024 * 1024
/** Sealed texts are filled up to a multiple, so that their length says little. */
const VALUE_BLOCK = 512
const TEXT_BLOCK = 8 * 1024

/** OWASP's recommendation for Argon2id: 46 MiB, one pass, one lane. */
const COST = { memoryKiB: 47_104, passes: 1, lanes: 1 }

const bytesSchema = (least: number, most: number) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/)
    .refine((text) => {
      const bytes = Buffer.from(text, 'base64url')
      const isWhole = bytes.toString('base64url') === text
      return isWhole && bytes.length >= least && bytes.length <= most
    })

/** What a file asks for is bounded, so that a hostile one takes neither the memory nor the day. */
const headerSchema = z.strictObject({
  format: z.literal('headgate-secrets'),
  version: z.literal(VERSION),
  kdf: z.strictObject({
    name: z.literal('argon2id'),
    memoryKiB: z.int().min(19_456).max(262_144),
    passes: z.int().min(1).max(6),
    lanes: z.int().min(1).max(4),
    salt: bytesSchema(SALT_BYTES, 64),
  }),
  nonce: bytesSchema(NONCE_BYTES, NONCE_BYTES),
})
type Header = z.output<typeof headerSchema>

const sealedSchema = z.strictObject({
  ...headerSchema.shape,
  sealed: z.string().max(MOST_CHARS),
  /** SHA-256 of the rest: tells damage from a wrong passphrase, and protects against nobody. */
  sum: z.string(),
})

const nameSchema = z.enum(SEALABLE as [CredentialName, ...CredentialName[]])

const boundSchema = z.strictObject({
  name: nameSchema,
  host: z.string().min(1).max(253),
  environment: z.enum(ENVIRONMENTS),
})
const entrySchema = boundSchema.extend({
  nonce: bytesSchema(NONCE_BYTES, NONCE_BYTES),
  sealed: z.string().max(64 * 1024),
})
type Entry = z.output<typeof entrySchema>
const textSchema = z.strictObject({ entries: z.array(entrySchema).max(256) })
const valueSchema = boundSchema.extend({ value: z.string() })

/** What an entry is bound to. */
export interface Bound extends Place {
  readonly name: CredentialName
}

interface Keys {
  readonly whole: Buffer
  readonly value: Buffer
}

const derive = promisify(
  (parameters: Argon2Parameters, done: (error: Error | null, key: Buffer) => void) =>
    argon2('argon2id', parameters, done),
)

/** One passphrase in whatever way its characters were typed (RFC 8265 normalises to NFC too). */
async function keysOf(passphrase: Secret, { kdf }: Header): Promise<Keys> {
  const salt = Buffer.from(kdf.salt, 'base64url')
  const key = await derive({
    message: Buffer.from(passphrase.reveal().normalize('NFC'), 'utf8'),
    nonce: salt,
    memory: kdf.memoryKiB,
    passes: kdf.passes,
    parallelism: kdf.lanes,
    tagLength: 32,
  })
  const part = (info: string) => Buffer.from(hkdfSync('sha256', key, salt, info, 32))
  return { whole: part('headgate secrets: whole'), value: part('headgate secrets: value') }
}

interface ToSeal {
  readonly key: Buffer
  readonly nonce: Buffer
  readonly bound: object
}

const additional = (bound: object): Buffer => Buffer.from(canonicalJson(bound), 'utf8')

function seal({ key, nonce, bound }: ToSeal, content: object, block: number): string {
  const text = Buffer.from(canonicalJson(content), 'utf8')
  // JSON may end in spaces, and a reader passes over them.
  const filled = Buffer.alloc(Math.ceil(text.length / block) * block, ' ')
  text.copy(filled)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(additional(bound))
  const sealed = [cipher.update(filled), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('base64url')
}

/** The content, or undefined where key, bytes or what it is bound to are not those that it was sealed with. */
function unseal({ key, nonce, bound }: ToSeal, sealed: string): unknown {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length <= TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(additional(bound))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
    return parseJson(text)
  } catch {
    return undefined
  }
}

const boundOf = ({ name, host, environment }: Bound): Bound => ({ name, host, environment })
const isSame = (a: Bound, b: Bound): boolean =>
  canonicalJson(boundOf(a)) === canonicalJson(boundOf(b))

/** An opened text. Its values stay sealed until somebody asks for one by its place. */
export class SealedSecrets {
  readonly #header: Header
  readonly #keys: Keys
  readonly #entries: readonly Entry[]

  constructor(header: Header, keys: Keys, entries: readonly Entry[]) {
    this.#header = header
    this.#keys = keys
    this.#entries = entries
  }

  /** What there is, by name, host and environment; never a value or its length. */
  list(): readonly Bound[] {
    return this.#entries.map(boundOf)
  }

  /** Undefined where nothing is sealed for exactly this place. Throws SealError. */
  value(bound: Bound): Secret | undefined {
    const entry = this.#entries.find((each) => isSame(each, bound))
    if (entry === undefined) return undefined
    const nonce = Buffer.from(entry.nonce, 'base64url')
    const asked = { key: this.#keys.value, nonce, bound: boundOf(bound) }
    const read = valueSchema.safeParse(unseal(asked, entry.sealed))
    if (!read.success || !isSame(read.data, bound)) throw new SealError('damaged')
    return new Secret(read.data.value)
  }

  /** The same with one value more, or another in its place. */
  with(bound: Bound, value: Secret): SealedSecrets {
    const nonce = randomBytes(NONCE_BYTES)
    const named = boundOf(bound)
    const content = { ...named, value: value.reveal() }
    const sealed = seal({ key: this.#keys.value, nonce, bound: named }, content, VALUE_BLOCK)
    const entry = { ...named, nonce: nonce.toString('base64url'), sealed }
    return this.#of([...this.#others(bound), entry])
  }

  without(bound: Bound): SealedSecrets {
    return this.#of(this.#others(bound))
  }

  /** What to keep, as JSON: under a fresh nonce each time. */
  document(): object {
    const nonce = randomBytes(NONCE_BYTES)
    const header = { ...this.#header, nonce: nonce.toString('base64url') }
    const content = { entries: this.#entries }
    const sealed = seal({ key: this.#keys.whole, nonce, bound: header }, content, TEXT_BLOCK)
    const rest = { ...header, sealed }
    return { ...rest, sum: sha256(canonicalJson(rest)) }
  }

  #others(bound: Bound): readonly Entry[] {
    return this.#entries.filter((each) => !isSame(each, bound))
  }

  #of(entries: readonly Entry[]): SealedSecrets {
    return new SealedSecrets(this.#header, this.#keys, entries)
  }
}

/** Nothing yet, under this passphrase and a fresh salt. */
export async function newSealed(passphrase: Secret): Promise<SealedSecrets> {
  const header: Header = {
    format: 'headgate-secrets',
    version: VERSION,
    kdf: { name: 'argon2id', ...COST, salt: randomBytes(SALT_BYTES).toString('base64url') },
    nonce: randomBytes(NONCE_BYTES).toString('base64url'),
  }
  return new SealedSecrets(header, await keysOf(passphrase, header), [])
}

/** Throws SealError. Nothing of a damaged text is used, and no memory is taken for it. */
export async function openSealed(text: string, passphrase: Secret): Promise<SealedSecrets> {
  const { sealed, sum: _sum, ...header } = readSealed(text)
  const keys = await keysOf(passphrase, header)
  const nonce = Buffer.from(header.nonce, 'base64url')
  const opened = unseal({ key: keys.whole, nonce, bound: header }, sealed)
  // The sum was right, so these are the bytes that somebody wrote: with another passphrase, unless they changed both.
  if (opened === undefined) throw new SealError('passphrase')
  const read = textSchema.safeParse(opened)
  if (!read.success) throw new SealError('damaged')
  return new SealedSecrets(header, keys, read.data.entries)
}

const anySchema = z.looseObject({
  format: z.literal('headgate-secrets'),
  version: z.int(),
  sum: z.string(),
})

function readSealed(text: string): z.output<typeof sealedSchema> {
  let json: unknown
  try {
    json = text.length > MOST_CHARS ? undefined : parseJson(text)
  } catch {
    throw new SealError('damaged')
  }
  const any = anySchema.safeParse(json)
  if (!any.success) throw new SealError('damaged')
  const { sum, ...rest } = any.data
  if (sum !== sha256(canonicalJson(rest))) throw new SealError('damaged')
  if (rest.version !== VERSION) throw new SealError('newer')
  const read = sealedSchema.safeParse(json)
  if (!read.success) throw new SealError('damaged')
  return read.data
}
