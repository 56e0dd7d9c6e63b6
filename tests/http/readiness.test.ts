import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createReadiness } from '../../runtime/http/readiness.ts'

describe('readiness', () => {
  const rejected: unknown[] = []
  const note = (reason: unknown) => rejected.push(reason)
  beforeEach(() => {
    vi.useFakeTimers()
    process.on('unhandledRejection', note)
  })
  afterEach(() => {
    vi.useRealTimers()
    process.off('unhandledRejection', note)
    rejected.length = 0
  })

  it('names the parts that throw, reject or are late, and leaves nothing behind that fails later', async () => {
    const failing = createReadiness({
      fine: () => 'ready',
      throwing: () => {
        throw new Error('closed')
      },
      rejecting: async () => {
        throw new Error('gone')
      },
      silent: () => new Promise(() => undefined),
    })()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await failing).toEqual(['throwing', 'rejecting', 'silent'])
    vi.useRealTimers()
    await new Promise((resolve) => setImmediate(resolve))
    expect(rejected).toEqual([])
  })
})
