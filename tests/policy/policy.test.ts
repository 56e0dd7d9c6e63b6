import { describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import type { PaymentFacts } from '../../runtime/core/judges.ts'
import { minor } from '../../runtime/core/money.ts'
import { createPolicy } from '../../runtime/policy/policy.ts'
import { DEFAULT_POLICY, policySchema } from '../../runtime/policy/rules.ts'

const facts = (change: Partial<PaymentFacts> = {}): PaymentFacts => ({
  payee: 'shop',
  merchant: 'shop',
  currency: 'INR',
  amount: minor(1_000),
  lines: [{ sku: 'pen', quantity: 1, unitAmount: minor(1_000) }],
  recurring: false,
  depth: 1,
  payeeCount: 0,
  hourCount: 0,
  duplicateCount: 0,
  origins: { payee: 'operator', amount: 'quote', payees: 2 },
  ...change,
})

const decide = (rule: Record<string, unknown>, change: Partial<PaymentFacts> = {}) =>
  createPolicy(policySchema.parse({ rules: [{ id: 'r', ...rule }] })).decide(facts(change))

const deny = [{ rule: 'r', effect: 'deny' }]
const hold = [{ rule: 'r', effect: 'hold' }]

describe('a rule', () => {
  const cases: [
    name: string,
    rule: Record<string, unknown>,
    allowed: Partial<PaymentFacts>,
    stopped: Partial<PaymentFacts>,
    verdicts: unknown,
  ][] = [
    [
      'per_payment_cap allows the cap and denies one more',
      { kind: 'per_payment_cap', currency: 'INR', above: 1_000 },
      { amount: minor(1_000) },
      { amount: minor(1_001) },
      deny,
    ],
    [
      'approval_above allows the limit and holds one more',
      { kind: 'approval_above', currency: 'INR', above: 1_000 },
      { amount: minor(1_000) },
      { amount: minor(1_001) },
      hold,
    ],
    [
      'first_payment_above holds only the first payment',
      { kind: 'first_payment_above', currency: 'INR', above: 500 },
      { payeeCount: 1 },
      { payeeCount: 0 },
      hold,
    ],
    [
      'untrusted_origin asks about a payee that somebody chose elsewhere, where there was a choice',
      { kind: 'untrusted_origin' },
      { origins: { payee: 'page', amount: 'page', payees: 1 } },
      { origins: { payee: 'page', amount: 'page', payees: 2 } },
      [{ rule: 'r', effect: 'hold', code: 'payee_from_untrusted' }],
    ],
    [
      'untrusted_origin asks about an amount from elsewhere above what was written, and not at it',
      { kind: 'untrusted_origin' },
      { origins: { payee: 'page', amount: 'page', payees: 1, written: minor(1_000) } },
      { origins: { payee: 'page', amount: 'page', payees: 1, written: minor(999) } },
      [{ rule: 'r', effect: 'hold', code: 'amount_from_untrusted' }],
    ],
    [
      'untrusted_origin asks nothing about a signed quote of the run’s own, however dear',
      { kind: 'untrusted_origin' },
      { origins: { payee: 'operator', amount: 'quote', payees: 2, written: minor(1) } },
      { origins: { payee: 'page', amount: 'quote', payees: 2 } },
      [{ rule: 'r', effect: 'hold', code: 'payee_from_untrusted' }],
    ],
    [
      'first_payment_above lets a small first payment pass',
      { kind: 'first_payment_above', currency: 'INR', above: 1_000 },
      { amount: minor(1_000) },
      { amount: minor(1_001) },
      hold,
    ],
    [
      'duplicate holds the second of its kind',
      { kind: 'duplicate' },
      { duplicateCount: 0 },
      { duplicateCount: 1 },
      hold,
    ],
    [
      'hourly_count allows as many as it says',
      { kind: 'hourly_count', most: 3, effect: 'deny' },
      { hourCount: 2 },
      { hourCount: 3 },
      deny,
    ],
    [
      'deny_list denies its payees',
      { kind: 'deny_list', payees: ['bad'] },
      { payee: 'Bad' },
      { payee: 'bad' },
      deny,
    ],
    [
      'deny_list denies its merchants',
      { kind: 'deny_list', merchants: ['bad'] },
      { payee: 'bad' },
      { merchant: 'bad' },
      deny,
    ],
    [
      'recurring holds an offer that charges again',
      { kind: 'recurring' },
      { recurring: false },
      { recurring: true },
      hold,
    ],
  ]
  for (const [name, rule, allowed, stopped, verdicts] of cases) {
    it(name, async () => {
      expect((await decide(rule, allowed)).verdicts).toEqual([])
      expect((await decide(rule, stopped)).verdicts).toEqual(verdicts)
    })
  }

  it('about one currency says nothing about another', async () => {
    const rule = { kind: 'per_payment_cap', currency: 'JPY', above: 10 }
    expect((await decide(rule)).verdicts).toEqual([])
  })

  it('that counts gives the bound to hold while reserving', async () => {
    expect((await decide({ kind: 'duplicate' })).bounds).toEqual([
      { counter: 'duplicate', maxCount: 1, rule: 'r', effect: 'hold' },
    ])
    expect((await decide({ kind: 'hourly_count', most: 3, effect: 'deny' })).bounds).toEqual([
      { counter: 'hour', maxCount: 3, rule: 'r', effect: 'deny' },
    ])
    expect((await decide({ kind: 'recurring' })).bounds).toEqual([])
  })
})

describe('the policy', () => {
  it('reports every rule that objects, in their order, the mandate’s own first', async () => {
    const policy = createPolicy(
      policySchema.parse({
        rules: [
          { kind: 'recurring', id: 'a' },
          { kind: 'per_payment_cap', id: 'b', currency: 'INR', above: 1 },
        ],
      }),
    )
    const { verdicts } = await policy.decide(facts({ recurring: true, approvalAbove: minor(999) }))
    expect(verdicts).toEqual([
      { rule: 'mandate_approval_above', effect: 'hold' },
      { rule: 'a', effect: 'hold' },
      { rule: 'b', effect: 'deny' },
    ])
  })

  it('asks for the mandate’s approval above its limit and not at it', async () => {
    const policy = createPolicy({ rules: [] })
    expect((await policy.decide(facts({ approvalAbove: minor(1_000) }))).verdicts).toEqual([])
    expect((await policy.decide(facts({ approvalAbove: minor(999) }))).verdicts).toHaveLength(1)
  })

  it('faults rather than allows when a fact is no number, no currency or no boolean', async () => {
    const policy = createPolicy(DEFAULT_POLICY)
    const broken = [
      { amount: Number.NaN },
      { amount: '5' },
      { duplicateCount: undefined },
      { hourCount: -1 },
      { currency: 'XXX' },
      { recurring: undefined },
      { origins: { payee: 'nobody', amount: 'quote', payees: 2 } },
      { origins: { payee: 'operator', amount: undefined, payees: 2 } },
      { origins: { payee: 'page', amount: 'page', payees: Number.NaN } },
      { origins: { payee: 'page', amount: 'page', payees: 1, written: -1 } },
    ]
    for (const change of broken) {
      const answer = policy.decide(facts(change as Partial<PaymentFacts>))
      await expect(answer).rejects.toMatchObject({ code: 'policy_failed' })
      await expect(answer).rejects.toBeInstanceOf(Fault)
    }
  })

  it('has another version as soon as anything in it is different', () => {
    const rule = { kind: 'hourly_count', id: 'r', most: 3, effect: 'deny' } as const
    const version = (most: number) => createPolicy({ rules: [{ ...rule, most }] }).version
    expect(version(3)).toBe(version(3))
    expect(version(3)).not.toBe(version(4))
    expect(version(3)).toMatch(/^[\w-]{43}$/)
  })

  it('is configured strictly: no unknown field, no repeated id, no text for a number', () => {
    const rules = (...list: unknown[]) => policySchema.safeParse({ rules: list }).success
    const cap = { kind: 'per_payment_cap', id: 'a', currency: 'INR', above: 5 }
    expect(rules(cap)).toBe(true)
    expect(rules({ ...cap, aboove: 5 })).toBe(false)
    expect(rules({ ...cap, above: '5' })).toBe(false)
    expect(rules({ ...cap, above: 5.5 })).toBe(false)
    expect(rules({ ...cap, currency: 'XXX' })).toBe(false)
    expect(rules(cap, cap)).toBe(false)
    expect(rules({ kind: 'allow_all', id: 'a' })).toBe(false)
  })

  it('takes what it knows nothing of for a stranger’s', async () => {
    const { origins: _origins, ...bare } = facts()
    const { verdicts } = await createPolicy(DEFAULT_POLICY).decide(bare)
    expect(verdicts).toMatchObject([{ effect: 'hold', code: 'payee_from_untrusted' }])
  })

  it('asks first with the word that says most', async () => {
    const origins = { payee: 'page', amount: 'page', payees: 2 } as const
    const more = { approvalAbove: minor(1), recurring: true, origins }
    const { verdicts } = await createPolicy(DEFAULT_POLICY).decide(facts(more))
    expect(verdicts.map(({ rule }) => rule)).toEqual([
      'quote-from-elsewhere',
      'mandate_approval_above',
      'recurring-needs-a-person',
    ])
  })

  it('sends recurring charges and double payments to a person where nothing was configured', async () => {
    const policy = createPolicy(DEFAULT_POLICY)
    expect((await policy.decide(facts())).verdicts).toEqual([])
    expect((await policy.decide(facts({ recurring: true }))).verdicts).toHaveLength(1)
    expect((await policy.decide(facts({ duplicateCount: 1 }))).verdicts).toHaveLength(1)
  })
})
