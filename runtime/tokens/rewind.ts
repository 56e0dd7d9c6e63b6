/**
 * Puts the library's memory back to how it was when it had just been loaded. The library leaks with every call (some
 * 120 KB at depth 4) and its memory never shrinks, so it would be a fresh page for every few calls and a new worker
 * for every few hundred. Instead it gets room once, a copy of its whole memory is kept, and when the room runs low the
 * copy is written back: nothing grows, and nothing that a token left there outlives it.
 *
 * Only between two calls, when no object of the library is alive. What the library draws at random it would draw
 * again, so no key and no nonce may be made with a library that is rewound; ours come from `node:crypto`.
 */
import type { Biscuit, LibraryMemory } from './library.ts'

/** About forty verifications at depth 4, and then the largest token that there can be. */
const ROOM_BYTES = 8 * 1024 * 1024
/**
 * The library fills its room from above: it runs low when the part that is left is written to. One place there would
 * not tell, because a list that has grown once too often lies over it unwritten, so there is a mark at every step.
 */
const LEFT_BYTES = 3 * 1024 * 1024
const [MARK_BYTES, STEP_BYTES] = [4 * 1024, 32 * 1024]

export interface Rewind {
  /** Writes the copy back if the room has run low since; milliseconds then, so it belongs behind an answer. */
  rewindIfLow(): void
  /** The same in any case. */
  rewind(): void
}

/** Makes the room and takes the copy: to be called when the library has been loaded and not yet used. */
export function createRewind(biscuit: Biscuit, memory: LibraryMemory): Rewind {
  try {
    // A key of the wrong length is copied in, refused and freed, which leaves that much free.
    biscuit.PublicKey.fromBytes(new Uint8Array(ROOM_BYTES), biscuit.SignatureAlgorithm.Ed25519)
  } catch {
    // Refused, as meant.
  }
  const copy = Buffer.from(memory.buffer.slice(0))
  const from = copy.length - ROOM_BYTES
  const marks = Array.from({ length: LEFT_BYTES / STEP_BYTES }, (_, i) => from + i * STEP_BYTES)
  let size = copy.length
  const rewind = () => {
    const { buffer } = memory
    Buffer.from(buffer).set(copy)
    // What the calls needed beyond the room is lost to all, and counts until the worker is replaced.
    size = buffer.byteLength
  }
  const isLow = () => {
    if (memory.buffer.byteLength !== size) return true
    const now = Buffer.from(memory.buffer)
    return marks.some((at) => now.compare(copy, at, at + MARK_BYTES, at, at + MARK_BYTES) !== 0)
  }
  return {
    rewind,
    rewindIfLow() {
      if (isLow()) rewind()
    },
  }
}
