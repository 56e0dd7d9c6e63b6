/** A root key is replaced under a gateway with runs under way: they go on until the grace ends, and no longer. */

import { createPublicKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/core/clock.ts'
import { rootKeysSchema } from '../../runtime/core/keys.ts'
import { later, nowSeconds } from '../../runtime/core/time.ts'
import {
  lasting,
  newKey,
  signed,
  split,
  splitLeaf,
  startGateway,
  startOutsideRun,
} from './gateway.ts'

describe('a rotated root key', () => {
  it('lets runs of the old key end within the grace, signs new ones, and refuses the old afterwards', async () => {
    const ledger = lasting()
    const old = { id: 1, key: newKey() }
    const fresh = { id: 2, key: newKey() }
    const retiring = (retiresAtSeconds: ReturnType<typeof later>) => [
      { id: 1, publicKey: createPublicKey(old.key), retiresAtSeconds },
    ]
    const now = nowSeconds(systemClock())
    const start = { overrides: { ledger }, roots: { root: old } }

    const first = await startGateway(start)
    const a = await startOutsideRun(first)
    await first.close()

    const roots = { root: fresh, retiring: retiring(later(now, 3_600)) }
    const second = await startGateway({ ...start, again: first, roots })
    try {
      const published = await (await second.fetch('/.well-known/root-keys.json')).json()
      expect(rootKeysSchema.parse(published)).toMatchObject({
        current: 2,
        keys: [{ id: 2 }, { id: 1, retiresAt: now + 3_600 }],
      })
      const quote = second.quote()
      const leaf = await splitLeaf(second, a, 0, quote)
      expect((await signed(second, leaf, 'POST', '/payments', { quote })).status).toBe(200)
    } finally {
      await second.close()
    }
    const events = await ledger.events('gateway', 0, 1_000)
    const changed = events.filter(({ body }) => body.includes('root_keys'))
    expect(changed).toHaveLength(2)
    expect(changed[0]?.body).toContain('"current":1')
    expect(changed[1]?.body).toContain(`.${now + 3_600}"`)

    const over = { root: fresh, retiring: retiring(later(now, -1)) }
    const third = await startGateway({ ...start, again: first, roots: over })
    try {
      const b = await startOutsideRun(third)
      await split(third, b, 0, {})
      const quote = third.quote()
      await expect(splitLeaf(third, a, 1, quote)).rejects.toThrow('unauthenticated')
      const leaf = await splitLeaf(third, b, 1, quote)
      const answer = await signed(third, leaf, 'POST', '/payments', { quote })
      // The same goods twice ask for a person; whose token it is was settled before.
      expect(answer.status).toBe(202)
      expect(await answer.json()).toMatchObject({ reason: { check: 7 }, verdict: 'hold' })
    } finally {
      await third.close()
    }
  })
})
