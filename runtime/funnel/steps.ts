/**
 * Steps that are written before they are acted on. A step that is recorded is never worked out again: a resumed walk
 * reads what the first one wrote, so no model is asked twice and no quote is fetched twice for the same step.
 */
import type { z } from 'zod'
import type { Usage } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import type { NodeId } from '../core/ids.ts'
import type { Note } from '../core/ledger.ts'
import { nowSeconds } from '../core/time.ts'
import { BranchEnded, type Walk } from './context.ts'

interface Worked {
  readonly value: unknown
  readonly note?: Pick<Note, 'type' | 'data'>
}

export interface Step<T> {
  readonly node: NodeId
  readonly name: string
  readonly schema: z.ZodType<T>
  readonly work: () => Promise<Worked>
}

/** The step's value: as it was recorded, or worked out and recorded now. */
export async function once<T>(walk: Walk, { node, name, schema, work }: Step<T>): Promise<T> {
  walk.assertOurs()
  const before = await walk.ledger.step(node, name)
  if (before !== undefined) return schema.parse(before)
  const { value, note } = await work()
  const now = nowSeconds(walk.clock)
  const saved = await walk.ledger.execute('saveStep', {
    node,
    name,
    value,
    now,
    ...(note === undefined ? {} : { note }),
  })
  if (!saved.ok && saved.code === 'run_closed') throw new BranchEnded('run_closed')
  if (!saved.ok) throw new Fault('internal', `a step was refused: ${saved.code}`)
  return schema.parse(saved.value)
}

/** Asks an agent within the run's bounds; a fault of the model is tried again, then ends the branch. */
export async function askAgent<T extends { readonly usage: Usage; readonly model: string }>(
  walk: Walk,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { used, bounds } = walk
  for (let tried = 1; ; tried += 1) {
    if (used.calls >= bounds.modelCalls) throw new BranchEnded('model_calls')
    if (used.tokens >= bounds.modelTokens) throw new BranchEnded('model_tokens')
    used.calls += 1
    const late = new AbortController()
    const callOff = walk.timers.after(bounds.modelMs, () => late.abort())
    const deadline = AbortSignal.any([walk.signal, late.signal])
    try {
      const answer = await unlessAborted(ask(deadline), deadline)
      const { calls, inputTokens, outputTokens } = answer.usage
      used.calls += Math.max(0, calls - 1)
      used.tokens += inputTokens + outputTokens
      return answer
    } catch (caught) {
      walk.signal.throwIfAborted()
      const silence = new Fault('model_failed', 'an agent gave no answer in time')
      const error = deadline.aborted ? silence : caught
      if (!(error instanceof Fault)) throw error
      walk.onFault?.(error)
      if (!error.retryable || tried >= bounds.tries) throw new BranchEnded(error.code)
      await backOff(walk, tried)
    } finally {
      callOff()
    }
  }
}

/** An agent that does not heed its deadline is not waited for. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** A pause that doubles with each try, and ends at once when the walk is stopped. */
export async function backOff({ bounds, signal, timers }: Walk, tried: number): Promise<void> {
  const ms = Math.min(bounds.backOffMs, 50 * 2 ** tried)
  let callOff: (() => void) | undefined
  const over = new Promise<void>((resolve) => {
    callOff = timers.after(ms, resolve)
  })
  await unlessAborted(over, signal).finally(callOff)
}

/** How a model's answer stands in the log. */
export const usageNote = (usage: Usage, model: string) => ({
  model,
  calls: usage.calls,
  inputTokens: usage.inputTokens,
  outputTokens: usage.outputTokens,
  costMicros: usage.costMicros,
})
