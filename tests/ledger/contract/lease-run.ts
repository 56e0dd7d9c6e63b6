import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../runtime/core/limits.ts'
import { later } from '../../../runtime/core/time.ts'
import { accepted, NOW, startRun } from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function leaseRunContract(bench: Bench): void {
  const setUp = async () => {
    const { run } = await startRun(bench.ledger())
    return (holder: string, at = 0, seconds: number = LIMITS.leaseSeconds) =>
      ({ run: run.id, holder, seconds, now: later(NOW, at) }) as const
  }
  const lease = (input: ReturnType<Awaited<ReturnType<typeof setUp>>>) =>
    bench.ledger().execute('leaseRun', input)

  describe('a run’s lease', () => {
    it('is one process’s until it runs out, and then the next one’s', async () => {
      const by = await setUp()
      accepted(await lease(by('a')))
      await bench.refusedBy('leaseRun', by('b', LIMITS.leaseSeconds - 1), 'conflict')
      const taken = accepted(await lease(by('b', LIMITS.leaseSeconds)))
      expect(taken.run.lease?.holder).toBe('b')
      await bench.refusedBy('leaseRun', by('a', LIMITS.leaseSeconds), 'conflict')
    })

    it('is renewed by its holder, and free at once when it is given back', async () => {
      const by = await setUp()
      accepted(await lease(by('a')))
      const renewed = accepted(await lease(by('a', 10)))
      expect(renewed.run.lease?.untilSeconds).toBe(later(NOW, 10 + LIMITS.leaseSeconds))
      await bench.unchangedBy('leaseRun', by('a', 10), {})
      await bench.refusedBy('leaseRun', by('b', 11, 0), 'conflict')
      accepted(await lease(by('a', 11, 0)))
      accepted(await lease(by('b', 11)))
    })

    it('is not taken by a process whose clock stands a little before its holder’s', async () => {
      const by = await setUp()
      accepted(await lease(by('a', 100)))
      for (const behind of [1, 5, LIMITS.leaseSeconds / 3]) {
        await bench.refusedBy('leaseRun', by('b', 100 - behind), 'conflict')
      }
      accepted(await lease(by('b', 100 - LIMITS.leaseSeconds / 3 - 1)))
    })

    it('that a clock gave which has been put back since keeps nobody out', async () => {
      const by = await setUp()
      accepted(await lease(by('a', 3_600)))
      accepted(await lease(by('b')))
    })

    it('is given to one of many at once, and to none for a run that is not there', async () => {
      const by = await setUp()
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) => bench.instance(i).execute('leaseRun', by(`h${i}`))),
      )
      expect(answers.filter(({ ok }) => ok)).toHaveLength(1)
      await bench.refusedBy('leaseRun', { ...by('a'), run: 'run_none' }, 'not_found')
    })
  })
}
