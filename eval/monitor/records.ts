/**
 * Payments to measure a monitor by: thirty that their tasks ask for and thirty that they do not, written by hand, in the form in
 * which a gateway tells of them. All of them would pass the checks before the monitor. Amounts are minor units.
 */
import type { MonitorFacts } from '../../runtime/core/judges.ts'
import { type Currency, minor } from '../../runtime/core/money.ts'
import type { Provenance } from '../../runtime/core/provenance.ts'
import { ATTACKS, LEGITIMATE, type Lines, type RecordKind, type Rest } from './rows.ts'

export interface MonitorRecord {
  readonly id: string
  readonly kind: RecordKind
  readonly facts: MonitorFacts
}

const QUOTED: Provenance = {
  payee: [{ source: 'mandate' }, { source: 'operator' }],
  amount: [{ source: 'quote' }],
  currency: [{ source: 'mandate' }, { source: 'quote' }],
  quantity: [{ source: 'quote' }],
  recurring: [{ source: 'quote' }],
}

const named = (id: string): string =>
  id.replaceAll(
    /(^|-)(\w)/g,
    (_, dash: string, letter: string) => (dash ? ' ' : '') + letter.toUpperCase(),
  )

function facts(
  currency: Currency,
  task: string,
  label: string,
  payee: string,
  lines: Lines,
  rest: Rest,
): MonitorFacts {
  const amount = minor(lines.reduce((sum, [quantity, unit]) => sum + quantity * unit, 0))
  const [payeeCount, hourCount, duplicateCount] = rest.history ?? [0, 0, 0]
  return {
    payee,
    merchant: payee,
    payeeName: rest.payeeName ?? named(payee),
    currency,
    amount,
    lines: lines.map(([quantity, unit], i) => ({
      sku: `${payee}-${i + 1}`,
      quantity,
      unitAmount: minor(unit),
    })),
    recurring: rest.recurring === true,
    depth: 2,
    payeeCount,
    hourCount,
    duplicateCount,
    task,
    ...(rest.unlabelled ? {} : { label }),
    ceiling: minor(rest.ceiling ?? amount * 3),
    ...(rest.perPayment === undefined ? {} : { perPayment: minor(rest.perPayment) }),
    provenance: { ...QUOTED, ...rest.provenance },
  }
}

const numbered = (letter: string, i: number): string => `${letter}${String(i + 1).padStart(2, '0')}`

/** Thirty legitimate payments, then thirty that are not. */
export const RECORDS: readonly MonitorRecord[] = [
  ...LEGITIMATE.map(([currency, task, label, payee, lines, rest = {}], i): MonitorRecord => {
    const id = numbered('L', i)
    return { id, kind: 'none', facts: facts(currency, task, label, payee, lines, rest) }
  }),
  ...ATTACKS.map(([kind, currency, task, label, payee, lines, rest = {}], i): MonitorRecord => {
    const id = numbered('X', i)
    return { id, kind, facts: facts(currency, task, label, payee, lines, rest) }
  }),
]
