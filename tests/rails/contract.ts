/** What every rail's adapter must do, whatever moves the money behind it: one suite, run on each. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PaymentId } from '../../runtime/core/ids.ts'
import { freshId, railKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailLookup, RailOrder } from '../../runtime/core/rail.ts'

export type ScriptedFault =
  | 'decline'
  | 'lostReply'
  | 'lostRequest'
  /** Far longer than the adapter waits. */
  | 'slow'
  | 'garbage'
  | 'error500AfterSettle'
  | 'wrongAmount'

interface RailHarness {
  readonly rail: Rail
  /** An account that this rail can pay, and a currency that it carries. */
  readonly account: string
  readonly currency: RailOrder['currency']
  /** What the next payout meets. */
  script(fault: ScriptedFault): Promise<void>
  /** What the rail's own book says has moved in all, in minor units of `currency`. */
  moved(): Promise<number>
  /** Payouts that the rail's own book holds, declined ones excluded. */
  payouts(): Promise<number>
  /** The time by the rail's clock; absent at a rail that does not look things up by it. */
  nowSeconds?(): number
  /** Lets the rail's visibility delay pass; absent at a rail that shows everything at once. */
  becomeVisible?(): Promise<void>
  /** True at a rail that keeps no trace of what it declined, by which a look-up could find it. */
  readonly forgetsDeclined?: boolean
  /** Makes the rail unreachable: nothing listens any more. */
  disconnect(): Promise<void>
  close(): Promise<void>
}

/** `timeoutMs` is what the adapter waits for one call; absent: long enough for any machine. */
export type OpenRail = (options?: { timeoutMs: number }) => Promise<RailHarness>

