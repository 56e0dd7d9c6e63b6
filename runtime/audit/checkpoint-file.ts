/**
 * The file of checkpoints, outside the store: one line of JSON for each, only ever appended to, each on the disk before
 * the next. A power cut may tear the last line, and what is torn is no line; the next one begins behind it.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../core/errors.ts'

/** Where checkpoints are kept, outside the store: only ever appended to. Each method throws Fault. */
export interface CheckpointFile {
  /** Makes it where there is none; throws unless lines can be added to it. */
  make(): Promise<void>
  /** Durable before this resolves. */
  append(jws: string): Promise<void>
  /**
   * The last line's JWS, its signature not checked; undefined where there is no file or no line. Absent where others
   * keep what is appended, and nothing can be read at a start.
   */
  last?(): Promise<string | undefined>
}

/** The file of this name. */
export const checkpointFile = (path: string): CheckpointFile => ({
  make: () => makeCheckpointFile(path),
  append: (jws) => appendCheckpoint(path, jws),
  last: () => lastCheckpointIn(path),
})

/** A log that others collect and keep. */
export const checkpointLog = (write: (jws: string) => void): CheckpointFile => ({
  make: async () => undefined,
  append: async (jws) => write(jws),
})

/** More than two of the longest lines there can be. */
const TAIL_BYTES = 4 * 1024 * 1024

const LINE = /^\{"checkpoint":"([A-Za-z0-9_.-]+)"\}$/

/** What the beginning of a line looks like; a file system may have made the rest of it zeros. */
const TORN = /^(\{"checkpoint":"[A-Za-z0-9_.-]*("\}?)?|\{[a-z":]{0,14})?\0*$/

const STRANGE =
  'the file of checkpoints ends with something else: expected lines that headgate wrote'

/** The last line's JWS, its signature not checked; undefined where there is no file or no line. Throws Fault. */
export async function lastCheckpointIn(path: string): Promise<string | undefined> {
  for (const line of (await tailOf(path)).split('\n').reverse()) {
    const jws = LINE.exec(line)?.[1]
    if (jws !== undefined) return jws
    if (!TORN.test(line)) throw new Fault('ledger_corrupt', STRANGE, { retryable: false })
  }
  return undefined
}

async function tailOf(path: string): Promise<string> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return ''
    throw unusable(cause)
  }
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - TAIL_BYTES)
    const bytes = Buffer.alloc(size - from)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
    const text = bytes.toString('latin1', 0, bytesRead)
    return from === 0 ? text : text.slice(text.indexOf('\n') + 1)
  } catch (cause) {
    throw unusable(cause)
  } finally {
    await file.close()
  }
}

/** Appends one line, made durable before this resolves. A new file is readable by its owner alone. Throws Fault. */
export async function appendCheckpoint(path: string, jws: string): Promise<void> {
  await using(path, async (file) => {
    const { size } = await file.stat()
    const last = Buffer.alloc(1)
    if (size > 0) await file.read(last, 0, 1, size - 1)
    const isWhole = size === 0 || last.toString() === '\n'
    await file.appendFile(`${isWhole ? '' : '\n'}{"checkpoint":"${jws}"}\n`)
    await file.sync()
  })
}

/** Makes the file where there is none, and throws Fault unless lines can be added to it. */
async function makeCheckpointFile(path: string): Promise<void> {
  await using(path, (file) => file.sync())
  try {
    // The name is kept by the folder.
    const folder = await open(dirname(path), 'r')
    await folder.sync().finally(() => folder.close())
  } catch (cause) {
    throw unusable(cause)
  }
}

async function using(path: string, act: (file: FileHandle) => Promise<void>): Promise<void> {
  try {
    const file = await open(path, 'a+', 0o600)
    await act(file).finally(() => file.close())
  } catch (cause) {
    throw unusable(cause)
  }
}

const unusable = (cause: unknown): Fault =>
  new Fault('store_unavailable', 'expected a file for checkpoints that can be read and written', {
    cause,
  })
