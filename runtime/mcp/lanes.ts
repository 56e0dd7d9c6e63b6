/**
 * What of one caller is under way. An id in flight is refused, because its answer would be taken for another's; and what
 * changes something is done one after another, because a model that asks for two payments in one turn means two, each by
 * itself. Nothing here is kept for longer than an answer takes.
 */
import { LIMITS } from '../core/limits.ts'
import type { MessageId } from './message.ts'

interface Lane {
  readonly ids: Set<string>
  readonly inOrder: InOrder
}

export type Entered =
  | { readonly ok: true; leave(): void; readonly inOrder: InOrder }
  | { readonly ok: false; readonly why: 'in_flight' | 'too_many' }

/** Acts once everything before it has ended, however that ended. */
export type InOrder = <T>(act: () => Promise<T>) => Promise<T>

/** A queue of its own. */
export function createQueue(): InOrder {
  let tail: Promise<unknown> = Promise.resolve()
  return (act) => {
    const turn = tail.then(act)
    tail = turn.catch(() => undefined)
    return turn
  }
}

export interface Lanes {
  /** `caller` is the holder that a proof names, or one word where there is one caller alone. */
  enter(caller: string, id: MessageId): Entered
}

/** 1 and "1" are two ids. */
export const keyOf = (id: MessageId): string => `${typeof id}:${id}`

export function createLanes(most: number = LIMITS.mcpInFlight): Lanes {
  const lanes = new Map<string, Lane>()
  return {
    enter: (caller, id) => {
      const lane: Lane = lanes.get(caller) ?? { ids: new Set(), inOrder: createQueue() }
      const key = keyOf(id)
      if (lane.ids.has(key)) return { ok: false, why: 'in_flight' }
      if (lane.ids.size >= most) return { ok: false, why: 'too_many' }
      lane.ids.add(key)
      lanes.set(caller, lane)
      return {
        ok: true,
        leave: () => {
          lane.ids.delete(key)
          if (lane.ids.size === 0) lanes.delete(caller)
        },
        inOrder: lane.inOrder,
      }
    },
  }
}
