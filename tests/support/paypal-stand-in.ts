/**
 * PayPal for tests and demonstrations: a server on loopback that refuses what PayPal refuses, with PayPal's own names,
 * keeps a book of what moved, and can be scripted to fail in every way that a rail fails. Its clock can be moved. It
 * shares no code with the adapter, so that a mistake is not made on both sides.
 */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Checkout } from './paypal/checkout.ts'
import { freshClient, SCOPES, Tokens } from './paypal/oauth.ts'
import { orderRoutes } from './paypal/orders.ts'
import { paymentRoutes } from './paypal/payments.ts'
import { Payouts } from './paypal/payouts.ts'
import type { Reply } from './paypal/refusals.ts'
import { reportingRoutes } from './paypal/reporting.ts'
import { listen } from './paypal/server.ts'
import { Vault } from './paypal/vault.ts'
import { type Signed, Webhooks } from './paypal/webhooks.ts'
import { at, type Rule, type StandInFault, World } from './paypal/world.ts'

export type { StandInFault } from './paypal/world.ts'

export interface Book {
  readonly totals: Record<string, number>
  readonly payments: number
  readonly refunds: number
}

export interface PaypalStandIn {
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  /** Paid by payouts. */
  readonly accounts: readonly string[]
  /** Paid by orders. */
  readonly merchants: readonly string[]
  /** A payment token in its vault, as if a payer had agreed to it. */
  readonly instrument: string
  close(): Promise<void>
  /** Its clock, which `advance` moves. */
  nowMs(): number
  /** Moves its clock; what is due happens, and what a script kept pending goes on. */
  advance(seconds: number): void
  script(rule: Rule): void
  /** What moved out less what came back, in minor units (ISO 4217), and how many payments and refunds were taken. */
  book(): Book
  /** Signed messages that it would deliver, oldest first, taken off the queue. */
  messages(): Signed[]
  /** Signs what it never would have sent. */
  sign(body: string): Signed
  /** What a payer does: an order's or a setup token's id. */
  approve(reference: string): void
  stray(of: { direction: 'out' | 'in'; amount: number; currency: string }): string
  comeBack(key: string): void
  /** Tokens asked for until now. */
  tokenRequests(): number
  /** Every token given until now is no longer accepted. */
  revokeTokens(): void
}

export interface StandInOptions {
  readonly port?: number
  readonly scopes?: readonly string[]
  readonly tokenLifeSeconds?: number
  /** A webhook address to which messages are posted by itself, each until it is taken. */
  readonly deliverTo?: string
}

export async function startPaypalStandIn(options: StandInOptions = {}): Promise<PaypalStandIn> {
  const { port = 0, scopes = SCOPES, tokenLifeSeconds = 32_400, deliverTo } = options
  const world = new World()
  const client = freshClient()
  const tokens = new Tokens(world, client, scopes, tokenLifeSeconds)
  const vault = new Vault(world)
  const parts: Parts = {
    world,
    vault,
    payouts: new Payouts(world),
    checkout: new Checkout(world, vault.knows),
    webhooks: new Webhooks(world),
  }
  const act = actionsOf(parts)
  const server = await listen(
    { world, tokens, routes: routesOf(parts), control: controlOf(act) },
    port,
  )
  const stop = deliverTo === undefined ? () => undefined : deliver(act, deliverTo)
  return {
    ...act,
    url: world.url,
    env: {
      PAYPAL_CLIENT_ID: client.id,
      PAYPAL_CLIENT_SECRET: client.secret,
      PAYPAL_WEBHOOK_ID: parts.webhooks.id,
    },
    accounts: ['desks@example.com', 'chairs@example.com', 'id:STANDNPAYEE23'],
    merchants: ['merchant:DESKSHPQ23456'],
    instrument: vault.saved(),
    nowMs: () => world.nowMs(),
    tokenRequests: () => tokens.count,
    revokeTokens: () => tokens.revoke(),
    close: () => {
      stop()
      return new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
    },
  }
}

interface Parts {
  readonly world: World
  readonly vault: Vault
  readonly payouts: Payouts
  readonly checkout: Checkout
  readonly webhooks: Webhooks
}

const routesOf = ({ world, vault, payouts, checkout, webhooks }: Parts) => [
  ...payouts.routes(),
  ...orderRoutes(checkout),
  ...paymentRoutes(checkout),
  ...vault.routes(),
  ...webhooks.routes(),
  ...reportingRoutes(world),
]

