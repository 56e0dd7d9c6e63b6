/** What every store must hold to: setStanding. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { NodeId } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import {
  accepted,
  addChild,
  aReserve,
  aSubmit,
  NOW,
  paySubmitted,
  startChain,
  startRun,
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function setStandingContract(bench: Bench): void {
  const { refusedBy, unchangedBy, types } = bench
  describe('setStanding', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    const act = (node: NodeId | 'gateway', state: 'live' | 'frozen' | 'revoked') =>
      ({ node, state, by: 'op', now: NOW }) as const

    it('freezes, resumes and revokes, each once and each with a new version', async () => {
      const { planner } = await startChain(ledger)
      const version = async () => (await ledger.standing(planner.id)).version
      await unchangedBy('setStanding', act(planner.id, 'live'), { onTheirWay: [] })
      accepted(await ledger.execute('setStanding', act(planner.id, 'frozen')))
      await unchangedBy('setStanding', act(planner.id, 'frozen'), {})
      expect(await version()).toBe(2)
      accepted(await ledger.execute('setStanding', act(planner.id, 'live')))
      expect(await version()).toBe(3)
      accepted(await ledger.execute('setStanding', act(planner.id, 'revoked')))
      await unchangedBy('setStanding', act(planner.id, 'frozen'), {
        standing: { node: planner.id, state: 'revoked', version: 4 },
      })
      await refusedBy('setStanding', act(planner.id, 'live'), 'revoked')
      expect(await types(planner.id)).toEqual(['opened', 'split', 'frozen', 'resumed', 'revoked'])
    })

    it('freezes and resumes the gateway, and never revokes it', async () => {
      const { leaf } = await startChain(ledger)
      expect(await ledger.standing('gateway')).toEqual({
        node: 'gateway',
        state: 'live',
        version: 1,
      })
      accepted(await ledger.execute('setStanding', act('gateway', 'frozen')))
      expect((await ledger.snapshot({ node: leaf.id }))?.gateway.state).toBe('frozen')
      await refusedBy('setStanding', act('gateway', 'revoked'), 'conflict')
      accepted(await ledger.execute('setStanding', act('gateway', 'live')))
      expect(await types('gateway')).toEqual(['run_created', 'frozen', 'resumed'])
    })

    it('changes nothing on a node that is closing', async () => {
      const { planner } = await startChain(ledger)
      accepted(await ledger.execute('close', { node: planner.id, by: 'op', now: NOW }))
      await unchangedBy('setStanding', act(planner.id, 'frozen'), {
        standing: { state: 'closing' },
      })
      await refusedBy('setStanding', act(planner.id, 'live'), 'run_closed')
    })

    it('refuses a node that does not exist', async () => {
      await refusedBy('setStanding', act('nd_none', 'frozen'), 'not_found')
    })

    it('says what was already on its way below, and nothing else', async () => {
      const { root, planner, leaf } = await startChain(ledger)
      const sibling = await addChild(ledger, root, 'sibling')
      const settled = await addChild(ledger, planner, 'settled')
      const reserved = await addChild(ledger, planner, 'reserved')
      const first = await paySubmitted(ledger, leaf)
      const second = await paySubmitted(ledger, sibling)
      const third = await paySubmitted(ledger, settled)
      const settle = { payment: third.id, amount: minor(1), railReference: 'r', now: NOW }
      accepted(await ledger.execute('settle', settle))
      accepted(await ledger.execute('reserve', aReserve(reserved)))
      const below = accepted(await ledger.execute('setStanding', act(planner.id, 'frozen')))
      expect(below.onTheirWay).toEqual([first.id])
      const all = accepted(await ledger.execute('setStanding', act('gateway', 'frozen')))
      expect([...all.onTheirWay].sort()).toEqual([first.id, second.id].sort())
    })

    it('is ordered with submits: each is acknowledged as on its way, or refused', async () => {
      const { root } = await startRun(ledger)
      const leaves = await Promise.all(
        Array.from({ length: 40 }, (_, i) => addChild(ledger, root, `l${i}`, { ceiling: 10 })),
      )
      await Promise.all(
        leaves.map(async (leaf) => accepted(await ledger.execute('reserve', aReserve(leaf)))),
      )
      const submits = leaves.map((leaf, i) => ledger.execute('submit', aSubmit(leaf, `n${i}`)))
      const freeze = ledger.execute('setStanding', act(root.id, 'revoked'))
      const late = leaves.map((leaf, i) => ledger.execute('submit', aSubmit(leaf, `m${i}`)))
      const { onTheirWay } = accepted(await freeze)
      const won = (await Promise.all([...submits, ...late])).flatMap((result) =>
        result.ok ? [result.payment.id] : [],
      )
      expect([...onTheirWay].sort()).toEqual(won.sort())
    })
  })
}
