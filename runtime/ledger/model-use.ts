/**
 * What models used, as the log says it: the notes of a node say what each answer, and each question without one, has
 * used up. Nothing else is kept of it, so what is shown, what a resumed run starts from and what an auditor adds up
 * are the same numbers.
 */
import { addUsage, NO_USAGE, type Usage } from '../core/agents.ts'
import { parseEvent } from '../core/events.ts'
import type { RunId } from '../core/ids.ts'
import type { Ledger } from '../core/ledger.ts'
import type { StreamId } from '../core/records.ts'

export interface ModelUse extends Usage {
  /** Questions that no model decided; their usage is in the sums. */
  readonly unanswered: number
  /** Plans that the scripted planner made because the model had none, and why the last one was needed. */
  readonly fallbacks: number
  readonly fallback?: string
  readonly byModel: { readonly [model: string]: Usage }
}

export const NO_USE: ModelUse = { ...NO_USAGE, unanswered: 0, fallbacks: 0, byModel: {} }

/** The sum of both; `fallback` is the later one's where it has one. */
export function addUse(a: ModelUse, b: ModelUse): ModelUse {
  // A model's name is the provider's word, and might be that of something every object has.
  const byModel = new Map(Object.entries(a.byModel))
  for (const [model, usage] of Object.entries(b.byModel)) {
    byModel.set(model, addUsage(byModel.get(model) ?? NO_USAGE, usage))
  }
  const fallback = b.fallback ?? a.fallback
  return {
    ...addUsage(a, b),
    unanswered: a.unanswered + b.unanswered,
    fallbacks: a.fallbacks + b.fallbacks,
    ...(fallback === undefined ? {} : { fallback }),
    byModel: Object.fromEntries(byModel),
  }
}

/** An event that no model has to do with is not even parsed: a run has many. */
const NOTE = /"type":"(planned|looked|chose|unanswered)"/

/** What one event's body says of it; undefined of any other event. */
export function useIn(body: string): ModelUse | undefined {
  if (!NOTE.test(body)) return undefined
  const { type, data } = parseEvent(body)
  if (type !== 'planned' && type !== 'looked' && type !== 'chose' && type !== 'unanswered') {
    return undefined
  }
  // Of an outside planner’s note there is nothing that we could count.
  if (!('calls' in data)) return undefined
  const number = (name: string) => (typeof data[name] === 'number' ? data[name] : 0)
  const usage: Usage = {
    calls: number('calls'),
    inputTokens: number('inputTokens'),
    outputTokens: number('outputTokens'),
    costMicros: number('costMicros'),
  }
  const { model, fallback } = data
  const isFallback = typeof fallback === 'string'
  return {
    ...usage,
    unanswered: type === 'unanswered' ? 1 : 0,
    fallbacks: isFallback ? 1 : 0,
    ...(isFallback ? { fallback } : {}),
    byModel:
      typeof model === 'string' && usage.calls > 0 ? Object.fromEntries([[model, usage]]) : {},
  }
}

const PAGE = 500

/** Each note of a run's nodes, read from their own streams: a feed may lag behind them. */
export async function* recordedUses(
  ledger: Pick<Ledger, 'heads' | 'events'>,
  run: RunId,
): AsyncGenerator<{ readonly stream: StreamId; readonly use: ModelUse }> {
  for (const { stream, head } of await ledger.heads(run)) {
    if (stream === 'gateway') continue
    for (let after = 0; after < head.seq; ) {
      const events = await ledger.events(stream, after, PAGE)
      if (events.length === 0) break
      for (const { body } of events) {
        const use = useIn(body)
        if (use !== undefined) yield { stream, use }
      }
      after += events.length
    }
  }
}

export interface ModelUses {
  /** By node, as far as the run's feed goes. */
  of(run: RunId): Promise<ReadonlyMap<StreamId, ModelUse>>
}

interface Read {
  position: number
  readonly uses: Map<StreamId, ModelUse>
}

/** Runs whose sums are kept: a feed only grows, so each look reads on from where the one before ended. */
const KEPT = 100

export function createModelUses(ledger: Pick<Ledger, 'feed'>): ModelUses {
  const reads = new Map<RunId, Promise<Read>>()

  const readOn = async (run: RunId, { position, uses }: Read): Promise<Read> => {
    const next: Read = { position, uses: new Map(uses) }
    for (;;) {
      const page = await ledger.feed(run, next.position, PAGE)
      for (const { stream, body, position: at } of page) {
        const use = useIn(body)
        if (use !== undefined) next.uses.set(stream, addUse(next.uses.get(stream) ?? NO_USE, use))
        next.position = at
      }
      if (page.length < PAGE) return next
    }
  }

  return {
    of: async (run) => {
      const none: Read = { position: 0, uses: new Map() }
      const before = reads.get(run) ?? Promise.resolve(none)
      const now = before.catch(() => none).then((read) => readOn(run, read))
      reads.delete(run)
      reads.set(run, now)
      const [oldest] = reads.keys()
      if (reads.size > KEPT && oldest !== undefined) reads.delete(oldest)
      return (await now).uses
    },
  }
}
