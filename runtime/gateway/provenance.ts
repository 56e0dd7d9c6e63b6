/**
 * Where each value of a payment that matters for money came from, as the gateway itself knows it. It handed quotes out, and
 * keeps which run was given which: a quote that this run's lookers never fetched from its own issuer came from somewhere
 * else, whatever the issuer's signature says, and nothing that anybody writes into a text changes that.
 */
import type { OriginFacts } from '../core/judges.ts'
import type { Mandate } from '../core/mandate.ts'
import { joined, type Origin, type Provenance, QUOTES_DOOR } from '../core/provenance.ts'
import type { Quote } from '../core/quote.ts'
import type { Sighting } from '../core/records.ts'
import { writtenBy } from './written.ts'

/** Of a quote that a merchant of the operator's registry signed, presented by the leaf that was made for it. */
export function provenanceOf({ iss, lines }: Quote, seen: Sighting | undefined): Provenance {
  const [line, ...more] = lines
  const read = seen && { tool: QUOTES_DOOR, node: seen.node, at: seen.atSeconds }
  // A shop that is asked for its offer may hand on another's, whom the run's looker never chose.
  const isFromIssuer = seen?.merchant === iss
  const quoted: Origin = {
    source: 'quote',
    ...(line === undefined
      ? {}
      : {
          item: {
            merchant: iss,
            sku: line.sku,
            ...(more.length === 0 ? {} : { more: more.length }),
          },
        }),
    ...(isFromIssuer ? read : {}),
  }
  const elsewhere: readonly Origin[] = isFromIssuer ? [] : [{ source: 'page', ...read }]
  const values = [quoted, ...elsewhere]
  return {
    payee: [{ source: 'mandate' }, { source: 'operator' }, ...elsewhere],
    amount: values,
    currency: [{ source: 'mandate' }, ...values],
    quantity: values,
    recurring: values,
  }
}

/** What rules may read of it. */
export function originFacts(provenance: Provenance, mandate: Mandate): OriginFacts {
  const written = writtenBy(mandate)
  return {
    payee: joined(provenance.payee),
    amount: joined(provenance.amount),
    payees: mandate.payees.length,
    ...(written === undefined ? {} : { written }),
  }
}
