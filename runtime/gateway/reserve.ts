/** Check 8 at work: the one transaction that judges again, counts, claims, uses up the proof and sets money aside. */
import type { Denial } from '../core/codes.ts'
import type { Reserve, Result } from '../core/ledger.ts'
import type { HoldRecord, PaymentRecord } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import { denialAt } from './counters.ts'
import type { FundsFacts, PolicyFacts } from './facts.ts'
import type { Gate } from './gate.ts'
import type { Caller } from './identify.ts'
import {
  countersFor,
  isOverPerPayment,
  type Purchase,
  paymentRecord,
  whatExpired,
} from './purchase.ts'
import { unexpected } from './unexpected.ts'

export type Reserved =
  | { readonly kind: 'reserved'; readonly payment: PaymentRecord }
  | { readonly kind: 'refused'; readonly funds: FundsFacts }
  | { readonly kind: 'proof_replayed' }
  /** Another attempt at this payment has come further. */
  | { readonly kind: 'overtaken' }

interface ToReserve {
  readonly purchase: Purchase
  readonly decision: PolicyFacts['decision']
  readonly approval: HoldRecord | undefined
  /** Given when no monitor is asked: reserved and submitted are then one step. */
  readonly submitNonce?: string
}

/** Reserves, or says why not; the proof is used up only by a reservation. Throws Fault. */
export async function reserve(
  gate: Gate,
  caller: Caller<unknown>,
  wanted: ToReserve,
): Promise<Reserved> {
  const { purchase, decision, approval, submitNonce: nonce } = wanted
  if (isOverPerPayment(purchase)) {
    return { kind: 'refused', funds: { kind: 'refused', why: 'per_payment' } }
  }
  const now = nowSeconds(gate.clock)
  const { bounds } = decision
  const uses = countersFor(caller, purchase, { bounds, approved: approval !== undefined, now })
  const payment = paymentRecord(gate, caller, purchase, {
    checks: caller.trial.results(
      nonce === undefined ? { funds: 'passed' } : { funds: 'passed', monitor: 'not-applicable' },
    ),
    counters: [...new Set(uses.map(({ use }) => use.key))],
    createdAtSeconds: now,
  })
  const result = await gate.ledger.execute('reserve', {
    payment,
    path: caller.snapshot.path.map(({ id }) => id),
    expiresAtSeconds: purchase.expiresAtSeconds,
    proof: caller.proof,
    counters: uses.map(({ use }) => use),
    ...(approval === undefined ? {} : { approval: { hold: approval.id, digest: approval.digest } }),
    ...(nonce === undefined ? {} : { submit: { nonce, nowMs: gate.clock.nowMs() } }),
    now,
  } satisfies Reserve)
  return reservedOf(result, purchase, (counter) => denialAt(uses, counter))
}

/** Sorts the ledger's word: what check 8 judges, what is no verdict at all, and what is a fault. */
function reservedOf(
  result: Result<{ readonly payment: PaymentRecord }>,
  purchase: Purchase,
  counted: (counter: string | undefined) => Denial,
): Reserved {
  if (result.ok) return { kind: 'reserved', payment: result.payment }
  const refused = (funds: FundsFacts): Reserved => ({ kind: 'refused', funds })
  switch (result.code) {
    case 'proof_replayed':
      return { kind: 'proof_replayed' }
    case 'conflict':
      return { kind: 'overtaken' }
    case 'counter':
      return refused({ kind: 'counted_out', denial: counted(result.counter) })
    case 'expired':
      return refused({ kind: 'refused', why: whatExpired(purchase) })
    case 'insufficient':
    case 'frozen':
    case 'revoked':
    case 'run_closed':
    case 'quote_spent':
    case 'stale':
      return refused({ kind: 'refused', why: result.code })
    case 'not_found':
    case 'node_limit':
    case 'fan_out':
    case 'proofs_full':
    case 'hold_limit':
    case 'same_operator':
    case 'run_live':
    case 'money_waiting':
      throw unexpected('reserve', result.code)
  }
}
