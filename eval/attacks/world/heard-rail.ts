/**
 * The simulated rail under the name of one that sends messages: signed as razorpay signs them, HMAC-SHA256 over the very
 * bytes. What a message is about is asked of the rail itself, as every adapter does.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Rail, RailEvents, RailHeard, RailObject } from '../../../runtime/core/rail.ts'
import { createSimulatedRail } from '../../../runtime/rails/simulated.ts'

export interface HeardRail {
  readonly rail: Rail
  /** What the rail would sign this body with. */
  readonly signature: (body: string) => string
}

export function createHeardRail(options: { url: string; apiKey: string }): HeardRail {
  const secret = randomBytes(32)
  const simulated = createSimulatedRail(options)
  const signature = (body: string | Uint8Array) =>
    createHmac('sha256', secret).update(body).digest('hex')
  const events: RailEvents = {
    hear: async ({ headers, body }): Promise<RailHeard> => {
      const given = Buffer.from(headers['x-razorpay-signature'] ?? '')
      const right = Buffer.from(signature(body))
      if (given.length !== right.length || !timingSafeEqual(given, right)) {
        return { kind: 'refused' }
      }
      const id = headers['x-razorpay-event-id']
      const { event, ref } = JSON.parse(Buffer.from(body).toString()) as Record<string, string>
      if (id === undefined || event === undefined) return { kind: 'refused' }
      const heard = { kind: 'event', id, name: event } as const
      return ref === undefined ? heard : { ...heard, object: { ref } }
    },
    fetch: async (ref) => (await byKey(simulated, ref)) ?? (await inList(simulated, ref)) ?? ABSENT,
  }
  return { rail: { ...simulated, name: 'razorpay', events }, signature }
}

const ABSENT = { kind: 'absent' } as const

async function byKey(rail: Rail, key: string): Promise<RailObject | undefined> {
  const found = await rail.lookup(key)
  if (found.kind !== 'settled') return undefined
  const { reference: id, amount, currency } = found
  return {
    ...{ id, key, amount, currency, type: 'payout', direction: 'out' },
    ...{ status: 'PROCESSED', moved: true, atSeconds: 0 },
  }
}

async function inList(rail: Rail, id: string): Promise<RailObject | undefined> {
  for (let after: string | undefined; ; ) {
    const of = { fromSeconds: 0, toSeconds: 10_000_000_000 }
    const page = await rail.statement?.(after === undefined ? of : { ...of, after })
    const found = page?.objects.find((object) => object.id === id)
    after = page?.next
    if (found !== undefined || after === undefined) return found
  }
}
