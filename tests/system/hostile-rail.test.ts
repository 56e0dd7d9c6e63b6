import { describe, expect, it } from 'vitest'
import { runHostile } from '../../eval/attacks/hostile/hostile.ts'
import { planOf } from '../../eval/attacks/hostile/plan.ts'

// Two hundred are `npm run attack`; CI runs it beside this one.
describe('payments over a rail that misbehaves', () => {
  it('leave both books equal, each payment made once and none in doubt', async () => {
    const { wrong, ...met } = await runHostile({ seeds: 12 })
    expect(wrong).toEqual([])
    expect(met.byRail).toEqual({ razorpay: 6, paypal: 6 })
    expect(met.payments).toBeGreaterThanOrEqual(3 * 12)
    expect(met.settled).toBeGreaterThan(10)
    expect(met.cameBack).toBeGreaterThan(0)
    expect(met.restarts).toBeGreaterThan(0)
    expect(Object.keys(met.faults).length).toBeGreaterThan(8)
  })

  it('meet the same troubles for the same seed', () => {
    expect(planOf(7)).toEqual(planOf(7))
    expect(planOf(7)).not.toEqual({ ...planOf(9), seed: 7 })
  })
})
