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

/** About sixty verifications at depth 4, or one of the largest token that there can be. */
const ROOM_BYTES = 8 * 1024 * 1024
/** The room is filled from below: it runs low when the part that begins at three quarters is written to. */
const MARK_BYTES = 64 * 1024
const MARK_FROM_END = ROOM_BYTES / 4

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
  const from = copy.length - MARK_FROM_END
  const mark = copy.subarray(from, from + MARK_BYTES)
  let size = copy.length
  const rewind = () => {
    const { buffer } = memory
    Buffer.from(buffer).set(copy)
    // What the calls needed beyond the room is lost to all, and counts until the worker is replaced.
    size = buffer.byteLength
  }
  const isLow = () =>
    memory.buffer.byteLength !== size || !Buffer.from(memory.buffer, from, MARK_BYTES).equals(mark)
  return {
    rewind,
    rewindIfLow() {
      if (isLow()) rewind()
    },
  }
}
