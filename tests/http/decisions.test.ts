/** Decisions and paper trails through a composed gateway with the rules that hold where none were configured. */
import { createPublicKey } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { holdCard } from '../../runtime/cli/commands/holds.ts'
import type { Merchants } from '../../runtime/core/merchants.ts'
import { ZERO } from '../../runtime/core/money.ts'
import { holdViewSchema } from '../../runtime/core/wire.ts'
import { paymentView } from '../../runtime/http/shapes.ts'
import { run } from '../cli/io.ts'
import {
  clientOf,
  type Held,
  SHOP,
  signed,
  split,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

let gateway: TestGateway
let dir: string
/** What the shop answers to whoever asks for a quote. */
let offered = ''
let amount = 2_501

const never = async (): Promise<never> => {
  throw new Error('nobody asks for this here')
}

const shopFront: Merchants = {
  ids: [SHOP],
  search: never,
  product: never,
  order: never,
  quote: async () => offered,
  keys: () => [createPublicKey(gateway.shop)],
  keyById: () => createPublicKey(gateway.shop),
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'decide-'))
  const payees = [SHOP, 'stall'].map((id) => {
    return { id, name: `The ${id}`, accounts: { simulated: `account-of-${id}` } }
  })
  gateway = await startGateway({ config: { payees }, overrides: { merchants: shopFront } })
}, 60_000)
afterAll(async () => {
  rmSync(dir, { recursive: true })
  await gateway.close()
})

interface Made {
  readonly root: Held
  readonly looker: Held
  readonly leaf: Held
  readonly quote: string
}

/** A leaf of a run that may pay one of two; its quote fetched by a looker of the run, or brought from elsewhere. */
async function made(from: 'the run' | 'elsewhere', more: object = {}): Promise<Made> {
  const root = await startOutsideRun(gateway, { payees: [SHOP, 'stall'], ...more })
  const looker = await split(gateway, root, 0, { kind: 'looker', ceiling: ZERO })
  // The same amount to the same payee twice in a day would be held for that.
  amount -= 1
  const line = { sku: 'lamp', title: 'A lamp', quantity: 1, unitAmount: amount }
  const quote = gateway.quote({ lines: [line], amount })
  offered = quote
  const lines = [{ sku: 'lamp', quantity: 1 }]
  if (from === 'the run') await clientOf(gateway, looker).quote({ merchant: SHOP, lines })
  return { root, looker, quote, leaf: await splitLeaf(gateway, root, 1, quote) }
}

const shownTo = async (held: Held, payment: string) =>
  paymentView.parse(await (await signed(gateway, held, 'GET', `/payments/${payment}`)).json())

describe('a paper trail', () => {
  it('is shown to operators as lines that name a quote in full once, and to no planner', async () => {
    const { root, looker, leaf, quote } = await made('the run')
    const { paymentId, verdict } = await clientOf(gateway, leaf).pay(quote)
    expect(verdict).toBe('allow')
    const view = paymentView.parse(
      await (await gateway.asOperator(`/payments/${paymentId}`)).json(),
    )
    expect(view.provenance?.amount).toMatchObject([{ source: 'quote', node: looker.node }])
    const fetched = `from a signed quote of shop for lamp, fetched by looker ${looker.node} through POST /quotes at `
    expect(view.trail?.map((line) => line.replace(/at [0-9TZ:-]+$/, 'at '))).toEqual([
      'payee: shop, from the mandate, from the operator’s registry',
      `amount: INR 25.00, ${fetched}`,
      'currency: INR, from the mandate, from the same quote',
      'quantity: 1, from the same quote',
      'recurring or not, from the same quote',
    ])
    const above = await shownTo(root, paymentId)
    expect([above.provenance, above.trail]).toEqual([undefined, undefined])
  })

  it('from elsewhere is on the card of a hold, which a person reads before the money is set aside', async () => {
    const { leaf, quote } = await made('elsewhere')
    const answer = await clientOf(gateway, leaf).pay(quote)
    expect(answer.reason?.code).toBe('payee_from_untrusted')
    const card = await gateway.asOperator(`/holds/${answer.holdId}`)
    const hold = holdViewSchema.parse(await card.json())
    const elsewhere = 'from elsewhere: no looker of this run was given it by the gateway'
    expect(hold.trail?.every((line) => line.endsWith(elsewhere))).toBe(true)
    expect(hold.provenance?.payee.at(-1)).toEqual({ source: 'page' })
    expect(holdCard({ colour: false }, hold)).toContain(hold.trail?.[0])
    const { digest } = hold
    await gateway.asOperator(`/holds/${hold.id}/approve`, { digest })
    expect((await clientOf(gateway, leaf).pay(quote)).state).toBe('settled')
  })
})

