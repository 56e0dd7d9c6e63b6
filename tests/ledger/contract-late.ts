/** What every store must hold to of a payment's later life: silence, resolution, money that comes back. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseEvent } from '../../runtime/core/events.ts'
import type { NodeId } from '../../runtime/core/ids.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import type { PaymentRecord } from '../../runtime/core/records.ts'
import { later } from '../../runtime/core/time.ts'
import { accepted, aReserve, NOW, paySubmitted, startChain } from '../support/ledger.ts'
import type { Opened } from './contract.ts'

export function lateContract(name: string, open: () => Promise<Opened>): void {
  describe(name, () => {
    let ledger: Ledger
    let dispose: () => Promise<void>

    beforeEach(async () => {
      const opened = await open()
      ledger = opened.ledger
      dispose = opened.dispose
    })
    afterEach(() => dispose())

    const stored = async (payment: PaymentRecord): Promise<PaymentRecord> => {
      const found = await ledger.payment(payment.id)
      if (found === undefined) throw new Error('expected a payment')
      return found
    }

    const events = async (stream: NodeId) =>
      (await ledger.events(stream, 0, 1_000)).map(({ body }) => parseEvent(body))

    const unknownPayment = async () => {
      const chain = await startChain(ledger)
      const { id } = await paySubmitted(ledger, chain.leaf)
      const marked = await ledger.execute('markUnknown', { payment: id, reason: 'late', now: NOW })
      return { ...chain, payment: accepted(marked).payment }
    }

    describe('lease', () => {
      const lease = (payment: PaymentRecord, holder: string, after = 0) =>
        ledger.execute('lease', {
          payment: payment.id,
          holder,
          seconds: LIMITS.leaseSeconds,
          now: later(NOW, after),
        })
      const taken = { ok: false, code: 'conflict' }

      it('is one gateway’s until it ends, and then another’s', async () => {
        const { payment } = await unknownPayment()
        accepted(await lease(payment, 'a'))
        expect(await lease(payment, 'b', LIMITS.leaseSeconds - 1)).toEqual(taken)
        accepted(await lease(payment, 'b', LIMITS.leaseSeconds))
        expect(await lease(payment, 'a', LIMITS.leaseSeconds)).toEqual(taken)
      })

      it('goes to one of many that ask at once', async () => {
        const { payment } = await unknownPayment()
        const all = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((who) => lease(payment, who)))
        expect(all.filter(({ ok }) => ok)).toHaveLength(1)
      })

      it('is renewed by its holder once half of it is gone, and written no sooner', async () => {
        const { payment } = await unknownPayment()
        const first = accepted(await lease(payment, 'a')).payment
        const half = LIMITS.leaseSeconds / 2
        expect(accepted(await lease(payment, 'a', half - 1)).payment.lease).toEqual(first.lease)
        const renewed = accepted(await lease(payment, 'a', half)).payment.lease
        expect(renewed?.untilSeconds).toBe(later(NOW, half + LIMITS.leaseSeconds))
        expect((await stored(payment)).lease).toEqual(renewed)
      })

      it('keeps nobody out that was given by a clock which has been put back', async () => {
        const { payment } = await unknownPayment()
        accepted(await lease(payment, 'a', 3600))
        accepted(await lease(payment, 'b'))
      })

      it('moves no money and enters no log', async () => {
        const { payment, leaf } = await unknownPayment()
        const before = [await ledger.account(leaf.id), await events(leaf.id)]
        accepted(await lease(payment, 'a'))
        expect([await ledger.account(leaf.id), await events(leaf.id)]).toEqual(before)
      })

      it('is of a payment that exists', async () => {
        const { payment } = await unknownPayment()
        expect(await lease({ ...payment, id: 'pay_none' }, 'a')).toMatchObject({
          code: 'not_found',
        })
      })
    })

    describe('markOverdue', () => {
      const mark = (payment: PaymentRecord, attempt = 'one') =>
        ledger.execute('markOverdue', { payment: payment.id, attempt, now: later(NOW, 900) })

      it('raises the alarm once, with one event, and moves nothing', async () => {
        const { payment, leaf } = await unknownPayment()
        const before = await ledger.account(leaf.id)
        const first = accepted(await mark(payment))
        expect(first.raised).toBe(true)
        expect(accepted(await mark(payment, 'two')).raised).toBe(false)
        // The very same call, sent again after a lost answer, is still the one that raised it.
        expect(accepted(await mark(payment)).raised).toBe(true)
        const raised = (await events(leaf.id)).filter(({ type }) => type === 'overdue')
        expect(raised.map(({ data }) => data)).toEqual([{ payment: payment.id, since: NOW }])
        expect(await ledger.account(leaf.id)).toEqual({ ...before, head: expect.anything() })
        expect((await stored(payment)).overdue?.atSeconds).toBe(later(NOW, 900))
      })

      it('is refused for what has ended or was never submitted', async () => {
        const { leaf } = await startChain(ledger)
        const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf)))
        expect(await mark(payment)).toEqual({ ok: false, code: 'conflict' })
        const other = await unknownPaymentOf('second')
        const settle = { payment: other.id, amount: minor(1_000), railReference: 'r', now: NOW }
        accepted(await ledger.execute('settle', settle))
        expect(await mark(other)).toEqual({ ok: false, code: 'conflict' })
      })

      const unknownPaymentOf = async (jti: string) => {
        const { leaf } = await startChain(ledger, { jti })
        return paySubmitted(ledger, leaf)
      }
    })
  })
}
