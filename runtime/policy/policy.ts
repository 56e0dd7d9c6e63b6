/**
 * Check 7's judge: the operator's rules over facts that the gateway computed. It reads no store and no clock. It may
 * only object; an empty decision means that nothing forbids. What it cannot evaluate is a thrown Fault, so that a
 * broken rule is never an allow. Bounds repeat the counting rules for the reserving transaction, where two payments
 * that were judged on the same counts meet.
 */
import { Fault } from '../core/errors.ts'
import { sha256 } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type {
  OriginFacts,
  PaymentFacts,
  Policy,
  PolicyDecision,
  RuleVerdict,
} from '../core/judges.ts'
import { CURRENCIES } from '../core/money.ts'
import { SOURCES } from '../core/provenance.ts'
import type { PolicyConfig, Rule } from './rules.ts'

/** The rule id that stands for the mandate's own `approvalAbove`. */
export const MANDATE_APPROVAL_RULE = 'mandate_approval_above'

/** Judges by configured rules, in their order. `version` is the digest of the canonical configuration. */
export function createPolicy(config: PolicyConfig): Policy {
  return {
    version: sha256(canonicalJson(config)),
    decide: async (facts) => {
      try {
        return decide(config.rules, facts)
      } catch (cause) {
        throw new Fault('policy_failed', 'a rule could not be evaluated', { cause })
      }
    },
  }
}

function decide(rules: readonly Rule[], facts: PaymentFacts): PolicyDecision {
  assertReadable(facts)
  const objections = rules.flatMap((rule) => objection(rule, facts) ?? [])
  const all = [...mandateApproval(facts), ...objections]
  return {
    // Whoever is asked is asked with the word that says most.
    verdicts: [...all.filter(({ code }) => code), ...all.filter(({ code }) => !code)],
    bounds: rules.flatMap((rule) => bound(rule) ?? []),
  }
}

const NO_ORIGINS: OriginFacts = { payee: 'page', amount: 'page', payees: 0 }

/** A comparison with something that is no number is false, and false means allow: so nothing else gets in. */
function assertReadable(facts: PaymentFacts): void {
  const { amount, payeeCount, hourCount, duplicateCount, approvalAbove = 0 } = facts
  const numbers = [amount, payeeCount, hourCount, duplicateCount, approvalAbove]
  if (!numbers.every((n) => Number.isSafeInteger(n) && n >= 0)) {
    throw new TypeError('expected safe integers of at least 0')
  }
  if (!CURRENCIES.includes(facts.currency)) throw new TypeError('expected a known currency')
  if (typeof facts.recurring !== 'boolean') throw new TypeError('expected a boolean')
  const { payee, amount: from, payees, written = 0 } = facts.origins ?? NO_ORIGINS
  if (!SOURCES.includes(payee) || !SOURCES.includes(from)) {
    throw new TypeError('expected known sources')
  }
  if (![payees, written].every((n) => Number.isSafeInteger(n) && n >= 0)) {
    throw new TypeError('expected safe integers of at least 0')
  }
}

function mandateApproval({ amount, approvalAbove }: PaymentFacts): RuleVerdict[] {
  const asks = approvalAbove !== undefined && amount > approvalAbove
  return asks ? [{ rule: MANDATE_APPROVAL_RULE, effect: 'hold' }] : []
}

function objection(rule: Rule, facts: PaymentFacts): RuleVerdict | undefined {
  const when = (objects: boolean, effect: RuleVerdict['effect']) =>
    objects ? { rule: rule.id, effect } : undefined
  switch (rule.kind) {
    case 'per_payment_cap':
      return when(isOver(rule, facts), 'deny')
    case 'approval_above':
      return when(isOver(rule, facts), 'hold')
    case 'first_payment_above':
      return when(facts.payeeCount === 0 && isOver(rule, facts), 'hold')
    case 'duplicate':
      return when(facts.duplicateCount > 0, 'hold')
    case 'hourly_count':
      return when(facts.hourCount >= rule.most, rule.effect)
    case 'deny_list':
      return when(
        rule.payees.includes(facts.payee) || rule.merchants.includes(facts.merchant),
        'deny',
      )
    case 'recurring':
      return when(facts.recurring, 'hold')
    case 'untrusted_origin': {
      const code = untrusted(facts)
      return code && { rule: rule.id, effect: 'hold', code }
    }
  }
}

/** What is not known to be the run's own finding counts as a stranger's. */
function untrusted({ amount, origins }: PaymentFacts): RuleVerdict['code'] {
  if (origins === undefined) return 'payee_from_untrusted'
  if (origins.payee === 'page' && origins.payees > 1) return 'payee_from_untrusted'
  const { written } = origins
  const isMore = origins.amount === 'page' && written !== undefined && amount > written
  return isMore ? 'amount_from_untrusted' : undefined
}

const isOver = (
  rule: { readonly currency: string; readonly above: number },
  facts: PaymentFacts,
): boolean => facts.currency === rule.currency && facts.amount > rule.above

type Bound = PolicyDecision['bounds'][number]

function bound(rule: Rule): Bound | undefined {
  switch (rule.kind) {
    case 'first_payment_above':
      // Counted, so that the next payment is known not to be the first; never itself a reason to object.
      return {
        counter: 'payee',
        maxCount: Number.MAX_SAFE_INTEGER,
        rule: rule.id,
        effect: 'hold',
      }
    case 'duplicate':
      return { counter: 'duplicate', maxCount: 1, rule: rule.id, effect: 'hold' }
    case 'hourly_count':
      return { counter: 'hour', maxCount: rule.most, rule: rule.id, effect: rule.effect }
    case 'per_payment_cap':
    case 'approval_above':
    case 'deny_list':
    case 'recurring':
    case 'untrusted_origin':
      return undefined
  }
}
