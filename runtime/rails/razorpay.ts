/**
 * Razorpay's adapter. A payee's account says how it is paid: `fa_…` by a payout of RazorpayX, `link` by a payment link and
 * `order` by an order that a payer pays. What is settled or declined is so by Razorpay's own whole and well-formed word about
 * exactly what was asked; a refusal counts once Razorpay, asked again, has nothing under our key. It sends money once, never
 * invents another key, writes no id into a path that has not Razorpay's shape, and lets no text of Razorpay's out.
 */
import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { LIMITS } from '../core/limits.ts'
import type { Rail, RailKnown, RailLookup, RailOrder, RailOutcome } from '../core/rail.ts'
import type { Clock } from '../core/time.ts'
import { exchange, type Transport } from './exchange.ts'
import { type Ask, type Client, createClient } from './razorpay/client.ts'
import { inexpressible, kindOf } from './razorpay/currencies.ts'
import { hear } from './razorpay/events.ts'
import { fetchObject } from './razorpay/objects.ts'
import { type RazorpayPayee, registerWith } from './razorpay/payees.ts'
import { cancelPayout, type Desk, lookUpPayout, payOut } from './razorpay/payouts.ts'
import { lookUpRefund, refund } from './razorpay/refunds.ts'
import { cancelRequest, completeRequest, lookUpRequest, request } from './razorpay/requests.ts'
import { statement } from './razorpay/statement.ts'
import { collectionOf, KEY, saidIn } from './razorpay/wire.ts'
import { notSent, safely, unconfigured, unknown } from './words.ts'

export interface RazorpayRailOptions {
  readonly mode: 'test' | 'live'
  readonly keyId: string
  readonly keySecret: string
  /** Of RazorpayX: the account that payouts leave from. */
  readonly accountNumber: string
  /** The current one, and the one before it while its events may still come. */
  readonly webhookSecrets: readonly string[]
  /** `http://127.0.0.1:PORT` of a stand-in; absent: Razorpay. */
  readonly url?: string
  readonly clock: Clock
  /** For all requests of one call together; `LIMITS.railMs` if absent. */
  readonly timeoutMs?: number
  readonly transport?: Transport
}

const DAY_SECONDS = 24 * 3600

/** The `Rail` over Razorpay. Throws Fault `rail_unconfigured` for what cannot be one. */
export function createRazorpayRail(options: RazorpayRailOptions): Rail {
  const { accountNumber, clock, webhookSecrets } = options
  if (!/^[0-9A-Za-z]{5,35}$/.test(accountNumber)) {
    throw unconfigured('expected the account number of RazorpayX: 5 to 35 letters and digits')
  }
  assertSecrets(webhookSecrets)
  const client = clientOf(options)
  const desk = (): Desk => ({ ask: client.begin(), clock, accountNumber })
  return {
    name: 'razorpay',
    truth: {
      lookupByReference: true,
      keyLifeSeconds: 7 * DAY_SECONDS,
      // Razorpay's own word on how long a payout without an answer may take to show.
      visibilitySeconds: 3600,
      afterSuccess: ['reversed', 'returned'],
    },
    expressible: inexpressible,

    pay: (order) => safely(() => pay(desk(), order)),
    lookup: (key, known) => safely<RailLookup>(() => lookup(desk(), key, known)),
    complete: (known) =>
      safely(async () => {
        const kind = kindOf(known.order.account)
        if (kind === undefined || !KEY.test(known.order.key)) return unknown('key_not_expressible')
        if (kind !== 'payout') return completeRequest(desk(), kind, known)
        const found = await lookUpPayout(desk(), known.order.key, known)
        return found.kind === 'absent' ? unknown('absent_at_rail') : found
      }),
    cancel: (known) =>
      safely(async () => {
        const kind = kindOf(known.order.account)
        if (kind === undefined || !KEY.test(known.order.key)) return unknown('key_not_expressible')
        return kind === 'payout' ? cancelPayout(desk(), known) : cancelRequest(desk(), kind, known)
      }),
    refunds: {
      make: (asked) => safely(() => refund(client.begin(), asked)),
      lookup: (asked) => safely(() => lookUpRefund(client.begin(), asked)),
    },
    events: {
      hear: async (message) => hear(webhookSecrets, message),
      fetch: (ref) => safely(() => fetchObject(client.begin(), ref)),
    },
    statement: (of) => statement({ client, clock, accountNumber }, of),
    ready: () => assertReady(client.begin(), accountNumber),
  }
}

