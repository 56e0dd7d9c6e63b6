import { describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailOrder } from '../../runtime/core/rail.ts'
import type { LogEntry } from '../../runtime/http/server.ts'
import { createMemoryLedger } from '../../runtime/ledger/memory.ts'
import { createSecretGuard } from '../../runtime/secrets/guard.ts'
import {
  guardedError,
  guardedLedger,
  guardedLog,
  guardedRail,
} from '../../runtime/secrets/guarded.ts'
import { Secret } from '../../runtime/secrets/secret.ts'
import {
  fakeRail,
  post,
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
} from '../http/gateway.ts'

const SECRET = 'a-planted-secret-0123456789'
const watching = () => {
  const guard = createSecretGuard()
  guard.watch(new Secret(SECRET))
  return guard
}

const order: RailOrder = {
  payment: 'pay_1',
  key: 'hg-1',
  account: 'a',
  amount: minor(1),
  currency: 'INR',
  note: 'x',
}
const WITHHELD = { kind: 'unknown', reason: 'secret_withheld' }

describe('an answer of a rail that holds a secret', () => {
  const words = {
    kind: 'settled',
    reference: `ref-${SECRET}`,
    amount: minor(1),
    currency: 'INR',
  } as const
  const talking: Rail = {
    ...fakeRail(),
    pay: async () => words,
    lookup: async () => words,
    complete: async () => words,
    cancel: async () => ({ kind: 'declined', reason: SECRET }),
    refunds: {
      make: async () => ({ ...words, kind: 'refunded' }),
      lookup: async () => ({ ...words, kind: 'refunded' }),
    },
    authorisations: {
      takes: () => true,
      place: async () => ({ ...words, kind: 'authorised', untilSeconds: 1 }),
      lookup: async () => ({ ...words, kind: 'authorised', untilSeconds: 1 }),
      draw: async () => words,
      void: async () => ({ kind: 'declined', reason: SECRET }),
    },
    events: {
      hear: async () => ({ kind: 'event', id: SECRET, name: 'x' }),
      fetch: async () => ({
        id: SECRET,
        type: 'payment',
        direction: 'out',
        amount: minor(1),
        currency: 'INR',
        status: 'X',
        moved: true,
        atSeconds: 1,
      }),
    },
    statement: async () => ({ objects: [], next: SECRET, completeUntilSeconds: 1 }),
  }
  const rail = guardedRail(watching(), talking)
  const known = { order, submittedAtSeconds: 1 }
  const back = { payment: 'pay_1', key: 'r', paymentKey: 'k' } as const
  const refund = { ...back, paymentAccount: 'a', paymentReference: 'r', ...order }

  it('says nothing about money: it is unknown, by whichever way it was asked', async () => {
    expect(await rail.pay(order)).toEqual(WITHHELD)
    expect(await rail.lookup('hg-1')).toEqual(WITHHELD)
    expect(await rail.complete?.(known)).toEqual(WITHHELD)
    expect(await rail.cancel?.(known)).toEqual(WITHHELD)
    expect(await rail.refunds?.make(refund)).toEqual(WITHHELD)
    expect(await rail.refunds?.lookup(refund)).toEqual(WITHHELD)
    const { authorisations, events, statement } = rail
    const authorisation = { key: 'k', account: 'a', amount: minor(1), currency: 'INR' } as const
    expect(authorisations?.takes(order)).toBe(true)
    expect(await authorisations?.place(authorisation)).toEqual(WITHHELD)
    expect(await authorisations?.lookup(authorisation)).toEqual(WITHHELD)
    expect(await authorisations?.draw(order, 'r')).toEqual(WITHHELD)
    expect(await authorisations?.void('r')).toEqual(WITHHELD)
    const message = { headers: {}, body: new Uint8Array() }
    expect(await events?.hear(message)).toEqual({ kind: 'unverified', reason: 'secret_withheld' })
    expect(await events?.fetch('r')).toEqual(WITHHELD)
    const page = statement?.({ fromSeconds: 0, toSeconds: 1 })
    await expect(page).rejects.toMatchObject({ code: 'secret_withheld' })
  })

  it('passes where there is none, and what a rail does not have stays absent', async () => {
    const quiet = guardedRail(watching(), fakeRail())
    expect(await quiet.pay(order)).toMatchObject({ kind: 'settled', reference: 'sim_1' })
    expect([quiet.refunds, quiet.events, quiet.authorisations, quiet.statement]).toEqual(
      Array(4).fill(undefined),
    )
    expect(quiet.name).toBe('simulated')
  })
})

