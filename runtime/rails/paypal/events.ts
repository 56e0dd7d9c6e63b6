/**
 * PayPal's messages. PayPal itself says whether a signature is its own, over the bytes that came; of a message only its
 * id, its name and what it is about are believed, and what it is about is fetched.
 */
import { z } from 'zod'
import { LIMITS } from '../../core/limits.ts'
import {
  messageNameOf,
  type RailEvents,
  type RailHeard,
  type RailMessage,
  type RailObject,
  railStatusOf,
} from '../../core/rail.ts'
import { type Clock, nowSeconds } from '../../core/time.ts'
import { ourKeyIn, safely, unknown } from '../words.ts'
import { isId } from './accounts.ts'
import { isNotFound, noAnswer, read, textSchema } from './answers.ts'
import {
  authorizationSchema,
  captureSchema,
  capturesIn,
  isTaken,
  orderSchema,
  refundSchema,
  unitOf,
} from './captures.ts'
import type { PaypalClient, PaypalRequest, Said } from './client.ts'
import { sumOf } from './money.ts'
import { batchSchema, itemSchema, type PayoutItem } from './payouts.ts'
import {
  batchRequest,
  getAuthorizationRequest,
  getCaptureRequest,
  getOrderRequest,
  getRefundRequest,
  itemRequest,
  verifyRequest,
} from './requests.ts'
import { timeSchema } from './search.ts'

export interface EventDeps {
  readonly client: PaypalClient
  readonly clock: Clock
  readonly base: URL
  readonly webhookId: string | undefined
}

export const createEvents = (deps: EventDeps): RailEvents => ({
  hear: async (message) => {
    try {
      return await hear(deps, message)
    } catch {
      return { kind: 'unverified', reason: 'internal' }
    }
  },
  fetch: (ref) => safely(() => fetchObject(deps, ref)),
})

const headersSchema = z.object({
  'paypal-transmission-id': z.string().regex(/^[A-Za-z0-9-]{1,100}$/),
  'paypal-transmission-time': z.string().regex(/^[0-9TZ:.+-]{10,40}$/),
  'paypal-transmission-sig': z.string().regex(/^[A-Za-z0-9+/=]{20,1000}$/),
  'paypal-cert-url': z.string().max(500),
  'paypal-auth-algo': z.string().regex(/^[A-Za-z0-9-]{1,50}$/),
})

const eventSchema = z.object({
  id: z.string().regex(/^[A-Za-z0-9-]{1,100}$/),
  event_type: z.string().max(60),
  resource_type: z.string().max(60).optional(),
  resource: z
    .object({
      id: z.string().optional(),
      payout_item_id: z.string().optional(),
      order_id: z.string().optional(),
      batch_header: z.object({ payout_batch_id: z.string() }).optional(),
    })
    .optional(),
})

const verdictSchema = z.object({ verification_status: textSchema })

async function hear(deps: EventDeps, { headers, body }: RailMessage): Promise<RailHeard> {
  const { client, webhookId } = deps
  const sent = headersSchema.safeParse(headers).data
  const text = body.length > LIMITS.bodyBytes ? undefined : textOf(body)
  const event = text === undefined ? undefined : parsed(text)
  if (webhookId === undefined || sent === undefined || text === undefined || event === undefined) {
    return { kind: 'refused' }
  }
  const certUrl = sent['paypal-cert-url']
  if (!isPaypalsOwn(certUrl, deps.base)) return { kind: 'refused' }
  const request = verifyRequest(
    webhookId,
    {
      algorithm: sent['paypal-auth-algo'],
      certUrl,
      id: sent['paypal-transmission-id'],
      signature: sent['paypal-transmission-sig'],
      time: sent['paypal-transmission-time'],
    },
    text,
  )
  const said = await client.call(request, client.deadline())
  const verdict = read(verdictSchema, said)?.verification_status
  if (verdict === 'FAILURE') return { kind: 'refused' }
  if (verdict !== 'SUCCESS') return { kind: 'unverified', reason: whyNot(said) }
  const object = refIn(event)
  return {
    kind: 'event',
    id: event.id,
    name: messageNameOf(event.event_type),
    ...(object ? { object: { ref: object } } : {}),
  }
}

const whyNot = (said: Said): string =>
  said.kind === 'said' ? `verify_status_${said.status}` : said.reason

