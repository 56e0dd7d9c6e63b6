import { describe, expect, it } from 'vitest'
import { runHostile } from '../../eval/attacks/hostile/hostile.ts'
import { PLANTED } from '../../eval/attacks/hostile/planted.ts'

describe('payments over a rail that misbehaves', () => {
  it.each(Object.entries(PLANTED))(
    'show it when an adapter believes %s',
    async (_name, planted) => {
      const { wrong } = await runHostile({ seeds: 80, planted, untilWrong: true })
      expect(wrong.length).toBeGreaterThan(0)
      expect(wrong.map(({ why }) => why).join()).toMatch(
        /the ledger says|of no payment|has settled/,
      )
    },
  )
})
