import { expect, it } from 'vitest'
import { fuzz, isWell } from '../../eval/attacks/fuzz.ts'

// Counts only: how long anything took is for `npm run attack -- --fuzz 100000` on a quiet machine.
it('2,000 changed tokens and proofs: none gets through, none breaks the gateway, every honest payment goes', async () => {
  const result = await fuzz({ requests: 2_000, seed: 7 })
  expect(result).toMatchObject({ widened: 0, serverErrors: 0, movedMoney: [], failures: [] })
  expect(isWell(result, { timed: false })).toBe(true)
  expect(result.accepted).toBe(10)
})
