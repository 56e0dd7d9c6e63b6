/** One round on a rail, over the stand-ins: it says what it did, and what it must not take for done. */
import { afterEach, describe, expect, it } from 'vitest'
import { smoke } from '../../eval/rails/smoke.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import type { Rail } from '../../runtime/core/rail.ts'
import { nowSeconds } from '../../runtime/core/time.ts'
import { openRail, type RailSettings } from '../../runtime/rails/open.ts'
import { startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

const clock = systemClock()
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const railOf = (settings: RailSettings, env: Readonly<Record<string, string>>): Rail =>
  openRail(settings, { clock, credential: (name) => env[name] })

async function paypal(options: Parameters<typeof startPaypalStandIn>[0] = {}) {
  const standIn = await startPaypalStandIn(options)
  closing.push(() => standIn.close())
  const env = { ...standIn.env, PAYPAL_INSTRUMENT: standIn.instrument }
  const rail = railOf({ name: 'paypal', mode: 'sandbox', url: standIn.url }, env)
  return {
    rail,
    accounts: { payout: standIn.accounts[0] ?? '', order: standIn.merchants[0] ?? '' },
  }
}

const round = async (
  rail: Rail,
  currency: 'INR' | 'USD',
  accounts: { payout?: string; order?: string },
) => {
  const steps = await smoke(rail, currency, accounts, () => nowSeconds(clock))
  return Object.fromEntries(steps.map(({ step, result, said }) => [step, `${result}: ${said}`]))
}

describe('a smoke round', () => {
  it('pays out, holds, takes a part, is refused the rest, and gives back, at PayPal', async () => {
    const { rail, accounts } = await paypal()
    expect(await round(rail, 'USD', accounts)).toMatchObject({
      payout: expect.stringMatching(/^done: (settled|pending)/),
      'the same payout again': expect.stringMatching(/^done/),
      'look-up': expect.stringMatching(/^done/),
      'part capture': 'done: settled, COMPLETED',
      'over-draw refused': 'done: notSent, authorisation_exceeded',
      void: 'done: voided',
      refund: 'done: refunded',
      'look-up of the refund': 'done: refunded',
    })
  })

  it('pays out, and calls off what waits for a payer, at Razorpay', async () => {
    const standIn = await startRazorpayStandIn()
    closing.push(() => standIn.close())
    const { url, env, accountNumber } = standIn
    const rail = railOf({ name: 'razorpay', mode: 'test', accountNumber, url }, env)
    const said = await round(rail, 'INR', { payout: standIn.accounts[0] ?? '', order: 'link' })
    expect(said).toMatchObject({
      payout: expect.stringMatching(/^done: (settled|pending)/),
      authorise: expect.stringMatching(/^left/),
      'an order waits for its payer': 'done: pending, CREATED',
      'and is called off': expect.stringMatching(/^done: declined/),
    })
  })

  it('says in a sentence what the account cannot do, and tries the rest', async () => {
    const { rail, accounts } = await paypal({ scopes: [] })
    const said = await round(rail, 'USD', accounts)
    expect(said.account).toMatch(/^left: .{20,}/)
    expect(said.authorise).toMatch(/^done/)
  })

  it('tries nothing with keys that are not accepted', async () => {
    const { rail } = await paypal()
    const shut = { ...rail, ready: () => Promise.reject(new Error('the keys are not accepted')) }
    expect(await round(shut, 'USD', { payout: 'a@example.com' })).toEqual({
      account: 'failed: the keys are not accepted',
    })
  })

  it('does not call it done where more than was held can be taken', async () => {
    const { rail, accounts } = await paypal()
    const { authorisations } = rail
    if (authorisations === undefined) throw new Error('expected authorisations')
    const lax: Rail = {
      ...rail,
      authorisations: {
        ...authorisations,
        draw: async ({ amount, currency }) => ({
          kind: 'settled',
          reference: 'x',
          amount,
          currency,
        }),
      },
    }
    expect((await round(lax, 'USD', accounts))['over-draw refused']).toMatch(/^failed: settled/)
  })
})
