/** A rail that sends messages and has a list of what moved, both as a test writes them. */
import type {
  RailEvents,
  RailHeard,
  RailMessage,
  RailObject,
  RailOrder,
  RailPage,
  RailStatement,
} from '../../runtime/core/rail.ts'
import { START } from './world.ts'

/** A message as this rail would deliver it: its name, id and what it is about are its body. */
export const message = (id: string, ref?: string, signature = 'good'): RailMessage => ({
  headers: { 'x-signature': signature },
  body: Buffer.from(JSON.stringify(ref === undefined ? { id } : { id, ref })),
})

export class RailWord {
  /** As the rail has them now, by what a message calls them. */
  readonly objects = new Map<string, Awaited<ReturnType<RailEvents['fetch']>>>()
  readonly fetched: string[] = []
  heard = 0
  /** What the list has, and up to when it is whole. */
  readonly list: RailObject[] = []
  completeUntilSeconds = Number.MAX_SAFE_INTEGER
  pageItems = 2
  readonly pages: { readonly fromSeconds: number; readonly after?: string }[] = []

  readonly events: RailEvents = {
    hear: async ({ headers, body }): Promise<RailHeard> => {
      this.heard += 1
      const signature = headers['x-signature']
      if (signature === 'down') return { kind: 'unverified', reason: 'late' }
      if (signature === 'broken') throw new Error('no such key')
      if (signature !== 'good') return { kind: 'refused' }
      const { id, ref } = JSON.parse(Buffer.from(body).toString()) as { id: string; ref?: string }
      const event = { kind: 'event', id, name: 'payout.updated' } as const
      return ref === undefined ? event : { ...event, object: { ref } }
    },
    fetch: async (ref) => {
      this.fetched.push(ref)
      return this.objects.get(ref) ?? { kind: 'absent' }
    },
  }

  readonly statement: RailStatement = async ({
    fromSeconds,
    toSeconds,
    after,
  }): Promise<RailPage> => {
    this.pages.push({ fromSeconds, ...(after === undefined ? {} : { after }) })
    const all = this.list
      .filter(({ atSeconds }) => atSeconds >= fromSeconds && atSeconds < toSeconds)
      .sort((a, b) => a.atSeconds - b.atSeconds)
    const begin = Number(after ?? 0)
    const objects = all.slice(begin, begin + this.pageItems)
    const next = begin + this.pageItems
    const { completeUntilSeconds } = this
    return { objects, completeUntilSeconds, ...(next < all.length ? { next: String(next) } : {}) }
  }
}

/** A payout of ours as the rail shows it. */
export const objectFor = (order: RailOrder, more: Partial<RailObject> = {}): RailObject => ({
  id: `ref-${order.key}`,
  type: 'payout',
  key: order.key,
  direction: 'out',
  amount: order.amount,
  currency: order.currency,
  status: 'PROCESSED',
  moved: true,
  atSeconds: START,
  ...more,
})

/** Money that no payment of ours moved. */
export const strayOf = (id: string, more: Partial<RailObject> = {}): RailObject => ({
  id,
  type: 'payout',
  direction: 'out',
  amount: minorOf(7_700),
  currency: 'EUR',
  status: 'PROCESSED',
  moved: true,
  atSeconds: START,
  ...more,
})

const minorOf = (n: number): RailObject['amount'] => n as RailObject['amount']
