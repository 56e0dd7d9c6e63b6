/**
 * The PayPal rail's adapter. It pays by payouts, or by orders where the account names a merchant; it believes only the
 * status of the item or the capture itself, in a whole answer about exactly what was asked. It sends a payment once under
 * a key that PayPal keeps from being paid twice, looks it up without sending it again, follows no redirect, and talks to
 * PayPal's own two hosts or to this machine. Its credentials, tokens and saved instruments are in nothing that it returns.
 */
import { Fault } from '../core/errors.ts'
import { LIMITS } from '../core/limits.ts'
import type { Rail, RailKnown, RailLookup, RailOrder, RailOutcome } from '../core/rail.ts'
import type { Clock } from '../core/time.ts'
import { exchange, type Transport } from './exchange.ts'
import { accountOf, inexpressible, isKey } from './paypal/accounts.ts'
import { createAuthorisations } from './paypal/authorisations.ts'
import { createClient, type PaypalClient } from './paypal/client.ts'
import { createEvents } from './paypal/events.ts'
import {
  cancelMerchant,
  completeMerchant,
  lookUpMerchant,
  type OrderDeps,
  payMerchant,
} from './paypal/orders.ts'
import { cancelPayout, lookUpPayout, type PayoutDeps, payOut } from './paypal/payouts.ts'
import { lookUpRefund, refundCapture } from './paypal/refunds.ts'
import { createStatement, LAG_SECONDS } from './paypal/search.ts'
import { createVault, type PaypalVault } from './paypal/vault.ts'
import { notSent, safely, standInAt, unconfigured, unknown } from './words.ts'

export interface PaypalRailOptions {
  readonly mode: 'sandbox' | 'live'
  readonly clientId: string
  readonly clientSecret: string
  /** Of the webhook as PayPal lists it. Absent: no message is believed. */
  readonly webhookId?: string
  /** A saved instrument of the payer's (a vault payment token), which pays merchants without a person. A credential. */
  readonly instrument?: string
  /** `http://127.0.0.1:PORT` of a stand-in; absent: PayPal's host of the mode. */
  readonly url?: string
  readonly clock: Clock
  /** For one call, with everything that it asks; `LIMITS.railMs` if absent. */
  readonly timeoutMs?: number
  readonly transport?: Transport
}

const HOSTS = {
  sandbox: 'https://api-m.sandbox.paypal.com',
  live: 'https://api-m.paypal.com',
} as const

/** The `Rail` over PayPal. Throws Fault `rail_unconfigured` for credentials or an address that cannot be. */
export function createPaypalRail(options: PaypalRailOptions): Rail {
  const { clock, webhookId, instrument } = options
  const { base, client } = connect(options)
  const payout = byPayout({ client, clock })
  const orders = { client, clock, base, instrument }
  const merchant = byOrder(orders)
  const wayOf = ({ account }: Pick<RailOrder, 'account'>) =>
    accountOf(account)?.kind === 'merchant' ? merchant : payout
  const isSayable = ({ key, account }: RailOrder) => isKey(key) && accountOf(account) !== undefined

  return {
    name: 'paypal',
    truth: {
      lookupByReference: true,
      // Orders remember a request id for six hours, payouts their batch id for thirty days.
      keyLifeSeconds: 6 * 3600,
      // The list runs three hours behind, and is believed once it was refreshed three hours after the payment.
      visibilitySeconds: 2 * LAG_SECONDS + 15 * 60,
      afterSuccess: ['returned', 'reversed'],
    },

    expressible: inexpressible,

    pay: (order) =>
      safely(async () => {
        if (!isKey(order.key) || inexpressible(order)) return notSent('order_not_expressible')
        return wayOf(order).pay(order)
      }),

    lookup: (key, known) =>
      safely<RailLookup>(async () => {
        if (!isKey(key)) return unknown('key_not_expressible')
        if (known === undefined || known.order.key !== key) return unknown('order_needed')
        return wayOf(known.order).lookup(known)
      }),

    complete: (known) =>
      safely(async () => {
        if (!isSayable(known.order)) return unknown('key_not_expressible')
        return wayOf(known.order).complete(known)
      }),

    cancel: (known) =>
      safely(async () => {
        if (!isSayable(known.order)) return unknown('key_not_expressible')
        return wayOf(known.order).cancel(known)
      }),

    refunds: {
      make: (asked) => safely(() => refundCapture(client, asked)),
      lookup: (asked) => safely(() => lookUpRefund(client, asked)),
    },

    ...(instrument === undefined ? {} : { authorisations: createAuthorisations(orders) }),
    events: createEvents({ client, clock, base, webhookId }),
    statement: createStatement(client),

    ready: () => ready(client),
  }
}

