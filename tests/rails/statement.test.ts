/** The simulated rail's own list: over HTTP, dated by its book, in pages, and never of anybody else's. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailObject, RailOrder, RailPage } from '../../runtime/core/rail.ts'
import {
  type SimulatedRailServer,
  startSimulatedRail,
} from '../../runtime/rails/simulated/server.ts'
import { createSimulatedRail } from '../../runtime/rails/simulated.ts'

const directory = mkdtempSync(join(tmpdir(), 'statement-'))
let server: SimulatedRailServer
let rail: Rail

beforeAll(async () => {
  server = await startSimulatedRail({ port: 0, directory })
  rail = createSimulatedRail({ url: server.url, apiKey: server.apiKey })
}, 60_000)
afterAll(async () => {
  await server.close()
  rmSync(directory, { recursive: true })
})

const order = (nth: number): RailOrder => ({
  payment: 'pay_x',
  key: `hg-${nth}`,
  account: 'somebody',
  amount: minor(1_000),
  currency: 'INR',
  note: 'n',
})

const send = (path: string, body: object = {}) =>
  fetch(new URL(path, server.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

/** Far enough in the future that the second in which the test acts is over for it. */
const LATER = 10_000_000_000

async function everything(): Promise<{ objects: RailObject[]; pages: number; until: number }> {
  const objects: RailObject[] = []
  let [after, pages, until]: [string | undefined, number, number] = [undefined, 0, 0]
  do {
    const of: Parameters<NonNullable<Rail['statement']>>[0] = {
      fromSeconds: 0,
      toSeconds: LATER,
      ...(after === undefined ? {} : { after }),
    }
    const page: RailPage | undefined = await rail.statement?.(of)
    if (page === undefined) throw new Error('expected a page')
    objects.push(...page.objects)
    after = page.next
    until = page.completeUntilSeconds
    pages += 1
  } while (after !== undefined)
  return { objects, pages, until }
}

describe('the simulated rail’s list', () => {
  it('has each thing that moved once, over all pages, and nothing of the second that goes on', async () => {
    for (let i = 0; i < 105; i += 1) await rail.pay(order(i))
    await send('script', { outcome: 'decline' })
    await rail.pay(order(105))
    const refund = { key: 'hg-r1', amount: minor(300), currency: 'INR' } as const
    await send('payouts/hg-1/refunds', refund)
    await send('payouts/hg-1/return')
    const { id } = (await (
      await send('strays', { direction: 'in', amount: 55, currency: 'EUR' })
    ).json()) as { id: string }
    await expect.poll(async () => (await everything()).objects.length, { timeout: 5_000 }).toBe(108)
    const { objects, pages, until } = await everything()
    expect(pages).toBe(2)
    expect(new Set(objects.map((each) => each.id)).size).toBe(108)
    expect(objects.every(({ atSeconds, moved }) => moved && atSeconds < until)).toBe(true)
    const back = objects.filter(({ direction }) => direction === 'in')
    expect(back.map(({ type, amount, key }) => [type, amount, key])).toEqual(
      expect.arrayContaining([
        ['refund', 300, 'hg-r1'],
        ['reversal', 700, 'hg-1'],
        ['other', 55, undefined],
      ]),
    )
    expect(back.find(({ type }) => type === 'other')?.id).toBe(id)
  })

  it('is a fault where it cannot be read', async () => {
    const stranger = createSimulatedRail({ url: server.url, apiKey: 'x'.repeat(20) })
    const page = stranger.statement?.({ fromSeconds: 0, toSeconds: LATER })
    await expect(page).rejects.toMatchObject({ code: 'rail_unconfigured' })
  })
})
