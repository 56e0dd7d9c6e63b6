/**
 * One payment, from the request to its receipt, as one page: checks 1 to 7, or the recorded answer if there is one; one
 * transaction that reserves (8); the monitor (9); one that submits; the rail; and one that records its word. Without a
 * monitor the first two transactions are one. Invariants: the rail is called only by the attempt whose nonce is durably
 * stored, after `submitted` was committed, and never inside a transaction; whatever throws is a fault and never a verdict;
 * a fault after the rail was called leaves the payment submitted, for the reconciler.
 */
import { deny } from '../core/codes.ts'
import { freshId } from '../core/ids.ts'
import { nowSeconds } from '../core/time.ts'
import { type Answer, inFlightAnswer } from './answers.ts'
import type { RawRequest } from './attempt.ts'
import { payOrDraw } from './authorisations.ts'
import type { Gate } from './gate.ts'
import { type Caller, unauthenticated } from './identify.ts'
import { type Errand, judged } from './judged.ts'
import { recordOutcome } from './outcome.ts'
import type { Purchase } from './purchase.ts'
import { mayCallRail } from './rail.ts'
import { refusePayment } from './refuse.ts'
import { answerOf, isAnswered, replay } from './replay.ts'
import { reserve } from './reserve.ts'
import { monitorThenSubmit } from './submit.ts'

const PAYING: Errand = { refuse: refusePayment, replay }

/** `POST /payments`: a leaf presents its quote. */
export async function pay(gate: Gate, raw: RawRequest): Promise<Answer> {
  const soFar = await judged(gate, raw, PAYING)
  if ('answer' in soFar) return soFar.answer
  const { caller, purchase, decision, approval } = soFar
  const { attempt, trial } = caller
  const { payment } = purchase

  const nonce = freshId()
  const submit = gate.watch ? {} : { submitNonce: nonce }
  const reserved = await reserve(gate, caller, { purchase, decision, approval, ...submit })
  if (reserved.kind === 'proof_replayed') return unauthenticated(gate, 'proof_replayed')
  if (reserved.kind === 'overtaken') return overtaken(gate, caller, purchase)
  const funds = reserved.kind === 'refused' ? reserved.funds : reserved
  const facts = { ...soFar.facts, funds }
  const unfunded = trial.judge('funds', attempt, facts)
  if (unfunded) return refusePayment(gate, caller, { payment, denial: unfunded, purchase })
  if (reserved.kind === 'refused') {
    // Even where check 8 was composed away: without a reservation there is nothing to pay with.
    const denial = trial.refuse(deny('insufficient'))
    return refusePayment(gate, caller, { payment, denial, purchase })
  }

  const submitted = gate.watch
    ? await monitorThenSubmit(gate, caller, { purchase, facts, nonce })
    : { payment: reserved.payment }
  if ('answer' in submitted) return submitted.answer
  gate.verdicts.add('allow', 'none')

  if (!mayCallRail(gate, submitted.payment, nonce)) return inFlightAnswer(submitted.payment)
  const outcome = await payOrDraw(gate, submitted.payment)
  const ended = await recordOutcome(gate, submitted.payment, outcome, nowSeconds(gate.clock))
  return answerOf(gate, caller.snapshot.run, ended)
}

/** Another attempt at this payment came further between our snapshot and our transaction. */
async function overtaken(gate: Gate, caller: Caller<unknown>, purchase: Purchase): Promise<Answer> {
  const { payment } = purchase
  const found = await gate.ledger.payment(payment)
  if (found !== undefined && isAnswered(found)) return replay(gate, caller, found)
  const code = found === undefined ? 'quote_mismatch' : 'duplicate'
  return refusePayment(gate, caller, { payment, denial: caller.trial.refuse(deny(code)), purchase })
}
