/** What every store must hold to: refuse and holds. */
import { beforeEach, describe, expect, it } from 'vitest'
import { deny, hold } from '../../../runtime/core/codes.ts'
import { parseEvent } from '../../../runtime/core/events.ts'
import { freshId, sha256 } from '../../../runtime/core/ids.ts'
import type { Commands, Ledger } from '../../../runtime/core/ledger.ts'
import { LIMITS } from '../../../runtime/core/limits.ts'
import type { HoldRecord, NodeRecord } from '../../../runtime/core/records.ts'
import { later } from '../../../runtime/core/time.ts'
import {
  aChild,
  accepted,
  addChild,
  allPassed,
  aPayment,
  aProof,
  aReserve,
  NOW,
  startChain,
} from '../../support/ledger.ts'
import { aHold } from '../scenes.ts'
import type { Bench } from './bench.ts'

export function refuseContract(bench: Bench): void {
  const { refusedBy, unchangedBy, balances, types } = bench
  describe('refuse and holds', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    const refusal = (leaf: NodeRecord, of: Partial<Commands['refuse']['input']> = {}) => ({
      node: leaf.id,
      run: leaf.run,
      denial: deny('quote_expired'),
      checks: allPassed,
      proof: aProof(leaf, freshId(), of.now),
      payment: aPayment(leaf).id,
      now: NOW,
      ...of,
    })

    const held = (leaf: NodeRecord, of: Partial<HoldRecord> = {}) =>
      refusal(leaf, {
        denial: hold('approval_required', 'big-spend'),
        hold: aHold(leaf, of),
        now: of.createdAtSeconds ?? NOW,
      })

    const decide = (of: HoldRecord, decision: 'approved' | 'refused', now = NOW) =>
      ledger.execute('decideHold', { hold: of.id, digest: of.digest, decision, by: 'op', now })

    it('records a refusal with its proof used up', async () => {
      const { leaf } = await startChain(ledger)
      const input = refusal(leaf)
      expect(await ledger.execute('refuse', input)).toEqual({ ok: true })
      const [event] = await ledger.events(leaf.id, 1, 1)
      expect(parseEvent(event?.body ?? '')).toMatchObject({
        type: 'refused',
        data: { code: 'quote_expired', payment: aPayment(leaf).id },
      })
      await unchangedBy('refuse', input, {})
      const replay = { ...input.proof, attempt: 'other' }
      await refusedBy('refuse', { ...input, proof: replay }, 'proof_replayed')
      await refusedBy('reserve', aReserve(leaf, { proof: replay }), 'proof_replayed')
      const state = (await ledger.tree(leaf.run)).find(({ node }) => node.id === leaf.id)
      expect(state).toMatchObject({ lastCode: 'quote_expired', lastChecks: allPassed })
    })

    it('refuses for a node that does not exist, or of another run', async () => {
      const { planner, leaf } = await startChain(ledger)
      await refusedBy('refuse', refusal(aChild(planner, 'ghost')), 'not_found')
      await refusedBy('refuse', { ...refusal(leaf), run: 'run_other' }, 'conflict')
    })

    it('opens one hold and keeps it while it is open', async () => {
      const { leaf } = await startChain(ledger)
      const input = held(leaf)
      const first = accepted(await ledger.execute('refuse', input)).hold
      expect(first).toEqual(input.hold)
      await unchangedBy('refuse', input, { hold: first })
      const again = held(leaf, { createdAtSeconds: later(NOW, 9) })
      expect(accepted(await ledger.execute('refuse', again)).hold).toEqual(first)
      expect(await ledger.holds({ states: ['open'], limit: 10 })).toEqual([first])
      expect((await ledger.snapshot({ node: leaf.id, payment: aPayment(leaf).id }))?.holds).toEqual(
        [first],
      )
      expect(await balances(leaf.id)).toMatchObject({ available: 1_000, reserved: 0 })
    })

    it('lets an approval answer one digest once', async () => {
      const { leaf } = await startChain(ledger)
      const { hold: open } = accepted(await ledger.execute('refuse', held(leaf)))
      if (!open) throw new Error('expected a hold')
      const approval = { hold: open.id, digest: open.digest }
      await refusedBy('reserve', aReserve(leaf, { approval }), 'stale')
      const { hold: approved } = accepted(await decide(open, 'approved'))
      expect(approved).toMatchObject({
        state: 'approved',
        decidedBy: 'op',
        decidedAtSeconds: NOW,
      })
      const wrong = { hold: open.id, digest: sha256('something else') }
      await refusedBy('reserve', aReserve(leaf, { approval: wrong }), 'stale')
      await refusedBy('reserve', aReserve(leaf, { approval, amount: 999 }), 'stale')
      const late = aReserve(leaf, { approval, now: open.expiresAtSeconds })
      await refusedBy('reserve', late, 'stale')
      // The late one made the store forget what had expired by then.
      const proof = { ...aProof(leaf), expiresAtSeconds: later(open.expiresAtSeconds, 60) }
      const inTime = aReserve(leaf, { approval, proof })
      const { payment } = accepted(await ledger.execute('reserve', inTime))
      expect((await ledger.hold(open.id))?.state).toBe('consumed')
      const release = { payment: payment.id, from: 'reserved', reason: 'x', now: NOW } as const
      accepted(await ledger.execute('release', release))
      const another = { ...proof, jti: 'another', attempt: 'another' }
      await refusedBy('reserve', aReserve(leaf, { approval, proof: another }), 'stale')
    })

    it('refuses an approval that was given for another payment', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      const { hold: open } = accepted(await ledger.execute('refuse', held(leaf)))
      if (!open) throw new Error('expected a hold')
      accepted(await decide(open, 'approved'))
      const approval = { hold: open.id, digest: open.digest }
      await refusedBy('reserve', aReserve(other, { approval }), 'stale')
    })

    it.each([
      ['run_closed', 'close', { by: 'op' }],
      ['revoked', 'setStanding', { state: 'revoked', by: 'op' }],
    ] as const)('decides nothing for a leaf that has ended: %s', async (code, command, how) => {
      const { leaf } = await startChain(ledger)
      const { hold: open } = accepted(await ledger.execute('refuse', held(leaf)))
      if (!open) throw new Error('expected a hold')
      const ending = { node: leaf.id, now: NOW, ...how } as Commands[typeof command]['input']
      accepted(await ledger.execute(command, ending))
      const input = { hold: open.id, digest: open.digest, by: 'op', now: NOW } as const
      await refusedBy('decideHold', { ...input, decision: 'approved' }, code)
      await refusedBy('decideHold', { ...input, decision: 'refused' }, code)
    })

    it('decides a hold once, for what the person saw, in time', async () => {
      const { leaf } = await startChain(ledger)
      const { hold: open } = accepted(await ledger.execute('refuse', held(leaf)))
      if (!open) throw new Error('expected a hold')
      const input = {
        hold: open.id,
        digest: open.digest,
        decision: 'approved',
        by: 'op',
        now: NOW,
      }
      const typed = input as Commands['decideHold']['input']
      await refusedBy('decideHold', { ...typed, hold: 'hold_none' }, 'not_found')
      await refusedBy('decideHold', { ...typed, digest: sha256('x') }, 'stale')
      await refusedBy('decideHold', { ...typed, now: open.expiresAtSeconds }, 'expired')
      const { hold: approved } = accepted(await ledger.execute('decideHold', typed))
      await unchangedBy('decideHold', typed, { hold: approved })
      await refusedBy('decideHold', { ...typed, decision: 'refused' }, 'conflict')
      const approval = { hold: open.id, digest: open.digest }
      accepted(await ledger.execute('reserve', aReserve(leaf, { approval })))
      await unchangedBy('decideHold', typed, { hold: { state: 'consumed' } })
      expect(await types(leaf.id)).toEqual(['opened', 'held', 'approved', 'reserved'])
    })

    it('asks nobody twice about what a person refused', async () => {
      const { leaf } = await startChain(ledger)
      const { hold: open } = accepted(await ledger.execute('refuse', held(leaf)))
      if (!open) throw new Error('expected a hold')
      accepted(await decide(open, 'refused'))
      // And writes nothing that would say that the attempt is held.
      await refusedBy('refuse', held(leaf), 'stale')
      expect(await types(leaf.id)).toEqual(['opened', 'held', 'hold_refused'])
      expect(await ledger.holds({ states: ['open'], limit: 10 })).toEqual([])
      const approval = { hold: open.id, digest: open.digest }
      await refusedBy('reserve', aReserve(leaf, { approval }), 'stale')
    })

    it('opens a hold anew when the old one has expired', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('refuse', held(leaf)))
      const createdAtSeconds = later(NOW, LIMITS.holdSeconds)
      const expiresAtSeconds = later(createdAtSeconds, LIMITS.holdSeconds)
      const again = held(leaf, { createdAtSeconds, expiresAtSeconds })
      const reopened = accepted(await ledger.execute('refuse', again)).hold
      expect(reopened).toMatchObject({ state: 'open', createdAtSeconds })
    })

    it('opens as many holds of a run as a person can read, and one more is refused', async () => {
      const { leaf } = await startChain(ledger)
      const open = (i: number, of: Partial<HoldRecord> = {}) =>
        held(leaf, { digest: sha256(`card ${i}`), ...of })
      for (let i = 0; i < LIMITS.openHolds; i += 1) {
        accepted(await ledger.execute('refuse', open(i)))
      }
      await refusedBy('refuse', open(LIMITS.openHolds), 'hold_limit')
      accepted(await ledger.execute('refuse', open(0)))
      const createdAtSeconds = later(NOW, LIMITS.holdSeconds)
      const fresh = { createdAtSeconds, expiresAtSeconds: later(createdAtSeconds, 60) }
      accepted(await ledger.execute('refuse', open(LIMITS.openHolds, fresh)))
    })

    it('counts the open holds of each run apart', async () => {
      const { leaf } = await startChain(ledger)
      const other = await startChain(ledger, { jti: 'mandate-2' })
      for (let i = 0; i < LIMITS.openHolds; i += 1) {
        accepted(await ledger.execute('refuse', held(leaf, { digest: sha256(`card ${i}`) })))
      }
      accepted(await ledger.execute('refuse', held(other.leaf)))
    })

    it('lists holds with the earliest deadline first', async () => {
      const { planner, leaf } = await startChain(ledger)
      const other = await addChild(ledger, planner, 'other')
      accepted(await ledger.execute('refuse', held(leaf, { expiresAtSeconds: later(NOW, 90) })))
      accepted(await ledger.execute('refuse', held(other, { expiresAtSeconds: later(NOW, 30) })))
      const nodes = async (query: Parameters<Ledger['holds']>[0]) =>
        (await ledger.holds(query)).map(({ node }) => node)
      expect(await nodes({ limit: 10 })).toEqual([other.id, leaf.id])
      expect(await nodes({ limit: 1 })).toEqual([other.id])
      expect(await nodes({ run: leaf.run, states: ['open', 'approved'], limit: 9 })).toHaveLength(2)
      expect(await nodes({ run: 'run_other', limit: 10 })).toEqual([])
      expect(await nodes({ states: [], limit: 10 })).toEqual([])
    })
  })
}
