import { afterEach, describe, expect, it } from 'vitest'
import { exportLog } from '../../../runtime/audit/export.ts'
import { verifyExport } from '../../../runtime/audit/verify.ts'
import { freshId, refundIdOf } from '../../../runtime/core/ids.ts'
import { LIMITS } from '../../../runtime/core/limits.ts'
import { minor } from '../../../runtime/core/money.ts'
import { type PaymentRecord, refundedOf } from '../../../runtime/core/records.ts'
import type { Refund } from '../../../runtime/core/refund.ts'
import { closeSubtree } from '../../../runtime/ledger/closing.ts'
import { eraseRun } from '../../../runtime/ledger/erasing.ts'
import { collect } from '../../audit/log.ts'
import { accepted, fixedClock, NOW, paySubmitted, startChain } from '../../support/ledger.ts'
import { aPersonalRun, endPersonalRun } from '../../support/personal.ts'
import type { Bench } from './bench.ts'

export function refundContract(bench: Bench): void {
  const ask = (payment: PaymentRecord, amount: number, more: Partial<Refund> = {}) => ({
    payment: payment.id,
    id: refundIdOf(payment.id, 'one'),
    amount: minor(amount),
    by: 'operator:op',
    nonce: freshId(),
    nowMs: NOW * 1000,
    now: NOW,
    ...more,
  })
  const refund = (...args: Parameters<typeof ask>) => bench.ledger().execute('refund', ask(...args))
  const made = (payment: PaymentRecord, amount: number, key = 'one', railReference = 'simr_1') =>
    bench.ledger().execute('refunded', {
      payment: payment.id,
      refund: refundIdOf(payment.id, key),
      amount: minor(amount),
      railReference,
      now: NOW,
    })
  const end = (payment: PaymentRecord, key = 'one', reason = 'declined') => ({
    payment: payment.id,
    refund: refundIdOf(payment.id, key),
    reason,
    now: NOW,
  })
  const named = (payment: PaymentRecord, key: string): Partial<Refund> => ({
    id: refundIdOf(payment.id, key),
  })

  /** A payment of which 900 of 1,000 were settled. */
  async function settled() {
    const chain = await startChain(bench.ledger())
    const { id } = await paySubmitted(bench.ledger(), chain.leaf)
    const settle = { payment: id, amount: minor(900), railReference: 'rail-1', now: NOW }
    const { payment } = accepted(await bench.ledger().execute('settle', settle))
    return { ...chain, payment }
  }
  const stored = async ({ id }: PaymentRecord) => {
    const found = await bench.ledger().payment(id)
    if (found === undefined) throw new Error('expected a payment')
    return found
  }
  const open = async () => (await bench.ledger().refunding(10)).map(({ id }) => id)

  describe('refund', () => {
    afterEach(async () => {
      expect(verifyExport(await collect(exportLog(bench.ledger()))).broken).toBeUndefined()
    })

    it('takes the right first, moves nothing, and is found by whoever asks the rail', async () => {
      const { payment, leaf } = await settled()
      const before = await bench.account(leaf.id)
      const asked = accepted(await refund(payment, 400))
      expect(asked).toMatchObject({ created: true, refund: { state: 'pending', amount: 400 } })
      expect(await bench.account(leaf.id)).toEqual({ ...before, head: expect.anything() })
      expect(await open()).toEqual([payment.id])
      expect((await bench.types(leaf.id)).at(-1)).toBe('refund_asked')
    })

    describe('under a policy that returns the budget', () => {
      const returned = (payment: PaymentRecord, amount: number, key = 'one') =>
        bench.ledger().execute('refunded', {
          payment: payment.id,
          refund: refundIdOf(payment.id, key),
          amount: minor(amount),
          railReference: `simr_${key}`,
          budget: 'return',
          now: NOW,
        })

      it('puts exactly what was refunded to use again at once, and says that no person did', async () => {
        const { payment, leaf } = await settled()
        const reverse = { payment: payment.id, id: 'back', kind: 'reversed', now: NOW } as const
        accepted(await bench.ledger().execute('reverse', { ...reverse, amount: minor(100) }))
        accepted(await refund(payment, 400))
        const after = accepted(await returned(payment, 400)).payment
        expect(after.regained).toMatchObject({ amount: 400, by: 'policy' })
        expect(await bench.account(leaf.id)).toMatchObject({
          ...{ available: 500, spent: 500, reversed: 100 },
        })
        expect((await bench.types(leaf.id)).slice(-2)).toEqual(['refunded', 'regained'])
        accepted(await returned(payment, 400))
        expect((await bench.account(leaf.id)).available).toBe(500)
        // The rest is a person's, as ever.
        const word = { evidence: 'note', by: 'op', attempt: 'mine', now: NOW }
        const regain = { payment: payment.id, reversedAmount: minor(500), ...word }
        accepted(await bench.ledger().execute('regain', regain))
        expect(await bench.account(leaf.id)).toMatchObject({ available: 600, reversed: 0 })
      })

      it('passes it on where the leaf has ended', async () => {
        const { payment, leaf, planner } = await settled()
        accepted(await closeSubtree(bench.ledger(), leaf.id, 'op', fixedClock))
        const before = (await bench.account(planner.id)).available
        accepted(await refund(payment, 400))
        accepted(await returned(payment, 400))
        expect((await bench.account(planner.id)).available).toBe(before + 400)
      })

      it.each(['leaf', 'planner', 'root'] as const)(
        'returns nothing below a %s that was revoked, or in a run that is closing',
        async (what) => {
          const { payment, leaf, ...above } = await settled()
          const node = { leaf, ...above }[what].id
          const stand = { node, state: 'revoked', by: 'op', now: NOW } as const
          accepted(await bench.ledger().execute('setStanding', stand))
          accepted(await refund(payment, 400))
          accepted(await returned(payment, 400))
          accepted(
            await bench.ledger().execute('close', { node: above.root.id, by: 'op', now: NOW }),
          )
          accepted(await refund(payment, 300, named(payment, 'two')))
          accepted(await returned(payment, 300, 'two'))
          expect((await stored(payment)).regained).toBeUndefined()
          expect((await bench.account(leaf.id)).reversed).toBe(700)
        },
      )

      it.each(['planner', 'run'] as const)(
        'returns nothing below a %s that is closing',
        async (what) => {
          const { payment, leaf, planner, run } = await settled()
          const close = { node: planner.id, by: 'op', now: NOW }
          if (what === 'planner') accepted(await bench.ledger().execute('close', close))
          const ending = { run: run.id, state: 'cancelling', now: NOW } as const
          if (what === 'run') accepted(await bench.ledger().execute('finishRun', ending))
          accepted(await refund(payment, 400))
          accepted(await returned(payment, 400))
          expect((await bench.account(leaf.id)).reversed).toBe(400)
        },
      )
    })

    it('that was made stays spent, is noted as what came back, and is open no more', async () => {
      const { payment, leaf } = await settled()
      accepted(await refund(payment, 400))
      accepted(await made(payment, 400))
      expect(await bench.account(leaf.id)).toMatchObject({
        spent: 900,
        reversed: 400,
        available: 100,
      })
      const after = await stored(payment)
      expect(refundedOf(after)).toBe(400)
      expect(after.reversals).toMatchObject([{ id: 'simr_1', kind: 'refunded', amount: 400 }])
      expect(await open()).toEqual([])
      const again = ask(payment, 400, { nonce: 'another' })
      await bench.unchangedBy('refund', again, { created: false, refund: after.refunds?.[0] })
    })

    it('is one for one key: sent again it is the same, with another amount it is refused', async () => {
      const { payment } = await settled()
      const input = ask(payment, 400)
      accepted(await bench.ledger().execute('refund', input))
      await bench.unchangedBy('refund', input, { created: true })
      await bench.unchangedBy('refund', { ...input, nonce: 'other' }, { created: false })
      await bench.refusedBy('refund', { ...input, amount: minor(399) }, 'conflict')
    })

    it('is never more, with what is open, was made or came back by itself, than was settled', async () => {
      const { payment } = await settled()
      await bench.refusedBy('refund', ask(payment, 901), 'insufficient')
      await bench.refusedBy('refund', ask(payment, 0), 'conflict')
      accepted(await refund(payment, 400))
      await bench.refusedBy('refund', ask(payment, 501, named(payment, 'two')), 'insufficient')
      accepted(await bench.ledger().execute('refundUnknown', end(payment, 'one', 'late')))
      await bench.refusedBy('refund', ask(payment, 501, named(payment, 'two')), 'insufficient')
      accepted(await made(payment, 400))
      await bench.refusedBy('refund', ask(payment, 501, named(payment, 'two')), 'insufficient')
      const back = {
        payment: payment.id,
        id: 'rvrs',
        kind: 'reversed',
        amount: minor(300),
      } as const
      accepted(await bench.ledger().execute('reverse', { ...back, now: NOW }))
      await bench.refusedBy('refund', ask(payment, 201, named(payment, 'two')), 'insufficient')
      accepted(await refund(payment, 200, named(payment, 'two')))
    })

    it('that failed gives its right back, and stays failed whatever is said later', async () => {
      const { payment } = await settled()
      accepted(await refund(payment, 900))
      accepted(await bench.ledger().execute('refundFailed', end(payment)))
      expect(await open()).toEqual([])
      accepted(await refund(payment, 900, named(payment, 'two')))
      const late = { payment: payment.id, refund: refundIdOf(payment.id, 'one'), now: NOW }
      const word = { ...late, amount: minor(900), railReference: 'simr_9' }
      await bench.refusedBy('refunded', word, 'conflict')
      await bench.refusedBy('refundUnknown', end(payment), 'conflict')
      await bench.unchangedBy('refundFailed', end(payment), {})
    })

    it('of many at once gives away what was settled and no more', async () => {
      const { payment, leaf } = await settled()
      const all = await Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          bench.instance(i).execute('refund', ask(payment, 20, named(payment, `key-${i}`))),
        ),
      )
      const taken = all.filter(({ ok }) => ok)
      expect(taken).toHaveLength(45)
      const others = all.filter(({ ok }) => !ok)
      expect(new Set(others.map((each) => 'code' in each && each.code))).toEqual(
        new Set(['insufficient']),
      )
      const types = (await bench.types(leaf.id)).filter((type) => type === 'refund_asked')
      expect(types).toHaveLength(45)
    })

    it('asked for many times at once with one key may call the rail for one of them', async () => {
      const { payment } = await settled()
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          bench.instance(i).execute('refund', ask(payment, 300)),
        ),
      )
      expect(all.map((each) => accepted(each).created).filter(Boolean)).toHaveLength(1)
    })

    it('is counted once where the rail told of it before it answered', async () => {
      const { payment, leaf } = await settled()
      accepted(await refund(payment, 400))
      const told = {
        payment: payment.id,
        id: 'simr_1',
        kind: 'refunded',
        amount: minor(400),
      } as const
      accepted(await bench.ledger().execute('reverse', { ...told, now: NOW }))
      accepted(await made(payment, 400))
      expect(await bench.account(leaf.id)).toMatchObject({ spent: 900, reversed: 400 })
      await bench.unchangedBy('reverse', { ...told, now: NOW }, { noted: false })
      // One word of the rail's is about one refund.
      accepted(await refund(payment, 400, named(payment, 'two')))
      expect(await made(payment, 400, 'two')).toEqual({ ok: false, code: 'conflict' })
    })

    it('is refused as the rail’s word where more would have come back than was settled', async () => {
      const { payment } = await settled()
      accepted(await refund(payment, 400))
      const all = { payment: payment.id, id: 'all', kind: 'reversed', amount: minor(900) } as const
      accepted(await bench.ledger().execute('reverse', { ...all, now: NOW }))
      expect(await made(payment, 400)).toEqual({ ok: false, code: 'insufficient' })
    })

    it('is put to use again by a person alone', async () => {
      const { payment, leaf } = await settled()
      accepted(await refund(payment, 400))
      accepted(await made(payment, 400))
      const regain = { evidence: 'note 7', by: 'asha', attempt: 'mine', now: NOW }
      const word = { payment: payment.id, reversedAmount: minor(400), ...regain }
      accepted(await bench.ledger().execute('regain', word))
      expect(await bench.account(leaf.id)).toMatchObject({
        available: 500,
        spent: 500,
        reversed: 0,
      })
    })

    it('is of a settled payment, and may come after the run has closed', async () => {
      const { payment, root, leaf } = await settled()
      const other = await startChain(bench.ledger(), { jti: 'other' })
      const waits = await paySubmitted(bench.ledger(), other.leaf)
      await bench.refusedBy('refund', ask(waits, 100), 'conflict')
      await bench.refusedBy('refund', { ...ask(waits, 1), payment: 'pay_none' }, 'not_found')
      accepted(await closeSubtree(bench.ledger(), root.id, 'op', fixedClock))
      accepted(await refund(payment, 400))
      accepted(await made(payment, 400))
      expect(await bench.account(leaf.id)).toMatchObject({ spent: 900, reversed: 400 })
    })

    it('that is open keeps its run from being erased', async () => {
      const ledger = bench.ledger()
      const personal = await aPersonalRun(ledger)
      const run = await endPersonalRun(ledger, personal)
      const { payment } = personal
      accepted(await refund(payment, 100))
      const erase = () => eraseRun(ledger, { run: run.id, by: 'op' }, fixedClock)
      expect(await erase()).toEqual({ ok: false, code: 'money_waiting' })
      accepted(await ledger.execute('refundFailed', end(payment)))
      accepted(await erase())
      // The payment's account is gone, and money still finds its way back.
      accepted(await refund(payment, 100, named(payment, 'two')))
      accepted(await made(payment, 100, 'two'))
    })

    it('is asked for no more often than a record may hold', async () => {
      const { payment } = await settled()
      for (let n = 0; n < LIMITS.refunds; n += 1) {
        accepted(await refund(payment, 900, named(payment, `${n}`)))
        accepted(await bench.ledger().execute('refundFailed', end(payment, `${n}`)))
      }
      await bench.refusedBy('refund', ask(payment, 1, named(payment, 'more')), 'insufficient')
    })
  })
}
