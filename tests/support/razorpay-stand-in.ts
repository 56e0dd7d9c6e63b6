/**
 * A stand-in for Razorpay: an HTTP server on this machine that refuses what Razorpay refuses, in its words, keeps books
 * of its own and can be scripted to fail. Also a program: it prints one JSON line when it is ready, and ends on SIGTERM.
 */
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { deliver } from './razorpay/deliver.ts'
import type { Rule } from './razorpay/faults.ts'
import {
  type Attempt,
  attempt,
  type Book,
  bookOf,
  captureAll,
  comeBack,
  enqueue,
  type Stray,
  stray,
} from './razorpay/outside.ts'
import { createDoor, type Seen } from './razorpay/server.ts'
import { type Options, World } from './razorpay/world.ts'

export interface RazorpayStandIn {
  readonly url: string
  /** Every variable that a client of it needs. */
  readonly env: Readonly<Record<string, string>>
  readonly accountNumber: string
  /** Fund accounts of a bank, to which any amount can be paid. */
  readonly accounts: readonly string[]
  /** One of UPI, to which up to one lakh can be paid. */
  readonly upi: string
  close(): Promise<void>
  /** Moves its clock; what is due happens, and what was kept pending ends. */
  advance(seconds: number): void
  script(rule: Rule): void
  book(): Book
  /** Signed messages that it would deliver, oldest first, taken off the queue. */
  messages(): { headers: Record<string, string>; body: string }[]
  /** What a payer does, by the id of an order or link or by our key on it; answers the payment's id. */
  approve(reference: string): string
  attempt(reference: string, how: Attempt): string
  stray(of: Stray): string
  /** A payout that had succeeded is reversed; a captured payment is refunded by somebody else. */
  comeBack(key: string): void
  /** A new webhook secret; earlier messages keep theirs. */
  rotateWebhookSecret(): string
  deactivate(fundAccount: string): void
  /** Somebody else captures what is authorised of an order. */
  capture(reference: string): void
  /** Where links lead from now on. */
  shortUrl: string | undefined
  /** A payout waits for the account's balance until the clock is moved. */
  enqueue(key: string): void
  /** Everything that came in, oldest first. */
  readonly seen: readonly Seen[]
  /** Whatever was posted to where a redirect led. */
  elsewhere(): number
}

export interface RazorpayStandInOptions extends Options {
  readonly port?: number
  /** A webhook address of a gateway: messages are posted there, and queued nowhere. */
  readonly deliverTo?: string
}

export async function startRazorpayStandIn(
  options: RazorpayStandInOptions = {},
): Promise<RazorpayStandIn> {
  const world = new World('2323230041626905', options)
  const credentials = {
    id: world.id('rzp_test'),
    secret: randomBytes(18).toString('base64url'),
  }
  const accounts = [0, 1, 2, 3, 4, 5].map((n) => addAccount(world, n, 'bank_account'))
  const upi = addAccount(world, 6, 'vpa')
  const { server, script, seen } = createDoor(world, credentials)
  await new Promise<void>((resolve) => {
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const delivery = options.deliverTo === undefined ? undefined : deliver(world, options.deliverTo)
  return {
    url: `http://127.0.0.1:${port}`,
    env: {
      RAZORPAY_KEY_ID: credentials.id,
      RAZORPAY_KEY_SECRET: credentials.secret,
      RAZORPAY_WEBHOOK_SECRET: world.webhookSecret,
    },
    accountNumber: world.accountNumber,
    accounts,
    upi,
    close: async () => {
      delivery?.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
    advance: (seconds) => world.advance(seconds),
    script: (rule) => script.add(rule),
    book: () => {
      world.settle()
      return bookOf(world)
    },
    messages: () => {
      world.settle()
      return world.queue.splice(0)
    },
    approve: (reference) => attempt(world, reference, { ends: 'paid' }),
    attempt: (reference, how) => attempt(world, reference, how),
    stray: (of) => stray(world, of),
    comeBack: (key) => comeBack(world, key),
    rotateWebhookSecret: () => {
      world.webhookSecret = randomBytes(24).toString('base64url')
      return world.webhookSecret
    },
    deactivate: (fundAccount) => {
      const account = world.fundAccounts.get(fundAccount)
      if (account !== undefined) account.active = false
    },
    capture: (reference) => captureAll(world, reference),
    get shortUrl() {
      return world.shortUrl
    },
    set shortUrl(url) {
      world.shortUrl = url
    },
    enqueue: (key) => enqueue(world, key),
    seen,
    elsewhere: () => seen.filter(({ path }) => path.startsWith('/_elsewhere')).length,
  }
}

function addAccount(world: World, n: number, type: 'bank_account' | 'vpa'): string {
  const id = world.id('fa')
  const account =
    type === 'bank_account'
      ? {
          account_type: 'bank_account',
          bank_account: {
            ifsc: 'HDFC0000053',
            bank_name: 'HDFC Bank',
            name: `Payee ${n}`,
            account_number: `76543212345678${n}`,
            notes: [],
          },
        }
      : {
          account_type: 'vpa',
          vpa: { username: `payee.${n}`, handle: 'upi', address: `payee.${n}@upi` },
        }
  world.fundAccounts.set(id, {
    id,
    print: id,
    entity: 'fund_account',
    contact_id: world.id('cont'),
    ...account,
    batch_id: null,
    active: true,
    created_at: world.now(),
  })
  return id
}

const USAGE = `Usage: node tests/support/razorpay-stand-in.ts [--port N] [--deliver-to URL]

A stand-in for Razorpay on 127.0.0.1. Prints one JSON line {"url", "pid", "env", "accountNumber", "accounts"} when it is ready.

  GET /_control/book    GET /_control/messages
  POST /_control/advance {seconds}    /_control/script {on, fault, times?}    /_control/approve {reference}
  POST /_control/stray {direction, amount, currency}    /_control/come-back {key}
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'deliver-to': { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return
  }
  const deliverTo = values['deliver-to']
  const standIn = await startRazorpayStandIn({
    port: Number(values.port),
    ...(deliverTo === undefined ? {} : { deliverTo }),
  })
  const stop = () => void standIn.close()
  process.once('SIGTERM', stop).once('SIGINT', stop)
  // Started by a parent with an IPC channel: do not outlive it.
  process.once('disconnect', stop)
  const { url, env, accountNumber, accounts } = standIn
  const ready = { url, pid: process.pid, env, accountNumber, accounts }
  process.stdout.write(`${JSON.stringify(ready)}\n`)
}

if (import.meta.main) await main()
