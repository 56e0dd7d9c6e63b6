import { describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import type { Rail } from '../../runtime/core/rail.ts'
import { assertPayable } from '../../runtime/gateway/bindings.ts'
import { askAtStart, askReady } from '../../runtime/gateway/ready.ts'
import { World } from './world.ts'

const railThat = (own: Partial<Rail>): Rail => Object.assign(new World().rail, own)

const saying = (error?: Error): Rail =>
  railThat({
    ready: async () => {
      if (error !== undefined) throw error
    },
  })

async function start(rail: Rail): Promise<unknown[]> {
  const logged: unknown[] = []
  await askAtStart(rail, (entry) => logged.push(entry))
  return logged
}

describe('a rail that is asked at the start', () => {
  it('is no word in the log where it can be used', async () => {
    expect(await start(saying())).toEqual([])
  })

  it('is a warning with its code where it is down, and where its account may not do everything', async () => {
    const down = new Fault('rail_unconfigured', 'the rail does not answer')
    expect(await start(saying(down))).toEqual([
      { level: 'warn', code: 'rail_unconfigured', message: 'the rail does not answer' },
    ])
    const limited = new Fault('rail_limited', 'no payouts', { retryable: false })
    expect(await start(saying(limited))).toEqual([
      { level: 'warn', code: 'rail_limited', message: 'no payouts' },
    ])
    expect(await askReady(saying(limited))).toBe('no payouts')
  })

  it('lets nothing start with credentials that it does not accept', async () => {
    const refused = new Fault('rail_unconfigured', 'not accepted', { retryable: false })
    await expect(start(saying(refused))).rejects.toBe(refused)
    await expect(askReady(saying(refused))).rejects.toBe(refused)
  })
})

describe('the payees of a configuration', () => {
  const payees = ['good', 'bad', 'worse'].map((id) => ({
    id,
    name: id,
    accounts: { simulated: id, other: 'x' },
  }))

  it('are refused where the rail could never pay them, all of them at once and by name', () => {
    const expressible: Rail['expressible'] = ({ account }) =>
      account === 'good' ? 'currency' : 'account'
    const rail = railThat({ expressible })
    expect(() => assertPayable(payees, rail)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        retryable: false,
        message:
          'expected an account that simulated can pay for the payee bad; ' +
          'expected an account that simulated can pay for the payee worse',
      }),
    )
    expect(() => assertPayable(payees.slice(0, 1), rail)).not.toThrow()
    expect(() => assertPayable(payees, new World().rail)).not.toThrow()
  })
})
