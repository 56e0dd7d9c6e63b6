/** What the simulation is worth: it finds everything that is planted. */
import { describe, expect, it } from 'vitest'
import { PLANTED } from '../../eval/simulate/planted.ts'
import { runSeed } from '../../eval/simulate/seed.ts'

describe('a planted fault is found', () => {
  it.each(Object.entries(PLANTED))('%s', async (_name, planted) => {
    const found: string[] = []
    for (let seed = 1; seed <= 60; seed += 1) {
      const { violation } = await runSeed(seed, planted)
      if (violation !== undefined) found.push(violation)
      if (found.length > 0) break
    }
    expect(found).toHaveLength(1)
  })
})
