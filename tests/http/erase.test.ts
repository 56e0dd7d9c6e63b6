/** Erasing a run through a composed gateway: what every route says before and after, and what a guess can find. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import type { RunView } from '../../runtime/core/wire.ts'
import type { ReceiptView } from '../../runtime/core/wire-receipt.ts'
import {
  type Held,
  signed,
  split,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

const TASK = 'insulin for Gretel Planted'
const TITLE = 'Planted insulin'
const SKU = 'planted-insulin'
const PLANTED = [TASK, TITLE, SKU]
const ACCOUNT = 'account-of-shop'

let gateway: TestGateway
let root: Held
let payment: string

beforeEach(async () => {
  const rules = [{ kind: 'approval_above', id: 'large', currency: 'INR', above: 2_000 }]
  gateway = await startGateway({ config: { policy: { rules } } as never })
  root = await startOutsideRun(gateway, { task: TASK })
  const lines = [{ sku: SKU, title: TITLE, quantity: 1, unitAmount: 1_500 }]
  const quote = gateway.quote({ lines, amount: 1_500 })
  const leaf = await splitLeaf(gateway, root, 0, quote)
  const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
  payment = ((await paid.json()) as { paymentId: string }).paymentId
  const dear = gateway.quote({ lines: [{ ...lines[0], unitAmount: 2_400 }], amount: 2_400 })
  const waits = await splitLeaf(gateway, root, 1, dear)
  expect((await signed(gateway, waits, 'POST', '/payments', { quote: dear })).status).toBe(202)
})
afterEach(() => gateway.close())

/** Everything that an operator and the run's own planner can read, route by route. */
async function everyAnswer(): Promise<string> {
  const holds = await gateway.headgate.ledger.holds({ limit: 10 })
  const address = (path: string) =>
    path
      .replace(':run', root.run)
      .replace(':payment', payment)
      .replace(':hold', holds[0]?.id ?? '')
      .replace(':receipt', payment)
  const paths = gateway.headgate.routes
    .filter(({ method, path }) => method === 'GET' && !path.endsWith('/events'))
    .map(({ path }) => address(path))
  expect(paths).toContain(`/runs/${root.run}`)
  const texts: string[] = []
  for (const path of [...paths, '/audit?personal=yes', `/audit?run=${root.run}`]) {
    const answer = await gateway.asOperator(path)
    texts.push(`${path} ${await answer.text()}`)
  }
  texts.push(await (await signed(gateway, root, 'GET', `/runs/${root.run}`)).text())
  texts.push(await (await signed(gateway, root, 'GET', `/payments/${payment}`)).text())
  texts.push(await feedOf(root.run))
  return texts.join('\n')
}

async function feedOf(run: string): Promise<string> {
  const facts = await gateway.headgate.ledger.feed(run as Held['run'], 0, 1_000)
  return JSON.stringify(facts)
}

const found = (text: string) => PLANTED.filter((each) => text.includes(each))
const erase = () => gateway.asOperator(`/runs/${root.run}/erase`, {})

describe('erasing a run', () => {
  it('is refused while the run is live, with a reason, and touches nothing', async () => {
    const before = await everyAnswer()
    expect(found(before)).toEqual(PLANTED)
    const refused = await erase()
    expect([refused.status, await refused.json()]).toMatchObject([409, { code: 'run_live' }])
    expect(found(await everyAnswer())).toEqual(PLANTED)
  })

  it('leaves no word of it in any answer, and what proves it as it was', async () => {
    const receipt = (await (await gateway.asOperator(`/receipts/${payment}`)).json()) as ReceiptView
    await gateway.asOperator(`/runs/${root.run}/cancel`, {})
    expect(found(await everyAnswer())).toEqual(PLANTED)
    const answer = await erase()
    expect(answer.status).toBe(200)
    const { run } = (await answer.json()) as { run: RunView }
    expect(run).toMatchObject({ task: 'erased', state: 'cancelled' })
    expect(run.erasedAtSeconds).toBeGreaterThan(0)
    expect(found(await everyAnswer())).toEqual([])
    expect((await erase()).status).toBe(200)

    const shown = await (await gateway.asOperator(`/payments/${payment}`)).json()
    const line = { sku: 'erased', title: 'erased', quantity: 1, unitAmount: 1_500 }
    expect(shown).toMatchObject({ state: 'settled', amount: 1_500, payee: 'shop', lines: [line] })
    expect(await (await gateway.asOperator(`/receipts/${payment}`)).json()).toEqual({
      ...receipt,
      payee: { ...receipt.payee, account: 'erased' },
      erased: true,
    })
    const log = await (await gateway.asOperator('/audit?personal=yes')).text()
    const jwks = (await (await gateway.fetch('/.well-known/jwks.json')).json()) as never
    const receipts = [receipt.receipt]
    const verdict = verifyExport(log.split('\n'), { seals: [run.seal ?? ''], receipts, jwks })
    expect(verdict.broken).toBeUndefined()
    expect(verdict.personal).toMatchObject({ disclosed: 0, absent: 0, erasedRuns: 1 })
  })

  it('shows the clear values only to whoever asks for them, and each is true', async () => {
    const bare = await (await gateway.asOperator('/audit')).text()
    expect(found(bare)).toEqual([])
    expect(bare).not.toContain(ACCOUNT)
    const log = await (await gateway.asOperator('/audit?personal=yes')).text()
    expect(log).toContain(ACCOUNT)
    expect(log).toContain(TITLE)
    const { personal, broken } = verifyExport(log.split('\n'))
    expect(broken).toBeUndefined()
    expect(personal).toMatchObject({ erased: 0, absent: 0 })
    expect(personal?.disclosed).toBe(personal?.values)
    const asked = verifyExport(log.split('\n'), { run: root.run })
    expect(asked.ok).toBe(true)
  })

  it('keeps no digest that a guess at a short value could find', async () => {
    const planner = await split(gateway, root, 2, {})
    expect(planner.node).toBeDefined()
    const binding = canonicalJson({ payee: 'shop', rail: 'simulated', account: ACCOUNT })
    const lines = [{ sku: SKU, title: TITLE, quantity: 1, unitAmount: 1_500 }]
    const guesses = [TASK, TITLE, SKU, ACCOUNT, binding, canonicalJson(lines), 'leaf', 'planner']
    const text = await everyAnswer()
    const receipt = (await (await gateway.asOperator(`/receipts/${payment}`)).json()) as {
      receipt: string
    }
    const claims = Buffer.from(receipt.receipt.split('.')[1] ?? '', 'base64url').toString()
    expect(claims).toContain('"account":"')
    for (const guess of guesses) {
      expect(text).not.toContain(sha256(guess))
      expect(claims).not.toContain(sha256(guess))
    }
  })
})
