/**
 * Authorise once, draw what the task costs. Where the rail can, the first payment of a run to a payee places one
 * authorisation for what the run's open leaves may still pay there, and each payment is drawn from it; the rest is voided once the
 * run is over. The ledger keeps the sum, because rails allow more. It is a convenience of the payer and never a condition:
 * where there is none, or it is too small, or somebody is placing it just now, a payment is made as any other. Placed it
 * is by the one attempt that the ledger let ask for it, and never again; what became of an ambiguous one is looked up.
 */
import type { AuthorisationRecord, MoveAuthorisation } from '../core/authorisation.ts'
import { authorisationIdOf, authorisationKeyOf } from '../core/ids.ts'
import { LIMITS } from '../core/limits.ts'
import { type Minor, minor } from '../core/money.ts'
import type { RailAuthorisation, RailAuthorised, RailOutcome } from '../core/rail.ts'
import type { PaymentRecord } from '../core/records.ts'
import { nowSeconds, seconds } from '../core/time.ts'
import { isOpen } from '../ledger/rules.ts'
import { type AskDeps, isProofBy, type Patience } from './asking.ts'
import { forEach } from './each.ts'
import type { Gate } from './gate.ts'
import { reasonOf } from './outcome.ts'
import { orderOf, wordOf } from './rail.ts'
import { unexpected } from './unexpected.ts'

/** Pays a submitted payment, drawn or as it is, all in the time of one call. Throws Fault, and then nothing was paid. */
export async function payOrDraw(gate: Gate, payment: PaymentRecord): Promise<RailOutcome> {
  const { rail, clock, timings, timers } = gate
  const order = orderOf(payment)
  const endMs = clock.nowMs() + timings.railMs
  const drawn = rail.authorisations?.takes(order) ? await drawnFrom(gate, payment) : undefined
  const leftMs = endMs - clock.nowMs()
  if (leftMs <= 0) return { kind: 'notSent', reason: 'too_late' }
  const call = async () =>
    drawn === undefined ? rail.pay(order) : rail.authorisations?.draw(order, drawn.reference)
  const word = await wordOf(call, leftMs, timers)
  return word ?? { kind: 'notSent', reason: 'no_authorisations' }
}

async function drawnFrom(gate: Gate, payment: PaymentRecord): Promise<PaymentRecord['drawn']> {
  const { ledger, clock } = gate
  const authorisation = authorisationIdOf(payment.run, payment.payee)
  const before = await ledger.authorisation(authorisation)
  const found = before ?? (await place(gate, payment, authorisation))
  if (found?.state !== 'open') return undefined
  const drawn = await ledger.execute('draw', {
    authorisation,
    payment: payment.id,
    nonce: payment.nonce ?? '',
    now: nowSeconds(clock),
  })
  if (drawn.ok) return drawn.payment.drawn
  switch (drawn.code) {
    // Too small, ended meanwhile, or for another account than the payee has now.
    case 'insufficient':
    case 'conflict':
    case 'expired':
      return undefined
    default:
      throw unexpected('draw', drawn.code)
  }
}

/** Undefined where another attempt places it, or it may not be placed. */
async function place(
  gate: Gate,
  payment: PaymentRecord,
  authorisation: AuthorisationRecord['id'],
): Promise<AuthorisationRecord | undefined> {
  const { ledger, clock, rail, timings, timers } = gate
  const nowMs = clock.nowMs()
  const asked = await ledger.execute('askAuthorisation', {
    authorisation,
    payment: payment.id,
    amount: await payableTo(gate, payment),
    key: authorisationKeyOf(authorisation),
    nonce: payment.nonce ?? '',
    nowMs,
    now: nowSeconds(clock),
  })
  if (!asked.ok) {
    if (asked.code === 'insufficient' || asked.code === 'conflict') return undefined
    throw unexpected('askAuthorisation', asked.code)
  }
  if (!asked.created) return asked.authorisation
  const isInTime = clock.nowMs() - nowMs <= timings.submitStartMs
  const call = isInTime ? rail.authorisations?.place(asOrdered(asked.authorisation)) : undefined
  if (call === undefined) {
    return recordPlaced(gate, asked.authorisation, { kind: 'notSent', reason: 'too_late' })
  }
  // Half of the time is the payment's own.
  const word = await wordOf(() => call, timings.railMs / 2, timers)
  if (word.kind === 'unknown' && word.reason === 'late') hearLater(gate, asked.authorisation, call)
  return recordPlaced(gate, asked.authorisation, word)
}

