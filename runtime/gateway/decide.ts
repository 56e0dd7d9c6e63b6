/**
 * `POST /decisions`: what a payment of this quote would be answered, by the same nine checks in the same order. It uses a
 * proof up and writes one event into the leaf's stream; it reserves nothing, claims nothing, counts in no window, asks no
 * person and never calls a rail. A later payment is answered as if it had never been asked, except that what a monitor
 * has said of a payment once it has said. So many per leaf and no more: each is kept, and may cost a monitor a question.
 */
import { deny } from '../core/codes.ts'
import type { NodeId } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import type { PaymentRecord } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import { affordable } from './affordable.ts'
import { type Answer, DECISIONS_SPENT, decisionAnswer } from './answers.ts'
import type { RawRequest } from './attempt.ts'
import type { Gate } from './gate.ts'
import { type Caller, unauthenticated } from './identify.ts'
import { type Errand, judged, type Refused } from './judged.ts'
import { unexpected } from './unexpected.ts'
import { watched } from './watch.ts'

const counted = (node: NodeId): string => `decisions:${node}`

const DECIDING: Errand = {
  counters: (node) => [counted(node)],
  // Before anything is judged, so that no monitor is asked once more; the transaction that writes holds the bound.
  admit: (_gate, { snapshot, node }) => {
    const asked = snapshot.counters.find(({ key }) => key === counted(node.node))?.count ?? 0
    return asked < LIMITS.decisions ? undefined : DECISIONS_SPENT
  },
  refuse: (gate, caller, refused) => tell(gate, caller, refused),
  replay: (gate, caller, made) => tell(gate, caller, { payment: made.id, made }),
}

/** What would come of it, and nothing of it done. */
export async function decide(gate: Gate, raw: RawRequest): Promise<Answer> {
  const soFar = await judged(gate, raw, DECIDING)
  if ('answer' in soFar) return soFar.answer
  const { caller, purchase } = soFar
  const { attempt, trial } = caller
  const { payment } = purchase
  const funds = await affordable(gate, soFar)
  const facts = { ...soFar.facts, funds }
  const unfunded = trial.judge('funds', attempt, facts)
  if (unfunded) return tell(gate, caller, { payment, denial: unfunded, purchase })
  if (funds.kind !== 'reserved') {
    // Even where check 8 was composed away: a payment would have nothing to pay with.
    const denial = trial.refuse(deny('insufficient'))
    return tell(gate, caller, { payment, denial, purchase })
  }
  const monitor = gate.watch ? await watched(gate, gate.watch, { caller, purchase }) : 'none'
  const objection = trial.judge('monitor', attempt, { ...facts, monitor })
  return tell(gate, caller, { payment, purchase, ...(objection && { denial: objection }) })
}

interface Told extends Pick<Refused, 'payment' | 'purchase'> {
  readonly denial?: Refused['denial']
  /** The payment has been made, or is on its way: that is what it would be answered. */
  readonly made?: PaymentRecord
}

async function tell(gate: Gate, caller: Caller<unknown>, told: Told): Promise<Answer> {
  const { payment, denial, purchase, made } = told
  const checks = made?.checks ?? caller.trial.results()
  const provenance = purchase?.provenance ?? made?.provenance
  const node = caller.node.node
  const result = await gate.ledger.execute('decided', {
    node,
    run: caller.snapshot.run.id,
    payment,
    ...(denial === undefined ? {} : { denial }),
    checks,
    ...(provenance === undefined ? {} : { provenance }),
    count: { key: counted(node), maxCount: LIMITS.decisions },
    proof: caller.proof,
    now: nowSeconds(gate.clock),
  })
  if (result.ok) {
    return decisionAnswer(payment, checks, { ...(denial && { denial }), ...(made && { made }) })
  }
  if (result.code === 'proof_replayed') return unauthenticated(gate, 'proof_replayed')
  if (result.code === 'counter') return DECISIONS_SPENT
  throw unexpected('decided', result.code)
}
