/**
 * Check 8 without a reservation: what the ledger would refuse one for, in its own order and by its own rules, read as of
 * now and kept by nothing. Somebody else may have the money a moment later, so this is an opinion and never a promise.
 */
import { Fault } from '../core/errors.ts'
import type { Snapshot } from '../core/ledger.ts'
import { nowSeconds } from '../core/time.ts'
import { corrupt } from '../ledger/intact.ts'
import { isAtBound } from '../ledger/payments.ts'
import { type CountedUse, denialAt } from './counters.ts'
import type { FundsFacts, FundsRefusal } from './facts.ts'
import type { Gate } from './gate.ts'
import type { Judged } from './judged.ts'
import { countersFor, isOverPerPayment, whatExpired } from './purchase.ts'

/** Throws Fault. */
export async function affordable(gate: Gate, judged: Omit<Judged, 'facts'>): Promise<FundsFacts> {
  const { caller, purchase, decision, approval } = judged
  if (isOverPerPayment(purchase)) return refused('per_payment')
  const now = nowSeconds(gate.clock)
  const { bounds } = decision
  const uses = countersFor(caller, purchase, { bounds, approved: approval !== undefined, now })
  const { claims, payment } = purchase
  const snapshot = await gate.ledger.snapshot({
    node: caller.node.node,
    payment,
    claim: { issuer: claims.iss, jti: claims.jti },
    counters: uses.map(({ use }) => use.key),
  })
  if (snapshot === undefined) throw new Fault('ledger_corrupt', 'a node is missing')
  const { run } = snapshot
  if (run.halted !== undefined) throw corrupt(run.halted.stream, run.id)
  const stopped = stoppedBy(snapshot)
  if (stopped) return refused(stopped)
  if (purchase.expiresAtSeconds <= now) return refused(whatExpired(purchase))
  // One that is on its way has its money set aside already.
  if (snapshot.payment?.state === 'reserved') return { kind: 'reserved' }
  return refusedMoney(snapshot, judged, uses) ?? { kind: 'reserved' }
}

const refused = (why: FundsRefusal): FundsFacts => ({ kind: 'refused', why })

function stoppedBy({ gateway, standings }: Snapshot): FundsRefusal | undefined {
  const states = [gateway, ...standings].map(({ state }) => state)
  if (states.includes('revoked')) return 'revoked'
  if (states.includes('closing') || states.includes('closed')) return 'run_closed'
  return states.includes('frozen') ? 'frozen' : undefined
}

/** Claim, approval, counters, then money. */
function refusedMoney(
  snapshot: Snapshot,
  { purchase, approval }: Omit<Judged, 'facts'>,
  uses: readonly CountedUse[],
): FundsFacts | undefined {
  const { amount } = purchase.claims
  const { claimedBy = purchase.payment, holds, counters, account } = snapshot
  if (claimedBy !== purchase.payment) return refused('quote_spent')
  const isGone = ({ id }: { readonly id: string }) =>
    !holds.some((hold) => hold.id === id && hold.state === 'approved')
  if (approval && isGone(approval)) return refused('stale')
  const full = uses.find(({ use }) => counters.some((each) => isAtBound(each, use, amount)))
  if (full) return { kind: 'counted_out', denial: denialAt(uses, full.use.key) }
  return account.available < amount ? refused('insufficient') : undefined
}
