/**
 * Payments that are asked about in rounds. A list has an end, and what nobody can clear would fill it for good; so where it
 * is full, each round takes a few of the others as well, in turn over all runs, and begins again after the last.
 */
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { PaymentRecord } from '../core/records.ts'
import { everyRun } from '../ledger/reads.ts'

export interface Turns {
  /** One of these states. */
  readonly states: readonly PaymentRecord['state'][]
  readonly is: (payment: PaymentRecord) => boolean
}

/** With what was listed first, each payment once and the others as they are now. */
export type WithOthers = (
  ...lists: readonly (readonly PaymentRecord[])[]
) => Promise<readonly PaymentRecord[]>

/** For one process, from its start to its end. */
export function inTurn(
  ledger: Pick<Ledger, 'payment' | 'payments' | 'runs'>,
  turns: Turns,
): WithOthers {
  let others = everyOther(ledger, turns)
  return async (...lists) => {
    const found = new Map(lists.flat().map((payment) => [payment.id, payment]))
    const isFull = lists.some(({ length }) => length >= LIMITS.pageItems)
    for (let taken = 0; isFull && taken < LIMITS.watchedPayments; ) {
      const next = await others.next()
      if (next.done) {
        others = everyOther(ledger, turns)
        break
      }
      const { id } = next.value
      if (found.has(id)) continue
      taken += 1
      const payment = await ledger.payment(id)
      if (payment !== undefined && turns.is(payment)) found.set(id, payment)
    }
    return [...found.values()]
  }
}

async function* everyOther(
  ledger: Pick<Ledger, 'payments' | 'runs'>,
  { states, is }: Turns,
): AsyncGenerator<PaymentRecord, void> {
  for await (const { id: run } of everyRun(ledger)) {
    const listed = await ledger.payments({ run, states, limit: LIMITS.nodes })
    yield* listed.filter(is)
  }
}