/**
 * Registers whom a payout can go to and answers the `fa_…` to write into the configuration; for the same details the same
 * again. Throws Fault `rail_unconfigured` where Razorpay registers nobody, ZodError for details that are none.
 */
export const registerRazorpayPayee = (
  options: Omit<RazorpayRailOptions, 'accountNumber' | 'webhookSecrets' | 'clock'>,
  payee: RazorpayPayee,
): Promise<string> => registerWith(clientOf(options), payee)

const clientOf = ({
  transport = exchange,
  timeoutMs = LIMITS.railMs,
  ...options
}: Pick<
  RazorpayRailOptions,
  'mode' | 'keyId' | 'keySecret' | 'url' | 'timeoutMs' | 'transport'
>): Client => createClient({ ...options, transport, timeoutMs })

/** Anybody can sign with an empty secret. */
function assertSecrets(secrets: readonly string[]): void {
  if (secrets.length < 1 || secrets.length > 4) {
    throw unconfigured('expected one to four webhook secrets')
  }
  if (!secrets.every((secret) => /^[\x21-\x7e]{8,200}$/.test(secret))) {
    throw unconfigured('expected each webhook secret to be 8 to 200 printable characters')
  }
}

async function pay(desk: Desk, order: RailOrder): Promise<RailOutcome> {
  const kind = kindOf(order.account)
  if (kind === undefined || inexpressible(order) !== undefined || !KEY.test(order.key)) {
    return notSent('order_not_expressible')
  }
  return kind === 'payout' ? payOut(desk, order) : request(desk, kind, order)
}

async function lookup(desk: Desk, key: string, known?: RailKnown): Promise<RailLookup> {
  if (!KEY.test(key)) return unknown('key_not_expressible')
  if (known !== undefined) {
    const kind = kindOf(known.order.account)
    if (kind === undefined) return unknown('account_not_expressible')
    return kind === 'payout'
      ? lookUpPayout(desk, key, known)
      : lookUpRequest(desk, kind, key, known)
  }
  // Whatever it was: absent is what none of the lists has.
  const payout = await lookUpPayout(desk, key, undefined)
  if (payout.kind !== 'absent') return payout
  const order = await lookUpRequest(desk, 'order', key, undefined)
  return order.kind === 'absent' ? lookUpRequest(desk, 'link', key, undefined) : order
}

const anyList = collectionOf(z.unknown())

/** Asks for a list of payouts, which needs the keys and the right to make some. */
async function assertReady(ask: Ask, accountNumber: string): Promise<void> {
  const params = { account_number: accountNumber, count: 1 }
  const payouts = saidIn(anyList, await ask(({ rq }) => rq.get('/v1/payouts', { params })))
  if (payouts.kind === 'said') return
  if (payouts.kind === 'refused') {
    const orders = saidIn(anyList, await ask(({ api }) => api.orders.all({ count: 1 })))
    if (orders.kind === 'said') {
      throw new Fault(
        'rail_limited',
        'Razorpay accepts the keys, but can make no payouts from this account number: only orders and links',
        { retryable: false },
      )
    }
  }
  const isKeys = payouts.kind === 'refused' || payouts.reason === 'not_authenticated'
  if (isKeys) throw unconfigured('Razorpay does not accept the keys')
  throw new Fault('rail_unconfigured', 'Razorpay does not answer as it should')
}
