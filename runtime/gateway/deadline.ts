/** A deadline of ours around an answer of somebody else's. */

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
