import { afterEach, describe, expect, it } from 'vitest'
import { exportLog } from '../../../runtime/audit/export.ts'
import { verifyExport } from '../../../runtime/audit/verify.ts'
import { outsideIdOf, refundIdOf, refundKeyOf } from '../../../runtime/core/ids.ts'
import type { MessageKey, OutsideRecord } from '../../../runtime/core/inbox.ts'
import { LIMITS } from '../../../runtime/core/limits.ts'
import { minor } from '../../../runtime/core/money.ts'
import { later } from '../../../runtime/core/time.ts'
import { collect } from '../../audit/log.ts'
import { accepted, NOW, paySubmitted, startChain } from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export const MOVED: OutsideRecord = {
  id: outsideIdOf('rail', 'obj_1'),
  rail: 'rail',
  object: 'obj_1',
  type: 'payout',
  direction: 'out',
  amount: 4_200,
  currency: 'EUR',
  status: 'PROCESSED',
  atSeconds: NOW,
  heardAtSeconds: NOW,
}

export function inboxContract(bench: Bench): void {
  const KEY: MessageKey = { rail: 'rail', id: 'evt/1' }
  const hear = (more: Partial<MessageKey> = {}, at = 0) => {
    const input = { ...KEY, ...more, name: 'payout.processed', ref: 'pout_1', now: later(NOW, at) }
    return bench.ledger().execute('hear', input)
  }
  const take = (attempt: string, at = 0, key = KEY) =>
    bench.ledger().execute('takeMessage', { ...key, attempt, now: later(NOW, at) })
  const submitted = async (jti = 'one') => {
    const chain = await startChain(bench.ledger(), { jti })
    const { id } = await paySubmitted(bench.ledger(), chain.leaf)
    return { ...chain, settle: { payment: id, amount: minor(900), railReference: 'rr', now: NOW } }
  }
  const states = async (limit = 10) =>
    (await bench.ledger().parked(limit)).map(({ id, state }) => `${id} ${state}`)

  describe('the inbox', () => {
    afterEach(async () => {
      expect(verifyExport(await collect(exportLog(bench.ledger()))).broken).toBeUndefined()
    })

    it('has a message once, however often and by however many it is heard', async () => {
      const first = accepted(await hear())
      expect(first).toMatchObject({ fresh: true, message: { state: 'parked', attempts: 0 } })
      const again = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          bench.instance(i).execute('hear', { ...KEY, name: 'other', ref: 'other', now: NOW }),
        ),
      )
      for (const one of again) expect(accepted(one)).toEqual({ ...first, fresh: false })
      expect(await states()).toEqual(['evt/1 parked'])
      accepted(await hear({ rail: 'another' }))
      expect(await states()).toHaveLength(2)
    })

    it('ends a message with its effect, or has neither', async () => {
      const { settle, leaf } = await submitted()
      await bench.refusedBy('settle', { ...settle, heard: KEY } as never, 'not_found')
      accepted(await hear())
      await bench.refusedBy(
        'settle',
        { ...settle, amount: minor(2_000), heard: KEY } as never,
        'conflict',
      )
      expect(await states()).toEqual(['evt/1 parked'])
      accepted(await bench.ledger().execute('settle', { ...settle, heard: KEY }))
      expect(await states()).toEqual([])
      expect(await bench.account(leaf.id)).toMatchObject({ spent: 900 })
      expect(await bench.ledger().message(KEY)).toMatchObject({ state: 'done', doneAtSeconds: NOW })
    })

    it('ends a message also where its effect had been written before', async () => {
      const { settle } = await submitted()
      accepted(await hear())
      accepted(await bench.ledger().execute('settle', settle))
      accepted(await bench.ledger().execute('settle', { ...settle, heard: KEY }))
      expect(await states()).toEqual([])
    })

    it('never parks again what is done', async () => {
      accepted(await hear())
      accepted(await bench.ledger().execute('heard', { heard: KEY, now: NOW }))
      expect(accepted(await hear({}, 60))).toMatchObject({
        fresh: false,
        message: { state: 'done' },
      })
      expect(await take('later', 3_600)).toMatchObject({ ok: false, code: 'conflict' })
      accepted(await bench.ledger().execute('heard', { heard: KEY, now: later(NOW, 9) }))
      expect(await bench.ledger().message(KEY)).toMatchObject({ doneAtSeconds: NOW })
      expect(await states()).toEqual([])
    })

    it('gives a message to one taker at a time, and later each time', async () => {
      accepted(await hear())
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          bench.instance(i).execute('takeMessage', { ...KEY, attempt: `a${i}`, now: NOW }),
        ),
      )
      expect(all.filter(({ ok }) => ok)).toHaveLength(1)
      const first = LIMITS.messageRetrySeconds
      expect(await take('b', first - 1)).toMatchObject({ ok: false, code: 'conflict' })
      expect(accepted(await take('b', first)).message.attempts).toBe(2)
      expect(accepted(await take('b', first)).message.attempts).toBe(2)
      expect(await take('c', 2 * first)).toMatchObject({ ok: false })
      expect(accepted(await take('c', 3 * first)).message.attempts).toBe(3)
      await bench.refusedBy(
        'takeMessage',
        { rail: 'rail', id: 'none', attempt: 'x', now: NOW },
        'not_found',
      )
    })

    it('puts what was taken up behind what was not', async () => {
      accepted(await hear({ id: 'bad' }))
      accepted(await hear({ id: 'good' }, 1))
      accepted(await take('a', 0, { rail: 'rail', id: 'bad' }))
      expect(await states()).toEqual(['good parked', 'bad parked'])
      expect(await states(1)).toEqual(['good parked'])
    })

    it('raises one alarm about what stays parked for a day, and goes on', async () => {
      accepted(await hear())
      expect(accepted(await take('early', LIMITS.messageStuckSeconds - 1)).raised).toBe(false)
      const at = LIMITS.messageStuckSeconds + 60
      expect(accepted(await take('late', at)).raised).toBe(true)
      expect(accepted(await take('late', at)).raised).toBe(true)
      expect(accepted(await take('later', at + 600)).raised).toBe(false)
      expect(await states()).toEqual(['evt/1 parked'])
    })
  })

  describe('a payment', () => {
    const named = async (name: Parameters<ReturnType<Bench['ledger']>['paymentNamed']>[0]) =>
      (await bench.ledger().paymentNamed(name))?.id

    it('is found by its key, by the rail’s id, and by those of its refunds', async () => {
      const { settle } = await submitted()
      const { payment } = accepted(await bench.ledger().execute('settle', settle))
      const refund = refundIdOf(payment.id, 'one')
      const asked = { id: refund, amount: minor(100), by: 'op', nonce: 'n', nowMs: NOW * 1000 }
      const of = { payment: payment.id, now: NOW }
      accepted(await bench.ledger().execute('refund', { ...of, ...asked }))
      const made = { ...of, refund, amount: minor(100), railReference: 'rf' }
      accepted(await bench.ledger().execute('refunded', made))
      const back = { ...of, id: 'rv', kind: 'reversed', amount: minor(10) } as const
      accepted(await bench.ledger().execute('reverse', back))
      expect(await named({ key: payment.railKey })).toBe(payment.id)
      expect(await named({ key: refundKeyOf(refund) })).toBe(payment.id)
      for (const reference of ['rr', 'rf', 'rv'])
        expect(await named({ reference })).toBe(payment.id)
      for (const key of ['rr', 'rf', 'none', '']) expect(await named({ key })).toBeUndefined()
      expect(await named({ reference: payment.railKey })).toBeUndefined()
    })

    it('is not found by a name that a rail gives to several', async () => {
      for (const jti of ['one', 'two']) {
        const { settle } = await submitted(jti)
        accepted(await bench.ledger().execute('settle', settle))
        const of = { payment: settle.payment, id: 'returned', amount: minor(10), now: NOW } as const
        accepted(await bench.ledger().execute('reverse', { ...of, kind: 'reversed' }))
      }
      expect(await named({ reference: 'returned' })).toBeUndefined()
    })
  })

  describe('money from outside', () => {
    afterEach(async () => {
      expect(verifyExport(await collect(exportLog(bench.ledger()))).broken).toBeUndefined()
    })
    const note = (more: Partial<OutsideRecord> = {}) => ({
      outside: { ...MOVED, ...more },
      now: NOW,
    })
    const word = { outside: MOVED.id, evidence: 'our rent', by: 'operator:asha', now: NOW }

    it('is one record and one event, whoever tells of it', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => bench.instance(i).execute('outside', note())),
      )
      expect(answers.filter((one) => accepted(one).noted)).toHaveLength(1)
      await bench.unchangedBy('outside', note({ status: 'REVERSED' }), { outside: MOVED })
      expect(await bench.types('gateway')).toEqual(['outside'])
      expect(await bench.ledger().unacknowledged(10)).toEqual([MOVED])
    })

    it('is acknowledged once, and stays recorded', async () => {
      await bench.refusedBy('acknowledge', { ...word, attempt: 'a' }, 'not_found')
      accepted(await bench.ledger().execute('outside', note()))
      const known = accepted(await bench.ledger().execute('acknowledge', { ...word, attempt: 'a' }))
      expect(known.outside.acknowledged).toMatchObject({
        by: 'operator:asha',
        evidence: 'our rent',
      })
      await bench.unchangedBy('acknowledge', { ...word, attempt: 'a' }, known)
      await bench.refusedBy('acknowledge', { ...word, attempt: 'b' }, 'conflict')
      expect(await bench.ledger().unacknowledged(10)).toEqual([])
      expect(await bench.ledger().outside(MOVED.id)).toEqual(known.outside)
      expect(await bench.types('gateway')).toEqual(['outside', 'acknowledged'])
      const log = JSON.stringify(await bench.ledger().events('gateway', 0, 10))
      expect(log).not.toContain('our rent')
    })

    it('ends the message that told of it in the same transaction', async () => {
      accepted(await hear())
      accepted(await bench.ledger().execute('outside', { ...note(), heard: KEY }))
      expect(await states()).toEqual([])
    })

    it('is listed by when it was heard of', async () => {
      const other = { id: outsideIdOf('rail', 'obj_0'), object: 'obj_0' }
      accepted(await bench.ledger().execute('outside', note({ heardAtSeconds: later(NOW, 5) })))
      accepted(await bench.ledger().execute('outside', note(other)))
      const listed = await bench.ledger().unacknowledged(10)
      expect(listed.map(({ object }) => object)).toEqual(['obj_0', 'obj_1'])
    })
  })

  it('how far a rail’s list was read only goes on', async () => {
    const walked = (rail: string, at: number) =>
      bench.ledger().execute('walked', { rail, untilSeconds: later(NOW, at), now: NOW })
    expect(await bench.ledger().walk('rail')).toBeUndefined()
    accepted(await walked('rail', 10))
    accepted(await walked('rail', 5))
    accepted(await walked('another', 1))
    expect(await bench.ledger().walk('rail')).toEqual({ rail: 'rail', untilSeconds: NOW + 10 })
  })
}
