/**
 * Steps that are written before they are acted on. A step that is recorded is never worked out again: a resumed walk
 * reads what the first one wrote, so no model is asked twice and no quote is fetched twice for the same step.
 */
import type { z } from 'zod'
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

/** An agent that does not heed its deadline is not waited for. */
export function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
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
