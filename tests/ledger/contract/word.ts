/** What every store must hold to of a rail's word on a payment that it has, and of taking what a payer agreed to. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportLog } from '../../../runtime/audit/export.ts'
import { verifyExport } from '../../../runtime/audit/verify.ts'
import { parseEvent } from '../../../runtime/core/events.ts'
import type { NodeId } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import type { PaymentRecord, RailSaid } from '../../../runtime/core/records.ts'
import { later } from '../../../runtime/core/time.ts'
import { closeSubtree } from '../../../runtime/ledger/closing.ts'
import { collect } from '../../audit/log.ts'
import { accepted, fixedClock, NOW, paySubmitted, startChain } from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function wordContract(bench: Bench): void {
  describe('the word of a rail', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })
    afterEach(async () => {
      expect(verifyExport(await collect(exportLog(ledger))).broken).toBeUndefined()
    })

    const events = async (stream: NodeId) =>
      (await ledger.events(stream, 0, 1_000)).map(({ body }) => parseEvent(body))
    const typesOf = async (stream: NodeId) => (await events(stream)).map(({ type }) => type)
    const say = async ({ id: payment }: PaymentRecord, said: RailSaid) =>
      accepted(await ledger.execute('markUnknown', { payment, reason: 'said', said, now: NOW }))
        .payment
    const submitted = async () => {
      const chain = await startChain(ledger)
      return { ...chain, payment: await paySubmitted(ledger, chain.leaf) }
    }
    const URL = 'https://rail.test/agree/secret-word'
    const PAYER: RailSaid = {
      railReference: 'order_1',
      railStatus: 'CREATED',
      awaits: 'payer',
      approveUrl: URL,
    }
    const CAPTURE: RailSaid = {
      railReference: 'order_1',
      railStatus: 'APPROVED',
      awaits: 'capture',
    }

    it('is kept beside an unknown payment whose money stays reserved, and no address enters the log', async () => {
      const { leaf, payment } = await submitted()
      const before = await bench.balances(leaf.id)
      const heard = await say(payment, PAYER)
      expect(heard).toMatchObject({ state: 'unknown', ...PAYER })
      expect(await ledger.payment(payment.id)).toEqual(heard)
      expect(await bench.balances(leaf.id)).toEqual(before)
      expect((await typesOf(leaf.id)).slice(-2)).toEqual(['unknown', 'rail_word'])
      const log = (await collect(exportLog(ledger))).join('\n')
      expect(log).not.toContain('secret-word')
      expect((await events(leaf.id)).at(-1)?.data).toMatchObject({
        status: 'CREATED',
        awaits: 'payer',
        reference: 'order_1',
        approve: expect.any(String),
      })
    })

    it('that is the same again changes and appends nothing, nor does silence', async () => {
      const { leaf, payment } = await submitted()
      const heard = await say(payment, PAYER)
      const { head } = await bench.account(leaf.id)
      expect(await say(payment, PAYER)).toEqual(heard)
      expect(await say(payment, {})).toEqual(heard)
      expect((await bench.account(leaf.id)).head).toEqual(head)
    })

    it('that is another one is one more event, and takes away an address that is of no use any more', async () => {
      const { leaf, payment } = await submitted()
      await say(payment, PAYER)
      const heard = await say(payment, CAPTURE)
      expect(heard).toMatchObject(CAPTURE)
      expect(heard.approveUrl).toBeUndefined()
      expect((await typesOf(leaf.id)).slice(-2)).toEqual(['rail_word', 'rail_word'])
    })

    it('ends with the payment, which keeps the rail’s last status', async () => {
      const { leaf, payment } = await submitted()
      await say(payment, PAYER)
      const of = { payment: payment.id, amount: payment.amount, railReference: 'cap_1', now: NOW }
      const end = { ...of, railStatus: 'COMPLETED' }
      const settled = accepted(await ledger.execute('settle', end)).payment
      expect(settled).toMatchObject({ state: 'settled', railStatus: 'COMPLETED' })
      expect([settled.awaits, settled.approveUrl]).toEqual([undefined, undefined])
      const { head } = await bench.account(leaf.id)
      accepted(await ledger.execute('settle', end))
      accepted(await ledger.execute('settle', of))
      expect((await bench.account(leaf.id)).head).toEqual(head)
      const after = await ledger.execute('settle', { ...end, railStatus: 'REFUNDED' })
      expect(accepted(after).payment).toEqual({ ...settled, railStatus: 'REFUNDED' })
      expect((await events(leaf.id)).at(-1)).toMatchObject({
        type: 'rail_word',
        data: { status: 'REFUNDED' },
      })
      await bench.refusedBy(
        'markUnknown',
        { payment: payment.id, reason: 'said', said: PAYER, now: NOW },
        'conflict',
      )
    })

    it('goes with a release too', async () => {
      const { payment } = await submitted()
      await say(payment, PAYER)
      const end = { payment: payment.id, from: 'submitted', reason: 'declined', now: NOW } as const
      const released = await ledger.execute('release', { ...end, railStatus: 'VOIDED' })
      expect(accepted(released).payment).toMatchObject({ state: 'released', railStatus: 'VOIDED' })
    })

    describe('before what a payer agreed to is taken', () => {
      const complete = (payment: PaymentRecord, after = 0) =>
        ledger.execute('complete', { payment: payment.id, now: later(NOW, after) })
      const agreed = async () => {
        const made = await submitted()
        return { ...made, payment: await say(made.payment, CAPTURE) }
      }
      const stand = async (node: NodeId | 'gateway', state: 'live' | 'frozen' | 'revoked') =>
        accepted(await ledger.execute('setStanding', { node, state, by: 'op', now: NOW }))

      it('the standings that were read are written down, once for each way in which they stood', async () => {
        const { payment, leaf, root } = await agreed()
        const first = accepted(await complete(payment)).payment
        expect(first.completing).toEqual([1, 1, 1, 1])
        expect(accepted(await complete(payment)).payment).toEqual(first)
        await stand(root.id, 'frozen')
        await stand(root.id, 'live')
        accepted(await complete(payment))
        const taken = (await events(leaf.id)).filter(({ type }) => type === 'completing')
        expect(taken.map(({ data }) => data)).toEqual([
          { payment: payment.id, standings: [1, 1, 1, 1] },
          { payment: payment.id, standings: [1, 3, 1, 1] },
        ])
      })

      it.each(['gateway', 'root', 'planner', 'leaf'] as const)(
        'a freeze of the %s is to be waited for',
        async (what) => {
          const { payment, ...nodes } = await agreed()
          await stand(what === 'gateway' ? what : nodes[what].id, 'frozen')
          await bench.refusedBy('complete', { payment: payment.id, now: NOW }, 'frozen')
        },
      )

      it.each(['root', 'planner', 'leaf'] as const)(
        'a revocation or close of the %s will not pass',
        async (what) => {
          const { payment, ...nodes } = await agreed()
          await stand(nodes[what].id, 'revoked')
          await bench.refusedBy('complete', { payment: payment.id, now: NOW }, 'revoked')
          accepted(await closeSubtree(ledger, nodes[what].id, 'op', fixedClock))
          await bench.refusedBy('complete', { payment: payment.id, now: NOW }, 'run_closed')
        },
      )

      it('nor does the end of the leaf’s time or of the run', async () => {
        const { payment, leaf, run } = await agreed()
        const now = leaf.expiresAtSeconds
        await bench.refusedBy('complete', { payment: payment.id, now }, 'expired')
        const ending = { run: run.id, state: 'cancelling', now: NOW } as const
        accepted(await ledger.execute('finishRun', ending))
        await bench.refusedBy('complete', { payment: payment.id, now: NOW }, 'run_closed')
      })

      it('a payment that waits for nobody is none to take', async () => {
        const { payment } = await submitted()
        await bench.refusedBy('complete', { payment: payment.id, now: NOW }, 'conflict')
        await say(payment, { railStatus: 'UNRECOGNISED' })
        await bench.refusedBy('complete', { payment: payment.id, now: NOW }, 'conflict')
      })
    })
  })
}
