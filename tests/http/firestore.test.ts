/** A whole gateway over the store that instances share, from its configuration to an answered payment. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { Refusal, STATUS } from '../support/firestore/refusal.ts'
import {
  post,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

let double: FirestoreDouble
let gateway: TestGateway

beforeAll(async () => {
  double = await startFirestoreDouble()
  const store = { kind: 'firestore', projectId: 'acme-money', emulatorHost: double.host } as const
  gateway = await startGateway({ config: { store } })
}, 60_000)
afterAll(async () => {
  await gateway.close()
  await double.close()
})

it('pays once, answers again from the store, and proves its log', async () => {
  const planner = await startOutsideRun(gateway)
  const quote = gateway.quote()
  const leaf = await splitLeaf(gateway, planner, 0, quote)
  const first = await signed(gateway, leaf, 'POST', '/payments', { quote })
  expect(await first.json()).toMatchObject({ verdict: 'allow' })
  const again = await signed(gateway, leaf, 'POST', '/payments', { quote })
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(gateway.rail.paid).toBe(1)
  const log = await (await gateway.asOperator('/audit')).text()
  expect(verifyExport(log.split('\n'))).toMatchObject({ ok: true })
  const feed = await gateway.headgate.ledger.feed(planner.run, 0, 100)
  expect(feed.map(({ position }) => position)).toEqual(feed.map((_, i) => i + 1))
  expect((await gateway.fetch('/health/ready')).status).toBe(200)
})

it('answers 503 while its store cannot be reached', async () => {
  const mandate = gateway.sign(gateway.claims())
  double.before = () => {
    throw new Refusal(STATUS.PERMISSION_DENIED, 'not yours')
  }
  await expect(gateway.headgate.ledger.ping()).rejects.toMatchObject({ code: 'store_unavailable' })
  const answer = await gateway.fetch('/runs', post({ mandate }))
  expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true])
  double.before = undefined
  expect((await gateway.fetch('/runs', post({ mandate }))).status).toBe(201)
})