/** Whoever sends a message names the certificate: only one of PayPal's own can speak for it. */
function isPaypalsOwn(certUrl: string, base: URL): boolean {
  const url = URL.parse(certUrl)
  if (url === null || url.username !== '' || url.password !== '') return false
  if (base.protocol === 'http:' && url.origin === base.origin) return true
  const isHost = url.hostname === 'paypal.com' || url.hostname.endsWith('.paypal.com')
  return url.protocol === 'https:' && url.port === '' && isHost
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(body: Uint8Array): string | undefined {
  try {
    return UTF8.decode(body)
  } catch {
    return undefined
  }
}

/** One JSON object and nothing after it, so that nothing can be smuggled in beside it where it is put in as it came. */
function parsed(text: string): z.infer<typeof eventSchema> | undefined {
  try {
    return eventSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** `kind:ID` of what a message is about; undefined where that is nothing that moves. */
function refIn({
  event_type,
  resource_type,
  resource,
}: z.infer<typeof eventSchema>): string | undefined {
  const kind = KINDS.find(({ types }) => types.some((type) => type === resource_type))?.kind
  const byName = event_type.startsWith('CHECKOUT.PAYMENT-APPROVAL.') ? 'order' : kind
  const id =
    byName === 'item'
      ? resource?.payout_item_id
      : byName === 'batch'
        ? resource?.batch_header?.payout_batch_id
        : (resource?.id ?? resource?.order_id)
  return byName !== undefined && id !== undefined && isId(id) ? `${byName}:${id}` : undefined
}

const KINDS = [
  { kind: 'item', types: ['payouts_item', 'payouts-item'] },
  { kind: 'batch', types: ['payouts', 'payouts_batch', 'payoutsbatch'] },
  { kind: 'capture', types: ['capture'] },
  { kind: 'refund', types: ['refund'] },
  { kind: 'authorization', types: ['authorization'] },
  { kind: 'order', types: ['checkout-order', 'order'] },
] as const

type Kind = (typeof KINDS)[number]['kind']

interface Reading {
  request(id: string): PaypalRequest
  objectIn(said: Said, nowSeconds: number): RailObject | undefined
}

const READINGS: Readonly<Record<Kind, Reading>> = {
  item: {
    request: itemRequest,
    objectIn: (said, now) => {
      const item = read(itemSchema, said)
      return item && payoutObject(item, now)
    },
  },
  batch: {
    request: batchRequest,
    objectIn: (said, now) => {
      const [item, ...more] = read(batchSchema, said)?.items ?? []
      return item !== undefined && more.length === 0 ? payoutObject(item, now) : undefined
    },
  },
  capture: {
    request: getCaptureRequest,
    objectIn: (said, now) => {
      const capture = read(captureSchema, said)
      return capture && captureObject(capture, now)
    },
  },
  refund: {
    request: getRefundRequest,
    objectIn: (said, now) => {
      const refund = read(refundSchema, said)
      if (refund === undefined) return undefined
      const moved = refund.status === 'COMPLETED'
      return objectOf({ ...refund, type: 'refund', direction: 'in', moved }, now)
    },
  },
  authorization: {
    request: getAuthorizationRequest,
    objectIn: (said, now) => {
      const held = read(authorizationSchema, said)
      return (
        held && objectOf({ ...held, type: 'authorisation', direction: 'out', moved: false }, now)
      )
    },
  },
  order: {
    request: getOrderRequest,
    objectIn: (said, now) => {
      const order = read(orderSchema, said)
      const [capture] = order === undefined ? [] : capturesIn(order)
      if (capture !== undefined) return captureObject(capture, now)
      const unit = order && unitOf(order)
      if (order === undefined || unit === undefined) return undefined
      const { id, status, create_time } = order
      const of = {
        id,
        status,
        create_time,
        type: 'payment',
        direction: 'out',
        moved: false,
      } as const
      return objectOf({ ...unit, ...of }, now)
    },
  },
}

async function fetchObject(
  { client, clock }: EventDeps,
  ref: string,
): ReturnType<RailEvents['fetch']> {
  const [kind = '', id = '', ...more] = ref.split(':')
  const reading = isKind(kind) ? READINGS[kind] : undefined
  if (reading === undefined || more.length > 0 || !isId(id))
    return unknown('reference_not_expressible')
  const said = await client.call(reading.request(id), client.deadline())
  if (said.kind === 'notSent') return said
  if (isNotFound(said)) return { kind: 'absent' }
  const object = reading.objectIn(said, nowSeconds(clock))
  return object ?? noAnswer(said)
}

const isKind = (word: string): word is Kind => KINDS.some(({ kind }) => kind === word)

const captureObject = (capture: z.infer<typeof captureSchema>, now: number) =>
  objectOf({ ...capture, type: 'payment', direction: 'out', moved: isTaken(capture) }, now)

/** Under its transaction's id, by which the statement shows it too, as soon as it has one. */
function payoutObject(item: PayoutItem, now: number): RailObject | undefined {
  const { payout_item, transaction_status = 'PENDING', time_processed } = item
  const { amount, sender_item_id } = payout_item
  return objectOf(
    {
      id: item.transaction_id ?? item.payout_item_id,
      status: transaction_status,
      amount: { currency_code: amount.currency, value: amount.value },
      custom_id: sender_item_id,
      create_time: timeSchema.safeParse(time_processed).data,
      type: 'payout',
      direction: 'out',
      moved: ['SUCCESS', 'RETURNED', 'REFUNDED', 'REVERSED'].includes(transaction_status),
    },
    now,
  )
}

function objectOf(
  of: {
    readonly id: string
    readonly status: string
    readonly amount: { readonly currency_code: string; readonly value: string }
    readonly invoice_id?: string | undefined
    readonly custom_id?: string | undefined
    readonly create_time?: number | undefined
    readonly type: RailObject['type']
    readonly direction: RailObject['direction']
    readonly moved: boolean
  },
  nowSeconds: number,
): RailObject | undefined {
  const sum = sumOf(of.amount.value, of.amount.currency_code)
  if (sum === undefined || sum.isNegative) return undefined
  const key = ourKeyIn(of.invoice_id) ?? ourKeyIn(of.custom_id)
  const { id, type, direction, moved } = of
  return {
    id,
    type,
    ...(key === undefined ? {} : { key }),
    direction,
    amount: sum.amount,
    currency: sum.currency,
    status: railStatusOf(of.status),
    moved,
    atSeconds: of.create_time ?? nowSeconds,
  }
}
