/** A ledger's refusal where none of that kind can be an answer: something on our side is not as it should be. */
import { Fault } from '../core/errors.ts'
import type { CommandName, LedgerRefusal } from '../core/ledger.ts'

export function unexpected(command: CommandName, code: LedgerRefusal): Fault {
  if (code === 'proofs_full') {
    return new Fault('store_unavailable', 'no more proofs can be remembered now')
  }
  return new Fault('internal', `the ledger refused ${command} with ${code}`)
}
