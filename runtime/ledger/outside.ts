/**
 * Transitions of what the rail moved without us. It is written down once for each of the rail's ids, whichever way it was
 * heard of; a person's word ends the alarm, and nothing takes the record away. No balance of ours changes.
 */
import { eventWord } from '../core/events.ts'
import type { Acknowledge, NoteOutside, OutsideRecord, Walked } from '../core/inbox.ts'
import type { Commands } from '../core/ledger.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { evidenceDigest, refused } from './rules.ts'

export function* outside(input: NoteOutside, draft: Draft): Steps<Commands['outside']['result']> {
  const { outside: moved } = input
  yield [keys.outside(moved.id), keys.gatewayHead()]
  const before = draft.get(keys.outside(moved.id))
  if (before !== undefined) return { ok: true, outside: before, noted: false }
  const { id, rail, object, type, direction, amount, currency, status, payment } = moved
  draft.put(keys.outside(id), moved)
  draft.appendGateway('outside', {
    outside: id,
    rail: eventWord(rail),
    object: eventWord(object),
    type,
    direction,
    amount,
    currency,
    status: eventWord(status),
    ...(payment === undefined ? {} : { payment }),
  })
  return { ok: true, outside: moved, noted: true }
}

export function* acknowledge(
  input: Acknowledge,
  draft: Draft,
): Steps<Commands['acknowledge']['result']> {
  const { evidence, by, attempt: salt, now } = input
  yield [keys.outside(input.outside), keys.gatewayHead()]
  const moved = draft.get(keys.outside(input.outside))
  if (moved === undefined) return refused('not_found')
  if (moved.acknowledged?.salt === salt) return { ok: true, outside: moved }
  if (moved.acknowledged !== undefined) return refused('conflict')
  const acknowledged = { by, evidence, salt, atSeconds: now }
  const known: OutsideRecord = { ...moved, acknowledged }
  draft.put(keys.outside(moved.id), known)
  draft.appendGateway('acknowledged', {
    outside: moved.id,
    evidence: evidenceDigest(acknowledged),
    by: eventWord(by),
  })
  return { ok: true, outside: known }
}

export function* walked(input: Walked, draft: Draft): Steps<Commands['walked']['result']> {
  const { rail, untilSeconds } = input
  yield [keys.walk(rail)]
  const before = draft.get(keys.walk(rail))
  if (before !== undefined && before.untilSeconds >= untilSeconds) return { ok: true, walk: before }
  const walk = { rail, untilSeconds }
  draft.put(keys.walk(rail), walk)
  return { ok: true, walk }
}
