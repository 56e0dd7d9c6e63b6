/**
 * Two whole gateways over one Firestore, each told to carry out whatever there is: one of them walks a run, and when it
 * is cut off from the store in the middle, the other ends it. Counted at the shop, at the rail and in the log.
 */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { freshId } from '../../runtime/core/ids.ts'
import type { Ledger } from '../../runtime/core/ledger.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import type { Merchants } from '../../runtime/core/merchants.ts'
import { minor } from '../../runtime/core/money.ts'
import { type FirestoreDouble, startFirestoreDouble } from '../support/firestore/double.ts'
import { openLedger } from '../support/firestore/ledger.ts'
import {
  fakeRail,
  PRINCIPAL,
  post,
  publicJwk,
  SHOP,
  startGateway,
  type TestGateway,
} from './gateway.ts'

const PROJECT = 'two-gateways'
const store = { kind: 'firestore', projectId: PROJECT } as const

let double: FirestoreDouble
let first: TestGateway
let second: TestGateway
let aheadMs = 0
let isCut = false
const rail = fakeRail()
const clock = { nowMs: () => Date.now() + aheadMs }

/** Sells lamps; told of every question, by whom it was asked. */
function shopOf(
  name: string,
  asked: string[],
  quote: () => string,
  key: () => KeyObject,
): Merchants {
  const lamp = {
    merchant: SHOP,
    sku: 'lamp',
    title: 'Desk Lamp',
    description: 'a lamp',
    category: 'lighting',
    unitAmount: minor(2_500),
    currency: 'INR',
    stock: 9,
  } as const
  return {
    ids: [SHOP],
    search: async () => [lamp],
    product: async () => lamp,
    quote: async () => {
      asked.push(name)
      return quote()
    },
    order: async () => `order-${freshId()}`,
    keys: () => [key()],
    keyById: () => key(),
  }
}

/** The way to the store, until it is cut. */
function cuttable(ledger: Ledger): Ledger {
  return new Proxy(ledger, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name)
      if (typeof found !== 'function' || name === 'onFeed' || name === 'close') return found
      return async (...args: unknown[]) => {
        if (isCut) throw new Fault('store_unavailable', 'cut off')
        return found.apply(target, args)
      }
    },
  })
}

const asked: string[] = []

beforeAll(async () => {
  double = await startFirestoreDouble()
  const open = () => openLedger(double.host, { projectId: PROJECT, organisation: 'test' })
  const shop = (name: string): Merchants =>
    shopOf(
      name,
      asked,
      () => first.quote({ lines: LINES }),
      () => createPublicKey(first.shop),
    )
  const start = async (name: string, ledger: Ledger, as?: TestGateway) => {
    const keys = as === undefined ? undefined : [publicJwk(as.principal, 'alice-1')]
    return startGateway({
      config: {
        store: { ...store, emulatorHost: double.host },
        policy: { rules: [] },
        ...(keys === undefined ? {} : { principals: [{ id: PRINCIPAL, keys }] }),
      },
      overrides: { ledger, rail, clock, merchants: shop(name), manual: false },
      ...(as === undefined ? {} : { roots: as.secrets }),
    })
  }
  first = await start('first', cuttable(await open()))
  // The same keys and principals, so that either goes on with what the other began.
  second = await start('second', await open(), first)
}, 60_000)
afterAll(async () => {
  isCut = false
  await first.close()
  await second.close()
  await double.close()
})

const TASK = '1 desk lamp; 1 desk lamp; 1 desk lamp'
const LINES = [{ sku: 'lamp', title: 'Desk Lamp', quantity: 1, unitAmount: 2_500 }]

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const begin = async (task: string) => {
  const mandate = first.sign(first.claims({ task }))
  const answer = await first.fetch('/runs', post({ mandate }))
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { run: { id: `run_${string}` } }).run.id
}

const countOf = async (run: `run_${string}`) => {
  const log = (await (await second.asOperator(`/audit?run=${run}`)).text()).trim().split('\n')
  expect(verifyExport(log, { run })).toMatchObject({ ok: true })
  const types = log.map((line) => {
    const { body } = JSON.parse(line) as { body: string }
    return (JSON.parse(body) as { type: string }).type
  })
  return (type: string) => types.filter((each) => each === type).length
}

it('carry out each step once, and the second ends what the first was cut off from', async () => {
  const whole = await begin(TASK)
  await second.headgate.funnel.resume()
  const { ledger } = second.headgate
  await until(async () => ((await ledger.run(whole))?.seal === undefined ? undefined : true))
  expect(new Set(asked)).toEqual(new Set(['first']))
  expect([rail.paid, (await countOf(whole))('submitted')]).toEqual([3, 3])

  const torn = await begin(TASK)
  await until(async () => ((await ledger.tree(torn)).length > 2 ? true : undefined))
  isCut = true
  await second.headgate.funnel.resume()
  expect((await ledger.run(torn))?.state).toBe('running')
  aheadMs = (LIMITS.leaseSeconds + 1) * 1000
  await until(async () => {
    await second.headgate.funnel.resume()
    return (await ledger.run(torn))?.seal
  })
  const count = await countOf(torn)
  expect((await ledger.run(torn))?.state).toBe('completed')
  expect([rail.paid, count('submitted'), count('settled')]).toEqual([6, 3, 3])
  const once = await countOf(whole)
  for (const type of ['planned', 'looked', 'chose']) {
    expect([type, count(type)]).toEqual([type, once(type)])
  }
  expect(asked).toContain('second')
}, 60_000)
