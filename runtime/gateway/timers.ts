/** Timers of ours: a deadline around an answer of somebody else's, and work that is done again and again. */

/** `late` once the time is up; what arrives afterwards is ignored, and a failure after the end is nobody's. */
export async function within<T>(answer: Promise<T>, ms: number): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms)
  })
  try {
    answer.catch(() => undefined)
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
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
): () => Promise<void> {
  let isOpen = true
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> = Promise.resolve()
  const next = () => {
    if (!isOpen) return
    timer = setTimeout(() => {
      underWay = work()
        .then(() => undefined, failed)
        .then(next)
    }, ms)
  }
  next()
  return async () => {
    isOpen = false
    clearTimeout(timer)
    await underWay
  }
}
