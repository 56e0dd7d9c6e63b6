/**
 * One payment, from the request to its receipt, as one page: who asks (checks 1 and 2), the recorded answer if there is
 * one, checks 3 to 6 on a snapshot, the rules (7), one transaction that reserves (8), the monitor (9), one that submits,
 * the rail, and one that records its word. Without a monitor the first two transactions are one. Invariants: the rail is
 * called only by the attempt whose nonce is durably stored, after `submitted` was committed, and never inside a
 * transaction; whatever throws is a fault and never a verdict; a fault after the rail was called leaves the payment
 * submitted, for the reconciler.
 */
import { deny } from '../core/codes.ts'
import { freshId, paymentIdOf } from '../core/ids.ts'
import { type ReadQuote, readQuote } from '../core/quote.ts'
import { nowSeconds } from '../core/time.ts'
import { paymentBody } from '../core/wire.ts'
import { type Answer, inFlightAnswer } from './answers.ts'
import type { Parsed, RawRequest } from './attempt.ts'
import { payOrDraw } from './authorisations.ts'
import { countersToRead } from './counters.ts'
import type { Facts } from './facts.ts'
import type { Gate } from './gate.ts'
import { type Caller, type Identified, identify, unauthenticated } from './identify.ts'
import { recordOutcome } from './outcome.ts'
import { parseRequest } from './parse.ts'
import { approvalFor, type Purchase, purchaseOf, quoteFacts } from './purchase.ts'
import { mayCallRail } from './rail.ts'
import { refusePayment } from './refuse.ts'
import { answerOf, isAnswered, replay } from './replay.ts'
import { reserve } from './reserve.ts'
import { monitorThenSubmit } from './submit.ts'

/** `POST /payments`: a leaf presents its quote. */
export async function pay(gate: Gate, raw: RawRequest): Promise<Answer> {
  const parsed = parseRequest(raw, paymentBody, gate.facts.gatewayUrl)
  const quote = readQuote(parsed.ok ? parsed.request.body.quote : '')
  const identified = await identifyPayer(gate, parsed, quote)
  if (!identified.ok) return unauthenticated(gate, identified.code)
  const { caller } = identified
  const { attempt, trial, snapshot } = caller
  const payment = paymentIdOf(caller.node.node, quote.digest)
  if (snapshot.payment && isAnswered(snapshot.payment)) {
    return replay(gate, caller, snapshot.payment)
  }

  let facts: Facts = { ...caller.facts, quote: quoteFacts(gate, caller, quote) }
  const early = trial.judge('quote', attempt, facts)
  if (early) return refusePayment(gate, caller, { payment, denial: early })
  const purchase = purchaseOf(gate, caller, quote)
  if (purchase === undefined) {
    const denial = trial.refuse(deny(quote.claims === undefined ? 'quote_invalid' : 'payee'))
    return refusePayment(gate, caller, { payment, denial })
  }

  const decision = await gate.policy.decide(purchase.facts)
  const refusedByPerson = snapshot.holds.some(({ state }) => state === 'refused')
  const approval = approvalFor(gate, caller, purchase)
  const approved = approval !== undefined
  facts = { ...facts, policy: { decision, refusedByPerson }, approved }
  const ruled = trial.judge('policy', attempt, facts)
  if (ruled) return refusePayment(gate, caller, { payment, denial: ruled, purchase })

  const nonce = freshId()
  const submit = gate.watch ? {} : { submitNonce: nonce }
  const reserved = await reserve(gate, caller, { purchase, decision, approval, ...submit })
  if (reserved.kind === 'proof_replayed') return unauthenticated(gate, 'proof_replayed')
  if (reserved.kind === 'overtaken') return overtaken(gate, caller, purchase)
  facts = { ...facts, funds: reserved.kind === 'refused' ? reserved.funds : reserved }
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
  return answerOf(gate, snapshot.run, ended)
}

/** Checks 1 and 2, with everything that the later ones read as of the same instant. */
function identifyPayer(
  gate: Gate,
  parsed: Parsed<{ readonly quote: string }>,
  { digest, claims }: ReadQuote,
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
      ...(claims && {
        claim: { issuer: claims.iss, jti: claims.jti },
        counters: root.run === undefined ? [] : countersToRead(root.run, claims, now),
      }),
    }),
  })
}

/** Another attempt at this payment came further between our snapshot and our transaction. */
async function overtaken(gate: Gate, caller: Caller<unknown>, purchase: Purchase): Promise<Answer> {
  const { payment } = purchase
  const found = await gate.ledger.payment(payment)
  if (found !== undefined && isAnswered(found)) return replay(gate, caller, found)
  const code = found === undefined ? 'quote_mismatch' : 'duplicate'
  return refusePayment(gate, caller, { payment, denial: caller.trial.refuse(deny(code)), purchase })
}
