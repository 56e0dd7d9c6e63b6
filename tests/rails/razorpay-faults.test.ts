/** Every scripted fault at every call that moves something: what the adapter says, and what the rail's own book says. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail } from '../../runtime/core/rail.ts'
import type { Fault } from '../support/razorpay/faults.ts'
import { impatientFor, knownOf, orderOf, railOf } from '../support/razorpay/rail.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

let standIn: RazorpayStandIn
let rail: Rail
let isHanging = false
let isQuestion = false
beforeEach(async () => {
  standIn = await startRazorpayStandIn()
  isHanging = false
  isQuestion = false
  const transport = impatientFor(({ method }) => isHanging && (isQuestion || method === 'POST'))
  rail = railOf(standIn, { timeoutMs: 20_000, transport })
})
afterEach(() => standIn.close())

function meet(on: string, fault: Fault): void {
  isHanging = fault === 'hang'
  standIn.script({ on, fault })
}

type Expected = readonly [fault: Fault, kind: string, reason: string | undefined, booked: boolean]

/** `booked`: the rail did it. Whatever it did, `unknown` is the honest word where none came. */
const LOST: readonly Expected[] = [
  ['resetBefore', 'unknown', undefined, false],
  ['resetAfter', 'unknown', undefined, true],
  ['hang', 'unknown', 'deadline', true],
  ['html502Before', 'unknown', 'status_502', false],
  ['html502After', 'unknown', 'status_502', true],
  ['html200After', 'unknown', 'answer_malformed', true],
  ['empty500After', 'unknown', 'status_500', true],
  ['redirect307', 'unknown', 'status_307', false],
  ['rateLimit', 'unknown', 'rate_limited', false],
  ['wrongAmount', 'unknown', 'amount_differs', true],
  ['inProgress409', 'unknown', 'key_in_use', false],
]

const secrets = (): readonly string[] => Object.values(standIn.env)

/** Nothing that came from the rail but ids and known words. */
function expectNoSecret(said: unknown): void {
  const text = JSON.stringify(said)
  for (const secret of secrets()) {
    expect(text).not.toContain(secret)
    expect(text.toLowerCase()).not.toContain(secret.toLowerCase())
  }
  expect(text).not.toMatch(/basic/i)
}

describe('a payout that meets', () => {
  it.each([
    ...LOST,
    ['pending', 'pending', undefined, true],
    ['decline', 'pending', undefined, true],
    ['leakSecret', 'declined', 'refused_by_rail', false],
  ] as const)('%s is %s', async (fault, kind, reason, booked) => {
    meet('payout.create', fault)
    const order = orderOf({ account: standIn.accounts[0] ?? '' })
    const said = await rail.pay(order)
    expect(said).toMatchObject(reason === undefined ? { kind } : { kind, reason })
    expectNoSecret(said)
    const { payments } = standIn.book()
    // A declined one is booked until the bank has refused it.
    expect(payments).toBe(booked && fault !== 'decline' ? 1 : 0)
    const found = await rail.lookup(order.key, knownOf(order))
    expectNoSecret(found)
    const after = { pending: 'pending', decline: 'declined' } as Record<string, string>
    expect(found.kind).toBe(after[fault] ?? (booked ? 'settled' : 'absent'))
    if (found.kind === 'settled') expect(found.amount).toBe(standIn.book().totals.INR)
  })
})

describe.each(['order', 'link'] as const)('an %s that meets', (account) => {
  it.each([...LOST, ['leakSecret', 'declined', 'refused_by_rail', false]] as const)(
    '%s is %s',
    async (fault, kind, reason, booked) => {
      meet(`${account}.create`, fault)
      const order = orderOf({ account })
      const said = await rail.pay(order)
      expect(said).toMatchObject(reason === undefined ? { kind } : { kind, reason })
      expectNoSecret(said)
      const found = await rail.lookup(order.key, knownOf(order))
      expectNoSecret(found)
      const made = fault === 'wrongAmount' ? 'unknown' : 'pending'
      expect(found.kind).toBe(booked ? made : 'absent')
      expect(standIn.book()).toEqual({ totals: {}, payments: 0, refunds: 0 })
    },
  )
})

