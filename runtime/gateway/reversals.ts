/**
 * Hearing that money of a settled payment came back. Each round asks the rail about a few settled payments, in turn over
 * all runs, and writes down what it says by the rail's own ids; written twice it is the same note, so this needs no
 * lease. Nothing here makes money available again: a person does.
 */
import type { PaymentId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { minus, ZERO } from '../core/money.ts'
import type { Rail, RailLookup, RailOutcomeOf, RailReversal } from '../core/rail.ts'
import { type PaymentRecord, reversedOf } from '../core/records.ts'
import { type Clock, nowSeconds, type Seconds } from '../core/time.ts'
import { everyRun } from '../ledger/reads.ts'
import type { OutcomeDeps } from './outcome.ts'
import { unexpected } from './unexpected.ts'

type Settled = RailOutcomeOf<'settled'>

/** The name of a reversal of everything by a rail that gives it none. */
const WHOLE = 'returned'

/** What the rail says came back that is not noted of this payment. */
export function newReversals(payment: PaymentRecord, said: Settled): readonly RailReversal[] {
  const known = new Set((payment.reversals ?? []).map(({ id }) => id))
  return backOf(payment, said).filter(({ id }) => !known.has(id))
}

/**
 * True if something new was noted. What cannot be, because it is more than was settled, is an alarm. The last of it is
 * written by `last`, where that is another way to the same ledger.
 */
export async function noteReversals(
  { ledger, onAlarm }: OutcomeDeps,
  payment: PaymentRecord,
  said: Settled,
  now: Seconds,
  last: Pick<Ledger, 'execute'> = ledger,
): Promise<boolean> {
  if (payment.state !== 'settled') return false
  if (said.currency !== payment.currency) return false
  let isNew = false
  const fresh = newReversals(payment, said)
  for (const [i, { id, kind, amount }] of fresh.entries()) {
    const { execute } = i === fresh.length - 1 ? last : ledger
    const noted = await execute('reverse', { payment: payment.id, id, kind, amount, now })
    if (noted.ok && noted.noted) {
      isNew = true
      onAlarm?.({ kind: 'reversed', payment: payment.id })
    }
    if (noted.ok) continue
    if (noted.code !== 'insufficient' && noted.code !== 'conflict') {
      throw unexpected('reverse', noted.code)
    }
    onAlarm?.({ kind: 'rail_amount', payment: payment.id })
  }
  return isNew
}

/** A rail that says only that it came back means all that had not come back before. */
function backOf(payment: PaymentRecord, { returned, back }: Settled): readonly RailReversal[] {
  if (back !== undefined || !returned) return back ?? []
  const amount = minus(payment.settledAmount ?? ZERO, reversedOf(payment))
  return amount > 0 ? [{ id: WHOLE, kind: 'reversed', amount }] : []
}

export interface WatchDeps extends OutcomeDeps {
  readonly rail: Rail
  readonly clock: Clock
  /** One question, with its deadline. */
  readonly lookup: (payment: PaymentRecord) => Promise<RailLookup>
}

/** What goes on from round to round: each asks about the next few, and begins again after the last. */
export function watchReversals(deps: WatchDeps): () => Promise<readonly PaymentId[]> {
  const { rail, clock } = deps
  let settled = everySettled(deps)
  return async () => {
    const reversed: PaymentId[] = []
    if (rail.truth.afterSuccess.length === 0 || !rail.truth.lookupByReference) return reversed
    for (let asked = 0; asked < LIMITS.watchedPayments; asked += 1) {
      const next = await settled.next()
      if (next.done) {
        settled = everySettled(deps)
        return reversed
      }
      const found = await deps.lookup(next.value)
      // A rail that does not answer is asked again in the next round, and no further now.
      if (found.kind !== 'settled') return reversed
      const now = nowSeconds(clock)
      if (await noteReversals(deps, next.value, found, now)) reversed.push(next.value.id)
    }
    return reversed
  }
}

async function* everySettled({ ledger, clock }: WatchDeps): AsyncGenerator<PaymentRecord> {
  for await (const { id: run } of everyRun(ledger)) {
    const list = { run, states: ['settled'], limit: LIMITS.nodes } as const
    for (const payment of await ledger.payments(list)) {
      const since = payment.endedAtSeconds ?? payment.createdAtSeconds
      const isWatched = nowSeconds(clock) - since < LIMITS.watchSeconds
      if (isWatched && reversedOf(payment) < (payment.settledAmount ?? ZERO)) yield payment
    }
  }
}
