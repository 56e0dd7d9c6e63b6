/**
 * The rail's own list of what moved on the account. Razorpay lists by when a thing was made, the newest first, and by no
 * time of movement; so a window begins some days earlier, and is read in slices that are whole, each oldest first.
 */
import { LIMITS } from '../../core/limits.ts'
import type { RailObject, RailPage } from '../../core/rail.ts'
import { type Clock, nowSeconds } from '../../core/time.ts'
import { unreadable } from '../words.ts'
import type { Client } from './client.ts'
import { ofPayout, ofReversal, paymentObject, refundObject } from './objects.ts'
import { allOf } from './payments.ts'
import { type NoWord, paymentSchema, payoutSchema, refundSchema } from './wire.ts'

/** A payment may be authorised three days late and captured two more later; a payout is confirmed within three. */
const LOOK_BACK_SECONDS = 5 * 24 * 3600

interface Account {
  readonly client: Client
  readonly clock: Clock
  readonly accountNumber: string
}

interface Window {
  readonly fromSeconds: number
  readonly toSeconds: number
}

/** Pages of whole slices. Throws Fault `rail_unconfigured` where a list cannot be read. */
export async function statement(
  at: Account,
  of: Window & { readonly after?: string },
): Promise<RailPage> {
  const { toSeconds } = of
  const begin = /^[0-9]{1,12}$/.test(of.after ?? '')
    ? Number(of.after)
    : Math.max(0, of.fromSeconds - LOOK_BACK_SECONDS)
  let end = toSeconds
  for (;;) {
    const slice = { fromSeconds: begin, toSeconds: end }
    const objects = await movedIn(at, slice)
    if (objects !== undefined) {
      const seen = nowSeconds(at.clock) - LIMITS.skewSeconds
      const page = { objects, completeUntilSeconds: Math.min(end, seen) }
      return end < toSeconds ? { ...page, next: String(end + 1) } : page
    }
    if (end <= begin) throw unreadable('list_too_long')
    end = Math.floor((begin + end) / 2)
  }
}

/** Undefined where that is more than can be read at once. */
async function movedIn(
  { client, accountNumber }: Account,
  { fromSeconds: from, toSeconds: to }: Window,
): Promise<readonly RailObject[] | undefined> {
  const of = { from, to }
  const params = { account_number: accountNumber, ...of }
  // Each list has a deadline of its own: together they may be long.
  const payouts = await allOf(client.begin(), payoutSchema, ({ rq }, page) =>
    rq.get('/v1/payouts', { params: { ...params, ...page } }),
  )
  const payments = await allOf(client.begin(), paymentSchema, ({ api }, page) =>
    api.payments.all({ ...of, ...page }),
  )
  const refunds = await allOf(client.begin(), refundSchema, ({ api }, page) =>
    api.refunds.all({ ...of, ...page }),
  )
  const lists = [payouts, payments, refunds]
  if (lists.some(({ kind }) => kind === 'overflow')) return undefined
  if (payouts.kind !== 'said') throw unreadable(reasonOf(payouts))
  if (payments.kind !== 'said') throw unreadable(reasonOf(payments))
  if (refunds.kind !== 'said') throw unreadable(reasonOf(refunds))
  const objects: RailObject[] = []
  for (const payout of payouts.value) {
    objects.push(ofPayout(payout))
    if (payout.status === 'reversed') objects.push(ofReversal(payout))
  }
  for (const payment of payments.value) {
    if (payment.captured) objects.push(readable(await paymentObject(client.begin(), payment)))
  }
  for (const refund of refunds.value) {
    if (refund.status === 'processed') {
      objects.push(readable(await refundObject(client.begin(), refund)))
    }
  }
  return objects.filter(({ moved }) => moved).sort((a, b) => a.atSeconds - b.atSeconds)
}

function readable(object: RailObject | NoWord): RailObject {
  if (!('type' in object)) throw unreadable(object.reason)
  return object
}

const reasonOf = (said: { readonly kind: string; readonly reason?: string }): string =>
  said.reason ?? said.kind