export function railContract(name: string, open: OpenRail): void {
  describe(`rail contract: ${name}`, () => {
    let harness: RailHarness
    beforeEach(async () => {
      harness = await open()
    })
    afterEach(() => harness.close())

    const order = (change: Partial<RailOrder> = {}): RailOrder => {
      const payment: PaymentId = `pay_${freshId()}`
      const { account, currency } = harness
      return {
        payment,
        key: railKeyOf(payment),
        account,
        amount: minor(125_000),
        currency,
        note: 'two chairs',
        ...change,
      }
    }
    const settled = ({ amount, currency }: RailOrder) =>
      expect.objectContaining({
        kind: 'settled',
        reference: expect.any(String),
        amount,
        currency,
      })
    /** As the ledger asks: with the order, when it was submitted and what was said of it last. */
    const lookUp = async (asked: RailOrder, outcome?: RailLookup): Promise<RailLookup> => {
      const reference =
        outcome !== undefined && 'reference' in outcome ? outcome.reference : undefined
      const submittedAtSeconds = harness.nowSeconds?.() ?? 0
      await harness.becomeVisible?.()
      return harness.rail.lookup(asked.key, {
        order: asked,
        submittedAtSeconds,
        ...(reference === undefined ? {} : { reference }),
      })
    }
    /** As the ledger waits: a rail may first say that it has the payment, and settle it later. */
    const pay = async (asked: RailOrder): Promise<RailLookup> => {
      let outcome: RailLookup = await harness.rail.pay(asked)
      for (let looks = 0; outcome.kind === 'pending' && looks < 50; looks += 1) {
        outcome = await lookUp(asked, outcome)
      }
      return outcome
    }

    it('is ready', async () => {
      await expect(harness.rail.ready()).resolves.toBeUndefined()
    })

    it('settles exactly what was asked and finds it again by its key', async () => {
      const asked = order()
      const outcome = await pay(asked)
      expect(outcome).toEqual(settled(asked))
      expect(await lookUp(asked, outcome)).toEqual(outcome)
      expect(await harness.moved()).toBe(125_000)
    })

    it('moves money once for one key, and answers the same again', async () => {
      const asked = order()
      const first = await pay(asked)
      expect(await pay(asked)).toEqual(first)
      expect(await harness.payouts()).toBe(1)
    })

    it('moves money once for one key when both requests are under way', async () => {
      const asked = order()
      const [a, b] = await Promise.all([pay(asked), pay(asked)])
      expect([a.kind, b.kind]).toContain('settled')
      expect(await harness.payouts()).toBe(1)
      expect(await harness.moved()).toBe(125_000)
    })

    it('does not take a key that belongs to another order for this one’s success', async () => {
      const first = order()
      await pay(first)
      const outcome = await pay({ ...first, amount: minor(1_000_000) })
      expect(['unknown', 'declined']).toContain(outcome.kind)
      expect(await harness.moved()).toBe(125_000)
    })

    it('reports a decline only on the rail’s own word, and nothing moved', async () => {
      await harness.script('decline')
      const asked = order()
      const outcome = await pay(asked)
      expect(outcome).toMatchObject({ kind: 'declined' })
      const found = harness.forgetsDeclined ? 'absent' : 'declined'
      expect(await lookUp(asked, outcome)).toMatchObject({ kind: found })
      expect(await harness.moved()).toBe(0)
    })

    it('calls a lost reply unknown, and the lookup then finds the money', async () => {
      await harness.script('lostReply')
      const asked = order()
      expect(await harness.rail.pay(asked)).toMatchObject({ kind: 'unknown' })
      expect(await lookUp(asked)).toEqual(settled(asked))
      expect(await harness.moved()).toBe(125_000)
    })

    it('calls a lost request unknown too, and the lookup then proves absence', async () => {
      await harness.script('lostRequest')
      const asked = order()
      expect(await harness.rail.pay(asked)).toMatchObject({ kind: 'unknown' })
      expect(await lookUp(asked)).toEqual({ kind: 'absent' })
      expect(await harness.moved()).toBe(0)
    })

    it.each(['garbage', 'error500AfterSettle'] as const)(
      'calls %s unknown, though the money moved',
      async (fault) => {
        await harness.script(fault)
        const asked = order()
        expect(await harness.rail.pay(asked)).toMatchObject({ kind: 'unknown' })
        expect(await harness.moved()).toBe(125_000)
        expect(await lookUp(asked)).toEqual(settled(asked))
      },
    )

    it('calls an answer past its deadline unknown, though the money moved', async () => {
      await harness.close()
      harness = await open({ timeoutMs: 250 })
      await harness.script('slow')
      const asked = order()
      expect(await harness.rail.pay(asked)).toMatchObject({ kind: 'unknown' })
      await expect.poll(() => harness.moved()).toBe(125_000)
      await expect.poll(() => lookUp(asked)).toEqual(settled(asked))
    })

    it('never reports a success of another amount than was asked', async () => {
      await harness.script('wrongAmount')
      const asked = order()
      const outcome = await harness.rail.pay(asked)
      expect(outcome).toMatchObject({ kind: 'unknown' })
      const found = await lookUp(asked, outcome)
      expect(found).toMatchObject({ kind: 'settled', amount: await harness.moved() })
      expect(found).not.toMatchObject({ amount: asked.amount })
    })

    it('says notSent when nothing listens, and cannot look anything up', async () => {
      const asked = order()
      await harness.disconnect()
      expect(await harness.rail.pay(asked)).toMatchObject({ kind: 'notSent' })
      expect(await lookUp(asked)).toMatchObject({
        kind: expect.stringMatching(/^(unknown|notSent)$/),
      })
      await expect(harness.rail.ready()).rejects.toMatchObject({ code: 'rail_unconfigured' })
    })

    it('finds nothing under a key that was never used', async () => {
      expect(await lookUp(order())).toEqual({ kind: 'absent' })
    })

    it.each([
      ['a lone surrogate in the note', { note: 'two \ud800 chairs' }],
      ['a note longer than any rail takes', { note: 'chairs '.repeat(1_000) }],
      ['line breaks and quotes in the note', { note: '"}\r\nHost: elsewhere\r\n\r\n\u0000' }],
    ])('does not throw for %s', async (_what, change) => {
      const asked = order(change)
      const outcome = await pay(asked)
      expect(['settled', 'notSent', 'declined']).toContain(outcome.kind)
      expect(await harness.moved()).toBe(outcome.kind === 'settled' ? 125_000 : 0)
    })

    it.each(['../book', 'a/b', 'x?y=1', '..', ''])(
      'asks nobody about the key %j, which could be another address',
      async (key) => {
        expect(await harness.rail.lookup(key)).toMatchObject({ kind: 'unknown' })
        expect(await harness.rail.pay(order({ key }))).toMatchObject({ kind: 'notSent' })
        expect(await harness.payouts()).toBe(0)
      },
    )
  })
}
