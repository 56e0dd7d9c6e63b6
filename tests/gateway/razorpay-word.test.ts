/** Razorpay's own messages, as its stand-in signs them, through the inbox: late, twice, shuffled, and about strays. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RailMessage } from '../../runtime/core/rail.ts'
import { createReconciler } from '../../runtime/gateway/reconcile.ts'
import { railOf } from '../support/razorpay/rail.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'
import { World } from './world.ts'

let standIn: RazorpayStandIn
beforeEach(async () => {
  standIn = await startRazorpayStandIn({})
})
afterEach(() => standIn.close())

function connected() {
  const world = new World()
  const rail = railOf(standIn)
  const [account = ''] = standIn.accounts
  const payees = world.deps.facts.payees.map((payee) => {
    return { ...payee, accounts: { [rail.name]: account } }
  })
  world.rebuild({ rail, facts: { ...world.deps.facts, railName: rail.name, payees } })
  const { ledger, clock } = world
  const onAlarm = (alarm: unknown) => void world.alarms.push(alarm)
  const reconciler = createReconciler({ ledger, rail, clock, onAlarm })
  return { world, reconciler, ledger, clock }
}

const sent = (): RailMessage[] =>
  standIn
    .messages()
    .map(({ headers, body }) => ({ headers: lower(headers), body: Buffer.from(body) }))

const lower = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

describe('messages of Razorpay', () => {
  it('twice and in the wrong order, settle once, and note once what came back', async () => {
    const { world, reconciler, ledger, clock } = connected()
    const { root } = await world.run()
    await world.pay(await world.leaf(root))
    clock.advance(120)
    await reconciler.runOnce()
    const { railKey, id } = await world.onlyPayment()
    standIn.comeBack(railKey)
    const messages = sent()
    expect(messages.length).toBeGreaterThan(1)
    for (const message of [...messages, ...messages].reverse()) {
      expect(['heard', 'repeated']).toContain(await reconciler.hear(message))
    }
    for (let i = 0; i < 3; i += 1) {
      clock.advance(700)
      await reconciler.runOnce()
    }
    const payment = await ledger.payment(id)
    expect(payment).toMatchObject({ state: 'settled', reversals: [{ amount: 1_000 }] })
    expect(await ledger.parked(9)).toEqual([])
    expect(await ledger.unacknowledged(9)).toEqual([])
    await reconciler.close()
  })

  it('about what nobody here paid are one record for each thing that moved', async () => {
    const { reconciler, ledger, clock } = connected()
    const stray = standIn.stray({ direction: 'out', amount: 55_500, currency: 'INR' })
    for (const message of sent()) await reconciler.hear(message)
    clock.advance(10)
    await reconciler.runOnce()
    const outside = await ledger.unacknowledged(9)
    expect(outside).toMatchObject([{ object: stray, amount: 55_500, direction: 'out' }])
    await reconciler.close()
  })

  it('under another body are refused', async () => {
    const { reconciler } = connected()
    standIn.stray({ direction: 'out', amount: 55_500, currency: 'INR' })
    for (const { headers, body } of sent()) {
      const changed = Buffer.from(Buffer.from(body).toString().replace('55500', '55501'))
      expect(await reconciler.hear({ headers, body: changed })).toBe('refused')
    }
    await reconciler.close()
  })
})
