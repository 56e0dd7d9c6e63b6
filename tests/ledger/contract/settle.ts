/** What every store must hold to: settle. */
import { beforeEach, describe, expect, it } from 'vitest'
import { sha256 } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import { accepted, aReserve, aSubmit, NOW, paySubmitted, startChain } from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function settleContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, balances } = bench
  describe('settle', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('spends what was reserved', async () => {
      const { leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf)
      const input = { payment: id, amount: minor(1_000), railReference: 'rail-1', now: NOW }
      const { payment } = accepted(await ledger.execute('settle', input))
      const head = (await account(leaf.id)).head
      expect(payment).toMatchObject({
        state: 'settled',
        settledAmount: 1_000,
        railReference: 'rail-1',
        endHead: head,
        endedAtSeconds: NOW,
      })
      expect(await balances(leaf.id)).toMatchObject({ available: 0, reserved: 0, spent: 1_000 })
      await unchangedBy('settle', input, { payment })
    })

    it('returns the rest of a smaller amount', async () => {
      const { leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf)
      const input = { payment: id, amount: minor(900), railReference: 'r', now: NOW }
      accepted(await ledger.execute('settle', input))
      expect(await balances(leaf.id)).toMatchObject({ available: 100, reserved: 0, spent: 900 })
    })

    it('refuses what the rail cannot have been asked for', async () => {
      const { leaf } = await startChain(ledger)
      const reserve = accepted(await ledger.execute('reserve', aReserve(leaf)))
      const input = {
        payment: reserve.payment.id,
        amount: minor(1_000),
        railReference: 'r',
        now: NOW,
      }
      await refusedBy('settle', input, 'conflict')
      accepted(await ledger.execute('submit', aSubmit(leaf, 'n')))
      await refusedBy('settle', { ...input, amount: minor(1_001) }, 'conflict')
      await refusedBy('settle', { ...input, amount: minor(0) }, 'conflict')
      await refusedBy('settle', { ...input, payment: 'pay_none' }, 'not_found')
      accepted(await ledger.execute('settle', input))
      await refusedBy('settle', { ...input, amount: minor(999) }, 'conflict')
      await refusedBy('settle', { ...input, railReference: 'other' }, 'conflict')
    })

    it('keeps a rail’s strange reference out of the log', async () => {
      const { leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf)
      const railReference = 'paid to Asha Rao, flat 4'
      const input = { payment: id, amount: minor(1_000), railReference, now: NOW }
      const { payment } = accepted(await ledger.execute('settle', input))
      expect(payment.railReference).toBe(railReference)
      const [event] = await ledger.events(leaf.id, 3, 1)
      expect(event?.body).toContain(`sha256:${sha256(railReference)}`)
      expect(event?.body).not.toContain('Asha')
    })
  })
}