/** How an account is paid, and what follows from it. */
interface Way {
  pay(order: RailOrder): Promise<RailOutcome>
  lookup(known: RailKnown): Promise<RailLookup>
  complete(known: RailKnown): Promise<RailOutcome>
  cancel(known: RailKnown): Promise<RailOutcome>
}

const byPayout = (deps: PayoutDeps): Way => ({
  pay: (order) => payOut(deps, order),
  lookup: (known) => lookUpPayout(deps, known),
  // A payout waits for nobody's agreement.
  complete: async () => unknown('nothing_to_complete'),
  cancel: (known) => cancelPayout(deps, known),
})

const byOrder = (deps: OrderDeps): Way => ({
  pay: (order) => payMerchant(deps, order),
  lookup: (known) => lookUpMerchant(deps, known),
  complete: (known) => completeMerchant(deps, known),
  cancel: (known) => cancelMerchant(deps, known),
})

/** Saves and forgets instruments of payers'. Throws as `createPaypalRail` does. */
export function createPaypalVault(options: PaypalRailOptions): PaypalVault {
  const { client, base } = connect(options)
  return createVault(client, base)
}

function connect(options: PaypalRailOptions): { base: URL; client: PaypalClient } {
  const { clock, timeoutMs = LIMITS.railMs, transport = exchange, clientId, clientSecret } = options
  const base = baseOf(options)
  expectCredentials(options)
  return {
    base,
    client: createClient({ base, clientId, clientSecret, clock, timeoutMs, transport }),
  }
}

function baseOf({ mode, url }: PaypalRailOptions): URL {
  const base = url === undefined ? new URL(HOSTS[mode]) : standInAt(url)
  if (base !== undefined) return base
  throw unconfigured('expected http://127.0.0.1:PORT of a stand-in, or no url for paypal itself')
}

/** PayPal's ids do not say whether they move real money, so the host decides and only PayPal can tell them apart. */
function expectCredentials(options: PaypalRailOptions): void {
  const { mode, clientId, clientSecret, webhookId, instrument } = options
  if (mode !== 'sandbox' && mode !== 'live') {
    throw unconfigured('expected the mode sandbox, or live for real money')
  }
  if (!/^[A-Za-z0-9_-]{16,200}$/.test(clientId)) {
    throw unconfigured('expected PAYPAL_CLIENT_ID: the client id of a rest app')
  }
  if (!/^[A-Za-z0-9_-]{16,200}$/.test(clientSecret)) {
    throw unconfigured('expected PAYPAL_CLIENT_SECRET: the secret of the same rest app')
  }
  if (webhookId !== undefined && !/^[A-Za-z0-9_-]{4,50}$/.test(webhookId)) {
    throw unconfigured('expected PAYPAL_WEBHOOK_ID: the id of the webhook, not of an event')
  }
  if (instrument !== undefined && !/^[A-Za-z0-9_-]{4,255}$/.test(instrument)) {
    throw unconfigured('expected the id of a payment token in paypal’s vault')
  }
}

/** What the account is used for, and the scope without which it cannot. */
const NEEDED = [
  ['https://uri.paypal.com/payments/payouts', 'make payouts'],
  ['https://uri.paypal.com/services/reporting/search/read', 'search its transactions'],
  ['https://uri.paypal.com/services/payments/refund', 'make refunds'],
] as const

async function ready(client: PaypalClient): Promise<void> {
  const scopes = await client.scopes()
  if (scopes === 'refused') throw unconfigured('paypal does not accept the client id and secret')
  if ('kind' in scopes) throw new Fault('rail_unconfigured', 'paypal does not answer with a token')
  const missing = NEEDED.filter(([scope]) => !covers(scopes, scope)).map(([, what]) => what)
  if (missing.length > 0) {
    throw new Fault(
      'rail_limited',
      `the paypal account cannot ${missing.join(', or ')}: enable it for the rest app`,
      { retryable: false },
    )
  }
}

/** A scope is also given by one above it: `payments/.*` covers everything below `payments/`. */
const covers = (scopes: readonly string[], needed: string): boolean =>
  scopes.some(
    (scope) => scope === needed || (scope.endsWith('/.*') && needed.startsWith(scope.slice(0, -2))),
  )
