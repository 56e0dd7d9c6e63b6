/**
 * Transitions of messages that a rail sent. A message is parked until its effect is written, and done in the very
 * transaction that writes the effect, whichever command that is: so nothing is done that had no effect, and nothing that
 * is done has its effect again. Done is final, however often the message comes.
 */
import type { Hear, Hearing, MessageKey, MessageRecord, TakeMessage } from '../core/inbox.ts'
import type { CommandName, Commands, Refused } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { later } from '../core/time.ts'
import { type Draft, keys, type Steps } from './draft.ts'
import { refused } from './rules.ts'

export function* hear(input: Hear, draft: Draft): Steps<Commands['hear']['result']> {
  const { rail, id, name, ref, now } = input
  yield [keys.message(input)]
  const before = draft.get(keys.message(input))
  if (before !== undefined) return { ok: true, message: before, fresh: false }
  const message: MessageRecord = {
    rail,
    id,
    name,
    ...(ref === undefined ? {} : { ref }),
    state: 'parked',
    heardAtSeconds: now,
    dueAtSeconds: now,
    attempts: 0,
  }
  draft.put(keys.message(input), message)
  return { ok: true, message, fresh: true }
}

export function* takeMessage(
  input: TakeMessage,
  draft: Draft,
): Steps<Commands['takeMessage']['result']> {
  const { attempt, now } = input
  yield [keys.message(input)]
  const message = draft.get(keys.message(input))
  if (message === undefined) return refused('not_found')
  if (message.taken === attempt) {
    return { ok: true, message, raised: message.stuck?.attempt === attempt }
  }
  const { state, attempts, heardAtSeconds, dueAtSeconds } = message
  const waits = Math.min(
    LIMITS.messageRetrySeconds * 2 ** Math.min(attempts, 30),
    LIMITS.messageRetryMostSeconds,
  )
  // One that is due later than any given now was given by a clock that has been put back since.
  const isDue = dueAtSeconds <= now || dueAtSeconds > later(now, LIMITS.messageRetryMostSeconds)
  if (state === 'done' || !isDue) return refused('conflict')
  const isStuck = now - heardAtSeconds >= LIMITS.messageStuckSeconds
  const raised = isStuck && message.stuck === undefined
  const taken: MessageRecord = {
    ...message,
    attempts: attempts + 1,
    taken: attempt,
    dueAtSeconds: later(now, waits),
    ...(raised ? { stuck: { atSeconds: now, attempt } } : {}),
  }
  draft.put(keys.message(input), taken)
  return { ok: true, message: taken, raised }
}

/** The message itself is marked for every command alike. */
// biome-ignore lint/correctness/useYield: what it would load is loaded by `stepsOf`
export function* heard(): Steps<Commands['heard']['result']> {
  return { ok: true }
}

function* done(draft: Draft, of: MessageKey): Steps<Refused | undefined> {
  yield [keys.message(of)]
  const message = draft.get(keys.message(of))
  if (message === undefined) return refused('not_found')
  if (message.state === 'done') return undefined
  draft.put(keys.message(of), { ...message, state: 'done', doneAtSeconds: draft.at })
  return undefined
}

/** A command's own steps and, where it names a message, that message's end: one transaction for both. */
export function* withHearing<K extends CommandName>(
  steps: Steps<Commands[K]['result']>,
  { heard }: Hearing,
  draft: Draft,
): Steps<Commands[K]['result']> {
  const result = yield* steps
  const refusal = result.ok && heard !== undefined ? yield* done(draft, heard) : undefined
  return refusal ?? result
}
