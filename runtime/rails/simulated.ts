/**
 * The simulated rail's adapter. A payment is settled or declined only on the rail's own whole, well-formed word
 * about exactly what was asked; it was not sent only if no connection ever stood; everything else is unknown,
 * because money may have moved. It sends a payment once, never retries, never follows a redirect, and talks to
 * this machine only.
 */
import type { z } from 'zod'
import { Fault } from '../core/errors.ts'
import { canonicalJson, parseJson } from '../core/json.ts'
import { LIMITS } from '../core/limits.ts'
import { minor } from '../core/money.ts'
import type {
  Rail,
  RailLookup,
  RailObject,
  RailOrder,
  RailOutcome,
  RailOutcomeOf,
  RailPage,
  RailRefund,
  RailRefundOutcome,
  RailReversal,
  RailStatement,
} from '../core/rail.ts'
import { type Exchange, exchange, type Transport } from './exchange.ts'
import { LATEST_BOOKING_MS } from './simulated/script.ts'
import {
  absentRefundSchema,
  absentSchema,
  type FoundPayout,
  foundPayoutSchema,
  healthSchema,
  NOTE_CHARS,
  type Payout,
  payoutBodySchema,
  payoutKeySchema,
  payoutSchema,
  type Refund,
  refundBodySchema,
  refundSchema,
  statementSchema,
} from './simulated/wire.ts'
import { declined, notSent, standInAt, unconfigured, unknown, unreadable } from './words.ts'

export interface SimulatedRailOptions {
  /** `http://127.0.0.1:PORT`; any other host than loopback is a Fault. */
  readonly url: string
  readonly apiKey: string
  /** For one call; `LIMITS.railMs` if absent. */
  readonly timeoutMs?: number
  /** `exchange` if absent. */
  readonly transport?: Transport
}

