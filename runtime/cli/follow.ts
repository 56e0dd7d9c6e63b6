/**
 * Follows a run’s feed of facts from a position on: it reconnects from the last one it has, checks that positions
 * are contiguous and that each hash is that of its text, and ends when the caller is done or the signal fires.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { eventHash } from '../core/events.ts'
import type { RunId } from '../core/ids.ts'
import { parseJson } from '../core/json.ts'
import { LIMITS } from '../core/limits.ts'
import { type Fact, factSchema } from '../core/wire.ts'
import type { Api } from './api.ts'
import { Failure } from './failure.ts'

interface Message {
  readonly event: string
  readonly data: string
}

export type Followed =
  | { readonly kind: 'fact'; readonly fact: Fact }
  /** Nothing new now, as of this head; comes at once on connecting and then with each heartbeat. */
  | { readonly kind: 'beat'; readonly head: number }

const beatSchema = z.object({ head: z.int() })

const PAUSE_MS = 500
const ATTEMPTS = 20

export async function* follow(
  api: Api,
  run: RunId,
  options: { after: number; signal: AbortSignal },
): AsyncGenerator<Followed, void> {
  const { signal } = options
  let position = options.after
  for (let failures = 0; !signal.aborted; ) {
    try {
      for await (const message of connect(api, run, position, signal)) {
        failures = 0
        const followed = read(message, position)
        if (followed === 'again') break
        if (followed === undefined) continue
        if (followed.kind === 'fact') position = followed.fact.position
        yield followed
      }
    } catch (error) {
      if (signal.aborted) return
      const isLost = !(error instanceof Failure) || error.exit === 'unreachable'
      failures += 1
      if (!isLost || failures >= ATTEMPTS) throw error
    }
    await wait(PAUSE_MS, undefined, { signal }).catch(() => undefined)
  }
}

function read({ event, data }: Message, position: number): Followed | 'again' | undefined {
  if (event === 'hb') {
    return { kind: 'beat', head: beatSchema.parse(parseJson(data)).head }
  }
  if (event === 'bye') return 'again'
  if (event === 'reset') throw new Failure('refused', 'the feed has no such position')
  if (event !== 'fact') return undefined
  const fact = factSchema.parse(parseJson(data))
  if (fact.position !== position + 1) throw new Failure('internal', 'the feed has a gap')
  if (eventHash(fact.body) !== fact.hash)
    throw new Failure('no', 'an event is not what its hash says')
  return { kind: 'fact', fact }
}

async function* connect(
  api: Api,
  run: RunId,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Message> {
  const silence = new AbortController()
  const arm = () => setTimeout(() => silence.abort(), LIMITS.heartbeatMs * 3)
  let watchdog = arm()
  try {
    const response = await api.open(`/runs/${run}/events?after=${after}`, {
      signal: AbortSignal.any([signal, silence.signal]),
      headers: { accept: 'text/event-stream' },
    })
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of response.body ?? []) {
      clearTimeout(watchdog)
      watchdog = arm()
      rest += decoder.decode(chunk, { stream: true })
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) yield parseBlock(block)
    }
  } finally {
    clearTimeout(watchdog)
  }
}

/** One event of the stream; our server writes each field once and `data` on one line. */
function parseBlock(block: string): Message {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const at = line.indexOf(': ')
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2))
  }
  return { event: fields.get('event') ?? '', data: fields.get('data') ?? '' }
}
