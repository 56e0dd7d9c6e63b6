/** What every store must hold to of authorisations: placed once, never drawn above what they hold, ended by the rail's word. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportLog } from '../../../runtime/audit/export.ts'
import { verifyExport } from '../../../runtime/audit/verify.ts'
import { parseEvent } from '../../../runtime/core/events.ts'
import { authorisationIdOf, type NodeId } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { minor } from '../../../runtime/core/money.ts'
import type { NodeRecord, PaymentRecord } from '../../../runtime/core/records.ts'
import { later } from '../../../runtime/core/time.ts'
import { collect } from '../../audit/log.ts'
import { accepted, addChild, NOW, paySubmitted, startRun } from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function authorisationsContract(bench: Bench): void {
  describe('authorisations', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })
    afterEach(async () => {
      expect(verifyExport(await collect(exportLog(ledger))).broken).toBeUndefined()
    })

    const until = later(NOW, 3_600)
    /** A run with so many leaves for one payee, each with a submitted payment of 1,000. */
    const paying = async (count = 3, jti = 'job-1') => {
      const { run, root } = await startRun(ledger, { jti })
      const leaves: NodeRecord[] = []
      const payments: PaymentRecord[] = []
      for (let i = 0; i < count; i += 1) {
        const leaf = await addChild(ledger, root, `leaf-${i}`, { ceiling: 1_000 })
        leaves.push(leaf)
        payments.push(await paySubmitted(ledger, leaf))
      }
      const [first] = payments
      if (first === undefined) throw new Error('expected a payment')
      return { run, root, leaves, payments, first, id: authorisationIdOf(run.id, first.payee) }
    }
    type Paying = Awaited<ReturnType<typeof paying>>

    const ask = ({ id }: Paying, payment: PaymentRecord, amount = 2_500) =>
      ledger.execute('askAuthorisation', {
        authorisation: id,
        payment: payment.id,
        amount: minor(amount),
        key: 'hg-key',
        nonce: payment.nonce ?? '',
        nowMs: NOW * 1000,
        now: NOW,
      })
    const authorise = ({ id }: Paying, amount = 2_500) =>
      ledger.execute('authorised', {
        authorisation: id,
        amount: minor(amount),
        reference: 'AUTH1',
        untilSeconds: until,
        now: NOW,
      })
    const draw = ({ id }: Paying, payment: PaymentRecord, by: Ledger = ledger, now = NOW) =>
      by.execute('draw', {
        authorisation: id,
        payment: payment.id,
        nonce: payment.nonce ?? '',
        now,
      })
    const move = ({ id }: Paying, to: 'placing' | 'voiding' | 'voided' | 'failed') =>
      ledger.execute('moveAuthorisation', {
        authorisation: id,
        to,
        reason: 'said',
        ...(to === 'placing' ? { reference: 'AUTH1' } : {}),
        now: NOW,
      })
    const opened = async (count = 3, jti = 'job-1') => {
      const all = await paying(count, jti)
      accepted(await ask(all, all.first))
      accepted(await authorise(all))
      return all
    }
    const release = ({ id: payment }: PaymentRecord) =>
      ledger.execute('release', { payment, from: 'submitted', reason: 'declined', now: NOW })
    const typesOf = async (stream: NodeId) =>
      (await ledger.events(stream, 0, 1_000)).map(({ body }) => parseEvent(body).type)

    it('are placed by one attempt of all that ask at once, and move no balance', async () => {
      const all = await paying(4)
      const before = await bench.balances(all.first.node)
      const asked = await Promise.all(all.payments.map((payment) => ask(all, payment)))
      expect(asked.filter((each) => each.ok && each.created)).toHaveLength(1)
      expect(await bench.balances(all.first.node)).toEqual(before)
      expect(await ledger.authorisation(all.id)).toMatchObject({ state: 'placing', drawn: 0 })
    })

    it('are asked for by a submitted payment of that run and payee, up to the run’s ceiling', async () => {
      const all = await paying(1)
      const of = { authorisation: all.id, key: 'k', nowMs: NOW * 1000, now: NOW }
      const { id: payment, nonce = '' } = all.first
      const input = { ...of, payment, nonce, amount: minor(1_000) }
      await bench.refusedBy('askAuthorisation', { ...input, nonce: 'another' }, 'conflict')
      await bench.refusedBy('askAuthorisation', { ...input, amount: minor(999) }, 'insufficient')
      const more = minor(all.run.ceiling + 1)
      await bench.refusedBy('askAuthorisation', { ...input, amount: more }, 'insufficient')
      const other = authorisationIdOf(all.run.id, 'somebody')
      await bench.refusedBy('askAuthorisation', { ...input, authorisation: other }, 'conflict')
    })

    it('hold at most what was asked', async () => {
      const all = await paying(1)
      accepted(await ask(all, all.first))
      expect(await authorise(all, 2_501)).toEqual({ ok: false, code: 'insufficient' })
      const { authorisation } = accepted(await authorise(all, 2_400))
      expect(authorisation).toMatchObject({ state: 'open', amount: 2_400, untilSeconds: until })
      await bench.unchangedBy(
        'authorised',
        {
          authorisation: all.id,
          amount: minor(2_400),
          reference: 'AUTH1',
          untilSeconds: until,
          now: NOW,
        },
        { authorisation },
      )
    })

    it('are never drawn above what they hold, however many draw at once, in whichever process', async () => {
      const all = await opened(6)
      const drawn = await Promise.all(
        all.payments.map((payment, i) => draw(all, payment, bench.instance(i))),
      )
      expect(drawn.filter(({ ok }) => ok)).toHaveLength(2)
      expect(drawn.filter((each) => !each.ok && each.code === 'insufficient')).toHaveLength(4)
      expect((await ledger.authorisation(all.id))?.drawn).toBe(2_000)
    })

    it('are drawn from once by a payment, however often that is said', async () => {
      const all = await opened()
      const { payment } = accepted(await draw(all, all.first))
      expect(payment.drawn).toEqual({ authorisation: all.id, reference: 'AUTH1' })
      expect(accepted(await draw(all, all.first)).payment).toEqual(payment)
      expect((await ledger.authorisation(all.id))?.drawn).toBe(1_000)
      expect((await typesOf(all.first.node)).filter((type) => type === 'drawn')).toHaveLength(1)
    })

    it('have a part back that the rail did not take, and keep what it took', async () => {
      const all = await opened()
      const [first, second, third] = all.payments as [PaymentRecord, PaymentRecord, PaymentRecord]
      accepted(await draw(all, first))
      accepted(await draw(all, second))
      expect(await draw(all, third)).toEqual({ ok: false, code: 'insufficient' })
      accepted(await release(first))
      expect((await ledger.authorisation(all.id))?.drawn).toBe(1_000)
      accepted(await draw(all, third))
      const end = { payment: second.id, amount: minor(900), railReference: 'CAP1', now: NOW }
      accepted(await ledger.execute('settle', end))
      expect((await ledger.authorisation(all.id))?.drawn).toBe(2_000)
    })

    it('give nothing to a payment of another attempt, after their time, or once they are being voided', async () => {
      const all = await opened()
      const of = { authorisation: all.id, payment: all.first.id, now: NOW }
      await bench.refusedBy('draw', { ...of, nonce: 'another' }, 'conflict')
      const { nonce = '' } = all.first
      await bench.refusedBy('draw', { ...of, nonce, now: until }, 'expired')
      accepted(await move(all, 'voiding'))
      await bench.refusedBy('draw', { ...of, nonce }, 'conflict')
    })

    it('give nothing to another run', async () => {
      const [all, others] = [await opened(), await opened(3, 'job-2')]
      const { id: payment, nonce = '' } = others.first
      await bench.refusedBy('draw', { authorisation: all.id, payment, nonce, now: NOW }, 'conflict')
    })

    it('end in the order of the rail’s words, each once', async () => {
      const all = await opened()
      expect(await move(all, 'voided')).toEqual({ ok: false, code: 'conflict' })
      expect(await move(all, 'failed')).toEqual({ ok: false, code: 'conflict' })
      accepted(await move(all, 'voiding'))
      accepted(await move(all, 'voided'))
      const ended = accepted(await move(all, 'voided')).authorisation
      expect(ended).toMatchObject({ state: 'voided', reason: 'said' })
      expect(await authorise(all)).toEqual({ ok: false, code: 'conflict' })
      expect((await typesOf(all.first.node)).slice(-4)).toEqual([
        'authorisation_asked',
        'authorised',
        'authorisation_voiding',
        'authorisation_voided',
      ])
    })

    it('are listed while they have no end, and all of a run', async () => {
      const all = await paying()
      accepted(await ask(all, all.first))
      const open = async () => (await ledger.authorisations({ limit: 9 })).map(({ id }) => id)
      const ofRun = async () => ledger.authorisations({ run: all.run.id, limit: 9 })
      expect(await open()).toEqual([all.id])
      const early = accepted(await move(all, 'placing')).authorisation
      expect(early.reference).toBe('AUTH1')
      accepted(await move(all, 'failed'))
      expect(await open()).toEqual([])
      expect(await ofRun()).toMatchObject([{ id: all.id, state: 'failed' }])
    })
  })
}
