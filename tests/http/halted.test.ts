/** An account edited behind a serving gateway’s back: its run stops, everybody is told, and other runs go on. */
import { afterEach, expect, it } from 'vitest'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { minor } from '../../runtime/core/money.ts'
import {
  clientOf,
  type Held,
  lasting,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

let gateway: TestGateway | undefined
afterEach(async () => gateway?.close())

/** The ledger in memory gives out its own records: changing one is editing the store. */
async function move(ledger: Ledger, { node }: Held, by: number): Promise<void> {
  const account = await ledger.account(node)
  if (account === undefined) throw new Error('expected an account')
  const { ceiling, available } = account
  Object.assign(account, { ceiling: minor(ceiling + by), available: minor(available + by) })
}

const bodyOf = async (answer: Response) => (await answer.json()) as Record<string, unknown>

async function tellsOf(of: TestGateway, held: Held) {
  await of.headgate.gateway.sweep()
  const alarms = await bodyOf(await of.asOperator('/alarms'))
  expect(alarms.halted).toMatchObject([{ run: held.run, stream: held.node }])
  expect(await (await of.asOperator('/metrics')).text()).toContain('headgate_runs_halted 1')
  const ready = await of.fetch('/health/ready')
  expect([ready.status, await bodyOf(ready)]).toEqual([
    200,
    { state: 'ready', warnings: ['halted_runs'] },
  ])
}

it.each([
  ['more than its token', 1, /ledger_corrupt: an account has more than its token/],
  ['other than its log', -1, /ledger_corrupt: the last event of nd_\S+ differs/],
])(
  'of %s: answers 503, lets no payment of the run through, and says so after a restart as well',
  async (_what, by, sentence) => {
    const ledger = lasting()
    gateway = await startGateway({ overrides: { ledger }, config: { policy: { rules: [] } } })
    const first = gateway
    expect(await bodyOf(await first.fetch('/health/ready'))).toEqual({ state: 'ready' })
    const root = await startOutsideRun(first)
    const [one, two, three] = [first.quote(), first.quote(), first.quote()]
    const edited = await splitLeaf(first, root, 0, one)
    const sibling = await splitLeaf(first, root, 1, two)
    await move(ledger, edited, by)
    const pay = (of: TestGateway, held: Held, quote: string) =>
      signed(of, held, 'POST', '/payments', { quote })
    expect((await pay(first, edited, one)).status).toBe(503)
    expect((await pay(first, sibling, two)).status).toBe(503)
    expect(first.logged.join('\n')).toMatch(sentence)
    await tellsOf(first, edited)
    const other = await startOutsideRun(first)
    const paid = await clientOf(first, await splitLeaf(first, other, 0, three)).pay(three)
    expect(paid.verdict).toBe('allow')
    expect(first.rail.paid).toBe(1)

    await first.close()
    const config = { policy: { rules: [] } }
    gateway = await startGateway({ overrides: { ledger }, config, again: first })
    expect((await pay(gateway, sibling, two)).status).toBe(503)
    expect(gateway.rail.paid).toBe(0)
    await tellsOf(gateway, edited)
  },
)
