/** Whether every part can be used now, asked of the parts themselves. */

import { within } from '../gateway/timers.ts'

/** How long an answer about readiness is good for: anyone may ask. */
const READY_MS = 1_000
const PART_MS = 2_000

/** Asks each part once, within a deadline; parts that fail are named. */
export function createReadiness(
  parts: Readonly<Record<string, () => Promise<unknown> | unknown>>,
): () => Promise<readonly string[]> {
  let asked: { readonly atMs: number; readonly failing: Promise<readonly string[]> } | undefined
  const works = async (name: string, work: () => Promise<unknown> | unknown) => {
    try {
      const answer = await within(Promise.resolve().then(work), PART_MS)
      return answer === 'late' ? [name] : []
    } catch {
      return [name]
    }
  }
  const ask = async () => {
    const failing = await Promise.all(
      Object.entries(parts).map(([name, work]) => works(name, work)),
    )
    return failing.flat()
  }
  return () => {
    const atMs = performance.now()
    if (asked === undefined || atMs - asked.atMs > READY_MS) asked = { atMs, failing: ask() }
    return asked.failing
  }
}
