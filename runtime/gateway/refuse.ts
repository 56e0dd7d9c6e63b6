/** Recording a refusal or a hold in the caller's own stream, together with the proof that it used up. */
import { type Denial, deny } from '../core/codes.ts'
import { holdIdOf, type PaymentId } from '../core/ids.ts'
import type { LedgerRefusal, ProofUse } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { HoldRecord } from '../core/records.ts'
import { later, nowSeconds, type Seconds, seconds } from '../core/time.ts'
import { type Answer, deniedAnswer, refusedAnswer } from './answers.ts'
import { asksAbout, cardDigest } from './cards.ts'
import { REFUSED_BY_PERSON } from './checks/07-policy.ts'
import type { Gate } from './gate.ts'
import { type Caller, unauthenticated } from './identify.ts'
import { cardOf, type Purchase } from './purchase.ts'
import { unexpected } from './unexpected.ts'

/** What stands where a rule's id would if the ledger opens no hold, and the attempt is refused for that instead. */
const INSTEAD_OF_A_HOLD: ReadonlyMap<LedgerRefusal, string> = new Map([
  // So many questions are open that nobody could read another.
  ['hold_limit', 'too_many_open_holds'],
  // A person said no to this very card while the attempt was being judged.
  ['stale', REFUSED_BY_PERSON],
])

interface Recorded {
  readonly denial: Denial
  readonly hold?: HoldRecord
}

/** Refuses a payment, or holds it and says so; `payment` is known as soon as the caller is. */
export async function refusePayment(
  gate: Gate,
  caller: Caller<unknown>,
  refused: { readonly payment: PaymentId; readonly denial: Denial; readonly purchase?: Purchase },
): Promise<Answer> {
  const recorded = await record(gate, caller, refused)
  if (recorded === 'proof_replayed') return unauthenticated(gate, 'proof_replayed')
  const { denial, hold } = recorded
  gate.verdicts.add(denial.verdict, denial.code)
  return refusedAnswer(refused.payment, denial, caller.trial.results(), hold?.id)
}

/** Refuses anything else that a known caller asked for. */
export async function refuseRequest(
  gate: Gate,
  caller: Caller<unknown>,
  denial: Denial,
): Promise<Answer> {
  const recorded = await record(gate, caller, { denial })
  if (recorded === 'proof_replayed') return unauthenticated(gate, 'proof_replayed')
  return deniedAnswer(recorded.denial)
}

/**
 * The same attempt's second record: an earlier transaction has used its proof up already, and a ledger takes a proof
 * that it knows from this attempt for the same command sent again. So it has a name of its own, which no proof of a
 * caller can have, and a time of its own: a monitor may have thought for longer than a proof is fresh.
 */
export function secondRecord<C extends { readonly proof: ProofUse }>(gate: Gate, caller: C): C {
  const { proof } = caller
  const expiresAtSeconds = later(nowSeconds(gate.clock), LIMITS.proofAgeSeconds)
  return { ...caller, proof: { ...proof, jti: `${proof.jti}/second`, expiresAtSeconds } }
}

async function record(
  gate: Gate,
  caller: Caller<unknown>,
  refused: { readonly payment?: PaymentId; readonly denial: Denial; readonly purchase?: Purchase },
): Promise<Recorded | 'proof_replayed'> {
  const { payment, denial, purchase } = refused
  const now = nowSeconds(gate.clock)
  const wanted = denial.verdict === 'hold' && purchase
  const hold = wanted ? holdFor(gate, caller, { denial, purchase, now }) : undefined
  const result = await gate.ledger.execute('refuse', {
    node: caller.node.node,
    run: caller.snapshot.run.id,
    denial,
    checks: caller.trial.results(),
    proof: caller.proof,
    ...(payment === undefined ? {} : { payment }),
    ...(hold === undefined ? {} : { hold }),
    ...(purchase === undefined ? {} : { provenance: purchase.provenance }),
    now,
  })
  if (result.ok) return result.hold === undefined ? { denial } : { denial, hold: result.hold }
  if (result.code === 'proof_replayed') return 'proof_replayed'
  const rule = INSTEAD_OF_A_HOLD.get(result.code)
  if (rule === undefined) throw unexpected('refuse', result.code)
  const instead = caller.trial.refuse(deny('policy', rule))
  return record(gate, caller, { ...refused, denial: instead })
}

/** The question to a person: the open one, if the same was asked before, so that a retry asks nobody twice. */
function holdFor(
  gate: Gate,
  caller: Caller<unknown>,
  asked: { readonly denial: Denial; readonly purchase: Purchase; readonly now: Seconds },
): HoldRecord {
  const { denial, purchase, now } = asked
  const { code, rule } = denial
  const card = cardOf(gate, caller, purchase)
  const open = caller.snapshot.holds.find(
    (hold) =>
      hold.state === 'open' &&
      hold.code === code &&
      // Why there is no answer may be another each time; the question to the person is the same.
      (hold.rule === rule || code === 'monitor_unavailable') &&
      asksAbout(hold, card, now),
  )
  if (open !== undefined) return open
  const ends = Math.min(purchase.expiresAtSeconds, later(now, gate.timings.holdSeconds))
  const question = {
    code,
    ...(rule === undefined ? {} : { rule }),
    expiresAtSeconds: seconds(ends),
  }
  const digest = cardDigest(card, question)
  const { payment, payee, merchant, amount, currency, lines, provenance } = card
  return {
    ...question,
    id: holdIdOf(payment, digest),
    run: caller.snapshot.run.id,
    node: caller.node.node,
    payment,
    digest,
    payee,
    merchant,
    amount,
    currency,
    lines,
    ...(provenance === undefined ? {} : { provenance }),
    createdAtSeconds: now,
    state: 'open',
  }
}