/** Nobody waits for it any more, and it may be the only word by which a rail names what it holds. */
function hearLater(
  gate: Gate,
  authorisation: AuthorisationRecord,
  call: Promise<RailAuthorised>,
): void {
  call
    .then((word) => recordPlaced(gate, authorisation, word))
    // What a look-up does not find then, time ends.
    .catch(() => undefined)
}

/** What the run's open leaves may still pay this payee, this payment included. */
async function payableTo(gate: Gate, payment: PaymentRecord): Promise<Minor> {
  const tree = await gate.ledger.tree(payment.run)
  const now = nowSeconds(gate.clock)
  const ended = new Set(
    tree.flatMap(({ node, standing }) => (standing.state === 'live' ? [] : [node.id])),
  )
  let sum: number = payment.amount
  for (const { node, account } of tree) {
    const isPayable =
      node.kind === 'leaf' &&
      node.payees.includes(payment.payee) &&
      node.expiresAtSeconds > now &&
      !node.path.some((id) => ended.has(id))
    if (isPayable) sum += account.available
  }
  return minor(sum)
}

const asOrdered = ({ key, account, amount, currency }: AuthorisationRecord): RailAuthorisation => ({
  key,
  account,
  amount,
  currency,
})

type Deps = Pick<AskDeps, 'ledger' | 'clock' | 'onAlarm'>

/** Writes down what the rail said of placing it; whatever is not its own definite word leaves it as it is. */
async function recordPlaced(
  deps: Deps,
  authorisation: AuthorisationRecord,
  word: RailAuthorised,
): Promise<AuthorisationRecord> {
  const { ledger, clock } = deps
  switch (word.kind) {
    case 'authorised': {
      const { amount, reference, untilSeconds } = word
      const isAsked =
        word.currency === authorisation.currency && amount >= 1 && amount <= authorisation.amount
      if (!isAsked || !Number.isSafeInteger(untilSeconds)) {
        deps.onAlarm?.({ kind: 'rail_amount', payment: authorisation.payment })
        return moved(deps, authorisation, { to: 'voiding', reason: 'rail_amount', reference })
      }
      const { id } = authorisation
      const now = nowSeconds(clock)
      const until = seconds(untilSeconds)
      const said = { authorisation: id, amount, reference, untilSeconds: until, now }
      const open = await ledger.execute('authorised', said)
      if (open.ok) return open.authorisation
      if (open.code === 'conflict') return (await ledger.authorisation(id)) ?? authorisation
      throw unexpected('authorised', open.code)
    }
    case 'declined':
    case 'notSent':
      return moved(deps, authorisation, { to: 'failed', reason: reasonOf(word) })
    case 'pending':
    case 'unknown': {
      const { reference } = word
      if (reference === undefined || reference === authorisation.reference) return authorisation
      return moved(deps, authorisation, { to: 'placing', reason: 'pending', reference })
    }
  }
}

/** As it is afterwards; what somebody else wrote down first stands. */
async function moved(
  { ledger, clock }: Deps,
  authorisation: AuthorisationRecord,
  how: Pick<MoveAuthorisation, 'to' | 'reason' | 'reference'>,
): Promise<AuthorisationRecord> {
  const { id } = authorisation
  const move = { authorisation: id, ...how, now: nowSeconds(clock) }
  const after = await ledger.execute('moveAuthorisation', move)
  if (after.ok) return after.authorisation
  if (after.code === 'conflict') return (await ledger.authorisation(id)) ?? authorisation
  throw unexpected('moveAuthorisation', after.code)
}

export interface AuthorisationRound extends AskDeps, Patience {
  /** A draw that was recorded has ended this long after it. */
  readonly drawMs: number
}

/**
 * Looks up what is being placed and ends what is over, one step for each in a round. No lease is needed: nothing is placed
 * here, a rail voids once, and what it says is written down once. Throws the first Fault after having tried all.
 */
