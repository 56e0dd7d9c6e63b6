/** Timers of ours: a deadline around an answer of somebody else's, and work that is done again and again. */
import { systemTimers } from '../core/clock.ts'
import type { Timers } from '../core/time.ts'

/** `late` once the time is up; what arrives afterwards is ignored, and a failure after the end is nobody's. */
export async function within<T>(
  answer: Promise<T>,
  ms: number,
  timers: Timers = systemTimers,
): Promise<T | 'late'> {
  let callOff: (() => void) | undefined
  const late = new Promise<'late'>((resolve) => {
    callOff = timers.after(ms, () => resolve('late'))
  })
  try {
    answer.catch(() => undefined)
    return await Promise.race([answer, late])
  } finally {
    callOff?.()
  }
}

/**
 * Does work every `ms`, counted from the end of the last time, so one at a time; `failed` is told of what it throws,
 * and must not throw itself. Returns how to end it, which resolves when nothing is under way any more.
 */
export function repeat(
  ms: number,
  work: () => Promise<unknown>,
  failed: (error: unknown) => void,
  timers: Timers = systemTimers,
): () => Promise<void> {
  let isOpen = true
  let callOff: (() => void) | undefined
  let underWay: Promise<void> = Promise.resolve()
  const next = () => {
    if (!isOpen) return
    callOff = timers.after(ms, () => {
      underWay = work()
        .then(() => undefined, failed)
        .then(next)
    })
  }
  next()
  return async () => {
    isOpen = false
    callOff?.()
    await underWay
  }
}
