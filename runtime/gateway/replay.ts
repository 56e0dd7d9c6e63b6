/**
 * A payment that was submitted is its own answer, for ever: it is told again and never reaches the rail a second
 * time. Only the holder of its leaf gets here, with a proof that this telling uses up.
 */

import { receiptOf } from '../audit/receipts.ts'
import type { PaymentRecord, RunRecord } from '../core/records.ts'
import { type Answer, allowedAnswer, inFlightAnswer } from './answers.ts'
import type { Gate } from './gate.ts'
import { type Caller, unauthenticated } from './identify.ts'
import { spendProof } from './spend.ts'

/** Submitted or later: an attempt that never came so far is no answer and may be made again. */
export const isAnswered = ({ nonce }: PaymentRecord): boolean => nonce !== undefined

/** Tells the recorded answer to a new attempt at the same payment. */
export async function replay(
  gate: Gate,
  caller: Caller<unknown>,
  payment: PaymentRecord,
): Promise<Answer> {
  // In the gateway's stream: however often it is asked, the leaf's own chain ends with its payment.
  const data = { act: 'replayed', payment: payment.id, state: payment.state }
  const isFresh = await spendProof(gate, caller, { stream: 'gateway', type: 'read', data })
  if (!isFresh) return unauthenticated(gate, 'proof_replayed')
  return answerOf(gate, caller.snapshot.run, payment, true)
}

/** What a submitted payment's state says. */
export function answerOf(
  gate: Gate,
  run: RunRecord,
  payment: PaymentRecord,
  replayed = false,
): Answer {
  switch (payment.state) {
    case 'reserved':
    case 'submitted':
      return inFlightAnswer(payment)
    case 'settled':
      return allowedAnswer(payment, { receipt: receiptOf(run, payment, gate.signer), replayed })
    case 'released':
    case 'unknown':
      return allowedAnswer(payment, { replayed })
  }
}