describe('a decision over HTTP', () => {
  it('answers like the payment, which then is made as if nobody had asked', async () => {
    const { leaf, quote } = await made('the run')
    const client = clientOf(gateway, leaf)
    const before = gateway.rail.paid
    const decided = await client.decide(quote)
    expect(decided).toMatchObject({ decision: true, verdict: 'allow' })
    expect(gateway.rail.paid).toBe(before)
    const paid = await client.pay(quote)
    expect(paid).toMatchObject({ paymentId: decided.paymentId, state: 'settled' })
    expect(paid.checks).toEqual(decided.checks)
  })

  it('opens no hold where a payment would', async () => {
    const { root, leaf, quote } = await made('elsewhere')
    const decided = await clientOf(gateway, leaf).decide(quote)
    expect(decided).toMatchObject({ verdict: 'hold', reason: { code: 'payee_from_untrusted' } })
    const holds = await gateway.asOperator(`/holds?run=${root.run}`)
    expect(await holds.json()).toEqual({ holds: [] })
  })

  it('is a problem for whoever may not ask', async () => {
    const { root, quote } = await made('the run')
    const answer = await signed(gateway, root, 'POST', '/decisions', { quote })
    expect([answer.status, ((await answer.json()) as { verdict: string }).verdict]).toEqual([
      403,
      'deny',
    ])
  })
})

describe('`headgate decide`', () => {
  const file = (name: string, text: string): string => {
    const path = join(dir, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }

  const decide = ({ leaf, quote }: Made, ...more: string[]) =>
    run([
      ...['decide', '--url', gateway.url, ...more],
      ...['--token', file('leaf.token', `${leaf.token}\n`)],
      ...['--key', file('leaf.jwk', JSON.stringify(leaf.holder.export({ format: 'jwk' })))],
      ...['--quote', file('quote.jws', `${quote}\n`)],
    ])

  it('says that it would be allowed and exits with 0', async () => {
    const of = await made('the run')
    const said = await decide(of)
    expect([said.code, said.err]).toEqual([0, ''])
    expect(said.out).toMatch(/would be +allowed/)
    expect((await decide(of, '--json')).json()).toMatchObject({ decision: true, verdict: 'allow' })
    expect(said.out + said.err).not.toContain(of.leaf.token)
  })

  it.each([
    ['elsewhere', {}, 'payee_from_untrusted', 'held for a person'],
    ['the run', { perPayment: 1 }, 'per_payment', 'denied'],
  ] as const)(
    'of a quote from %s with %j says %s and exits with 1',
    async (from, claims, code, would) => {
      const said = await decide(await made(from, claims))
      expect(said.code).toBe(1)
      expect(said.out).toContain(code)
      expect(said.err).toBe(`headgate: it would be ${would}\n`)
    },
  )

  it('names what is wrong with a key that others may read, a stranger’s key and no gateway', async () => {
    const of = await made('the run')
    const open = file('open.jwk', '{}')
    chmodSync(open, 0o644)
    const files = ['--token', file('t', of.leaf.token), '--quote', file('q', of.quote)]
    const loose = await run(['decide', '--url', gateway.url, ...files, '--key', open])
    expect([loose.code, loose.err]).toEqual([2, expect.stringContaining('0600')])
    const stranger = await decide({ ...of, leaf: { ...of.leaf, holder: of.looker.holder } })
    expect([stranger.code, stranger.out]).toEqual([9, ''])
    const key = file('k', JSON.stringify(of.leaf.holder.export({ format: 'jwk' })))
    const nobody = await run(['decide', '--data', join(dir, 'none'), ...files, '--key', key])
    expect(nobody.code).toBe(8)
  })
})
