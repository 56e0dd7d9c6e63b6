/**
 * Following one's own node by asking again: soon after something has changed, ever more seldom while nothing does, and
 * as a gateway that is busy advises. There is no stream for agents: the log's events are the operators' evidence.
 */
import { setTimeout as timeout } from 'node:timers/promises'
import type { OwnNode } from '../core/wire.ts'
import { ClientError } from './errors.ts'

export interface WatchOptions {
  /** Ends the watching, quietly. */
  readonly signal?: AbortSignal
  /** How to wait so many milliseconds; timers of the machine if absent. */
  readonly sleep?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

const SOON_MS = 500
const SELDOM_MS = 15_000
/** Failures in a row after which the last one is thrown. */
const TRIES = 8

/**
 * The node whenever something of it has changed, the first time at once. It ends when nothing can change by itself any
 * more: a leaf's payment has ended, or a person has decided about it; a planner is closed. Throws ClientError.
 */
export async function* watchNode(
  read: () => Promise<OwnNode>,
  { signal, sleep = sleepWell }: WatchOptions = {},
): AsyncGenerator<OwnNode, void, undefined> {
  let known: string | undefined
  let waitMs = SOON_MS
  let failures = 0
  while (!signal?.aborted) {
    let advisedMs = 0
    try {
      const node = await read()
      failures = 0
      const text = JSON.stringify(node)
      if (text !== known) {
        waitMs = SOON_MS
        known = text
        yield node
      }
      if (isOver(node)) return
    } catch (error) {
      failures += 1
      if (!isPassing(error) || failures >= TRIES) throw error
      advisedMs = (error.retryAfterSeconds ?? 0) * 1000
    }
    if (signal?.aborted) return
    await sleep(Math.min(Math.max(waitMs, advisedMs), SELDOM_MS * 4), signal)
    waitMs = Math.min(waitMs * 2, SELDOM_MS)
  }
}

const isPassing = (error: unknown): error is ClientError =>
  error instanceof ClientError && error.advice === 'retry'

async function sleepWell(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await timeout(ms, undefined, signal && { signal })
  } catch (error) {
    if (!signal?.aborted) throw error
  }
}

/** Nothing about it changes any more unless its holder does something. */
function isOver({ kind, state, payments }: OwnNode): boolean {
  const mayGoOn = state === 'live' || state === 'frozen'
  if (kind === 'looker') return true
  if (kind === 'planner') return !mayGoOn && state !== 'closing'
  const [payment] = payments
  if (payment?.verdict === 'allow') {
    return payment.state === 'settled' || payment.state === 'released'
  }
  if (payment === undefined || payment.hold?.state === 'open') return !mayGoOn
  return true
}
