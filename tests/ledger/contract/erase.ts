import { describe, expect, it } from 'vitest'
import { exportLog, exportSides } from '../../../runtime/audit/export.ts'
import { receiptOf } from '../../../runtime/audit/receipts.ts'
import { verifyExport } from '../../../runtime/audit/verify.ts'
import { deny } from '../../../runtime/core/codes.ts'
import { holdIdOf } from '../../../runtime/core/ids.ts'
import { publicKeysOfSigner } from '../../../runtime/http/public-key.ts'
import { eraseRun } from '../../../runtime/ledger/erasing.ts'
import { collect } from '../../audit/log.ts'
import { accepted, allPassed, aProof, fixedClock, NOW, startChain } from '../../support/ledger.ts'
import { aPersonalRun, endPersonalRun, PLANTED, plantedIn, SIGNER } from '../../support/personal.ts'
import { aHold } from '../scenes.ts'
import { type Bench, everything } from './bench.ts'

/** What anyone can read of the ledger, as one text. */
async function readable({ ledger }: Bench): Promise<string> {
  const store = ledger()
  const all = await everything(store)
  const runs = await store.runs({ limit: 100 })
  const trees = await Promise.all(runs.map(({ id }) => store.tree(id)))
  const steps: unknown[] = []
  for (const { node } of trees.flat()) {
    for (const name of await store.steps(node.id)) steps.push(await store.step(node.id, name))
  }
  const log = await collect(exportLog(store))
  const sides = await collect(
    exportSides(
      store,
      runs.map(({ id }) => id),
    ),
  )
  return JSON.stringify([all, steps, log, sides])
}

