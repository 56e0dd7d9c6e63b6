/** One payment that a known caller asks for: what the quote, the mandate, the chain and the configuration say of it. */
import { type Digest, type PaymentId, paymentIdOf, railKeyOf } from '../core/ids.ts'
import type { PaymentFacts, PolicyDecision } from '../core/judges.ts'
import type { Mandate } from '../core/mandate.ts'
import type { Provenance } from '../core/provenance.ts'
import { isSigned, type Quote, type ReadQuote } from '../core/quote.ts'
import type { PaymentRecord } from '../core/records.ts'
import { type Seconds, seconds } from '../core/time.ts'
import type { Binding } from './bindings.ts'
import { asksAbout, type Card } from './cards.ts'
import { type CountedUse, ruleCounters, ruleCounts, ruleUses, windowUses } from './counters.ts'
import type { QuoteFacts } from './facts.ts'
import { type Gate, payeeOf } from './gate.ts'
import type { Caller } from './identify.ts'
import { originFacts, provenanceOf } from './provenance.ts'

export interface Purchase {
  readonly payment: PaymentId
  readonly claims: Quote
  readonly quote: Digest
  readonly binding: Binding
  readonly mandate: Mandate
  /** Where everything that matters for money came from. */
  readonly provenance: Provenance
  /** What rules and monitors may read. */
  readonly facts: PaymentFacts
  /** The earliest end among mandate, chain and quote. */
  readonly expiresAtSeconds: Seconds
}

/** Which of the ends has come: an agent can mend a quote's by itself. */
export const whatExpired = (purchase: Purchase): 'quote_expired' | 'expired' =>
  purchase.claims.exp === purchase.expiresAtSeconds ? 'quote_expired' : 'expired'

/** Over what the principal lets one payment cost. */
export const isOverPerPayment = ({ mandate, claims }: Purchase): boolean =>
  mandate.perPayment !== undefined && claims.amount > mandate.perPayment

/** What check 6 reads. */
export function quoteFacts(gate: Gate, { snapshot }: Caller<unknown>, read: ReadQuote): QuoteFacts {
  const { digest, claims } = read
  // An issuer sells for itself: a quote that names somebody else as the payee leads to no account.
  const sellsForItself = claims !== undefined && claims.payee === payeeOf(claims.iss)
  const binding = sellsForItself ? gate.bindings.get(claims.payee) : undefined
  const inexpressible =
    binding &&
    claims &&
    gate.rail.expressible?.({
      account: binding.account,
      amount: claims.amount,
      currency: claims.currency,
    })
  return {
    digest,
    signed: isSigned(read, gate.merchants, gate.signatures),
    ...(claims === undefined ? {} : { claims }),
    ...(binding === undefined ? {} : { binding: binding.digest(snapshot.path[0]?.salt) }),
    ...(inexpressible === undefined ? {} : { inexpressible }),
  }
}

/** Everything that the checks from 7 on need; undefined where a fact is missing without which nothing can be paid. */
export function purchaseOf(
  gate: Gate,
  { node, token, snapshot, facts, attempt }: Caller<unknown>,
  { claims, digest }: ReadQuote,
): Purchase | undefined {
  const binding = claims && gate.bindings.get(claims.payee)
  const { mandate } = facts
  if (claims === undefined || binding === undefined || mandate === undefined) return undefined
  const { blocks } = token
  const ends = [mandate.exp, claims.exp, ...blocks.map((block) => block.expiresAtSeconds)]
  const payment = paymentIdOf(node.node, digest)
  const provenance = provenanceOf(claims, snapshot.seen)
  return {
    payment,
    claims,
    quote: digest,
    binding,
    mandate,
    provenance,
    expiresAtSeconds: seconds(Math.min(...ends)),
    facts: {
      payee: claims.payee,
      merchant: claims.iss,
      currency: claims.currency,
      amount: claims.amount,
      lines: claims.lines.map(({ sku, quantity, unitAmount }) => ({ sku, quantity, unitAmount })),
      recurring: claims.recurring === true,
      depth: blocks.length - 1,
      ...(mandate.approvalAbove === undefined ? {} : { approvalAbove: mandate.approvalAbove }),
      ...ruleCounts(snapshot.counters, snapshot.run.id, claims, attempt.now),
      origins: originFacts(provenance, mandate),
    },
  }
}

export function cardOf(gate: Gate, { snapshot }: Caller<unknown>, purchase: Purchase): Card {
  const { payment, claims, quote, binding, provenance } = purchase
  const salt = snapshot.path.at(-1)?.salt
  return {
    ...(salt === undefined ? {} : { salt }),
    payment,
    payee: claims.payee,
    payeeName: binding.name,
    account: binding.digest(snapshot.path[0]?.salt),
    merchant: claims.iss,
    amount: claims.amount,
    currency: claims.currency,
    lines: claims.lines,
    path: snapshot.path.map(({ id, label }) => ({ id, label })),
    provenance,
    quote,
    policy: gate.policy.version,
  }
}

/** A person's yes to exactly this payment, if there is one that was not used yet. */
export function approvalFor(gate: Gate, caller: Caller<unknown>, purchase: Purchase) {
  const card = cardOf(gate, caller, purchase)
  return caller.snapshot.holds.find(
    (hold) => hold.state === 'approved' && asksAbout(hold, card, caller.attempt.now),
  )
}

/** The counters that this payment enters, at `now`: those of the mandate's window and those that a rule counts by. */
export function countersFor(
  { snapshot }: Caller<unknown>,
  { claims, mandate }: Purchase,
  given: {
    readonly bounds: PolicyDecision['bounds']
    readonly approved: boolean
    readonly now: Seconds
  },
): readonly CountedUse[] {
  const { id } = snapshot.run
  const keys = ruleCounters(id, claims, given.now)
  return [
    ...windowUses(id, mandate.window, given.now),
    ...ruleUses(given.bounds, keys, given.approved),
  ]
}

/** The payment's record as it begins. */
export function paymentRecord(
  gate: Gate,
  { snapshot, node }: Caller<unknown>,
  purchase: Purchase,
  rest: Pick<PaymentRecord, 'checks' | 'counters' | 'createdAtSeconds'>,
): PaymentRecord {
  const { payment, claims, quote, binding, provenance } = purchase
  return {
    ...rest,
    id: payment,
    run: snapshot.run.id,
    node: node.node,
    payee: claims.payee,
    merchant: claims.iss,
    quote,
    quoteJti: claims.jti,
    lines: claims.lines,
    currency: claims.currency,
    amount: claims.amount,
    state: 'reserved',
    rail: gate.facts.railName,
    account: binding.account,
    railKey: railKeyOf(payment),
    policy: gate.policy.version,
    provenance,
  }
}
