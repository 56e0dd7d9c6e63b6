import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freshId, railKeyOf, refundKeyOf } from '../../runtime/core/ids.ts'
import { minor } from '../../runtime/core/money.ts'
import type { Rail, RailOrder } from '../../runtime/core/rail.ts'
import type { Clock } from '../../runtime/core/time.ts'
import { exchange, type Transport } from '../../runtime/rails/exchange.ts'
import { createPaypalRail } from '../../runtime/rails/paypal.ts'
import { createRazorpayRail } from '../../runtime/rails/razorpay.ts'
import { recordingTransport, replayTransport } from '../../runtime/rails/recording.ts'
import { startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { startRazorpayStandIn } from '../support/razorpay-stand-in.ts'
import { temporaryDirectory } from './support.ts'

/** What a rail needs of the outside, so that one that is played again needs nothing of it. */
interface Given {
  readonly env: Readonly<Record<string, string>>
  readonly accountNumber: string
  readonly url?: string
}

interface Case {
  readonly name: string
  readonly currency: RailOrder['currency']
  start(): Promise<Given & { readonly accounts: readonly string[]; close(): Promise<void> }>
  readonly others: Readonly<Record<string, string>>
  make(given: Given, transport: Transport, clock: Clock): Rail
}

const CASES: readonly Case[] = [
  {
    name: 'razorpay',
    currency: 'INR',
    start: startRazorpayStandIn,
    others: {
      RAZORPAY_KEY_ID: 'rzp_test_AAAAAAAAAAAAAA',
      RAZORPAY_KEY_SECRET: 'another-secret',
      RAZORPAY_WEBHOOK_SECRET: 'another-webhook-secret',
    },
    make: ({ env, accountNumber, url }, transport, clock) =>
      createRazorpayRail({
        mode: 'test',
        keyId: env.RAZORPAY_KEY_ID ?? '',
        keySecret: env.RAZORPAY_KEY_SECRET ?? '',
        webhookSecrets: [env.RAZORPAY_WEBHOOK_SECRET ?? ''],
        accountNumber,
        ...(url === undefined ? {} : { url }),
        clock,
        transport,
      }),
  },
  {
    name: 'paypal',
    currency: 'USD',
    start: async () => ({ ...(await startPaypalStandIn()), accountNumber: '' }),
    others: {
      PAYPAL_CLIENT_ID: 'another-client-id',
      PAYPAL_CLIENT_SECRET: 'another-client-secret',
    },
    make: ({ env, url }, transport, clock) =>
      createPaypalRail({
        mode: 'sandbox',
        clientId: env.PAYPAL_CLIENT_ID ?? '',
        clientSecret: env.PAYPAL_CLIENT_SECRET ?? '',
        ...(url === undefined ? {} : { url }),
        clock,
        transport,
      }),
  },
]

describe.each(CASES)('a recorded payment over $name', ({ start, others, make, currency }) => {
  let directory: ReturnType<typeof temporaryDirectory>
  let file: string
  let secrets: string[]
  let order: RailOrder
  let accountNumber: string
  let outcomes: unknown[]
  const clock: Clock = { nowMs: () => Math.floor(performance.timeOrigin + performance.now()) }

  /** A payment, what became of it, and some of it back. */
  const use = async (rail: Rail, of: RailOrder): Promise<unknown[]> => {
    const paid = await rail.pay(of)
    const reference = 'reference' in paid && paid.reference ? { reference: paid.reference } : {}
    const known = { order: of, submittedAtSeconds: 1_700_000_000, ...reference }
    const refund = {
      payment: of.payment,
      key: refundKeyOf('rfd_1'),
      paymentKey: of.key,
      paymentAccount: of.account,
      paymentReference: reference.reference ?? '',
      amount: minor(500),
      currency: of.currency,
    }
    return [paid, await rail.lookup(of.key, known), await rail.refunds?.make(refund)]
  }

  beforeEach(async () => {
    directory = temporaryDirectory()
    file = join(directory.path, 'traffic.ndjson')
    const standIn = await start()
    accountNumber = standIn.accountNumber
    secrets = Object.values(standIn.env)
    const payment = `pay_${freshId()}` as const
    const account = standIn.accounts[0] ?? ''
    const key = railKeyOf(payment)
    order = { payment, key, account, amount: minor(12_550), currency, note: 'two chairs' }
    const transport = recordingTransport(exchange, file, { secrets })
    outcomes = await use(make(standIn, transport, clock), order)
    await standIn.close()
  })
  afterEach(() => directory.remove())

  it('is the same again with other credentials and nobody listening', async () => {
    expect(outcomes[0]).toMatchObject({ kind: expect.stringMatching(/^(settled|pending)$/) })
    const replay = replayTransport(file, { secrets: Object.values(others) })
    expect(await use(make({ env: others, accountNumber }, replay, clock), order)).toEqual(outcomes)
    expect(replay.end()).toBeUndefined()
  })

  it('fails for another amount, and says where', async () => {
    const replay = replayTransport(file)
    const changed = { ...order, amount: minor(12_551) }
    const rail = make({ env: others, accountNumber }, replay, clock)
    expect(await rail.pay(changed)).toMatchObject({ kind: 'unknown' })
    expect(replay.end()).toMatch(/differs from the recording: the body’s (items\.0\.)?amount/)
    expect(replay.end()).not.toContain('125')
  })

  it('holds no credential of the rail’s', () => {
    const text = readFileSync(file, 'utf8')
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
    expect(text).not.toMatch(/(Basic|Bearer) (?!REMOVED)/)
    expect(text).not.toMatch(/"access_token\\*"\s*:\s*\\*"(?!REMOVED)/)
  })
})
