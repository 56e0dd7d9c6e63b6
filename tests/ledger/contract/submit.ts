/** What every store must hold to: submit. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { accepted, aReserve, aSubmit, NOW, startChain } from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function submitContract(bench: Bench): void {
  const { refusedBy, unchangedBy } = bench
  describe('submit', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('stores the nonce of one attempt', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      const { payment } = accepted(await ledger.execute('submit', aSubmit(leaf, 'first')))
      expect(payment).toMatchObject({
        state: 'submitted',
        nonce: 'first',
        submittedAtMs: NOW * 1_000,
      })
      await unchangedBy('submit', aSubmit(leaf, 'first'), { payment })
      await refusedBy('submit', aSubmit(leaf, 'second'), 'conflict')
    })

    it('has one winner among fifty', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => ledger.execute('submit', aSubmit(leaf, `n${i}`))),
      )
      expect(results.filter(({ ok }) => ok)).toHaveLength(1)
    })

    it('refuses a payment that was never reserved, or was released', async () => {
      const { leaf } = await startChain(ledger)
      await refusedBy('submit', aSubmit(leaf, 'n'), 'not_found')
      const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf)))
      const release = { payment: payment.id, from: 'reserved', reason: 'x', now: NOW } as const
      accepted(await ledger.execute('release', release))
      await refusedBy('submit', aSubmit(leaf, 'n'), 'conflict')
    })

    it('judges expiry again', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      await refusedBy('submit', aSubmit(leaf, 'n', leaf.expiresAtSeconds), 'expired')
      const soon = { ...aSubmit(leaf, 'n'), expiresAtSeconds: NOW }
      await refusedBy('submit', soon, 'expired')
    })

    it('refuses a path that is not the leaf’s', async () => {
      const { root, leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      const input = aSubmit(leaf, 'n')
      await refusedBy('submit', { ...input, path: [root.id, leaf.id] }, 'conflict')
      await refusedBy('submit', { ...input, path: [] }, 'conflict')
      await refusedBy('submit', { ...input, path: [root.id] }, 'conflict')
    })

    it.each([
      ['frozen', 'frozen'],
      ['revoked', 'revoked'],
    ] as const)('lets nothing through after an ancestor was %s', async (state, code) => {
      const { root, leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      await ledger.execute('setStanding', { node: root.id, state, by: 'op', now: NOW })
      await refusedBy('submit', aSubmit(leaf, 'n'), code)
    })

    it('lets nothing through after the gateway was frozen or an ancestor began to close', async () => {
      const { root, leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      await ledger.execute('setStanding', {
        node: 'gateway',
        state: 'frozen',
        by: 'op',
        now: NOW,
      })
      await refusedBy('submit', aSubmit(leaf, 'n'), 'frozen')
      await ledger.execute('setStanding', { node: 'gateway', state: 'live', by: 'op', now: NOW })
      await ledger.execute('close', { node: root.id, by: 'op', now: NOW })
      await refusedBy('submit', aSubmit(leaf, 'n'), 'run_closed')
    })
  })
}