/** The `Rail` over a simulated rail's server. Throws Fault `rail_unconfigured` for a bad URL or key. */
export function createSimulatedRail(options: SimulatedRailOptions): Rail {
  const base = standInAt(options.url)
  if (base === undefined) throw unconfigured('expected the simulated rail at http://127.0.0.1:PORT')
  if (!/^[\x21-\x7e]{20,200}$/.test(options.apiKey)) {
    throw unconfigured('expected the simulated rail’s key: 20 to 200 printable characters')
  }
  const { transport = exchange } = options
  const call: Call = (method, path, body) =>
    transport({
      method,
      url: new URL(path, base),
      headers: {
        authorization: `Bearer ${options.apiKey}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      timeoutMs: options.timeoutMs ?? LIMITS.railMs,
      maxBytes: LIMITS.bodyBytes,
    })

  return {
    name: 'simulated',
    truth: {
      lookupByReference: true,
      // The book keeps a key for as long as it exists: a hundred years stand for that.
      keyLifeSeconds: 100 * 366 * 24 * 3600,
      visibilitySeconds: Math.ceil(LATEST_BOOKING_MS / 1000),
      afterSuccess: ['returned'],
    },

    async pay(order) {
      const body = bodyOf(order)
      if (body === undefined) return notSent('order_not_expressible')
      return judgePay(order, await call('POST', 'payouts', body))
    },

    async lookup(key) {
      if (!payoutKeySchema.safeParse(key).success) return unknown('key_not_expressible')
      return judgeLookup(key, await call('GET', `payouts/${key}`))
    },

    refunds: {
      async make(order) {
        const { key, amount, currency, paymentKey } = order
        const body = refundBodySchema.safeParse({ key, amount, currency })
        if (!body.success || !payoutKeySchema.safeParse(paymentKey).success) {
          return notSent('order_not_expressible')
        }
        const text = canonicalJson(body.data)
        return judgeRefund(order, await call('POST', `payouts/${paymentKey}/refunds`, text))
      },

      async lookup(order) {
        const { key } = order
        if (!payoutKeySchema.safeParse(key).success) return unknown('key_not_expressible')
        const got = await call('GET', `refunds/${key}`)
        const isAbsent =
          got.kind === 'answer' &&
          got.status === 404 &&
          read(absentRefundSchema, got.body)?.key === key
        if (isAbsent) return { kind: 'absent' }
        // A question that did not get there says nothing about the refund.
        return got.kind === 'answer' ? judgeRefund(order, got) : unknown(got.reason)
      },
    },

    statement: (of) => statementBy(call, of),

    async ready() {
      const got = await call('GET', 'health')
      if (got.kind !== 'answer') throw new Fault('rail_unconfigured', 'the rail does not answer')
      if (got.status === 401) throw unconfigured('the rail does not accept the key')
      if (got.status !== 200 || !read(healthSchema, got.body)) {
        throw unconfigured('expected a simulated rail at this address')
      }
    },
  }
}

type Call = (method: 'GET' | 'POST', path: string, body?: string) => Promise<Exchange>

async function statementBy(
  call: Call,
  { fromSeconds, toSeconds, after }: Parameters<RailStatement>[0],
): Promise<RailPage> {
  const query = new URLSearchParams({ from: String(fromSeconds), to: String(toSeconds) })
  if (after !== undefined) query.set('after', after)
  const got = await call('GET', `statement?${query}`)
  if (got.kind !== 'answer') throw unreadable(got.reason)
  if (got.status !== 200) throw unreadable(`status_${got.status}`)
  const page = read(statementSchema, got.body)
  if (page === undefined) throw unreadable('answer_malformed')
  const { entries, completeUntilSeconds, next } = page
  const objects = entries.map(
    ({ key, ...entry }): RailObject => ({
      ...entry,
      ...(key === undefined ? {} : { key }),
      moved: true,
    }),
  )
  return { objects, completeUntilSeconds, ...(next === undefined ? {} : { next }) }
}

/** Undefined for what the rail's own schema cannot carry: then nothing is sent. */
function bodyOf({ key, account, amount, currency, note }: RailOrder): string | undefined {
  const text = note.toWellFormed().slice(0, NOTE_CHARS).toWellFormed()
  const body = payoutBodySchema.safeParse({ key, account, amount, currency, note: text })
  return body.success && account.isWellFormed() ? canonicalJson(body.data) : undefined
}

/** What the rail says of an order that was sent, whole and well formed, or why it says nothing. */
function saidIn<T extends Payout | Refund>(
  schema: z.ZodType<T>,
  got: Exchange,
): T | RailOutcomeOf<'notSent' | 'unknown'> {
  if (got.kind === 'notSent') return notSent(got.reason)
  if (got.kind === 'lost') return unknown(got.reason)
  if (got.status !== 200 && got.status !== 201) return unknown(`status_${got.status}`)
  return read(schema, got.body) ?? unknown('answer_malformed')
}

function judgePay(order: RailOrder, got: Exchange): RailOutcome {
  const payout = saidIn(payoutSchema, got)
  if ('kind' in payout) return payout
  if (payout.key !== order.key || payout.account !== order.account) return unknown('answer_differs')
  if (payout.amount !== order.amount || payout.currency !== order.currency) {
    return unknown('amount_differs')
  }
  return outcomeOf(payout)
}

/** Less or more than was asked back is money that nobody asked for. */
function judgeRefund(order: RailRefund, got: Exchange): RailRefundOutcome {
  const refund = saidIn(refundSchema, got)
  if ('kind' in refund) return refund
  if (refund.key !== order.key || refund.payout !== order.paymentKey) {
    return unknown('answer_differs')
  }
  if (refund.state === 'declined') {
    return declined(refund.reason ?? 'declined')
  }
  if (refund.amount !== order.amount || refund.currency !== order.currency) {
    return unknown('amount_differs')
  }
  const { reference, amount, currency } = refund
  return { kind: 'refunded', reference, amount, currency }
}

function judgeLookup(key: string, got: Exchange): RailLookup {
  if (got.kind !== 'answer') return unknown(got.reason)
  if (got.status === 404 && read(absentSchema, got.body)?.key === key) return { kind: 'absent' }
  if (got.status !== 200) return unknown(`status_${got.status}`)
  const payout = read(foundPayoutSchema, got.body)
  if (payout?.key !== key) return unknown('answer_malformed')
  return withRefunds(payout)
}

function outcomeOf({ state, reason, reference, amount, currency }: Payout): RailOutcome {
  if (state === 'declined') return declined(reason ?? 'declined')
  const settled = { kind: 'settled', reference, amount, currency } as const
  return state === 'returned' ? { ...settled, returned: true } : settled
}

/** The name of what came back of itself beside refunds: the rest of the payout. */
const RETURNED = 'returned'

/** Each refund by its own id, and what a return sent back beside them. */
function withRefunds({ refunds = [], ...payout }: FoundPayout): RailOutcome {
  const outcome = outcomeOf(payout)
  const made = refunds.filter(({ state }) => state === 'refunded')
  if (outcome.kind !== 'settled' || made.length === 0) return outcome
  const { returned, ...settled } = outcome
  const back = made.map(
    ({ reference: id, amount }): RailReversal => ({ id, kind: 'refunded', amount }),
  )
  const rest = outcome.amount - made.reduce((sum, { amount }) => sum + amount, 0)
  if (returned && rest > 0) back.push({ id: RETURNED, kind: 'reversed', amount: minor(rest) })
  return { ...settled, back }
}

function read<T>(schema: z.ZodType<T>, body: Buffer): T | undefined {
  try {
    return schema.safeParse(parseJson(body)).data
  } catch {
    return undefined
  }
}
