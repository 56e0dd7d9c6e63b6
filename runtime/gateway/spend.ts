/** Using up a proof with a note of what it was used for, where no other command records the verdict. */
import type { Note } from '../core/ledger.ts'
import { nowSeconds } from '../core/time.ts'
import type { Gate } from './gate.ts'
import type { Caller } from './identify.ts'
import { unexpected } from './unexpected.ts'

/** False if the proof was used before; then nothing was written and nothing may be answered. */
export async function spendProof(
  gate: Gate,
  { proof }: Caller<unknown>,
  note: Pick<Note, 'stream' | 'type' | 'data'>,
): Promise<boolean> {
  const now = nowSeconds(gate.clock)
  const result = await gate.ledger.execute('note', { ...note, proof, now })
  if (result.ok) return true
  if (result.code === 'proof_replayed') return false
  throw unexpected('note', result.code)
}
