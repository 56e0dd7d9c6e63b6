/** What every store must hold to of a payment's later life: silence, resolution, money that comes back. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportLog } from '../../../runtime/audit/export.ts'
import { verifyExport } from '../../../runtime/audit/verify.ts'
import { parseEvent } from '../../../runtime/core/events.ts'
import { freshId, type NodeId, sha256 } from '../../../runtime/core/ids.ts'
import type { Regain, Resolve, Reverse } from '../../../runtime/core/late.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { LIMITS } from '../../../runtime/core/limits.ts'
import { type Minor, minor } from '../../../runtime/core/money.ts'
import type { PaymentRecord } from '../../../runtime/core/records.ts'
import { later } from '../../../runtime/core/time.ts'
import { closeSubtree } from '../../../runtime/ledger/closing.ts'
import { collect } from '../../audit/log.ts'
import {
  accepted,
  aReserve,
  fixedClock,
  NOW,
  paySubmitted,
  startChain,
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function lateContract(bench: Bench): void {
  describe('late money', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })
    // Whatever a test has done: the log replays to the balances that it states.
    afterEach(async () => {
      expect(verifyExport(await collect(exportLog(ledger))).broken).toBeUndefined()
    })

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

      it('is of what a crash left submitted as well, which a freeze still finds on its way', async () => {
        const { root, leaf } = await startChain(ledger)
        const payment = await paySubmitted(ledger, leaf)
        const leased = accepted(await lease(payment, 'a')).payment
        expect(await lease(payment, 'b')).toEqual(taken)
        expect(await stored(payment)).toEqual(leased)
        const freeze = { node: root.id, state: 'frozen', by: 'op', now: NOW } as const
        expect(await ledger.execute('setStanding', freeze)).toMatchObject({
          onTheirWay: [payment.id],
        })
        expect(await ledger.payments({ states: ['submitted'], limit: 9 })).toEqual([leased])
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

      it('is raised for what a crash left submitted as well', async () => {
        const { gateway, payment } = await submittedPayment()
        expect(accepted(await mark(payment)).raised).toBe(true)
        expect(await stored(payment)).toMatchObject({ state: 'submitted', overdue: {} })
        expect(await ledger.execute('setStanding', gateway)).toMatchObject({
          onTheirWay: [payment.id],
        })
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

      const submittedPayment = async () => {
        const { leaf } = await startChain(ledger)
        const payment = await paySubmitted(ledger, leaf)
        const gateway = { node: 'gateway', state: 'frozen', by: 'op', now: NOW } as const
        return { gateway, payment }
      }

      const unknownPaymentOf = async (jti: string) => {
        const { leaf } = await startChain(ledger, { jti })
        return paySubmitted(ledger, leaf)
      }
    })

    describe('resolve', () => {
      const settledWord = {
        outcome: 'settled',
        amount: minor(700),
        evidence: 'statement 4, line 7',
      } as const
      const resolve = (payment: PaymentRecord, by: string, more: Partial<Resolve> = {}) =>
        ledger.execute('resolve', {
          payment: payment.id,
          ...settledWord,
          by,
          attempt: freshId(),
          now: later(NOW, 60),
          ...more,
        })

      it('moves nothing on one operator’s word, and once on a second’s that is the same', async () => {
        const { payment, leaf } = await unknownPayment()
        const before = await ledger.account(leaf.id)
        const first = accepted(await resolve(payment, 'asha')).payment
        expect(first.state).toBe('unknown')
        expect(await ledger.account(leaf.id)).toEqual({ ...before, head: expect.anything() })
        const { payment: done } = accepted(await resolve(payment, 'bela'))
        expect(done).toMatchObject({ state: 'settled', settledAmount: 700 })
        const after = { available: 300, reserved: 0, spent: 700 }
        expect(await ledger.account(leaf.id)).toMatchObject(after)
        expect(await resolve(payment, 'cara')).toMatchObject({ code: 'stale' })
        expect(await ledger.account(leaf.id)).toMatchObject(after)
      })

      it('gives everything back where both say that nothing moved', async () => {
        const { payment, leaf } = await unknownPayment()
        const word = { outcome: 'released', amount: payment.amount } as const
        accepted(await resolve(payment, 'asha', word))
        const { payment: done } = accepted(await resolve(payment, 'bela', word))
        expect(done).toMatchObject({ state: 'released', reason: 'resolved' })
        expect(await ledger.account(leaf.id)).toMatchObject({ available: 1_000, reserved: 0 })
      })

      it('is two operators’: the same one twice is refused, the same call sent again is not', async () => {
        const { payment } = await unknownPayment()
        accepted(await resolve(payment, 'asha', { attempt: 'a' }))
        expect(await resolve(payment, 'asha')).toEqual({ ok: false, code: 'same_operator' })
        expect(accepted(await resolve(payment, 'asha', { attempt: 'a' })).payment.state).toBe(
          'unknown',
        )
        accepted(await resolve(payment, 'bela', { attempt: 'b' }))
        expect(accepted(await resolve(payment, 'bela', { attempt: 'b' })).payment.state).toBe(
          'settled',
        )
      })

      it('needs a new second for every change of what was said', async () => {
        const changes: Partial<Resolve>[] = [
          { amount: minor(701) },
          { evidence: 'statement 4, line 8' },
          { outcome: 'released', amount: minor(1_000) },
        ]
        for (const [i, change] of changes.entries()) {
          const { leaf } = await startChain(ledger, { jti: `change-${i}` })
          const payment = await paySubmitted(ledger, leaf)
          await ledger.execute('markUnknown', { payment: payment.id, reason: 'late', now: NOW })
          accepted(await resolve(payment, 'asha'))
          expect(accepted(await resolve(payment, 'bela', change)).payment.state).toBe('unknown')
          // Nobody stands by the first word any more.
          expect(accepted(await resolve(payment, 'cara')).payment.state).toBe('unknown')
          expect(await ledger.account(leaf.id)).toMatchObject({ reserved: 1_000, spent: 0 })
        }
      })

      it('yields to the rail’s own word, whichever it is', async () => {
        for (const word of ['settle', 'release'] as const) {
          const { leaf } = await startChain(ledger, { jti: word })
          const payment = await paySubmitted(ledger, leaf)
          await ledger.execute('markUnknown', { payment: payment.id, reason: 'late', now: NOW })
          accepted(await resolve(payment, 'asha'))
          await (word === 'settle'
            ? ledger.execute('settle', {
                payment: payment.id,
                amount: minor(1_000),
                railReference: 'r',
                now: NOW,
              })
            : ledger.execute('release', {
                payment: payment.id,
                from: 'submitted',
                reason: 'absent',
                now: NOW,
              }))
          const before = await ledger.account(leaf.id)
          expect(await resolve(payment, 'bela')).toEqual({ ok: false, code: 'stale' })
          expect(await ledger.account(leaf.id)).toEqual(before)
        }
      })

      it('is of unknown payments only, and of no more than is reserved', async () => {
        const { leaf } = await startChain(ledger, { jti: 'other' })
        const submitted = await paySubmitted(ledger, leaf)
        expect(await resolve(submitted, 'asha')).toEqual({ ok: false, code: 'conflict' })
        expect(await resolve({ ...submitted, id: 'pay_none' }, 'asha')).toMatchObject({
          code: 'not_found',
        })
        const { payment } = await unknownPayment()
        for (const amount of [0, 1_001]) {
          const over = { amount: amount as Minor }
          expect(await resolve(payment, 'asha', over)).toEqual({ ok: false, code: 'insufficient' })
        }
        const part = { outcome: 'released', amount: minor(999) } as const
        expect(await resolve(payment, 'asha', part)).toEqual({ ok: false, code: 'conflict' })
        accepted(await resolve(payment, 'asha', { amount: minor(1_000) }))
      })

      it('ends once, however many say the same at once', async () => {
        const { payment, leaf } = await unknownPayment()
        const all = await Promise.all(['a', 'b', 'c', 'd'].map((by) => resolve(payment, by)))
        expect(all.map((said) => (said.ok ? said.payment.state : said.code)).sort()).toEqual([
          'settled',
          'stale',
          'stale',
          'unknown',
        ])
        expect(await ledger.account(leaf.id)).toMatchObject({ spent: 700, available: 300 })
      })

      it('lets what comes free climb where the node is closing, as the rail’s word does', async () => {
        const { payment, leaf, planner } = await unknownPayment()
        await closeSubtree(ledger, leaf.id, 'op', fixedClock)
        accepted(await resolve(payment, 'asha'))
        accepted(await resolve(payment, 'bela'))
        expect(await ledger.account(leaf.id)).toMatchObject({ ceiling: 700, available: 0 })
        expect(await ledger.account(planner.id)).toMatchObject({ available: 9_300, allotted: 700 })
      })

      it('writes no word of the evidence into the log, and not its plain digest either', async () => {
        const { payment, leaf } = await unknownPayment()
        accepted(await resolve(payment, 'asha', { evidence: 'asha-42' }))
        accepted(await resolve(payment, 'bela', { evidence: 'asha-42' }))
        const log = JSON.stringify(await events(leaf.id))
        expect(log).not.toContain('asha-42')
        expect(log).not.toContain(sha256('asha-42'))
        const said = (await events(leaf.id)).filter(({ type }) => /proposed|resolved/.test(type))
        const [one, two] = said.map(({ data }) => data)
        expect(two).toEqual({ ...one, by: 'bela' })
      })
    })

    const settledPayment = async () => {
      const chain = await startChain(ledger)
      const { id } = await paySubmitted(ledger, chain.leaf)
      const settle = { payment: id, amount: minor(900), railReference: 'r', now: NOW }
      return { ...chain, payment: accepted(await ledger.execute('settle', settle)).payment }
    }

    const reverse = (payment: PaymentRecord, amount: number, more: Partial<Reverse> = {}) =>
      ledger.execute('reverse', {
        payment: payment.id,
        id: 'rfnd_1',
        kind: 'refunded',
        amount: minor(amount),
        now: later(NOW, 3600),
        ...more,
      })

    const regain = (payment: PaymentRecord, seen: number, more: Partial<Regain> = {}) =>
      ledger.execute('regain', {
        payment: payment.id,
        reversedAmount: minor(seen),
        evidence: 'statement 9',
        by: 'asha',
        attempt: freshId(),
        now: later(NOW, 7200),
        ...more,
      })

    describe('reverse', () => {
      it('leaves what came back in what is spent, and notes it', async () => {
        const { payment, leaf } = await settledPayment()
        const before = await ledger.account(leaf.id)
        expect(accepted(await reverse(payment, 400)).noted).toBe(true)
        expect(await ledger.account(leaf.id)).toEqual({
          ...before,
          reversed: 400,
          head: expect.anything(),
        })
        expect((await stored(payment)).state).toBe('settled')
      })

      it('notes each of the rail’s ids once, and refuses one that says another sum', async () => {
        const { payment, leaf } = await settledPayment()
        accepted(await reverse(payment, 400))
        expect(accepted(await reverse(payment, 400)).noted).toBe(false)
        expect(await reverse(payment, 401)).toEqual({ ok: false, code: 'conflict' })
        expect(await reverse(payment, 400, { kind: 'reversed' })).toMatchObject({ ok: false })
        accepted(await reverse(payment, 500, { id: 'rfnd_2' }))
        expect(await ledger.account(leaf.id)).toMatchObject({ spent: 900, reversed: 900 })
      })

      it('never notes more than was settled, however many refunds come at once', async () => {
        const { payment, leaf } = await settledPayment()
        const all = await Promise.all(
          Array.from({ length: 20 }, (_, i) => reverse(payment, 200, { id: `rfnd_${i}` })),
        )
        expect(all.filter(({ ok }) => ok)).toHaveLength(4)
        expect(all.find(({ ok }) => !ok)).toEqual({ ok: false, code: 'insufficient' })
        expect((await ledger.account(leaf.id))?.reversed).toBe(800)
      })

      it('is of settled payments only', async () => {
        const { payment } = await unknownPayment()
        expect(await reverse(payment, 1)).toEqual({ ok: false, code: 'conflict' })
        expect(await reverse({ ...payment, id: 'pay_none' }, 1)).toMatchObject({
          code: 'not_found',
        })
      })

      it('is noted of a run that has ended, in the stream that its seal is over', async () => {
        const { payment, leaf, root } = await settledPayment()
        accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
        accepted(await reverse(payment, 900))
        const types = (await events(leaf.id)).map(({ type }) => type)
        expect(types.slice(-2)).toEqual(['ended', 'reversed'])
      })

      it('takes as many as there is room for, and one more is refused', async () => {
        const { payment } = await settledPayment()
        for (let i = 0; i < LIMITS.reversals; i += 1) {
          accepted(await reverse(payment, 1, { id: `rfnd_${i}` }))
        }
        expect(await reverse(payment, 1, { id: 'rfnd_more' })).toMatchObject({ ok: false })
      })
    })

    describe('regain', () => {
      it('puts what came back to use again, once', async () => {
        const { payment, leaf } = await settledPayment()
        accepted(await reverse(payment, 400))
        accepted(await regain(payment, 400, { attempt: 'a' }))
        const after = { available: 500, spent: 500, reversed: 0, ceiling: 1_000 }
        expect(await ledger.account(leaf.id)).toMatchObject(after)
        accepted(await regain(payment, 400, { attempt: 'a' }))
        expect(await regain(payment, 400)).toEqual({ ok: false, code: 'conflict' })
        expect(await ledger.account(leaf.id)).toMatchObject(after)
        accepted(await reverse(payment, 100, { id: 'rfnd_2' }))
        accepted(await regain(payment, 500))
        expect(await ledger.account(leaf.id)).toMatchObject({ available: 600, spent: 400 })
      })

      it('is once also when many say it at once', async () => {
        const { payment, leaf } = await settledPayment()
        accepted(await reverse(payment, 400))
        const all = await Promise.all(Array.from({ length: 6 }, () => regain(payment, 400)))
        expect(all.filter(({ ok }) => ok)).toHaveLength(1)
        expect((await ledger.account(leaf.id))?.spent).toBe(500)
      })

      it('is refused for another sum than has come back', async () => {
        const { payment } = await settledPayment()
        expect(await regain(payment, 0)).toEqual({ ok: false, code: 'conflict' })
        accepted(await reverse(payment, 400))
        for (const seen of [0, 399, 401]) {
          expect(await regain(payment, seen)).toEqual({ ok: false, code: 'stale' })
        }
      })

      it('climbs from a closed leaf past a closed planner to the nearest open node', async () => {
        const { payment, leaf, planner, root } = await settledPayment()
        accepted(await closeSubtree(ledger, planner.id, 'op', fixedClock))
        accepted(await reverse(payment, 900))
        const before = await ledger.account(root.id)
        expect(before).toMatchObject({ available: 99_100, allotted: 900 })
        accepted(await regain(payment, 900))
        const nothing = { ceiling: 0, available: 0, spent: 0, allotted: 0, reversed: 0 }
        expect(await ledger.account(leaf.id)).toMatchObject(nothing)
        expect(await ledger.account(planner.id)).toMatchObject(nothing)
        expect(await ledger.account(root.id)).toMatchObject({ available: 100_000, allotted: 0 })
      })

      it('gives a revoked node nothing that it could spend, and its ancestor all of it on close', async () => {
        const { payment, leaf, planner } = await settledPayment()
        const revoke = { node: leaf.id, state: 'revoked', by: 'op', now: NOW } as const
        accepted(await ledger.execute('setStanding', revoke))
        accepted(await reverse(payment, 900))
        accepted(await regain(payment, 900))
        expect(await ledger.execute('reserve', aReserve(leaf, { amount: 1 }))).toMatchObject({
          ok: false,
        })
        accepted(await closeSubtree(ledger, leaf.id, 'op', fixedClock))
        expect(await ledger.account(leaf.id)).toMatchObject({ available: 0, ceiling: 0 })
        expect(await ledger.account(planner.id)).toMatchObject({ available: 10_000 })
      })

      it('is refused once the root is closing, or the run has ended', async () => {
        const { payment, root, run } = await settledPayment()
        accepted(await reverse(payment, 900))
        const closed = { ok: false, code: 'run_closed' }
        const other = await startChain(ledger, { jti: 'waits' })
        await paySubmitted(ledger, other.leaf)
        accepted(await ledger.execute('close', { node: root.id, by: 'op', now: NOW }))
        expect(await regain(payment, 900)).toEqual(closed)
        accepted(await closeSubtree(ledger, root.id, 'op', fixedClock))
        expect(await regain(payment, 900)).toEqual(closed)
        expect((await ledger.run(run.id))?.state).toBe('running')
      })
    })
  })
}
