/** What every store must hold to: release and unknown. */
import { beforeEach, describe, expect, it } from 'vitest'
import { parseEvent } from '../../../runtime/core/events.ts'
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
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function releaseContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, balances } = bench
  describe('release and unknown', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('gives back what was reserved and never submitted', async () => {
      const { leaf } = await startChain(ledger)
      const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf)))
      const input = {
        payment: payment.id,
        from: 'reserved',
        reason: 'timed_out',
        now: NOW,
      } as const
      const released = accepted(await ledger.execute('release', input)).payment
      expect(released).toMatchObject({
        state: 'released',
        reason: 'timed_out',
        endHead: (await account(leaf.id)).head,
      })
      expect(await balances(leaf.id)).toMatchObject({ available: 1_000, reserved: 0 })
      await unchangedBy('release', input, { payment: released })
    })

    it('never times out what was submitted', async () => {
      const { leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf)
      const input = { payment: id, from: 'reserved', reason: 'timed_out', now: NOW } as const
      await refusedBy('release', input, 'conflict')
      accepted(await ledger.execute('markUnknown', { payment: id, reason: 'timeout', now: NOW }))
      await refusedBy('release', input, 'conflict')
    })

    it('releases what was submitted on the rail’s word only', async () => {
      const { leaf } = await startChain(ledger)
      const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf)))
      const input = {
        payment: payment.id,
        from: 'submitted',
        reason: 'declined',
        now: NOW,
      } as const
      await refusedBy('release', input, 'conflict')
      accepted(await ledger.execute('submit', aSubmit(leaf, 'n')))
      const released = accepted(await ledger.execute('release', input)).payment
      await unchangedBy('release', input, { payment: released })
      await refusedBy('release', { ...input, from: 'reserved' }, 'conflict')
      await refusedBy('release', { ...input, payment: 'pay_none' }, 'not_found')
      const settle = { payment: payment.id, amount: minor(1), railReference: 'r', now: NOW }
      await refusedBy('settle', settle, 'conflict')
    })

    it('keeps unknown money reserved until the rail has spoken', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      const first = await paySubmitted(ledger, leaf)
      const second = await paySubmitted(ledger, other)
      for (const { id } of [first, second]) {
        const input = { payment: id, reason: 'timeout', now: NOW }
        const { payment } = accepted(await ledger.execute('markUnknown', input))
        expect(payment.state).toBe('unknown')
        await unchangedBy('markUnknown', input, { payment })
      }
      expect(await balances(leaf.id)).toMatchObject({ available: 0, reserved: 1_000 })
      const settle = { payment: first.id, amount: minor(1_000), railReference: 'r', now: NOW }
      accepted(await ledger.execute('settle', settle))
      const release = {
        payment: second.id,
        from: 'submitted',
        reason: 'absent',
        now: NOW,
      } as const
      accepted(await ledger.execute('release', release))
      expect(await balances(leaf.id)).toMatchObject({ spent: 1_000, reserved: 0 })
      expect(await balances(other.id)).toMatchObject({ available: 1_000, reserved: 0 })
      for (const { id } of [first, second]) {
        await refusedBy('markUnknown', { payment: id, reason: 'x', now: NOW }, 'conflict')
      }
      await refusedBy('release', { ...release, payment: first.id }, 'conflict')
    })

    it('marks only what was submitted as unknown', async () => {
      const { leaf } = await startChain(ledger)
      const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf)))
      const input = { payment: payment.id, reason: 'timeout', now: NOW }
      await refusedBy('markUnknown', input, 'conflict')
      await refusedBy('markUnknown', { ...input, payment: 'pay_none' }, 'not_found')
    })

    it('writes no sentence of a rail into the log', async () => {
      const { leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf)
      const reason = 'Declined: card of Asha Rao'
      const input = { payment: id, from: 'submitted', reason, now: NOW } as const
      accepted(await ledger.execute('release', input))
      const [event] = await ledger.events(leaf.id, 3, 1)
      expect(parseEvent(event?.body ?? '').data).toMatchObject({ reason: 'other' })
    })
  })
}