type Actions = Pick<
  PaypalStandIn,
  'advance' | 'script' | 'book' | 'messages' | 'sign' | 'approve' | 'stray' | 'comeBack'
>

const actionsOf = ({ world, vault, payouts, checkout, webhooks }: Parts): Actions => ({
  advance: (seconds) => {
    world.look()
    payouts.release()
    checkout.release()
    world.advance(seconds)
  },
  script: ({ on, fault, times = 1 }) => {
    world.rules.push({ on, fault, left: times })
  },
  book: () => {
    world.look()
    return { totals: world.totals(), payments: world.payments, refunds: world.refunds }
  },
  messages: () => {
    world.look()
    return webhooks.take()
  },
  sign: (body) => webhooks.sign(body),
  approve: (reference) => {
    if (checkout.approve(reference) || vault.approve(reference)) return
    throw new Error('expected the id of an order or a setup token that waits for its payer')
  },
  stray: ({ direction, amount, currency }) => {
    const id = world.id(17)
    const minor = direction === 'out' ? -amount : amount
    world.move({ id, code: 'T0000', money: { currency, minor }, status: 'S' })
    return id
  },
  comeBack: (key) => {
    world.look()
    if (payouts.comeBack(key) || checkout.comeBack(key)) return
    throw new Error('expected the key of a payment that succeeded')
  },
})

/** Posts what is queued, again and again until it is taken, as PayPal does for three days. */
function deliver(act: Actions, address: string): () => void {
  let waiting: Signed[] = []
  const timer = setInterval(async () => {
    waiting.push(...act.messages())
    const now = waiting
    waiting = []
    for (const message of now) {
      const { headers, body } = message
      const answer = await fetch(address, { method: 'POST', headers, body }).catch(() => undefined)
      if (answer?.ok !== true) waiting.push(message)
    }
  }, 250)
  timer.unref()
  return () => clearInterval(timer)
}

const FAULTS: readonly StandInFault[] = [
  'decline',
  'resetBefore',
  'resetAfter',
  'hang',
  'html502Before',
  'html502After',
  'html200After',
  'empty500After',
  'redirect307',
  'rateLimit',
  'wrongAmount',
  'pending',
  'leakSecret',
]

/** The same by HTTP, for other processes. */
function controlOf(act: Actions) {
  return (method: string, path: string, json: unknown): Reply | undefined => {
    if (method === 'GET' && path === 'book') return { status: 200, json: act.book() }
    if (method === 'GET' && path === 'messages') return { status: 200, json: act.messages() }
    if (method !== 'POST') return undefined
    if (path === 'advance') {
      act.advance(Number(at(json, 'seconds')))
      return { status: 204 }
    }
    if (path === 'script') {
      const fault = FAULTS.find((name) => name === at(json, 'fault'))
      if (fault === undefined) return { status: 400 }
      act.script({ on: String(at(json, 'on')), fault, times: Number(at(json, 'times') ?? 1) })
      return { status: 204 }
    }
    if (path === 'stray') {
      const direction = at(json, 'direction') === 'in' ? 'in' : 'out'
      const amount = Number(at(json, 'amount'))
      const id = act.stray({ direction, amount, currency: String(at(json, 'currency')) })
      return { status: 200, json: { id } }
    }
    if (path === 'approve') {
      act.approve(String(at(json, 'reference')))
      return { status: 204 }
    }
    if (path === 'come-back') {
      act.comeBack(String(at(json, 'key')))
      return { status: 204 }
    }
    return undefined
  }
}

if (pathToFileURL(process.argv[1] ?? '').href === import.meta.url) {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '0' }, 'deliver-to': { type: 'string' } },
  })
  const deliverTo = values['deliver-to']
  const { url, env, accounts, merchants, instrument, close } = await startPaypalStandIn({
    port: Number(values.port),
    ...(deliverTo === undefined ? {} : { deliverTo }),
  })
  const ready = { url, pid: process.pid, env, accounts, merchants, instrument }
  process.stdout.write(`${JSON.stringify(ready)}\n`)
  const stop = () => void close().finally(() => process.exit(0))
  process.once('SIGTERM', stop).once('SIGINT', stop)
  // Started by a parent with an IPC channel: do not outlive it.
  process.once('disconnect', stop)
}
