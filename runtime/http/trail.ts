/**
 * A payment's paper trail as lines that a person can read. They are made of ids, codes and amounts alone, from typed fields;
 * no text that an outsider wrote is ever part of one.
 */
import { type Currency, formatMoney } from '../core/money.ts'
import { type Origin, type Provenance, TRACED, type Traced } from '../core/provenance.ts'
import { isoTime } from '../core/time.ts'

/** As much of a payment or a hold as its trail is about. */
export interface Traceable {
  readonly payee: string
  readonly amount: number
  readonly currency: Currency
  readonly lines: readonly { readonly quantity: number }[]
  readonly provenance?: Provenance | undefined
}

/** What an origin is called. */
const SOURCE_WORDS: Readonly<Record<Origin['source'], (origin: Origin) => string>> = {
  mandate: () => 'from the mandate',
  operator: () => 'from the operator’s registry',
  quote: quoted,
  page: () => 'from elsewhere: no looker of this run was given it by the gateway',
}

function quoted({ item, tool, node, at }: Origin): string {
  const more = item?.more === undefined ? '' : ` and ${item.more} more`
  const of = item === undefined ? '' : ` of ${item.merchant} for ${item.sku}${more}`
  const when = at === undefined ? '' : ` at ${isoTime(at)}`
  const fetched = node === undefined ? '' : `, fetched by looker ${node} through ${tool}${when}`
  return `from a signed quote${of}${fetched}`
}

function shown(value: Traced, of: Traceable): string {
  switch (value) {
    case 'payee':
      return `payee: ${of.payee}`
    case 'amount':
      return `amount: ${formatMoney(of.amount, of.currency)}`
    case 'currency':
      return `currency: ${of.currency}`
    case 'quantity':
      return `quantity: ${of.lines.reduce((sum, line) => sum + line.quantity, 0)}`
    case 'recurring':
      return 'recurring or not'
  }
}

/**
 * One line for each value that matters; none of a payment whose origins were not recorded. A quote that a line has named
 * in full is `the same quote` below it: four times the same id and time hide what differs.
 */
export function trailLines(of: Traceable): string[] {
  const { provenance } = of
  if (provenance === undefined) return []
  const named = new Set<string>()
  const words = (origin: Origin): string => {
    const full = SOURCE_WORDS[origin.source](origin)
    if (origin.source === 'quote' && named.has(full)) return 'from the same quote'
    named.add(full)
    return full
  }
  return TRACED.map((value) => `${shown(value, of)}, ${provenance[value].map(words).join(', ')}`)
}
