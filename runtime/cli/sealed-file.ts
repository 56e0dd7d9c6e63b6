/** The file of secrets in a data folder: read whole, written whole, changed by one process at a time. */
import { resolveOwn } from '../secrets/resolve.ts'
import { openSealed, type SealedSecrets } from '../secrets/sealed.ts'
import { Secret } from '../secrets/secret.ts'
import { createSecretManager } from '../secrets/secret-manager.ts'
import { dataFile, makeFolder, readPrivate, replaceFile, takeLock } from './data-dir.ts'
import { Failure } from './failure.ts'
import type { Io } from './io.ts'

/** Shorter ones are found by trying, whatever the derivation costs. */
export const LEAST_PASSPHRASE = 12

const file = (path: string): string => dataFile(path, 'sealed')

export const isSealedThere = (path: string): boolean => readPrivate(file(path)) !== undefined

/** What the environment says, or a person at the terminal; on stdin where a script may be meant. Throws Failure. */
export async function askPassphrase(io: Io, from: 'terminal' | 'stdin'): Promise<Secret> {
  const secretManager = createSecretManager()
  const own = await resolveOwn('HEADGATE_PASSPHRASE', {
    given: io.environment.credentials,
    secretManager: () => secretManager,
  }).finally(() => secretManager.close())
  const passphrase = own ?? (await askFor(io, 'passphrase of the file of secrets: ', from))
  if (passphrase !== undefined) return passphrase
  throw new Failure(
    'passphrase',
    'the file of secrets needs its passphrase: expected HEADGATE_PASSPHRASE_FILE, or somebody at a terminal',
  )
}

/** Undefined where nothing is typed. */
export async function askFor(
  io: Io,
  question: string,
  from: 'terminal' | 'stdin',
): Promise<Secret | undefined> {
  const typed = await io.askSecret(question, from)
  return typed === undefined || typed === '' ? undefined : new Secret(typed)
}

/** Throws Failure where there is none, SealError where it does not open. */
export async function openSealedFile(path: string, passphrase: Secret): Promise<SealedSecrets> {
  const text = readPrivate(file(path))
  if (text === undefined) {
    throw new Failure(
      'dataFolder',
      `there is no file of secrets in ${path}: make one with \`headgate secrets init\``,
    )
  }
  return openSealed(text, passphrase)
}

/**
 * Writes what `change` makes of the file, or leaves it as it was: a crash or a failure loses nothing. Whoever else
 * changes it meanwhile is told to wait. A gateway that serves may go on, and reads it at its next start.
 */
export async function changeSealedFile(
  path: string,
  change: () => Promise<SealedSecrets>,
): Promise<SealedSecrets> {
  makeFolder(path)
  const lock = takeLock(dataFile(path, 'sealedLock'))
  try {
    const changed = await change()
    replaceFile(file(path), changed.document())
    return changed
  } finally {
    lock.close()
  }
}
