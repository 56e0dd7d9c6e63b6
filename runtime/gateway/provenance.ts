/** Where each value of a payment that matters for money came from, as the gateway itself knows it. */
import type { Provenance } from '../core/provenance.ts'
import type { Quote } from '../core/quote.ts'

/** Of a quote that was signed by a merchant of the operator's registry, presented by the leaf that was made for it. */
export function provenanceOf({ iss, lines }: Quote): Provenance {
  const [line] = lines
  const item = line === undefined ? {} : { item: { merchant: iss, sku: line.sku } }
  const quoted = { source: 'quote', ...item } as const
  return {
    payee: [{ source: 'mandate' }, { source: 'operator' }],
    amount: [quoted],
    currency: [{ source: 'mandate' }, quoted],
    quantity: [quoted],
    recurring: [quoted],
  }
}