describe('a capture that meets', () => {
  it.each([
    ...LOST.filter(([fault]) => fault !== 'inProgress409'),
    ['inProgress409', 'pending', undefined, false],
    ['decline', 'pending', undefined, false],
    ['leakSecret', 'pending', undefined, false],
  ] as const)('%s is %s', async (fault, kind, reason, booked) => {
    const order = orderOf({ account: 'order' })
    const known = knownOf(order, await rail.pay(order))
    standIn.approve(order.key)
    meet('capture', fault)
    const said = await rail.complete?.(known)
    expect(said).toMatchObject(reason === undefined ? { kind } : { kind, reason })
    expectNoSecret(said)
    expect(standIn.book().totals).toEqual(booked ? { INR: 125_000 } : {})
    expect((await rail.lookup(order.key, known)).kind).toBe(booked ? 'settled' : 'pending')
    expect(await rail.complete?.(known)).toMatchObject({ kind: 'settled', amount: 125_000 })
    expect(standIn.book()).toMatchObject({ totals: { INR: 125_000 }, payments: 1 })
  })
})

describe('a refund that meets', () => {
  it.each([
    ...LOST,
    ['pending', 'unknown', 'refund_pending', true],
    ['decline', 'declined', 'refused_by_rail', false],
    ['leakSecret', 'declined', 'refused_by_rail', false],
  ] as const)('%s is %s', async (fault, kind, reason, booked) => {
    const bought = orderOf({ account: 'link' })
    await rail.pay(bought)
    const reference = standIn.approve(bought.key)
    const asked = {
      payment: bought.payment,
      key: `hg-${'r'.repeat(27)}`,
      paymentKey: bought.key,
      paymentAccount: 'link',
      paymentReference: reference,
      amount: minor(25_000),
      currency: 'INR',
    } as const
    meet('refund', fault)
    const said = await rail.refunds?.make(asked)
    expect(said).toMatchObject(reason === undefined ? { kind } : { kind, reason })
    expectNoSecret(said)
    expect(standIn.book().refunds).toBe(booked ? 1 : 0)
    const after = { wrongAmount: 'unknown', pending: 'unknown' } as Record<string, string>
    const found = await rail.refunds?.lookup(asked)
    expectNoSecret(found)
    expect(found?.kind).toBe(after[fault] ?? (booked ? 'refunded' : 'absent'))
  })
})

describe('whatever the rail answers to a question', () => {
  const FAULTS: readonly Fault[] = [
    'resetBefore',
    'resetAfter',
    'hang',
    'html502Before',
    'html502After',
    'html200After',
    'empty500After',
    'redirect307',
    'rateLimit',
    'leakSecret',
    'inProgress409',
  ]

  it.each(FAULTS)(
    '%s is no proof that a payment is absent, nor that it was declined',
    async (fault) => {
      const paid = orderOf({ account: standIn.accounts[0] ?? '' })
      await rail.pay(paid)
      for (const account of [paid.account, 'order', 'link']) {
        const order = account === paid.account ? paid : orderOf({ account })
        isQuestion = true
        meet('*', fault)
        const found = await rail.lookup(order.key, knownOf(order))
        expect(found.kind).toBe('unknown')
        expectNoSecret(found)
      }
    },
  )

  it('leaks into no fault of ours either', async () => {
    standIn.script({ on: '*', fault: 'leakSecret', times: 100 })
    const thrown = await rail.ready().catch((error: unknown) => error)
    expectNoSecret([String(thrown), thrown])
    const listed = await rail
      .statement?.({ fromSeconds: 0, toSeconds: 1 })
      .catch((error: unknown) => error)
    expectNoSecret([String(listed), listed])
  })
})
