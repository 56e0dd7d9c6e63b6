/** A wall clock that is stepped back while the gateway serves. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { steadyClock } from '../../runtime/core/clock.ts'
import { signed, splitLeaf, startGateway, startOutsideRun, type TestGateway } from './gateway.ts'

let gateway: TestGateway
let aheadMs = 0
beforeAll(async () => {
  const clock = steadyClock(
    () => Date.now() + aheadMs,
    () => performance.now(),
  )
  gateway = await startGateway({ overrides: { clock }, config: { policy: { rules: [] } } })
}, 60_000)
afterAll(() => gateway.close())

it('an hour back: nothing is paid and readiness says why, until the clock is right again; then all goes on', async () => {
  const root = await startOutsideRun(gateway)
  const [one, two] = [gateway.quote(), gateway.quote()]
  const [first, second] = [
    await splitLeaf(gateway, root, 0, one),
    await splitLeaf(gateway, root, 1, two),
  ]
  const pay = (leaf: typeof first, quote: string) =>
    signed(gateway, leaf, 'POST', '/payments', { quote })
  expect((await pay(first, one)).status).toBe(200)

  aheadMs = -3_600_000
  const refused = await pay(second, two)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60'])
  expect(gateway.logged.at(-1)).toMatch(/^clock_untrusted: the wall clock was stepped/)
  await expect
    .poll(async () => (await (await gateway.fetch('/health/ready')).json()) as object, {
      timeout: 10_000,
    })
    .toEqual({ state: 'not_ready', failing: ['clock', 'engine'] })
  expect(gateway.rail.paid).toBe(1)

  aheadMs = 0
  expect((await pay(second, two)).status).toBe(200)
  expect(gateway.rail.paid).toBe(2)
  const told = (await (await gateway.asOperator(`/runs/${root.run}`)).json()) as {
    run: { totals: object }
  }
  expect(told.run.totals).toMatchObject({ spent: 5_000, reserved: 0 })
})
