/**
 * Two organisations in one place. What one of them does is not there for the other: nothing of it is read, and all that
 * the other does comes out as it would if nobody else were there, numbers, limits and refusals included.
 */
import { describe, expect, it } from 'vitest'
import type { HoldId, NodeId, PaymentId, RunId } from '../../../runtime/core/ids.ts'
import type { CommandName, Ledger } from '../../../runtime/core/ledger.ts'
import { ZERO } from '../../../runtime/core/money.ts'
import { createMemoryLedger } from '../../../runtime/ledger/memory.ts'
import {
  accepted,
  aPayment,
  aProof,
  aReserve,
  NOW,
  paySubmitted,
  startChain,
} from '../../support/ledger.ts'
import { aHold, SCENES } from '../scenes.ts'
import { type Bench, everything } from './bench.ts'

const alone = (): Ledger => createMemoryLedger({ organisation: 'rival' })

/** Every answer that names something by its id, for things of one run. */
async function readsOf(ledger: Ledger, of: Named): Promise<unknown> {
  const { run, node, payment, hold, counter, jti } = of
  const limit = 10
  return Promise.all([
    ledger.run(run),
    ledger.runByMandate('asha', jti),
    ledger.runs({ after: run, limit }),
    ledger.node(node),
    ledger.account(node),
    ledger.standing(node).then(({ state, version }) => ({ state, version })),
    ledger.token(node),
    ledger.tree(run),
    ledger.children(node),
    ledger.payment(payment),
    ledger.payments({ run, limit }),
    ledger.hold(hold),
    ledger.holds({ run, limit }),
    ledger.step(node, 'plan'),
    ledger.events(node, 0, limit),
    ledger.feed(run, 0, limit),
    ledger.heads(run),
    ledger.snapshot({ node, payment, counters: [counter] }),
  ])
}

interface Named {
  readonly run: RunId
  readonly node: NodeId
  readonly payment: PaymentId
  readonly hold: HoldId
  readonly counter: string
  readonly jti: string
}

/** Something of every kind in one organisation. */
async function full(ledger: Ledger): Promise<Named & { leaf: string }> {
  const { run, root, leaf } = await startChain(ledger)
  const uses = [{ key: 'day', maxCount: 1 }]
  const { id } = await paySubmitted(ledger, leaf, { uses, proof: aProof(leaf, 'shared') })
  const save = { node: root.id, name: 'plan', value: { parts: 3 }, now: NOW }
  accepted(await ledger.execute('saveStep', save))
  const names = { payment: id, hold: aHold(leaf).id, counter: 'day', jti: run.jti }
  return { run: run.id, node: root.id, leaf: leaf.id, ...names }
}

const UNKNOWN: Named = {
  run: 'run_none',
  node: 'nd_none',
  payment: 'pay_none',
  hold: 'hold_none',
  counter: 'none',
  jti: 'none',
}

export function organisationsContract(bench: Bench): void {
  describe('another organisation in the same place', () => {
    it('reads by the first one’s ids what it reads by ids that nobody has', async () => {
      const named = await full(bench.ledger())
      const rival = await bench.other()
      const [found, unknown] = await Promise.all([
        readsOf(rival, named),
        readsOf(rival, { ...UNKNOWN, counter: named.counter }),
      ])
      expect(found).toEqual(unknown)
      expect(await everything(rival)).toEqual(await everything(alone()))
    })

    it.each(Object.keys(SCENES) as CommandName[])(
      'is refused or obeyed by %s as if it were alone',
      async (name) => {
        const first = bench.ledger()
        const input = await SCENES[name](first)
        const before = await everything(first)
        const rival = await bench.other()
        const solo = alone()
        // First with ids that only the first one has, then with its own, which are the same.
        const foreign = await rival.execute(name, input)
        expect(foreign).toEqual(await solo.execute(name, input))
        if (foreign.ok) return
        const [own, ofSolo] = [await SCENES[name](rival), await SCENES[name](solo)]
        expect(await rival.execute(name, own)).toEqual(await solo.execute(name, ofSolo))
        await bench.toldOf(rival)
        expect(await everything(rival)).toEqual(await everything(solo))
        expect(await everything(await bench.again())).toEqual(before)
      },
    )

    it('uses the same proof, quote, mandate and counter as if nobody had', async () => {
      await full(bench.ledger())
      const rival = await bench.other()
      const { leaf } = await startChain(rival)
      const uses = [{ key: 'day', maxCount: 1 }]
      const reserve = aReserve(leaf, { uses, proof: aProof(leaf, 'shared'), nonce: 'own' })
      expect(accepted(await rival.execute('reserve', reserve)).payment.nonce).toBe('own')
      const counters = (await rival.snapshot({ node: leaf.id, counters: ['day', 'none'] }))
        ?.counters
      expect(counters?.map(({ count }) => count)).toEqual([1, 0])
      expect(counters?.[1]?.amount).toBe(ZERO)
    })

    it('freezes and counts what is its own, and no checkpoint of it lists more', async () => {
      const first = bench.ledger()
      await full(first)
      const freeze = { node: 'gateway', state: 'frozen', by: 'op', now: NOW } as const
      accepted(await first.execute('setStanding', freeze))
      const rival = await bench.other()
      expect((await rival.standing('gateway')).state).toBe('live')
      expect(await rival.heads('unsealed')).toEqual([])
      const { leaf } = await startChain(rival, { jti: 'own' })
      const { id } = await paySubmitted(rival, leaf)
      expect(accepted(await rival.execute('setStanding', freeze)).onTheirWay).toEqual([id])
      expect(id).not.toBe(aPayment({ ...leaf, id: 'nd_none' }).id)
      const streams = (await rival.heads('unsealed')).map(({ head }) => head.seq)
      expect(Math.max(...streams)).toBeLessThan(4)
      const [run] = await rival.runs({ limit: 9 })
      await bench.toldOf(rival)
      const feed = await rival.feed(run?.id ?? 'run_none', 0, 100)
      expect(feed.map(({ position }) => position)).toEqual(feed.map((_, i) => i + 1))
    })
  })
}
