/** The adapter over a stand-in, and orders of every kind, for tests. */
import { systemClock } from '../../../runtime/core/clock.ts'
import { freshId, type PaymentId, railKeyOf } from '../../../runtime/core/ids.ts'
import { minor } from '../../../runtime/core/money.ts'
import type { Rail, RailKnown, RailLookup, RailOrder } from '../../../runtime/core/rail.ts'
import { exchange, type Transport } from '../../../runtime/rails/exchange.ts'
import { createRazorpayRail, type RazorpayRailOptions } from '../../../runtime/rails/razorpay.ts'
import type { RazorpayStandIn } from '../razorpay-stand-in.ts'

export const credentialsOf = (standIn: RazorpayStandIn) => ({
  keyId: String(standIn.env.RAZORPAY_KEY_ID),
  keySecret: String(standIn.env.RAZORPAY_KEY_SECRET),
})

export const railOf = (standIn: RazorpayStandIn, change: Partial<RazorpayRailOptions> = {}): Rail =>
  createRazorpayRail({
    mode: 'test',
    ...credentialsOf(standIn),
    accountNumber: standIn.accountNumber,
    webhookSecrets: [String(standIn.env.RAZORPAY_WEBHOOK_SECRET)],
    url: standIn.url,
    clock: systemClock(),
    ...change,
  })

export function orderOf(change: Partial<RailOrder> & Pick<RailOrder, 'account'>): RailOrder {
  const payment: PaymentId = `pay_${freshId()}`
  return {
    payment,
    key: railKeyOf(payment),
    amount: minor(125_000),
    currency: 'INR',
    note: 'HG0123456789ABCDEF',
    ...change,
  }
}

/** As the ledger knows it after an outcome. */
export const knownOf = (order: RailOrder, outcome?: RailLookup): RailKnown => ({
  order,
  submittedAtSeconds: 0,
  ...(outcome !== undefined && 'reference' in outcome && outcome.reference !== undefined
    ? { reference: outcome.reference }
    : {}),
})

/** Waits long for every answer but for what a test keeps waiting on purpose, so that a busy machine is no fault. */
export const impatientFor =
  (is: (asked: Parameters<Transport>[0]) => boolean): Transport =>
  (asked) =>
    exchange(is(asked) ? { ...asked, timeoutMs: Math.min(asked.timeoutMs, 250) } : asked)
