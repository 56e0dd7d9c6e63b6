/** The PayPal rail over its stand-in, on the stand-in's clock. */
import { freshId, railKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailOrder } from '../../runtime/core/rail.ts'
import { createPaypalRail, type PaypalRailOptions } from '../../runtime/rails/paypal.ts'
import type { PaypalStandIn } from '../support/paypal-stand-in.ts'

export function openPaypal(standIn: PaypalStandIn, change: Partial<PaypalRailOptions> = {}): Rail {
  return createPaypalRail({
    mode: 'sandbox',
    clientId: standIn.env.PAYPAL_CLIENT_ID ?? '',
    clientSecret: standIn.env.PAYPAL_CLIENT_SECRET ?? '',
    url: standIn.url,
    clock: { nowMs: () => standIn.nowMs() },
    ...change,
  })
}

export const usdOrder = (change: Partial<RailOrder> = {}): RailOrder => ({
  payment: 'pay_1',
  key: railKeyOf(`pay_${freshId()}`),
  account: 'desks@example.com',
  amount: minor(125_000),
  currency: 'USD',
  note: 'two chairs',
  ...change,
})
