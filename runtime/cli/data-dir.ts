/**
 * The data folder: the store and the secrets of one gateway, made on the first start, readable by their owner
 * only. A secret that somebody else may read is refused rather than used. One process at a time holds a folder;
 * the lock is SQLite's own, so it ends with the process, however that ends.
 */

import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import type { GatewaySecrets } from '../compose.ts'
import { identifierSchema } from '../core/ids.ts'
import { parseJson } from '../core/json.ts'
import {
  type PrivateJwk,
  type PublishedRootKeys,
  privateJwkSchema,
  privateKeyOf,
  publicJwkOf,
  publicJwkSchema,
  publicKeyOf,
  thumbprint,
} from '../core/keys.ts'
import { type Seconds, secondsSchema } from '../core/time.ts'
import { Secret } from '../secrets/secret.ts'
import { Failure } from './failure.ts'
import {
  afterRotation,
  kidOf,
  type SigningKeyFile,
  signingKeySchema,
  signingKeysOf,
} from './signing-keys.ts'

export interface DataDir extends GatewaySecrets {
  readonly path: string
  readonly store: string
  /** Lets another process have the folder. */
  close(): void
}

const FILES = {
  store: 'headgate.db',
  checkpoints: 'checkpoints.ndjson',
  lock: 'lock.db',
  rootKey: 'root-key.json',
  runtimeSecret: 'runtime-secret',
  signingKey: 'signing-key.json',
  operatorToken: 'operator-token',
  server: 'server.json',
  identity: 'gateway.json',
  config: 'headgate.json',
  sealed: 'secrets.enc',
  sealedLock: 'secrets.lock',
  standIn: 'stand-in',
} as const

export const dataFile = (path: string, name: keyof typeof FILES): string => join(path, FILES[name])

const rootIdSchema = z.number().int().min(0).max(0xffff_ffff)

/** Older keys that a file holds; the published document has room for as many and the current one. */
const OLDER_KEYS = 999

const rootKeySchema = z.strictObject({
  id: rootIdSchema,
  key: privateJwkSchema,
  /** Older keys, the newest first; what was private of them is gone. */
  retiring: z
    .array(
      z.strictObject({ id: rootIdSchema, key: publicJwkSchema, retiresAtSeconds: secondsSchema }),
    )
    .max(OLDER_KEYS)
    .optional(),
})
export type RootKeyFile = z.infer<typeof rootKeySchema>

const SECRET = /^[A-Za-z0-9_-]{43}$/

const bundleSchema = z.strictObject({
  root: rootKeySchema,
  runtimeSecret: z.string().regex(SECRET),
  signing: signingKeySchema,
  operatorToken: z.string().regex(SECRET),
})

/** All secrets of a data folder in one document: what instances without a disk of their own are given. */
export type Bundle = z.infer<typeof bundleSchema>

/** The secrets of a bundle's text. Throws Failure. */
export function secretsOfBundle(text: string): GatewaySecrets {
  const where = 'HEADGATE_SECRETS'
  let bundle: Bundle
  try {
    bundle = bundleSchema.parse(parseJson(text))
  } catch {
    throw new Failure(
      'dataFolder',
      `${where} is wrong: expected what \`headgate keys bundle\` wrote`,
    )
  }
  return secretsOf(bundle, { root: where, signing: where })
}

/** Opens a data folder, making what is missing, and holds it until `close`. Throws Failure. */
export function openDataDir(path: string): DataDir {
  makeFolder(path)
  const lock = takeLock(dataFile(path, 'lock'))
  try {
    const store = dataFile(path, 'store')
    makePrivate(store)
    return { path, ...readSecrets(path), store, close: () => lock.close() }
  } catch (error) {
    lock.close()
    throw error
  }
}

/** The secrets of a data folder that is held, made where they are missing. Throws Failure. */
export function readBundle(path: string): Bundle {
  return {
    root: readRootKeys(path),
    runtimeSecret: readSecretFile(dataFile(path, 'runtimeSecret')),
    signing: readSigningKeys(path),
    operatorToken: readSecretFile(dataFile(path, 'operatorToken')),
  }
}

const readSecrets = (path: string): GatewaySecrets =>
  secretsOf(readBundle(path), {
    root: dataFile(path, 'rootKey'),
    signing: dataFile(path, 'signingKey'),
  })

