/** What every store must hold to: decisions without a payment. */
import { beforeEach, describe, expect, it } from 'vitest'
import { deny, hold } from '../../../runtime/core/codes.ts'
import { parseEvent } from '../../../runtime/core/events.ts'
import type { Commands, Ledger } from '../../../runtime/core/ledger.ts'
import type { NodeRecord } from '../../../runtime/core/records.ts'
import {
  accepted,
  allPassed,
  aPayment,
  aProof,
  aReserve,
  aTrail,
  NOW,
  startChain,
} from '../../support/ledger.ts'
import type { Bench } from './bench.ts'

export function decidedContract(bench: Bench): void {
  const { refusedBy, unchangedBy, account, balances, types } = bench
  describe('decided', () => {
    let ledger: Ledger
    beforeEach(() => {
      ledger = bench.ledger()
    })

    const decision = (
      leaf: NodeRecord,
      of: Partial<Commands['decided']['input']> = {},
    ): Commands['decided']['input'] => ({
      ...{ node: leaf.id, run: leaf.run, payment: aPayment(leaf).id, checks: allPassed },
      count: { key: `decisions:${leaf.id}`, maxCount: 3 },
      provenance: aTrail(),
      proof: aProof(leaf),
      now: NOW,
      ...of,
    })

    const events = async ({ id }: NodeRecord) =>
      (await ledger.events(id, 1, 100)).map(({ body }) => parseEvent(body).data)

    it('writes what would have been answered and where it came from, without the item', async () => {
      const { leaf } = await startChain(ledger)
      accepted(await ledger.execute('decided', decision(leaf)))
      const denial = hold('payee_from_untrusted', 'from-elsewhere')
      accepted(await ledger.execute('decided', decision(leaf, { denial })))
      accepted(await ledger.execute('decided', decision(leaf, { denial: deny('quote_expired') })))
      const { payment } = decision(leaf)
      expect(await events(leaf)).toMatchObject([
        { payment, verdict: 'allow' },
        { verdict: 'hold', code: 'payee_from_untrusted', rule: 'from-elsewhere' },
        { verdict: 'deny', code: 'quote_expired' },
      ])
      const [event] = await ledger.events(leaf.id, 1, 1)
      expect(event?.body).toContain('nd_looker')
      expect(event?.body).not.toContain('rice')
    })

    it('changes nothing but its event, its proof and its own count', async () => {
      const { leaf } = await startChain(ledger)
      const before = await balances(leaf.id)
      const state = await ledger.children(leaf.path.at(-2) ?? leaf.id)
      const input = decision(leaf, { denial: hold('approval_required') })
      accepted(await ledger.execute('decided', input))
      expect(await balances(leaf.id)).toEqual(before)
      const [was, is] = [state[0], (await ledger.children(leaf.path.at(-2) ?? leaf.id))[0]]
      expect({ ...is, account: { ...is?.account, head: undefined } }).toEqual({
        ...was,
        account: { ...was?.account, head: undefined },
      })
      expect(await ledger.holds({ limit: 5 })).toEqual([])
      expect(await ledger.payments({ limit: 5 })).toEqual([])
      const asked = { node: leaf.id, counters: [input.count.key] }
      expect((await ledger.snapshot(asked))?.counters).toMatchObject([{ count: 1, amount: 0 }])
      accepted(await ledger.execute('reserve', aReserve(leaf)))
      expect(await types(leaf.id)).toEqual(['opened', 'decided', 'reserved'])
    })

    it('is written once for one attempt, and once for one proof', async () => {
      const { leaf } = await startChain(ledger)
      const input = decision(leaf)
      accepted(await ledger.execute('decided', input))
      await unchangedBy('decided', input, {})
      const replay = { ...input, proof: { ...input.proof, attempt: 'other' } }
      await refusedBy('decided', replay, 'proof_replayed')
    })

    it('is refused past its bound, also where many ask at once', async () => {
      const { leaf } = await startChain(ledger)
      const inputs = Array.from({ length: 8 }, () => decision(leaf))
      const all = await Promise.all(
        inputs.map((input, i) => bench.instance(i).execute('decided', input)),
      )
      expect(all.filter(({ ok }) => ok)).toHaveLength(3)
      await refusedBy('decided', decision(leaf), 'counter')
      expect((await account(leaf.id)).head.seq).toBe(4)
    })

    it('is refused for a node that is not there, or of another run', async () => {
      const { leaf } = await startChain(ledger)
      await refusedBy('decided', decision(leaf, { node: 'nd_none' }), 'not_found')
      await refusedBy('decided', decision(leaf, { run: 'run_other' }), 'conflict')
    })
  })
}
