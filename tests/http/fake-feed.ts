/** A ledger of which only the feed exists, and readers that note what they are given. */
import type { RunId } from '../../runtime/core/ids.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import type { FeedEntry } from '../../runtime/core/records.ts'

export const RUN: RunId = 'run_test'

/** A feed of so many entries whose reads can be held up. */
export function fakeFeed(length: number) {
  const listeners = new Set<(run: RunId, position: number) => void>()
  const state = { length, reads: 0, gate: Promise.resolve() as Promise<unknown>, broken: false }
  const entry = (position: number): FeedEntry => ({
    position,
    stream: 'gateway',
    seq: position,
    hash: 'h',
    body: '{}',
  })
  const ledger = {
    feed: async (_run: RunId, after: number, limit: number) => {
      state.reads += 1
      const seen = state.length
      await state.gate
      if (state.broken) throw new Error('down')
      const count = Math.max(0, Math.min(limit, seen - after))
      return Array.from({ length: count }, (_, i) => entry(after + 1 + i))
    },
    onFeed: (listener: (run: RunId, position: number) => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  } as unknown as Ledger
  const grow = (by: number) => {
    state.length += by
    for (const listener of listeners) listener(RUN, state.length)
  }
  return { ledger, state, grow, listeners }
}

export const reader = () => {
  const got: number[] = []
  const state = { failed: false }
  return {
    got,
    state,
    push: (position: number) => void got.push(position),
    fail: () => {
      state.failed = true
    },
  }
}

/** Gives everything that is due its turn. */
export const settle = async () => {
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve))
}
