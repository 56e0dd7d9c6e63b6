/** What every store must hold to: createRun. */
import { beforeEach, describe, expect, it } from 'vitest'
import { sha256 } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import { aRun, NOW, startRun } from '../../support/ledger.ts'
import { type Bench, LATER } from './bench.ts'

export function createRunContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, balances, types } = bench
  describe('createRun', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('opens a run with its root, its whole ceiling available', async () => {
      const { run, root } = await startRun(ledger, { ceiling: 5_000, nodes: 7 })
      expect(await ledger.run(run.id)).toEqual(run)
      expect(await ledger.runByMandate('asha', run.jti)).toEqual(run)
      expect(await ledger.node(root.id)).toEqual(root)
      expect(await ledger.token(root.id)).toBe('root token')
      expect(await balances(root.id)).toEqual({
        ceiling: 5_000,
        available: 5_000,
        reserved: 0,
        spent: 0,
        allotted: 0,
      })
      expect((await account(root.id)).nodesLeft).toBe(7)
      expect(await types('gateway')).toEqual(['run_created'])
    })

    it('returns the run that a mandate made before', async () => {
      const { run, root } = await startRun(ledger)
      const input = { run, root, token: 't', nodes: 3, now: LATER }
      await unchangedBy('createRun', input, { run, created: false })
    })

    it('makes one run of one mandate posted many times at once', async () => {
      const { run, root } = aRun()
      const input = { run, root, token: 't', nodes: 3, now: NOW }
      const results = await Promise.all(
        Array.from({ length: 20 }, () => ledger.execute('createRun', input)),
      )
      expect(results.filter((result) => result.ok && result.created)).toHaveLength(1)
      expect(await types('gateway')).toEqual(['run_created'])
    })

    it('refuses another mandate under the same jti', async () => {
      const { run, root } = await startRun(ledger)
      const other = { ...run, mandateDigest: sha256('another text') }
      await refusedBy('createRun', { run: other, root, token: 't', nodes: 3, now: NOW }, 'conflict')
    })

    it('refuses a mandate that has expired', async () => {
      const { run, root } = aRun()
      await refusedBy('createRun', { run, root, token: 't', nodes: 3, now: LATER }, 'expired')
    })

    it('refuses a root that is not the whole of its run', async () => {
      const { run, root } = aRun()
      const bigger = { ...root, ceiling: minor(run.ceiling + 1) }
      const input = { run, root: bigger, token: 't', nodes: 3, now: NOW }
      await refusedBy('createRun', input, 'conflict')
    })

    it('refuses while the gateway is frozen', async () => {
      const { run, root } = aRun()
      await ledger.execute('setStanding', {
        node: 'gateway',
        state: 'frozen',
        by: 'op',
        now: NOW,
      })
      await refusedBy('createRun', { run, root, token: 't', nodes: 3, now: NOW }, 'frozen')
    })
  })
}