export async function tendAuthorisations(round: AuthorisationRound): Promise<void> {
  const { ledger, rail } = round
  if (rail.authorisations === undefined) return
  await forEach(await ledger.authorisations({ limit: LIMITS.pageItems }), async (each) => {
    if (each.rail === rail.name) await tend(round, each)
  })
}

async function tend(round: AuthorisationRound, authorisation: AuthorisationRecord): Promise<void> {
  const found =
    authorisation.state === 'placing' ? await lookedUp(round, authorisation) : authorisation
  if (found.state === 'open' && (await isToEnd(round, found))) {
    await moved(round, found, { to: 'voiding', reason: 'run_over' })
    return
  }
  if (found.state === 'voiding') await end(round, found)
}

async function lookedUp(
  round: AuthorisationRound,
  authorisation: AuthorisationRecord,
): Promise<AuthorisationRecord> {
  const { rail, timers, railMs, clock } = round
  const nowMs = clock.nowMs()
  const ageMs = nowMs - authorisation.submittedAtMs
  if (ageMs <= round.patienceMs) return authorisation
  // Nothing was ever drawn.
  if (isLongPast(round, authorisation)) {
    return moved(round, authorisation, { to: 'failed', reason: 'never_named' })
  }
  const { reference } = authorisation
  const ask = async () => rail.authorisations?.lookup(asOrdered(authorisation), reference)
  const word = await wordOf(ask, railMs, timers, 'lookup_failed')
  if (word === undefined || word.kind === 'notSent') return authorisation
  if (word.kind === 'voided') return moved(round, authorisation, { to: 'failed', reason: 'voided' })
  if (word.kind !== 'absent') return recordPlaced(round, authorisation, word)
  if (!isProofBy(nowMs, authorisation.submittedAtMs, round)) return authorisation
  return moved(round, authorisation, { to: 'failed', reason: 'absent_at_rail' })
}

/** Once the run may spend nothing any more, or the rail does not honour it longer. */
async function isToEnd(
  { ledger, clock }: AuthorisationRound,
  { run: id, untilSeconds = seconds(0) }: AuthorisationRecord,
): Promise<boolean> {
  const now = nowSeconds(clock)
  const run = await ledger.run(id)
  if (run === undefined || run.state !== 'running' || run.halted !== undefined) return true
  if (untilSeconds <= now || run.expiresAtSeconds <= now) return true
  const root = await ledger.standing(run.root)
  return !isOpen(root) || root.state === 'revoked'
}

/** Whatever a rail was asked to hold, it holds no more by then. */
const isLongPast = ({ clock }: AuthorisationRound, { submittedAtMs }: AuthorisationRecord) =>
  clock.nowMs() - submittedAtMs > LIMITS.authorisationSeconds * 1000

/**
 * A rail that has nothing more to void says no; a look-up then tells whether it holds anything still. What a rail never
 * says is ended by time, or it would be asked for ever, before those that come later.
 */
async function end(round: AuthorisationRound, authorisation: AuthorisationRecord): Promise<void> {
  const { rail, timers, railMs, clock } = round
  const { reference, voidingAtSeconds = authorisation.createdAtSeconds } = authorisation
  // A draw that was recorded before may still be on its way to the rail.
  if (clock.nowMs() - voidingAtSeconds * 1000 <= round.drawMs || reference === undefined) return
  const word = await wordOf(async () => rail.authorisations?.void(reference), railMs, timers)
  if (word?.kind === 'voided') {
    await moved(round, authorisation, { to: 'voided', reason: 'voided' })
    return
  }
  if (isLongPast(round, authorisation)) {
    await moved(round, authorisation, { to: 'voided', reason: 'never_voided' })
    return
  }
  if (word?.kind !== 'declined') return
  const isSpent = authorisation.drawn === authorisation.amount
  const ask = async () => rail.authorisations?.lookup(asOrdered(authorisation), reference)
  const now = isSpent ? undefined : await wordOf(ask, railMs, timers, 'lookup_failed')
  if (isSpent || now?.kind === 'voided' || now?.kind === 'declined') {
    await moved(round, authorisation, { to: 'voided', reason: reasonOf(word) })
  }
}
