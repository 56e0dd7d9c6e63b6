/**
 * Room in the library's memory ahead of need. It leaks with every call, so its memory grows a page at a time, and V8
 * runs a full collection for nearly every such step because the whole memory counts again: that tripled the cost of a
 * call. A block that is asked for and given back at once makes one step of a hundred.
 */
import type { Biscuit } from '../../../runtime/tokens/library.ts'

/** About a hundred authorisations at depth 4. */
const STEP_BYTES = 8 * 1024 * 1024

export interface Reserve {
  /** Makes room again if the last room is used up; takes milliseconds then, so it belongs behind an answer. */
  refill(): void
}

/** `memoryBytes` is the library's memory now; it never shrinks. */
export function createReserve(biscuit: Biscuit, memoryBytes: () => number): Reserve {
  const block = new Uint8Array(STEP_BYTES)
  let reserved = 0
  return {
    refill() {
      if (memoryBytes() === reserved) return
      try {
        // A key of the wrong length: copied in, refused and freed.
        biscuit.PublicKey.fromBytes(block, biscuit.SignatureAlgorithm.Ed25519)
      } catch {
        reserved = memoryBytes()
      }
    },
  }
}
