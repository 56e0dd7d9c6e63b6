/**
 * Whether a stream's owner is what the stream's last event says. Whoever edits the store edits balances: an account
 * that differs from its own log gives nothing out, and the event that would make it look recorded is never written.
 */
import { Fault } from '../core/errors.ts'
import { type Balances, eventHash } from '../core/events.ts'
import type { NodeId, RunId } from '../core/ids.ts'
import { ZERO } from '../core/money.ts'
import type { Account, EventRecord, Head, StreamId } from '../core/records.ts'

const FIELDS = ['ceiling', 'available', 'reserved', 'spent', 'allotted'] as const

export const balanced = (of: Balances): boolean =>
  of.ceiling === of.available + of.reserved + of.spent + of.allotted

/** Throws Fault `ledger_corrupt`, with the run that has to stop, unless the account is what its last event left. */
export function assertIntact(
  node: NodeId,
  account: Account | undefined,
  last: EventRecord | undefined,
): void {
  if (account === undefined && last === undefined) return
  const stated = account && eventAt(node, account.head, last)?.balances
  const agrees =
    stated !== undefined &&
    FIELDS.every((field) => stated[field] === account?.[field]) &&
    (stated.reversed ?? ZERO) === account?.reversed
  if (!agrees || !balanced(account)) throw corrupt(node, account?.run)
}

/** As `assertIntact`, of the gateway's own stream, which has no balances. */
export function isGatewayIntact(head: Head | undefined, last: EventRecord | undefined): boolean {
  if (head === undefined) return last === undefined
  return eventAt('gateway', head, last) !== undefined
}

export function corrupt(stream: StreamId, run?: RunId): Fault {
  const what = run === undefined ? 'its stream' : `its account, and ${run} is stopped`
  return new Fault('ledger_corrupt', `the last event of ${stream} differs from ${what}`, {
    retryable: false,
    ...(run === undefined ? {} : { corrupt: { run, stream } }),
  })
}

function eventAt(stream: StreamId, head: Head, last: EventRecord | undefined) {
  const isHead = last?.seq === head.seq && last.hash === head.hash
  if (last === undefined || !isHead || eventHash(last.body) !== last.hash) return undefined
  const event = placeIn(last.body)
  return event.stream === stream && event.seq === head.seq ? event : undefined
}

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** Only where a stored body stands and what it leaves: for a comparison with what is known, in which anything else differs. */
function placeIn(body: string): { stream: unknown; seq: unknown; balances: Fields } {
  const { stream, seq, balances } = fieldsOf(jsonOf(body))
  return { stream, seq, balances: fieldsOf(balances) }
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
