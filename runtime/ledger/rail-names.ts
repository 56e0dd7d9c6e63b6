/** By which names of the rail's a payment can be found: keys of ours that the rail shows again, and ids of the rail's own. */
import { refundKeyOf } from '../core/ids.ts'
import type { RailName } from '../core/inbox.ts'
import type { PaymentRecord } from '../core/records.ts'

/** As a store keeps it: a key never meets a reference. */
export const nameText = (name: RailName): string =>
  'key' in name ? `key ${name.key}` : `reference ${name.reference}`

/** All of one payment, of its refunds and of what came back of it. */
export function railNamesOf(payment: PaymentRecord): readonly string[] {
  const { railKey, railReference, refunds = [], reversals = [] } = payment
  const keys = [railKey, ...refunds.map(({ id }) => refundKeyOf(id))]
  const references = [
    railReference,
    ...refunds.map((refund) => refund.railReference),
    ...reversals.map(({ id }) => id),
  ]
  const names = [
    ...keys.map((key) => nameText({ key })),
    ...references.flatMap((reference) =>
      reference === undefined ? [] : [nameText({ reference })],
    ),
  ]
  return [...new Set(names)]
}