export function eraseContract(bench: Bench): void {
  const erase = (run: Parameters<typeof eraseRun>[1]['run']) =>
    eraseRun(bench.ledger(), { run, by: 'operator:op' }, fixedClock)

  describe('erase', () => {
    it('leaves nothing of what was planted, and the log, its seal and a receipt as they were', async () => {
      const ledger = bench.ledger()
      const made = await aPersonalRun(ledger)
      const run = await endPersonalRun(ledger, made)
      const paid = await ledger.payment(made.payment.id)
      if (paid === undefined) throw new Error('expected a payment')
      expect(plantedIn(await readable(bench)).sort()).toEqual(Object.values(PLANTED).sort())
      const kept = {
        seals: [run.seal ?? ''],
        receipts: [receiptOf(run, paid, SIGNER) ?? ''],
        jwks: { keys: [...publicKeysOfSigner(SIGNER)] },
      }
      const before = await collect(exportLog(ledger, run.id))
      const { run: erased } = accepted(await erase(run.id))
      expect(erased.erasedAtSeconds).toBe(NOW)
      expect(plantedIn(await readable(bench))).toEqual([])

      const after = await collect(exportLog(ledger, run.id))
      expect(after).toEqual(expect.arrayContaining(before))
      expect(after).toHaveLength(before.length + 1)
      const verdict = verifyExport(after, { ...kept, run: run.id })
      expect(verdict.broken).toBeUndefined()
      // Three labels, an account, goods, the mandate, and two references to evidence.
      const personal = { values: 8, disclosed: 0, erased: 8, absent: 0, erasedRuns: 1 }
      expect(verdict.personal).toEqual(personal)
      const again = await ledger.payment(made.payment.id)
      expect(again && receiptOf(erased, again, SIGNER)).toBe(kept.receipts[0])
      expect(again).toMatchObject({ amount: 1_000, settledAmount: 900, payee: 'grocer' })
    })

    it('shows before it that each clear value is the one that the log commits to', async () => {
      const ledger = bench.ledger()
      const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
      const log = await collect(exportLog(ledger, run.id))
      const sides = await collect(exportSides(ledger, [run.id]))
      const lines = [...log, ...sides]
      const given = verifyExport(lines, { run: run.id })
      expect(given.broken).toBeUndefined()
      expect(given.personal).toMatchObject({ values: 8, disclosed: 8, erased: 0, absent: 0 })
      const bare = verifyExport(log, { run: run.id })
      expect(bare.personal).toMatchObject({ values: 8, disclosed: 0, erased: 0, absent: 8 })
      for (const word of [
        PLANTED.task,
        PLANTED.label,
        PLANTED.account,
        PLANTED.title,
        PLANTED.evidence,
      ]) {
        const forged = lines.map((line) =>
          line.startsWith('{"side"') ? line.replace(word, 'another') : line,
        )
        expect(verifyExport(forged, { run: run.id }).broken?.why).toMatch(/not the one/)
      }
    })

    it('is refused while money waits or the run lives, and then changes nothing', async () => {
      const ledger = bench.ledger()
      const made = await aPersonalRun(ledger)
      const { run, payment } = made
      const before = await readable(bench)
      expect(await erase(run.id)).toEqual({ ok: false, code: 'money_waiting' })
      const parts = { run: run.id, nodes: [made.leaf.id], holds: [], steps: [], now: NOW }
      const waits = { ...parts, payments: [payment.id] }
      await bench.refusedBy('eraseParts', waits, 'money_waiting')
      await bench.refusedBy('eraseParts', { ...parts, payments: [] }, 'run_live')
      const whole = { run: run.id, by: 'op', nodes: 3, payments: 1, holds: 1, now: NOW }
      await bench.refusedBy('erase', whole, 'run_live')
      expect(await readable(bench)).toBe(before)
      const { run: other } = await startChain(ledger, { jti: 'live' })
      expect(await erase(other.id)).toEqual({ ok: false, code: 'run_live' })
      expect(await erase('run_none')).toEqual({ ok: false, code: 'not_found' })
    })

    it('happens once: again, or by many at once, it is the same and one event', async () => {
      const ledger = bench.ledger()
      const run = await endPersonalRun(ledger, await aPersonalRun(ledger))
      const all = await Promise.all([1, 2, 3].map(() => erase(run.id)))
      expect(all.map(({ ok }) => ok)).toEqual([true, true, true])
      const before = await everything(ledger)
      accepted(await erase(run.id))
      expect(await everything(ledger)).toEqual(before)
      const types = await bench.types(run.root)
      expect(types.filter((type) => type === 'erased')).toHaveLength(1)
    })

    it('goes on where it was left, and says so only at its end', async () => {
      const ledger = bench.ledger()
      const made = await aPersonalRun(ledger)
      const run = await endPersonalRun(ledger, made)
      const nothing = { nodes: [], payments: [], holds: [], steps: [] }
      const part = { ...nothing, nodes: [made.leaf.id], payments: [made.payment.id] }
      accepted(await ledger.execute('eraseParts', { run: run.id, ...part, now: NOW }))
      expect(await bench.types(run.root)).not.toContain('erased')
      accepted(await erase(run.id))
      expect(plantedIn(await readable(bench))).toEqual([])
    })

    it('leaves nothing of what a walk that lagged behind writes while it goes on', async () => {
      const ledger = bench.ledger()
      const made = await aPersonalRun(ledger)
      const run = await endPersonalRun(ledger, made)
      const late = { node: made.root.id, value: { words: PLANTED.step }, now: NOW }
      let count = 0
      const lagging: typeof ledger.execute = async (name, input) => {
        if (name === 'eraseParts' || name === 'erase') {
          count += 1
          await ledger.execute('saveStep', { ...late, name: `late/${count}` })
        }
        return ledger.execute(name, input)
      }
      const slow = new Proxy(ledger, {
        get: (target, name) => (name === 'execute' ? lagging : Reflect.get(target, name)),
      })
      accepted(await eraseRun(slow, { run: run.id, by: 'op' }, fixedClock))
      expect(count).toBeGreaterThan(1)
      expect(plantedIn(await readable(bench))).toEqual([])
    })

    it('touches no other run, not even by its ids', async () => {
      const ledger = bench.ledger()
      const one = await aPersonalRun(ledger, 'one')
      const run = await endPersonalRun(ledger, one)
      const other = await aPersonalRun(ledger, 'other')
      await endPersonalRun(ledger, other)
      const parts = { run: run.id, nodes: [], payments: [], holds: [], steps: [], now: NOW }
      await bench.refusedBy('eraseParts', { ...parts, nodes: [other.leaf.id] }, 'conflict')
      await bench.refusedBy('eraseParts', { ...parts, payments: [other.payment.id] }, 'conflict')
      const step = { node: other.root.id, name: 'plan/1.words' }
      await bench.refusedBy('eraseParts', { ...parts, steps: [step] }, 'conflict')
      accepted(await erase(run.id))
      expect(plantedIn(await readable(bench)).sort()).toEqual(Object.values(PLANTED).sort())
      expect(await ledger.step(other.root.id, 'plan/1.words')).toEqual({ words: PLANTED.step })
    })

    it('lets nobody who lags behind write it down again', async () => {
      const ledger = bench.ledger()
      const made = await aPersonalRun(ledger)
      const run = await endPersonalRun(ledger, made)
      accepted(await erase(run.id))
      const step = { node: made.root.id, name: 'late', value: PLANTED.step, now: NOW }
      await bench.refusedBy('saveStep', step, 'run_closed')
      const held = {
        node: made.held.id,
        run: run.id,
        denial: deny('approval_required'),
        checks: allPassed,
        proof: aProof(made.held, 'late'),
        hold: { ...aHold(made.held), id: holdIdOf(made.payment.id, 'other') },
        now: NOW,
      }
      await bench.refusedBy('refuse', held, 'run_closed')
    })
  })
}