describe('a ledger', () => {
  it('is told no secret, and nothing of such a command happens', async () => {
    const ledger = guardedLedger(watching(), createMemoryLedger({ organisation: 'acme' }))
    const input = { node: `nd_${SECRET}`, name: 'x', value: {}, now: 1 } as never
    await expect(ledger.execute('saveStep', input)).rejects.toMatchObject({
      code: 'secret_withheld',
      retryable: false,
    })
    expect(await ledger.runs({ limit: 10 })).toEqual([])
    await ledger.close()
  })
})

describe('a log', () => {
  it('says that a line was withheld in the place of one that holds a secret', () => {
    const lines: unknown[] = []
    const log = guardedLog(watching(), (line: LogEntry) => void lines.push(line))
    log({ level: 'error', code: 'x', message: `failed with ${SECRET}` })
    log({ level: 'error', code: SECRET, message: 'x' })
    log({ level: 'info', code: 'fine', message: 'as it is' })
    const withheld = {
      level: 'error',
      code: 'secret_withheld',
      message: 'a line of the log held a secret and was withheld',
    }
    expect(lines).toEqual([
      withheld,
      withheld,
      { level: 'info', code: 'fine', message: 'as it is' },
    ])
  })
})

describe('an error at the start', () => {
  it('is said without what it held, wherever it held it', () => {
    const guard = watching()
    const cases = [
      new Error(`refused ${SECRET}`),
      Object.assign(new Error('refused'), { response: { headers: { authorization: SECRET } } }),
    ]
    for (const error of cases) {
      const said = guardedError(guard, error)
      expect(said).toMatchObject({ code: 'secret_withheld' })
      expect(JSON.stringify(said) + String(said)).not.toContain(SECRET)
    }
    const fine = new Error('fine')
    expect(guardedError(guard, fine)).toBe(fine)
  })
})

describe('a gateway', () => {
  it('takes no mandate that holds one of its secrets, and writes nothing of it', async () => {
    const gateway = await startGateway()
    const mandate = gateway.sign(gateway.claims({ task: `pay with ${gateway.token}` }))
    const answer = await gateway.fetch('/runs', post({ mandate }))
    expect(answer.status).toBe(503)
    expect(await answer.text()).not.toContain(gateway.token)
    const { runs } = (await (await gateway.asOperator('/runs')).json()) as { runs: unknown[] }
    expect(runs).toEqual([])
    expect(gateway.logged.some((line) => line.startsWith('secret_withheld'))).toBe(true)
    await gateway.close()
  })

  it('sends no answer that holds one, however it came into the store', async () => {
    const guard = createSecretGuard()
    const gateway = await startGateway({ guard })
    const mandate = gateway.sign(gateway.claims({ task: `buy ${SECRET}` }))
    const made = await gateway.fetch('/runs', post({ mandate }))
    const { run } = (await made.json()) as { run: { id: string } }
    const read = () => gateway.asOperator(`/runs/${run.id}`)
    expect(await (await read()).text()).toContain(SECRET)
    guard.watch(new Secret(SECRET))
    const answer = await read()
    expect(answer.status).toBe(500)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(await answer.json()).toMatchObject({ code: 'internal' })
    expect(gateway.logged.at(-1)).toBe('secret_withheld: an answer held a secret and was withheld')
    await gateway.close()
  })

  it('keeps money reserved while the rail says nothing without a secret in it', async () => {
    const rail: Rail = {
      ...fakeRail(),
      pay: async ({ amount, currency }) => ({
        kind: 'settled',
        reference: SECRET,
        amount,
        currency,
      }),
    }
    const guard = watching()
    const gateway = await startGateway({ guard, overrides: { rail } })
    const root = await startOutsideRun(gateway)
    const quote = gateway.quote()
    const leaf = await splitLeaf(gateway, root, 1, quote)
    const answer = await signed(gateway, leaf, 'POST', '/payments', { quote })
    const { paymentId } = (await answer.json()) as { paymentId: 'pay_' }
    const payment = await gateway.headgate.ledger.payment(paymentId)
    expect(payment).toMatchObject({ state: 'unknown' })
    expect(await gateway.headgate.ledger.account(leaf.node)).toMatchObject({ reserved: 2_500 })
    await gateway.close()
  })
})
