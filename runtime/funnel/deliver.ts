/** Handing a receipt over to the merchant. It moves no money and undoes none: if it fails, the payment stands. */
import { z } from 'zod'
import { Fault } from '../core/errors.ts'
import type { MerchantId } from '../core/ids.ts'
import type { NodeRecord } from '../core/records.ts'
import type { Walk } from './context.ts'
import { backOff, once } from './steps.ts'

interface Delivery {
  readonly merchant: MerchantId
  readonly quote: string
  /** Absent where the gateway would not give it: then there is nothing to hand over. */
  readonly receipt: string | undefined
}

const deliveredSchema = z.strictObject({ order: z.string().max(200).nullable() })

/** The merchant's order reference, written down once; null where the merchant would not take the receipt. */
export async function deliver(
  walk: Walk,
  leaf: NodeRecord,
  delivery: Delivery,
): Promise<string | null> {
  const { order } = await once(walk, {
    node: leaf.id,
    name: 'delivered',
    schema: deliveredSchema,
    work: async () => {
      const order = await handOver(walk, delivery)
      const data = { merchant: delivery.merchant, taken: order !== null }
      return { value: { order }, note: { type: 'delivered', data } }
    },
  })
  return order
}

async function handOver(
  walk: Walk,
  { merchant, quote, receipt }: Delivery,
): Promise<string | null> {
  if (receipt === undefined) return null
  for (let tried = 1; tried <= walk.bounds.tries; tried += 1) {
    try {
      return await walk.merchants.order(merchant, quote, receipt)
    } catch (error) {
      walk.signal.throwIfAborted()
      walk.onFault?.(error)
      // A refusal that is no fault will not change; and the money has moved, whatever the merchant makes of it.
      if (!(error instanceof Fault)) return null
      await backOff(walk, tried)
    }
  }
  return null
}