function secretsOf(
  { root, runtimeSecret, signing, operatorToken }: Bundle,
  where: { readonly root: string; readonly signing: string },
): GatewaySecrets {
  const { key: own, before } = signingKeysOf(signing)
  return {
    root: { id: root.id, key: ed25519(root.key, where.root) },
    retiring: (root.retiring ?? []).map(({ id, key, retiresAtSeconds }) => {
      return { id, publicKey: publicKeyOf(key), retiresAtSeconds }
    }),
    runtimeSecret: Buffer.from(runtimeSecret, 'base64url'),
    signing: { kid: kidOf(own), key: ed25519(own, where.signing), before },
    operatorToken: new Secret(operatorToken),
  }
}

const readSigningKeys = (path: string): SigningKeyFile =>
  readKeyFile(dataFile(path, 'signingKey'), signingKeySchema, newPrivateJwk)

/**
 * Puts a new signing key in the place of the current one, whose public half stays published: what it signed is good for as
 * long as anybody keeps it. The folder must be held. Throws Failure. Returns both ids, the new one first.
 */
export function rotateSigningKey(path: string): readonly [string, string] {
  const old = readSigningKeys(path)
  const next = afterRotation(old, newPrivateJwk())
  replaceFile(dataFile(path, 'signingKey'), next)
  return [kidOf(next.key), kidOf(signingKeysOf(old).key)]
}

/** The root keys of a data folder, made if there are none. */
function readRootKeys(path: string): RootKeyFile {
  return readKeyFile(dataFile(path, 'rootKey'), rootKeySchema, () => {
    return { id: 1, key: newPrivateJwk() }
  })
}

/**
 * Puts a new root key in the place of the current one, whose public half stays until `retiresAtSeconds`. The folder must
 * be held, because a gateway reads its keys once. Where the file is full the oldest key ends: a key that was stolen can
 * always be replaced. Throws Failure.
 */
export function rotateRootKey(path: string, retiresAtSeconds: Seconds): RootKeyFile {
  const { id, key, retiring = [] } = readRootKeys(path)
  // Whoever shortens a grace means it for all older keys too.
  const older = retiring.map((each) => {
    return { ...each, retiresAtSeconds: earlier(each.retiresAtSeconds, retiresAtSeconds) }
  })
  const old = [{ id, key: publicJwkOf(key), retiresAtSeconds }, ...older]
  const next = rootKeySchema.safeParse({
    id: Math.max(...old.map((each) => each.id)) + 1,
    key: newPrivateJwk(),
    retiring: old.slice(0, OLDER_KEYS),
  })
  const file = dataFile(path, 'rootKey')
  if (!next.success) {
    throw new Failure('dataFolder', `${file} leaves no id for another key: expected ids of 32 bits`)
  }
  replaceFile(file, next.data)
  return next.data
}

const earlier = (a: Seconds, b: Seconds): Seconds => (a < b ? a : b)

/** The root keys of a data folder as they are published, for the command line; the folder is not held. */
export function readRootRing(path: string): PublishedRootKeys {
  const file = dataFile(path, 'rootKey')
  if (readPrivate(file) === undefined) {
    throw new Failure('dataFolder', `there is no root key in ${path}: expected --data DIR`)
  }
  const { id, key, retiring = [] } = readRootKeys(path)
  return {
    current: id,
    keys: [
      { id, jwk: publicJwkOf(key) },
      ...retiring.map((old) => ({ id: old.id, jwk: old.key, retiresAt: old.retiresAtSeconds })),
    ],
  }
}

/** The operator token of a data folder, for the command line; the folder is not held. */
export function readOperatorToken(path: string): Secret {
  const token = readPrivate(dataFile(path, 'operatorToken'))?.trim()
  if (token === undefined) {
    throw new Failure(
      'dataFolder',
      `there is no gateway in ${path}: expected --data DIR of a started one`,
    )
  }
  return new Secret(token)
}

const identitySchema = z.strictObject({ organisation: identifierSchema, gateway: identifierSchema })

/** Whose store a data folder holds: written by the gateway that serves it, for the auditor who comes later. */
export type Identity = z.infer<typeof identitySchema>

