/**
 * Hearing a rail's messages. One is verified, written down and answered at once, because rails wait for seconds; what it
 * means is found out afterwards, here and in every round of the reconciler. A message is parked until its effect is written
 * and given up on never: each time it is taken up it waits longer, behind all others, and after a day a person is told.
 */
import { systemTimers } from '../core/clock.ts'
import { eventWord } from '../core/events.ts'
import { freshId } from '../core/ids.ts'
import type { MessageKey, MessageRecord } from '../core/inbox.ts'
import { LIMITS } from '../core/limits.ts'
import { messageNameOf, type RailHeard, type RailMessage } from '../core/rail.ts'
import { nowSeconds } from '../core/time.ts'
import { forEach } from './each.ts'
import { judgeObject, type ObjectDeps } from './objects.ts'
import { wordOf } from './rail.ts'
import { within } from './timers.ts'
import { unexpected } from './unexpected.ts'

/** What became of a message that was delivered; `repeated` had been written down before. */
export const HEARINGS = ['heard', 'repeated', 'refused', 'unverified', 'busy'] as const
export type HearingOutcome = (typeof HEARINGS)[number]

export interface InboxDeps extends ObjectDeps {
  /** Told of what could not be done after an answer; the next round tries again. */
  readonly onError?: (error: unknown) => void
}

export interface Inbox {
  /** Durable once it resolves to `heard` or `repeated`. Throws Fault when it could not be written down. */
  hear(message: RailMessage): Promise<HearingOutcome>
  /** Takes up what is due. Throws the first Fault after having tried every message. */
  round(): Promise<void>
  /** Deliveries since the start, by what became of them. */
  totals(): ReadonlyMap<HearingOutcome, number>
  /** Resolves when nothing is under way any more. */
  close(): Promise<void>
}

export function createInbox(deps: InboxDeps): Inbox {
  const totals = new Map<HearingOutcome, number>(HEARINGS.map((outcome) => [outcome, 0]))
  let listening = 0
  let isOpen = true
  let underWay: Promise<void> | undefined
  let isWanted = false
  const takeUp = async () => {
    while (isWanted && isOpen) {
      isWanted = false
      await round(deps).catch((error: unknown) => deps.onError?.(error))
    }
    underWay = undefined
  }
  /** After the answer, and one at a time however many come. */
  const soon = () => {
    isWanted = true
    const { timers = systemTimers } = deps
    timers.after(0, () => {
      if (isOpen) underWay ??= takeUp()
    })
  }
  const listen = async (message: RailMessage): Promise<HearingOutcome> => {
    if (listening >= LIMITS.webhooksAtOnce) return 'busy'
    listening += 1
    try {
      const outcome = await hear(deps, message)
      if (outcome === 'heard') soon()
      return outcome
    } finally {
      listening -= 1
    }
  }
  return {
    hear: async (message) => {
      const outcome = await listen(message)
      totals.set(outcome, (totals.get(outcome) ?? 0) + 1)
      return outcome
    },
    round: () => round(deps),
    totals: () => totals,
    close: async () => {
      isOpen = false
      await underWay
    },
  }
}

async function verified({ rail, timers }: InboxDeps, message: RailMessage): Promise<RailHeard> {
  const { events } = rail
  if (events === undefined) return { kind: 'refused' }
  try {
    const word = await within(events.hear(message), LIMITS.webhookMs, timers)
    return word === 'late' ? { kind: 'unverified', reason: 'late' } : word
  } catch {
    return { kind: 'unverified', reason: 'threw' }
  }
}

async function hear(deps: InboxDeps, message: RailMessage): Promise<HearingOutcome> {
  const word = await verified(deps, message)
  if (word.kind !== 'event') return word.kind
  const { ledger, clock, rail } = deps
  // A rail's id of any length and kind is one word here; the same id is always the same word.
  const key: MessageKey = { rail: rail.name, id: eventWord(word.id) }
  const name = messageNameOf(word.name)
  const ref = word.object?.ref
  // What concerns nothing that moves is done as soon as it is known.
  const rest = ref === undefined ? { heard: key } : { ref }
  const written = await ledger.execute('hear', { ...key, name, ...rest, now: nowSeconds(clock) })
  if (!written.ok) throw unexpected('hear', written.code)
  return written.fresh ? 'heard' : 'repeated'
}

async function round(deps: InboxDeps): Promise<void> {
  await forEach(await deps.ledger.parked(LIMITS.messagesPerRound), async ({ rail, id }) => {
    const message = await take(deps, { rail, id })
    if (message !== undefined) await takeUp(deps, message)
  })
}

/** Undefined where it is done, not due, or with another gateway. */
async function take(
  { ledger, clock, onAlarm }: InboxDeps,
  key: MessageKey,
): Promise<MessageRecord | undefined> {
  const input = { ...key, attempt: freshId(), now: nowSeconds(clock) }
  const taken = await ledger.execute('takeMessage', input)
  if (!taken.ok) return undefined
  if (taken.raised) onAlarm?.({ kind: 'webhook_stuck', message: key.id })
  return taken.message
}

async function takeUp(deps: InboxDeps, { rail, id, ref }: MessageRecord): Promise<void> {
  const { events } = deps.rail
  // Of a rail that is not configured any more: kept, and a person is told.
  if (rail !== deps.rail.name || events === undefined || ref === undefined) return
  const object = await wordOf(() => events.fetch(ref), deps.railMs, deps.timers, 'fetch_failed')
  if (!('kind' in object)) await judgeObject(deps, object, { rail, id })
}
