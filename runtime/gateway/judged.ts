/**
 * Checks 1 to 7 of one presented quote: who asks, what is recorded of this payment already, and what the checks say on a
 * snapshot. A payment and a decision without one come through here alike, so that what the one is told holds of the
 * other; they differ in what they do with a refusal, with an answer that is there, and afterwards. Nothing here writes.
 */
import { type Denial, deny } from '../core/codes.ts'
import { type PaymentId, paymentIdOf } from '../core/ids.ts'
import type { PolicyDecision } from '../core/judges.ts'
import type { SnapshotRequest } from '../core/ledger.ts'
import { type ReadQuote, readQuote } from '../core/quote.ts'
import type { HoldRecord, PaymentRecord } from '../core/records.ts'
import { paymentBody } from '../core/wire.ts'
import type { Answer } from './answers.ts'
import type { Parsed, RawRequest } from './attempt.ts'
import { countersToRead } from './counters.ts'
import type { Facts } from './facts.ts'
import type { Gate } from './gate.ts'
import { type Caller, type Identified, identify, unauthenticated } from './identify.ts'
import { parseRequest } from './parse.ts'
import { approvalFor, type Purchase, purchaseOf, quoteFacts } from './purchase.ts'
import { isAnswered } from './replay.ts'

export interface Refused {
  readonly payment: PaymentId
  readonly denial: Denial
  /** Known from check 7 on. */
  readonly purchase?: Purchase
}

/** What the caller came for, where it shows. */
export interface Errand {
  /** Counters that this errand has besides those of the rules. */
  readonly counters?: (node: SnapshotRequest['node']) => readonly string[]
  /** Turns a known caller away before anything is judged. */
  readonly admit?: (gate: Gate, caller: Caller<unknown>) => Answer | undefined
  readonly refuse: (gate: Gate, caller: Caller<unknown>, refused: Refused) => Promise<Answer>
  /** Tells what is recorded of a payment that was submitted. */
  readonly replay: (gate: Gate, caller: Caller<unknown>, payment: PaymentRecord) => Promise<Answer>
}

/** Nothing stands against it so far. */
export interface Judged {
  readonly caller: Caller<unknown>
  readonly purchase: Purchase
  readonly facts: Facts
  readonly decision: PolicyDecision
  readonly approval: HoldRecord | undefined
}

export async function judged(
  gate: Gate,
  raw: RawRequest,
  errand: Errand,
): Promise<Judged | { readonly answer: Answer }> {
  const parsed = parseRequest(raw, paymentBody, gate.facts.gatewayUrl)
  const quote = readQuote(parsed.ok ? parsed.request.body.quote : '')
  const identified = await identifyPayer(gate, parsed, quote, errand)
  if (!identified.ok) return { answer: unauthenticated(gate, identified.code) }
  const { caller } = identified
  const { attempt, trial, snapshot } = caller
  const payment = paymentIdOf(caller.node.node, quote.digest)
  const turnedAway = errand.admit?.(gate, caller)
  if (turnedAway) return { answer: turnedAway }
  if (snapshot.payment && isAnswered(snapshot.payment)) {
    return { answer: await errand.replay(gate, caller, snapshot.payment) }
  }

  let facts: Facts = { ...caller.facts, quote: quoteFacts(gate, caller, quote) }
  const early = trial.judge('quote', attempt, facts)
  if (early) return { answer: await errand.refuse(gate, caller, { payment, denial: early }) }
  const purchase = purchaseOf(gate, caller, quote)
  if (purchase === undefined) {
    const denial = trial.refuse(deny(quote.claims === undefined ? 'quote_invalid' : 'payee'))
    return { answer: await errand.refuse(gate, caller, { payment, denial }) }
  }

  const decision = await gate.policy.decide(purchase.facts)
  const refusedByPerson = snapshot.holds.some(({ state }) => state === 'refused')
  const approval = approvalFor(gate, caller, purchase)
  const approved = approval !== undefined
  facts = { ...facts, policy: { decision, refusedByPerson }, approved }
  const denial = trial.judge('policy', attempt, facts)
  if (denial) return { answer: await errand.refuse(gate, caller, { payment, denial, purchase }) }
  return { caller, purchase, facts, decision, approval }
}

/** Checks 1 and 2, with everything that the later ones read as of the same instant. */
function identifyPayer(
  gate: Gate,
  parsed: Parsed<{ readonly quote: string }>,
  { digest, claims }: ReadQuote,
  errand: Errand,
): Promise<Identified<{ readonly quote: string }>> {
  return identify(gate, {
    operation: 'pay',
    parsed,
    request: (_body, nowSeconds) =>
      claims && {
        operation: 'pay',
        amount: claims.amount,
        currency: claims.currency,
        payee: claims.payee,
        quote: digest,
        nowSeconds,
      },
    also: (_body, { node }, root, now) => ({
      payment: paymentIdOf(node, digest),
      seen: digest,
      ...(claims && { claim: { issuer: claims.iss, jti: claims.jti } }),
      counters: [
        ...(claims === undefined || root.run === undefined
          ? []
          : countersToRead(root.run, claims, now)),
        ...(errand.counters?.(node) ?? []),
      ],
    }),
  })
}
