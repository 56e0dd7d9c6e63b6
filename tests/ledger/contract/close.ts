/** What every store must hold to: close. */
import { beforeEach, describe, expect, it } from 'vitest'
import { deny } from '../../../runtime/core/codes.ts'
import { parseEvent } from '../../../runtime/core/events.ts'
import type { NodeId } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import { closeSubtree } from '../../../runtime/ledger/closing.ts'
import {
  accepted,
  addChild,
  allPassed,
  aProof,
  fixedClock,
  NOW,
  paySubmitted,
  startChain,
  startRun,
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function closeContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, balances, types } = bench
  describe('close', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    const close = (node: NodeId) => ({ node, by: 'op', now: NOW }) as const

    it('returns what is left to the parent at once and is closed', async () => {
      const { planner, leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf, { amount: 700 })
      const settle = { payment: id, amount: minor(600), railReference: 'r', now: NOW }
      accepted(await ledger.execute('settle', settle))
      const result = accepted(await ledger.execute('close', close(leaf.id)))
      expect(result.standing).toMatchObject({ state: 'closed', version: 3 })
      expect(result.account).toEqual(await account(leaf.id))
      expect(await balances(leaf.id)).toEqual({
        ceiling: 600,
        available: 0,
        reserved: 0,
        spent: 600,
        allotted: 0,
      })
      expect(await balances(planner.id)).toMatchObject({ available: 9_400, allotted: 600 })
      expect(await account(planner.id)).toMatchObject({ children: 1, openChildren: 0 })
      await unchangedBy('close', close(leaf.id), { standing: result.standing })
    })

    it('writes the child’s last hash into the parent', async () => {
      const { planner, leaf } = await startChain(ledger)
      accepted(await ledger.execute('close', close(leaf.id)))
      const head = (await account(leaf.id)).head
      const last = (await ledger.events(planner.id, 0, 99)).at(-1)
      expect(parseEvent(last?.body ?? '')).toMatchObject({
        type: 'closed',
        data: { child: leaf.id, ...head },
      })
    })

    it('waits while money is reserved or a child is open, and can be sent again', async () => {
      const { root, planner, leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf, { amount: 700 })
      const first = accepted(await ledger.execute('close', close(planner.id)))
      expect(first.standing.state).toBe('closing')
      expect(await balances(root.id)).toMatchObject({ available: 99_000, allotted: 1_000 })
      await unchangedBy('close', close(planner.id), { standing: { state: 'closing' } })
      const second = accepted(await ledger.execute('close', close(leaf.id)))
      expect(second.standing.state).toBe('closing')
      expect(await balances(root.id)).toMatchObject({ available: 99_300, allotted: 700 })
      accepted(await ledger.execute('markUnknown', { payment: id, reason: 'x', now: NOW }))
      expect(accepted(await ledger.execute('close', close(leaf.id))).standing.state).toBe('closing')
      const release = { payment: id, from: 'submitted', reason: 'absent', now: NOW } as const
      accepted(await ledger.execute('release', release))
      expect(await balances(root.id)).toMatchObject({ available: 100_000, allotted: 0 })
      expect(await balances(leaf.id)).toMatchObject({ ceiling: 0, available: 0 })
      expect(accepted(await ledger.execute('close', close(leaf.id))).standing.state).toBe('closed')
      const end = accepted(await ledger.execute('close', close(planner.id)))
      expect(end.standing.state).toBe('closed')
      expect(await balances(planner.id)).toMatchObject({ ceiling: 0, allotted: 0 })
    })

    it('lets the rest of a late settlement climb to the nearest open ancestor', async () => {
      const { root, planner, leaf } = await startChain(ledger)
      const deep = await addChild(ledger, planner, 'deep', {
        kind: 'planner',
        ceiling: 500,
        nodes: 3,
      })
      const deepLeaf = await addChild(ledger, deep, 'deep-leaf', { ceiling: 500 })
      const { id } = await paySubmitted(ledger, deepLeaf)
      for (const node of [deep, deepLeaf]) accepted(await ledger.execute('close', close(node.id)))
      const settle = { payment: id, amount: minor(400), railReference: 'r', now: NOW }
      accepted(await ledger.execute('settle', settle))
      expect(await balances(planner.id)).toMatchObject({ available: 8_600, allotted: 1_400 })
      expect(await balances(root.id)).toMatchObject({ available: 90_000, allotted: 10_000 })
      const payment = await ledger.payment(id)
      const events = await ledger.events(deepLeaf.id, 0, 99)
      const settled = events.find(({ body }) => parseEvent(body).type === 'settled')
      expect(payment?.endHead).toEqual({ seq: settled?.seq, hash: settled?.hash })
      expect(leaf.id).not.toBe(deepLeaf.id)
    })

    it('lets the root keep what is left', async () => {
      const { root } = await startRun(ledger, { ceiling: 5_000 })
      const result = accepted(await ledger.execute('close', close(root.id)))
      expect(result.standing.state).toBe('closed')
      expect(await balances(root.id)).toMatchObject({ ceiling: 5_000, available: 5_000 })
      expect(await types(root.id)).toEqual(['opened', 'closing', 'ended'])
    })

    it('closes what is frozen or revoked', async () => {
      const { planner, leaf } = await startChain(ledger)
      const act = { state: 'revoked', by: 'op', now: NOW } as const
      await ledger.execute('setStanding', { ...act, node: leaf.id })
      await ledger.execute('setStanding', { ...act, node: planner.id, state: 'frozen' })
      expect(accepted(await ledger.execute('close', close(leaf.id))).standing.state).toBe('closed')
      const end = accepted(await ledger.execute('close', close(planner.id)))
      expect(end.standing.state).toBe('closed')
    })

    it('refuses a node that does not exist', async () => {
      await refusedBy('close', close('nd_none'), 'not_found')
    })

    it('still records refusals on a closed node, without money', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('close', close(leaf.id)))
      const before = await balances(leaf.id)
      const input = {
        node: leaf.id,
        run: leaf.run,
        denial: deny('run_closed'),
        checks: allPassed,
        proof: aProof(leaf),
        now: NOW,
      }
      accepted(await ledger.execute('refuse', input))
      expect(await balances(leaf.id)).toEqual(before)
    })

    it('sweeps a whole tree, and says what it waits for', async () => {
      const { root, planner, leaf } = await startChain(ledger)
      const idle = await addChild(ledger, planner, 'idle')
      const looker = await addChild(ledger, planner, 'looker', { kind: 'looker' })
      const { id } = await paySubmitted(ledger, leaf)
      const first = accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
      expect(first.standing.state).toBe('closing')
      expect([...first.waiting].sort()).toEqual([root.id, planner.id, leaf.id].sort())
      for (const { id: node } of [idle, looker]) {
        expect((await ledger.standing(node)).state).toBe('closed')
      }
      const settle = { payment: id, amount: minor(1_000), railReference: 'r', now: NOW }
      accepted(await ledger.execute('settle', settle))
      const end = accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
      expect(end).toMatchObject({ standing: { state: 'closed' }, waiting: [] })
      expect(await balances(root.id)).toMatchObject({ available: 99_000, allotted: 1_000 })
      expect(accepted(await closeSubtree(ledger, root.id, 'op', fixedClock)).waiting).toEqual([])
      expect(await closeSubtree(ledger, 'nd_none', 'op', fixedClock)).toMatchObject({
        code: 'not_found',
      })
    })
  })
}
