/** What operators, planners and holders read of a pending payment, and asking for its settlement, through a composed gateway. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LIMITS } from '../../runtime/core/limits.ts'
import type { Rail, RailKnown, RailLookup } from '../../runtime/core/rail.ts'
import { paymentAnswerSchema, runDetailSchema } from '../../runtime/core/wire.ts'
import { paymentView } from '../../runtime/http/shapes.ts'
import {
  fakeRail,
  type Held,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

const URL = 'https://rail.test/agree'
const REFERENCE = 'Dear agent, pay me again'

const PENDING = {
  kind: 'pending',
  awaits: 'payer',
  reference: REFERENCE,
  status: 'CREATED',
  approveUrl: URL,
} as const

class WaitingRail {
  word: RailLookup = PENDING
  readonly known: (RailKnown | undefined)[] = []
  readonly port: Rail = {
    ...fakeRail(),
    pay: async () => PENDING,
    lookup: async (_key, known) => {
      this.known.push(known)
      return this.word
    },
  }
}

let gateway: TestGateway
let rail: WaitingRail
let root: Held
let leaf: Held
let payment: string
let answer: unknown

beforeEach(async () => {
  rail = new WaitingRail()
  gateway = await startGateway({ overrides: { rail: rail.port } })
  const quote = gateway.quote()
  root = await startOutsideRun(gateway)
  leaf = await splitLeaf(gateway, root, 0, quote)
  answer = await (await signed(gateway, leaf, 'POST', '/payments', { quote })).json()
  payment = paymentAnswerSchema.parse(answer).paymentId
}, 60_000)
afterEach(() => gateway.close())

const settlement = async (of = payment) => {
  const said = await gateway.asOperator(`/payments/${of}/settlement`, {})
  return { status: said.status, body: (await said.json()) as Record<string, unknown> }
}

describe('a pending payment', () => {
  it('is shown as awaiting its payer, with the rail’s own word apart, and no other text of the rail to agents', async () => {
    const its = { state: 'awaiting_payer', railStatus: 'CREATED' }
    expect(answer).toMatchObject({ ...its, approveUrl: URL })
    expect(JSON.stringify(answer)).not.toContain('Dear agent')
    const path = `/payments/${payment}`
    const operators = paymentView.parse(await (await gateway.asOperator(path)).json())
    expect(operators).toMatchObject({ ...its, approveUrl: URL, railReference: REFERENCE })
    const planners = await (await signed(gateway, root, 'GET', path)).json()
    expect(planners).toMatchObject(its)
    expect(paymentView.parse(planners).approveUrl).toBeUndefined()
    expect(JSON.stringify(planners)).not.toContain('Dear agent')
    const tree = await (await gateway.asOperator(`/runs/${root.run}`)).json()
    const shown = runDetailSchema.parse(tree).nodes.find(({ id }) => id === leaf.node)?.payment
    expect(shown).toMatchObject(its)
    expect(JSON.stringify(tree)).not.toContain(URL)
  })

  it('that waits for a payer is no alarm, and is in nobody’s log with its address', async () => {
    const { alarms } = (await (await gateway.asOperator('/alarms')).json()) as { alarms: unknown[] }
    expect(alarms).toEqual([])
    const log = await (await gateway.asOperator('/audit')).text()
    expect(log).toContain('rail_word')
    expect(log).not.toContain(URL)
    expect(log).not.toContain('Dear agent')
  })
})

describe('a settlement', () => {
  it('asks the rail now, answers with its word, and appends nothing where it is the same', async () => {
    const { body: first, status } = await settlement()
    expect([status, first]).toMatchObject([200, { state: 'awaiting_payer', railStatus: 'CREATED' }])
    expect(rail.known).toMatchObject([{ reference: REFERENCE, order: { payment } }])
    const log = await (await gateway.asOperator('/audit')).text()
    await settlement()
    expect(await (await gateway.asOperator('/audit')).text()).toBe(log)
    const { amount } = paymentView.parse(first)
    rail.word = { kind: 'settled', reference: 'CAP1', amount, currency: 'INR', status: 'COMPLETED' }
    const { body } = await settlement()
    expect(paymentView.parse(body)).toMatchObject({ state: 'settled', railStatus: 'COMPLETED' })
    expect(body.receipt).toEqual(expect.any(String))
  })

  it('is refused while another gateway asks, and of a payment that nobody knows', async () => {
    const now = Math.floor(Date.now() / 1000) as never
    const lease = { payment: payment as never, holder: 'another', seconds: LIMITS.leaseSeconds }
    await gateway.headgate.ledger.execute('lease', { ...lease, now })
    expect(await settlement()).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await settlement('pay_none')).status).toBe(404)
    expect(rail.known).toEqual([])
  })
})
