/** What every store must hold to: reserve. */
import { beforeEach, describe, expect, it } from 'vitest'
import { parseEvent } from '../../../runtime/core/events.ts'
import { sha256 } from '../../../runtime/core/ids.ts'
import type { Ledger } from '../../../runtime/core/ledger.ts'
import { LIMITS } from '../../../runtime/core/limits.ts'
import { minor } from '../../../runtime/core/money.ts'
import type { NodeRecord, PaymentRecord } from '../../../runtime/core/records.ts'
import { later } from '../../../runtime/core/time.ts'
import {
  aChild,
  accepted,
  addChild,
  aProof,
  aReserve,
  aSplit,
  NOW,
  paySubmitted,
  startChain,
  startRun,
} from '../../support/ledger.ts'
import { type Bench, LATER } from './bench.ts'

export function reserveContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, balances, types } = bench
  describe('reserve', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    it('sets the money aside on the leaf alone', async () => {
      const { planner, leaf } = await startChain(ledger)
      const above = await account(planner.id)
      const input = aReserve(leaf, { amount: 700 })
      const { payment, account: after } = accepted(await ledger.execute('reserve', input))
      expect(payment).toEqual(input.payment)
      expect(after).toEqual(await account(leaf.id))
      expect(await balances(leaf.id)).toMatchObject({ available: 300, reserved: 700 })
      expect(await account(planner.id)).toEqual(above)
      expect(await ledger.payment(payment.id)).toEqual(payment)
    })

    it('takes nothing of a later step from the caller', async () => {
      const { leaf } = await startChain(ledger)
      const input = aReserve(leaf)
      const forged: PaymentRecord = {
        ...input.payment,
        state: 'settled',
        nonce: 'n',
        settledAmount: minor(1),
        railReference: 'r',
      }
      const { payment } = accepted(await ledger.execute('reserve', { ...input, payment: forged }))
      expect(payment).toEqual(input.payment)
    })

    it('answers its own attempt again without a change', async () => {
      const { leaf } = await startChain(ledger)
      const input = aReserve(leaf)
      const { payment } = accepted(await ledger.execute('reserve', input))
      await unchangedBy('reserve', input, { payment, account: await account(leaf.id) })
    })

    it('answers its own attempt again when it submitted at once', async () => {
      const { leaf } = await startChain(ledger)
      const input = aReserve(leaf, { nonce: 'mine' })
      const { payment } = accepted(await ledger.execute('reserve', input))
      expect(payment).toMatchObject({ state: 'submitted', nonce: 'mine' })
      await unchangedBy('reserve', input, { payment })
    })

    it('reserves one payment once when fifty send it at once', async () => {
      const { leaf } = await startChain(ledger)
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          ledger.execute('reserve', aReserve(leaf, { nonce: `nonce-${i}` })),
        ),
      )
      const won = results.filter(({ ok }) => ok)
      expect(won).toHaveLength(1)
      expect(results.filter((r) => !r.ok && r.code === 'conflict')).toHaveLength(49)
      expect(await balances(leaf.id)).toMatchObject({ available: 0, reserved: 1_000 })
      expect(await types(leaf.id)).toEqual(['opened', 'reserved', 'submitted'])
    })

    it('lets another attempt carry on what was reserved and never submitted', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      accepted(await ledger.execute('reserve', aReserve(leaf, { nonce: 'second' })))
      expect(await types(leaf.id)).toEqual(['opened', 'reserved', 'submitted'])
      expect(await balances(leaf.id)).toMatchObject({ reserved: 1_000 })
      await refusedBy('reserve', aReserve(leaf, { nonce: 'third' }), 'conflict')
      await refusedBy('reserve', aReserve(leaf), 'conflict')
    })

    it('refuses the same payment with another amount', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('reserve', aReserve(leaf, { amount: 10 })))
      await refusedBy('reserve', aReserve(leaf, { amount: 11 }), 'conflict')
    })

    it('ends exactly at the ceiling when two hundred leaves of room for a hundred reserve', async () => {
      const { root } = await startRun(ledger, { ceiling: 1_000 })
      const attempts = Array.from({ length: 200 }, async (_, i) => {
        const child = aChild(root, `leaf-${i}`, { ceiling: 10 })
        const split = await ledger.execute('split', aSplit(child, { fanOut: 1_000 }))
        if (!split.ok) return false
        return (await ledger.execute('reserve', aReserve(split.child, { nonce: `n${i}` }))).ok
      })
      const results = await Promise.all(attempts)
      expect(results.filter(Boolean)).toHaveLength(100)
      expect(await balances(root.id)).toMatchObject({ available: 0, allotted: 1_000 })
      const payments = await ledger.payments({ states: ['submitted'], limit: 1_000 })
      expect(payments.reduce((sum, { amount }) => sum + amount, 0)).toBe(1_000)
    })

    it('ends exactly at a shared counter when two hundred meet room for a hundred', async () => {
      const { root } = await startRun(ledger, { ceiling: 100_000 })
      const leaves = await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          addChild(ledger, root, `leaf-${i}`, { ceiling: 10, fanOut: 1_000 }),
        ),
      )
      const uses = [{ key: 'day:2027-01-15', maxAmount: minor(1_000) }]
      const results = await Promise.all(
        leaves.map((leaf) => ledger.execute('reserve', aReserve(leaf, { uses }))),
      )
      expect(results.filter(({ ok }) => ok)).toHaveLength(100)
      const snapshot = await ledger.snapshot({ node: root.id, counters: ['day:2027-01-15'] })
      expect(snapshot?.counters).toEqual([{ key: 'day:2027-01-15', count: 100, amount: 1_000 }])
    })

    it('refuses more than the leaf has', async () => {
      const { leaf } = await startChain(ledger)
      await refusedBy('reserve', aReserve(leaf, { amount: 1_001 }), 'insufficient')
    })

    it('refuses a leaf that does not exist', async () => {
      const { planner } = await startChain(ledger)
      await refusedBy('reserve', aReserve(aChild(planner, 'ghost')), 'not_found')
    })

    it('refuses what is not this leaf’s payment', async () => {
      const { root, planner, leaf } = await startChain(ledger)
      const input = aReserve(leaf)
      const changes: readonly Partial<PaymentRecord>[] = [
        { payee: 'baker' },
        { currency: 'USD' },
        { quote: sha256('another') },
        { run: 'run_other' },
      ]
      for (const change of changes) {
        const payment = { ...input.payment, ...change }
        await refusedBy('reserve', { ...input, payment }, 'conflict')
      }
      await refusedBy('reserve', { ...input, path: [root.id, leaf.id] }, 'conflict')
      await refusedBy('reserve', aReserve(planner), 'conflict')
    })

    it('refuses at the second of the earliest expiry', async () => {
      const { leaf } = await startChain(ledger)
      const soon = later(NOW, 5)
      const input = { ...aReserve(leaf), expiresAtSeconds: soon }
      await refusedBy('reserve', { ...input, now: soon }, 'expired')
      const own = { ...aReserve(leaf), expiresAtSeconds: LATER, now: leaf.expiresAtSeconds }
      await refusedBy('reserve', own, 'expired')
      accepted(await ledger.execute('reserve', { ...input, now: later(NOW, 4) }))
    })

    it.each([
      ['the gateway', 'frozen', 'frozen', () => 'gateway' as const],
      ['the root', 'frozen', 'frozen', (at: { root: NodeRecord }) => at.root.id],
      ['the root', 'revoked', 'revoked', (at: { root: NodeRecord }) => at.root.id],
      ['the leaf', 'revoked', 'revoked', (at: { leaf: NodeRecord }) => at.leaf.id],
    ] as const)('refuses when %s is %s', async (_name, state, code, which) => {
      const chain = await startChain(ledger)
      await ledger.execute('setStanding', { node: which(chain), state, by: 'op', now: NOW })
      await refusedBy('reserve', aReserve(chain.leaf), code)
    })

    it('refuses below a node that is closing', async () => {
      const { planner, leaf } = await startChain(ledger)
      accepted(await ledger.execute('close', { node: planner.id, by: 'op', now: NOW }))
      await refusedBy('reserve', aReserve(leaf), 'run_closed')
    })

    it('uses a proof once', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      const proof = aProof(leaf)
      accepted(await ledger.execute('reserve', aReserve(leaf, { proof })))
      const replay = { ...proof, attempt: 'somebody else' }
      await refusedBy('reserve', aReserve(other, { proof: replay }), 'proof_replayed')
    })

    it('takes no proof that it may have forgotten, though it was fresh when it was judged', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      const proof = aProof(leaf)
      const after = later(proof.expiresAtSeconds, LIMITS.proofKeptSeconds + 1)
      const note = { stream: leaf.id, type: 'read', data: {} } as const
      accepted(await ledger.execute('note', { ...note, proof, now: proof.expiresAtSeconds }))
      const more = { ...aProof(other), expiresAtSeconds: later(after, 60) }
      const own = { ...aProof(leaf), expiresAtSeconds: later(after, 60) }
      accepted(await ledger.execute('note', { ...note, proof: more, now: after }))
      accepted(await ledger.execute('note', { ...note, proof: own, now: after }))
      const replay = { ...proof, attempt: 'somebody else' }
      await refusedBy('note', { ...note, proof: replay, now: after }, 'proof_replayed')
    })

    it('knows a proof by its holder and jti together', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      accepted(await ledger.execute('reserve', aReserve(leaf, { proof: aProof(leaf, 'same') })))
      accepted(await ledger.execute('reserve', aReserve(other, { proof: aProof(other, 'same') })))
    })

    it('gives one quote to one payment until that is released', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      const claim = { merchant: 'shop', quoteJti: 'q1' }
      const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf, claim)))
      await refusedBy('reserve', aReserve(other, claim), 'quote_spent')
      const request = { node: other.id, claim: { issuer: 'shop', jti: 'q1' } }
      expect((await ledger.snapshot(request))?.claimedBy).toBe(payment.id)
      accepted(
        await ledger.execute('release', {
          payment: payment.id,
          from: 'reserved',
          reason: 'timed_out',
          now: NOW,
        }),
      )
      accepted(await ledger.execute('reserve', aReserve(other, claim)))
      await refusedBy('reserve', aReserve(leaf, claim), 'quote_spent')
    })

    it('may be tried again after a release that came before any submit', async () => {
      const { leaf } = await startChain(ledger)
      const { payment } = accepted(await ledger.execute('reserve', aReserve(leaf)))
      const release = { payment: payment.id, from: 'reserved', reason: 'x', now: NOW } as const
      accepted(await ledger.execute('release', release))
      const again = accepted(await ledger.execute('reserve', aReserve(leaf, { nonce: 'n2' })))
      expect(again.payment).toMatchObject({ state: 'submitted', nonce: 'n2' })
      expect(again.payment.endHead).toBeUndefined()
    })

    it('is never tried again once it was submitted, not even after a decline', async () => {
      const { leaf } = await startChain(ledger)
      const { id } = await paySubmitted(ledger, leaf)
      const release = { payment: id, from: 'submitted', reason: 'declined', now: NOW } as const
      accepted(await ledger.execute('release', release))
      await refusedBy('reserve', aReserve(leaf, { nonce: 'n2' }), 'conflict')
      await refusedBy('reserve', aReserve(leaf), 'conflict')
    })

    it('reaches a counter’s bound and does not pass it', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      const third = await addChild(ledger, planner, 'third', { ceiling: 1 })
      const uses = [
        { key: 'hour', maxAmount: minor(2_000) },
        { key: 'count', maxCount: 2 },
        { key: 'free' },
      ]
      accepted(await ledger.execute('reserve', aReserve(leaf, { uses, counters: ['extra'] })))
      accepted(await ledger.execute('reserve', aReserve(other, { uses })))
      const counters = ['hour', 'count', 'free', 'extra', 'never']
      expect((await ledger.snapshot({ node: leaf.id, counters }))?.counters).toEqual([
        { key: 'hour', count: 2, amount: 2_000 },
        { key: 'count', count: 2, amount: 2_000 },
        { key: 'free', count: 2, amount: 2_000 },
        { key: 'extra', count: 1, amount: 1_000 },
        { key: 'never', count: 0, amount: 0 },
      ])
      const refusal = await ledger.execute('reserve', aReserve(third, { uses }))
      expect(refusal).toEqual({ ok: false, code: 'counter', counter: 'hour' })
      await refusedBy('reserve', aReserve(third, { uses: uses.slice(1) }), 'counter')
    })

    it('gives a counter back in the period where it was taken', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      const uses = [{ key: 'hour:00', maxAmount: minor(5_000) }]
      const count = async () =>
        (await ledger.snapshot({ node: leaf.id, counters: ['hour:00'] }))?.counters[0]
      const { id } = await paySubmitted(ledger, leaf, { uses })
      const next = await paySubmitted(ledger, other, { uses })
      expect(await count()).toMatchObject({ count: 2, amount: 2_000 })
      const now = later(NOW, 3_600)
      const settle = { payment: id, amount: minor(600), railReference: 'r', now }
      accepted(await ledger.execute('settle', settle))
      expect(await count()).toMatchObject({ count: 2, amount: 1_600 })
      const release = { payment: next.id, from: 'submitted', reason: 'declined', now } as const
      accepted(await ledger.execute('release', release))
      expect(await count()).toMatchObject({ count: 1, amount: 600 })
    })

    it('says in the log which standings it read', async () => {
      const { planner, leaf } = await startChain(ledger)
      const act = (state: 'frozen' | 'live') =>
        ledger.execute('setStanding', { node: planner.id, state, by: 'op', now: NOW })
      await act('frozen')
      await act('live')
      await paySubmitted(ledger, leaf)
      const events = (await ledger.events(leaf.id, 1, 2)).map(({ body }) => parseEvent(body))
      expect(events).toMatchObject([
        { type: 'reserved', data: { standings: [1, 1, 3, 1] } },
        { type: 'submitted', data: { standings: [1, 1, 3, 1], nonce: expect.any(String) } },
      ])
      expect(events[1]?.data).not.toMatchObject({ nonce: `nonce-${leaf.id}` })
    })
  })
}
