/**
 * Reading an answer of somebody who may be no gateway at all: in pieces, up to a limit, and no longer than the call's
 * deadline, however slowly they come and whatever they grow to once they are unpacked.
 */
import { JsonError, parseJson } from '../core/json.ts'

export type AnswerBody = AsyncIterable<Uint8Array> | null

/** The bytes of an answer, or `too_large` as soon as there are more than `most`. Rejects when `signal` ends the call. */
export async function readBytes(
  body: AnswerBody,
  most: number,
  signal: AbortSignal,
): Promise<Uint8Array | 'too_large'> {
  const pieces = body?.[Symbol.asyncIterator]()
  if (pieces === undefined) return new Uint8Array()
  const { ended, forget } = endOf(signal)
  const read: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await Promise.race([pieces.next(), ended])
      if (done) return Buffer.concat(read, size)
      size += value.byteLength
      if (size > most) return 'too_large'
      read.push(value)
    }
  } finally {
    forget()
    // Lets go of the connection; who does not want to be let go of is not waited for.
    pieces.return?.().catch(() => {})
  }
}

/** A promise that is rejected when the signal says so, and how to stop listening. */
function endOf(signal: AbortSignal): { ended: Promise<never>; forget: () => void } {
  let forget = () => {}
  const ended = new Promise<never>((_, reject) => {
    const end = () => reject(signal.reason)
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    forget = () => signal.removeEventListener('abort', end)
  })
  // It may end after everything was read.
  ended.catch(() => {})
  return { ended, forget }
}

/** The JSON value of an answer, or undefined where its bytes are none that `parseJson` accepts. */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}
