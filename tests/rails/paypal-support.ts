/** The PayPal rail over its stand-in, on the stand-in's clock. */
import { z } from 'zod'
import { freshId, railKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailOrder } from '../../runtime/core/rail.ts'
import { exchange, type Transport } from '../../runtime/rails/exchange.ts'
import { createPaypalRail, type PaypalRailOptions } from '../../runtime/rails/paypal.ts'
import type { PaypalStandIn } from '../support/paypal-stand-in.ts'

export const optionsOf = (standIn: PaypalStandIn): PaypalRailOptions => ({
  mode: 'sandbox',
  clientId: standIn.env.PAYPAL_CLIENT_ID ?? '',
  clientSecret: standIn.env.PAYPAL_CLIENT_SECRET ?? '',
  webhookId: standIn.env.PAYPAL_WEBHOOK_ID ?? '',
  url: standIn.url,
  clock: { nowMs: () => standIn.nowMs() },
})

export const openPaypal = (standIn: PaypalStandIn, change: Partial<PaypalRailOptions> = {}): Rail =>
  createPaypalRail({ ...optionsOf(standIn), ...change })

export const usdOrder = (change: Partial<RailOrder> = {}): RailOrder => ({
  payment: 'pay_1',
  key: railKeyOf(`pay_${freshId()}`),
  account: 'desks@example.com',
  amount: minor(125_000),
  currency: 'USD',
  note: 'two chairs',
  ...change,
})

export const merchantOrder = (change: Partial<RailOrder> = {}): RailOrder =>
  usdOrder({ account: 'merchant:DESKSHPQ23456', ...change })

/** What comes back says something else in one place. */
export const rewriting =
  (what: RegExp, instead: string): Transport =>
  async (asked) => {
    const got = await exchange(asked)
    if (got.kind !== 'answer') return got
    return { ...got, body: Buffer.from(got.body.toString('utf8').replace(what, instead)) }
  }

/** The first answer to this request, once more to every later one: what becomes of answers that are mixed up. */
export function repeating(name: RegExp): Transport {
  let first: Awaited<ReturnType<Transport>> | undefined
  return async (asked) => {
    const got = await exchange(asked)
    if (!name.test(`${asked.method} ${asked.url.pathname}`)) return got
    first ??= got
    return first
  }
}

const grantSchema = z.object({ access_token: z.string() })

/** What somebody asks of PayPal who has the account's credentials and is not the adapter. */
export async function askStandIn(
  { url, env }: PaypalStandIn,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<{ status: number; json: unknown }> {
  const basic = Buffer.from(`${env.PAYPAL_CLIENT_ID}:${env.PAYPAL_CLIENT_SECRET}`).toString(
    'base64',
  )
  const granted = await fetch(`${url}/v1/oauth2/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  })
  const { access_token } = grantSchema.parse(await granted.json())
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${access_token}`,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
}
