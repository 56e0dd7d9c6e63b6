/**
 * Razorpay's messages. A signature is an HMAC-SHA256 over the bytes as they came, made with the secret of the day the event
 * was; so the secrets of before and after a change both count. What a message says of money is the past and is not believed:
 * it only names what to ask about.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { LIMITS } from '../../core/limits.ts'
import { messageNameOf, type RailHeard, type RailMessage } from '../../core/rail.ts'
import { reversalOf } from './payouts.ts'
import { IDS, jsonOf } from './wire.ts'

const entityOf = (id: RegExp) =>
  z
    .looseObject({ entity: z.looseObject({ id: z.string().regex(id) }) })
    .optional()
    .catch(undefined)

const envelopeSchema = z.looseObject({
  entity: z.literal('event'),
  event: z.string(),
  payload: z.looseObject({
    payout: entityOf(IDS.payout),
    refund: entityOf(IDS.refund),
    payment: entityOf(IDS.payment),
    payment_link: entityOf(IDS.link),
  }),
})

type Envelope = z.infer<typeof envelopeSchema>

const REFUSED: RailHeard = { kind: 'refused' }

/** Refuses what is not signed over these bytes by one of `secrets`. */
export function hear(secrets: readonly string[], message: RailMessage): RailHeard {
  const { headers, body } = message
  if (body.byteLength === 0 || body.byteLength > LIMITS.bodyBytes) return REFUSED
  if (!isSigned(secrets, headers['x-razorpay-signature'], body)) return REFUSED
  const envelope = envelopeSchema.safeParse(jsonOf(body))
  if (!envelope.success) return REFUSED
  const { event, payload } = envelope.data
  const id = headers['x-razorpay-event-id'] ?? ''
  const ref = subjectOf(event, payload)
  return {
    kind: 'event',
    id: /^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : `sha256:${hash('sha256', body, 'base64url')}`,
    name: messageNameOf(event),
    ...(ref === undefined ? {} : { object: { ref } }),
  }
}

/** Every secret is tried, in the same time whichever fits. */
function isSigned(
  secrets: readonly string[],
  signature: string | undefined,
  body: Uint8Array,
): boolean {
  if (signature === undefined || !/^[0-9a-f]{64}$/.test(signature)) return false
  const given = Buffer.from(signature, 'hex')
  let isOurs = false
  for (const secret of secrets) {
    const made = createHmac('sha256', secret).update(body).digest()
    if (timingSafeEqual(made, given)) isOurs = true
  }
  return isOurs
}

/** What moves by an event, and only in the event's own family. */
function subjectOf(event: string, payload: Envelope['payload']): string | undefined {
  const family = event.split('.')[0]
  const { payout, refund, payment, payment_link: link } = payload
  switch (family) {
    case 'payout': {
      const id = payout?.entity.id
      return event === 'payout.reversed' && id !== undefined ? reversalOf(id) : id
    }
    case 'refund':
      return refund?.entity.id
    case 'payment':
    case 'order':
      return payment?.entity.id
    case 'payment_link':
      return payment?.entity.id ?? link?.entity.id
    default:
      return undefined
  }
}
