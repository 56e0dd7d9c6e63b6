/**
 * Check 9 and what follows from it: the monitor is asked outside any transaction, with the money already set aside; then
 * one transaction judges the standing once more and makes the payment submitted. Whatever stands in the way gives
 * the money back first and is recorded after.
 */
import { type Denial, deny } from '../core/codes.ts'
import { Fault } from '../core/errors.ts'
import type { MonitorWord } from '../core/judges.ts'
import type { LedgerRefusal } from '../core/ledger.ts'
import type { PaymentRecord } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import { type Answer, inFlightAnswer } from './answers.ts'
import type { Facts } from './facts.ts'
import type { Gate } from './gate.ts'
import type { Caller } from './identify.ts'
import { type Purchase, whatExpired } from './purchase.ts'
import { refusePayment, secondRecord } from './refuse.ts'
import { answerOf, isAnswered } from './replay.ts'
import { unexpected } from './unexpected.ts'
import { watched, wordOf } from './watch.ts'

export type Submitted = { readonly payment: PaymentRecord } | { readonly answer: Answer }

interface Step {
  readonly purchase: Purchase
  readonly facts: Facts
  readonly nonce: string
}

/** From reserved to submitted, or the answer of whatever stood in the way. Throws Fault. */
export async function monitorThenSubmit(
  gate: Gate,
  caller: Caller<unknown>,
  { purchase, facts, nonce }: Step,
): Promise<Submitted> {
  const { attempt, trial, snapshot } = caller
  const monitor = gate.watch ? await watched(gate, gate.watch, { caller, purchase }) : 'none'
  const said = monitor === 'none' ? {} : { monitor: wordOf(monitor) }
  const objection = trial.judge('monitor', attempt, { ...facts, monitor })
  if (objection)
    return { answer: await giveBack(gate, caller, { purchase, denial: objection, said }) }
  const result = await gate.ledger.execute('submit', {
    payment: purchase.payment,
    path: snapshot.path.map(({ id }) => id),
    expiresAtSeconds: purchase.expiresAtSeconds,
    nonce,
    nowMs: gate.clock.nowMs(),
    checks: trial.results(),
    ...said,
    now: nowSeconds(gate.clock),
  })
  if (result.ok) return { payment: result.payment }
  const denial = stopped(result.code, purchase)
  if (denial === undefined) return { answer: await overtaken(gate, caller, purchase) }
  return { answer: await giveBack(gate, caller, { purchase, denial: trial.refuse(denial), said }) }
}

/** What stopped the submit; undefined when another attempt was simply faster. */
function stopped(code: LedgerRefusal, purchase: Purchase): Denial | undefined {
  switch (code) {
    case 'expired':
      return deny(whatExpired(purchase))
    case 'frozen':
    case 'revoked':
    case 'run_closed':
      return deny(code)
    case 'conflict':
      return undefined
    default:
      throw unexpected('submit', code)
  }
}

interface Stopped {
  readonly purchase: Purchase
  readonly denial: Denial
  readonly said: { readonly monitor?: MonitorWord }
}

async function giveBack(
  gate: Gate,
  caller: Caller<unknown>,
  { purchase, denial, said }: Stopped,
): Promise<Answer> {
  const { payment } = purchase
  const now = nowSeconds(gate.clock)
  const released = await gate.ledger.execute('release', {
    ...{ payment, from: 'reserved', reason: denial.code, now },
    ...said,
  })
  if (!released.ok && released.code === 'conflict') return overtaken(gate, caller, purchase)
  if (!released.ok) throw unexpected('release', released.code)
  return refusePayment(gate, secondRecord(gate, caller), { payment, denial, purchase })
}

/** Another attempt at the same payment has the say; this one’s proof was used up by its reservation. */
async function overtaken(
  gate: Gate,
  { snapshot }: Caller<unknown>,
  { payment }: Purchase,
): Promise<Answer> {
  const found = await gate.ledger.payment(payment)
  if (found === undefined) {
    throw new Fault('ledger_corrupt', 'a payment that was reserved is missing')
  }
  return isAnswered(found) ? answerOf(gate, snapshot.run, found, true) : inFlightAnswer(found)
}
