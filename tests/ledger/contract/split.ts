/** What every store must hold to: split. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import type { NodeRecord } from '../../../runtime/core/records.ts'
import { later } from '../../../runtime/core/time.ts'
import {
  aChild,
  accepted,
  addChild,
  aSplit,
  NOW,
  startChain,
  startRun,
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function splitContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, balances } = bench
  describe('split', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('moves money and nodes from the parent to the child', async () => {
      const { root } = await startRun(ledger, { ceiling: 5_000, nodes: 20 })
      const child = await addChild(ledger, root, 'a', {
        kind: 'planner',
        ceiling: 2_000,
        nodes: 5,
      })
      expect(await balances(root.id)).toMatchObject({ available: 3_000, allotted: 2_000 })
      expect(await account(root.id)).toMatchObject({
        nodesLeft: 14,
        children: 1,
        openChildren: 1,
      })
      expect(await account(child.id)).toMatchObject({ ceiling: 2_000, available: 2_000 })
      expect((await account(child.id)).nodesLeft).toBe(5)
      expect(await ledger.token(child.id)).toBe(`token of ${child.id}`)
      expect(await ledger.standing(child.id)).toEqual({
        node: child.id,
        state: 'live',
        version: 1,
      })
    })

    it('is the same split when sent again, and another one under its id is a conflict', async () => {
      const { root } = await startRun(ledger)
      const child = await addChild(ledger, root, 'a')
      await unchangedBy('split', aSplit(child), { child, account: await account(child.id) })
      const reborn = { ...child, revocationIds: [...root.revocationIds, 'ff'] }
      await refusedBy('split', aSplit(reborn), 'conflict')
    })

    it('keeps no token of a node that somebody else holds', async () => {
      const { root } = await startRun(ledger)
      const child: NodeRecord = { ...aChild(root, 'a', { kind: 'planner' }), custody: 'outside' }
      const { token, ...split } = aSplit(child)
      accepted(await ledger.execute('split', split))
      expect(await ledger.token(child.id)).toBeUndefined()
    })

    it('refuses a child whose ceiling exceeds what the parent has left', async () => {
      const { root } = await startRun(ledger, { ceiling: 1_000 })
      await addChild(ledger, root, 'a', { ceiling: 600 })
      await refusedBy('split', aSplit(aChild(root, 'b', { ceiling: 401 })), 'insufficient')
      await addChild(ledger, root, 'c', { ceiling: 400 })
    })

    it('never hands out more than the ceiling, however many split at once', async () => {
      const { root } = await startRun(ledger, { ceiling: 1_000 })
      const results = await Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          ledger.execute('split', aSplit(aChild(root, `c${i}`, { ceiling: 30 }))),
        ),
      )
      expect(results.filter(({ ok }) => ok)).toHaveLength(33)
      expect(await balances(root.id)).toMatchObject({ available: 10, allotted: 990 })
    })

    it('allots nodes like money', async () => {
      const { root } = await startRun(ledger, { nodes: 3 })
      const planner = aChild(root, 'a', { kind: 'planner' })
      await refusedBy('split', aSplit(planner, { nodes: 3 }), 'node_limit')
      accepted(await ledger.execute('split', aSplit(planner, { nodes: 1 })))
      accepted(await ledger.execute('split', aSplit(aChild(root, 'b'))))
      await refusedBy('split', aSplit(aChild(root, 'c')), 'node_limit')
      accepted(await ledger.execute('split', aSplit(aChild(planner, 'd', { ceiling: 10 }))))
      await refusedBy('split', aSplit(aChild(planner, 'e', { ceiling: 10 })), 'node_limit')
    })

    it('stops at the fan-out', async () => {
      const { root } = await startRun(ledger)
      await addChild(ledger, root, 'a', { fanOut: 2 })
      await addChild(ledger, root, 'b', { fanOut: 2 })
      await refusedBy('split', aSplit(aChild(root, 'c'), { fanOut: 2 }), 'fan_out')
    })

    it('refuses every way of being wider than the parent', async () => {
      const { root, leaf } = await startChain(ledger)
      const child = aChild(root, 'x', { kind: 'planner' })
      const wider: readonly Partial<NodeRecord>[] = [
        { expiresAtSeconds: later(root.expiresAtSeconds, 1) },
        { payees: ['stranger'] },
        { currency: 'USD' },
        { run: 'run_other' },
        { path: [root.id, leaf.id, child.id] },
        { revocationIds: ['00', ...child.revocationIds.slice(1)] },
        { revocationIds: [...child.revocationIds, 'aa'] },
        { kind: 'looker', ceiling: minor(1) },
        { kind: 'leaf', ceiling: minor(0) },
      ]
      for (const change of wider) {
        const split = aSplit({ ...child, ...change }, { nodes: 0 })
        await refusedBy('split', split, 'conflict')
      }
      await refusedBy('split', aSplit(aChild(root, 'y'), { nodes: 1 }), 'conflict')
      await refusedBy('split', aSplit(aChild(leaf, 'z', { ceiling: 1 })), 'conflict')
    })

    it('refuses a parent that does not exist', async () => {
      const { root } = await startRun(ledger)
      const ghost = aChild(root, 'ghost', { kind: 'planner' })
      await refusedBy('split', aSplit(aChild(ghost, 'x')), 'not_found')
    })

    it('refuses below a parent that has expired', async () => {
      const { root } = await startRun(ledger)
      const split = aSplit(aChild(root, 'x'), { now: root.expiresAtSeconds })
      await refusedBy('split', split, 'expired')
    })

    it.each([
      ['frozen', 'frozen'],
      ['revoked', 'revoked'],
    ] as const)('refuses below an ancestor that is %s', async (state, code) => {
      const { root, planner } = await startChain(ledger)
      await ledger.execute('setStanding', { node: root.id, state, by: 'op', now: NOW })
      await refusedBy('split', aSplit(aChild(planner, 'x')), code)
    })

    it('refuses below an ancestor that is closing, and while the gateway is frozen', async () => {
      const { root, planner } = await startChain(ledger)
      await ledger.execute('setStanding', {
        node: 'gateway',
        state: 'frozen',
        by: 'op',
        now: NOW,
      })
      await refusedBy('split', aSplit(aChild(planner, 'x')), 'frozen')
      await ledger.execute('close', { node: root.id, by: 'op', now: NOW })
      await refusedBy('split', aSplit(aChild(planner, 'x')), 'run_closed')
    })
  })
}