/** Throws Failure where the folder is another organisation's: its runs would be out of sight, to its auditor too. */
export function writeIdentity(path: string, identity: Identity): void {
  const before = identityIn(path)
  if (before !== undefined && before.organisation !== identity.organisation) {
    throw new Failure(
      'dataFolder',
      'the data folder is another organisation’s: expected the `organisation` that it was made for, or another --data DIR',
    )
  }
  replaceFile(dataFile(path, 'identity'), identity)
}

function identityIn(path: string): Identity | undefined {
  const text = readPrivate(dataFile(path, 'identity'))
  return text === undefined ? undefined : identitySchema.safeParse(parseJson(text)).data
}

export function readIdentity(path: string): Identity {
  const identity = identityIn(path)
  if (identity !== undefined) return identity
  throw new Failure(
    'dataFolder',
    `there is no gateway in ${path}: expected --data DIR of a started one`,
  )
}

/** Writes JSON in one step, so that nobody reads half of it. */
export function replaceFile(file: string, value: object): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  writeWhole(draft, `${JSON.stringify(value)}\n`)
  renameSync(draft, file)
  // The name is kept by the folder: without this a power cut may bring the old file back.
  const folder = openSync(dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** A fresh Ed25519 private key as a JWK with its thumbprint as `kid`. */
export function newPrivateJwk(): PrivateJwk {
  const { privateKey } = generateKeyPairSync('ed25519')
  const jwk = privateJwkSchema.parse(privateKey.export({ format: 'jwk' }))
  return { ...jwk, kid: thumbprint(publicJwkOf(jwk)) }
}

function ed25519(jwk: PrivateJwk, file: string): KeyObject {
  if (jwk.crv !== 'Ed25519')
    throw new Failure('dataFolder', `${file} is wrong: expected an Ed25519 key`)
  return privateKeyOf(jwk)
}

function readKeyFile<T>(file: string, schema: z.ZodType<T>, make: () => T): T {
  const text = readPrivate(file) ?? create(file, `${JSON.stringify(make())}\n`)
  try {
    return schema.parse(parseJson(text))
  } catch {
    throw new Failure('dataFolder', `${file} is wrong: expected the key that headgate wrote there`)
  }
}

function readSecretFile(file: string): string {
  const text = readPrivate(file) ?? create(file, `${randomBytes(32).toString('base64url')}\n`)
  const secret = text.trim()
  if (SECRET.test(secret)) return secret
  throw new Failure('dataFolder', `${file} is wrong: expected 32 bytes in base64url`)
}

/** Undefined when there is no such file. Refuses one that its group or others may read. */
export function readPrivate(file: string): string | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    if ((statSync(file).mode & 0o077) === 0) return text
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unusable(file, error)
  }
  throw new Failure('dataFolder', `${file} may be read by others: expected mode 0600`)
}

/** Writes a whole file or none: a crash never leaves half a key. Whoever was first wins. */
function create(file: string, text: string): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    writeWhole(draft, text)
    linkSync(draft, file)
    return text
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return readFileSync(file, 'utf8')
    throw unusable(file, error)
  } finally {
    rmSync(draft, { force: true })
  }
}

function writeWhole(file: string, text: string): void {
  const fd = openSync(file, 'wx', 0o600)
  try {
    fchmodSync(fd, 0o600)
    writeSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const probe = join(path, `.writable.${randomBytes(6).toString('hex')}`)
    writeWhole(probe, '')
    rmSync(probe)
  } catch (error) {
    throw unusable(path, error)
  }
}

/** SQLite keeps the mode of a file that it finds, and gives its write-ahead log the same. */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'a', 0o600))
  } catch (error) {
    throw unusable(file, error)
  }
}

/** Held by an open exclusive transaction: the operating system lets go of it when the process dies. */
export function takeLock(file: string): DatabaseSync {
  makePrivate(file)
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db.close()
    const busy = error instanceof Error && /locked|busy/i.test(error.message)
    if (!busy) throw unusable(file, error)
    throw new Failure('dataInUse', 'another headgate process is using this data folder', {
      cause: error,
    })
  }
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined

const unusable = (path: string, cause: unknown): Failure =>
  new Failure(
    'dataFolder',
    `the data folder cannot be used: ${path} (${codeOf(cause) ?? 'failed'})`,
    {
      cause,
    },
  )
