import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import { createLanes } from '../../runtime/mcp/lanes.ts'

describe('lanes', () => {
  it('take an id once until it is left, each caller for itself, 1 and "1" apart', () => {
    const lanes = createLanes()
    const first = lanes.enter('a', 1)
    expect(lanes.enter('a', 1)).toEqual({ ok: false, why: 'in_flight' })
    expect(lanes.enter('a', '1').ok).toBe(true)
    expect(lanes.enter('b', 1).ok).toBe(true)
    if (first.ok) first.leave()
    expect(lanes.enter('a', 1).ok).toBe(true)
  })

  it('hold as many of one caller as the limit says, and no more', () => {
    const lanes = createLanes()
    for (let id = 0; id < LIMITS.mcpInFlight; id += 1) expect(lanes.enter('a', id).ok).toBe(true)
    expect(lanes.enter('a', 'more')).toEqual({ ok: false, why: 'too_many' })
    expect(lanes.enter('b', 'more').ok).toBe(true)
  })

  it('act in the order of asking, also after one that failed', async () => {
    const entered = createLanes().enter('a', 1)
    if (!entered.ok) throw new Error('not entered')
    const { inOrder } = entered
    const told: string[] = []
    const slow = inOrder(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      told.push('slow')
      throw new Error('failed')
    })
    const quick = inOrder(async () => told.push('quick'))
    await expect(slow).rejects.toThrow('failed')
    await quick
    expect(told).toEqual(['slow', 'quick'])
  })
})
