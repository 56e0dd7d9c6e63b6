/** Transitions of refusals and holds. A hold keeps no money; an approval answers one digest, once, until it expires. */
import { eventWord } from '../core/events.ts'
import type { Commands, DecideHold, Refuse } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { HoldRecord } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { consumeProof, isOpen, isOwnProof, proofKeys, refused, statuses, trailOf } from './rules.ts'

export function* refuse(input: Refuse, draft: Draft): Steps<Commands['refuse']['result']> {
  const { node, denial, checks, proof, now } = input
  const wanted = input.hold
  yield [
    keys.account(node),
    ...proofKeys(proof, now),
    ...(wanted ? [keys.hold(wanted.id), keys.openHolds(wanted.run, now), keys.node(node)] : []),
  ]
  const account = draft.get(keys.account(node))
  if (account === undefined) return refused('not_found')
  if (account.run !== input.run) return refused('conflict')
  if (wanted && (wanted.node !== node || wanted.run !== input.run)) return refused('conflict')
  const isErased = wanted && draft.get(keys.node(node))?.erasedAtSeconds !== undefined
  if (isErased) return refused('run_closed')
  const before = wanted && draft.get(keys.hold(wanted.id))
  if (isOwnProof(draft, proof)) return { ok: true, ...(before ? { hold: before } : {}) }
  // A person said no meanwhile: this attempt is not held, and whoever asks must refuse it for that.
  if (before?.state === 'refused') return refused('stale')
  const refusal = consumeProof(draft, proof)
  if (refusal) return refusal
  const hold = before && isStanding(before, now) ? before : asOpen(wanted)
  const open = wanted ? (draft.get(keys.openHolds(wanted.run, now)) ?? 0) : 0
  if (hold && hold !== before) {
    if (open >= LIMITS.openHolds) return refused('hold_limit')
    draft.put(keys.hold(hold.id), hold)
  }
  draft.put(keys.attempt(node), { checks, code: denial.code })
  recordVerdict(draft, input, hold)
  return { ok: true, ...(hold ? { hold } : {}) }
}

const isStanding = ({ state, expiresAtSeconds }: HoldRecord, now: Seconds): boolean =>
  (state === 'open' || state === 'approved') && expiresAtSeconds > now

function asOpen(hold: HoldRecord | undefined): HoldRecord | undefined {
  if (hold === undefined) return undefined
  const { decidedBy, decidedAtSeconds, ...rest } = hold
  return { ...rest, state: 'open' }
}

function recordVerdict(draft: Draft, input: Refuse, hold: HoldRecord | undefined): void {
  const { node, denial, payment } = input
  const rule = denial.rule === undefined ? {} : { rule: eventWord(denial.rule) }
  const verdict = {
    code: denial.code,
    ...rule,
    checks: statuses(input.checks),
    ...trailOf(input.provenance),
  }
  if (hold === undefined) {
    draft.append(node, 'refused', { ...(payment ? { payment } : {}), ...verdict })
    return
  }
  draft.append(node, 'held', {
    hold: hold.id,
    payment: hold.payment,
    digest: hold.digest,
    expires: hold.expiresAtSeconds,
    ...verdict,
  })
}

export function* decideHold(
  input: DecideHold,
  draft: Draft,
): Steps<Commands['decideHold']['result']> {
  const { decision, digest, by, now } = input
  yield [keys.hold(input.hold)]
  const hold = draft.get(keys.hold(input.hold))
  if (hold === undefined) return refused('not_found')
  if (hold.digest !== digest) return refused('stale')
  const decided = hold.state === 'consumed' ? 'approved' : hold.state
  if (decided === decision) return { ok: true, hold }
  if (hold.state === 'expired') return refused('expired')
  if (hold.state !== 'open') return refused('conflict')
  if (hold.expiresAtSeconds <= now) return refused('expired')
  yield [keys.account(hold.node), keys.standing(hold.node)]
  const leaf = draft.standing(hold.node)
  if (leaf.state === 'revoked') return refused('revoked')
  if (!isOpen(leaf)) return refused('run_closed')
  const after: HoldRecord = { ...hold, state: decision, decidedBy: by, decidedAtSeconds: now }
  draft.put(keys.hold(hold.id), after)
  const type = decision === 'approved' ? 'approved' : 'hold_refused'
  draft.append(hold.node, type, { hold: hold.id, digest, by: eventWord(by) })
  return { ok: true, hold: after }
}
