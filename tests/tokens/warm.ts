/** The token library in this process, warm: a cold one overruns its time limit. */
import { createCanary, warmUp } from '../../runtime/tokens/canary.ts'
import { loadBiscuit } from '../../runtime/tokens/library.ts'
import { RING, ROOT_ID } from './fixtures.ts'

export const biscuit = await loadBiscuit()
warmUp(biscuit, createCanary())

/** The root key of the fixtures as the library has it. */
export const rootPublicKey = () =>
  biscuit.PublicKey.fromBytes(RING.get(ROOT_ID) ?? new Uint8Array(), 0)
