/**
 * PayPal for tests and demonstrations: a server on loopback that refuses what PayPal refuses, with PayPal's own names,
 * keeps a book of what moved, and can be scripted to fail in every way that a rail fails. Its clock can be moved. It
 * shares no code with the adapter, so that a mistake is not made on both sides.
 */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { freshClient, SCOPES, Tokens } from './paypal/oauth.ts'
import { Payouts } from './paypal/payouts.ts'
import type { Reply } from './paypal/refusals.ts'
import { reportingRoutes } from './paypal/reporting.ts'
import { listen } from './paypal/server.ts'
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
  readonly accounts: readonly string[]
  close(): Promise<void>
  /** Its clock, which `advance` moves. */
  nowMs(): number
  advance(seconds: number): void
  script(rule: Rule): void
  book(): Book
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
}

export async function startPaypalStandIn(options: StandInOptions = {}): Promise<PaypalStandIn> {
  const { port = 0, scopes = SCOPES, tokenLifeSeconds = 32_400 } = options
  const world = new World()
  const client = freshClient()
  const tokens = new Tokens(world, client, scopes, tokenLifeSeconds)
  const payouts = new Payouts(world)
  const routes = [...payouts.routes(), ...reportingRoutes(world)]
  const act = actionsOf(world, payouts)
  const server = await listen({ world, tokens, routes, control: controlOf(act) }, port)
  return {
    ...act,
    url: world.url,
    env: { PAYPAL_CLIENT_ID: client.id, PAYPAL_CLIENT_SECRET: client.secret },
    accounts: ['desks@example.com', 'chairs@example.com', 'id:STANDNPAYEE23'],
    nowMs: () => world.nowMs(),
    tokenRequests: () => tokens.count,
    revokeTokens: () => tokens.revoke(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

type Actions = Pick<PaypalStandIn, 'advance' | 'script' | 'book' | 'stray' | 'comeBack'>

const actionsOf = (world: World, payouts: Payouts): Actions => ({
  advance: (seconds) => {
    world.look()
    payouts.release()
    world.advance(seconds)
  },
  script: ({ on, fault, times = 1 }) => {
    world.rules.push({ on, fault, left: times })
  },
  book: () => {
    world.look()
    return { totals: world.totals(), payments: world.payments, refunds: world.refunds }
  },
  stray: ({ direction, amount, currency }) => {
    const id = world.id(17)
    const minor = direction === 'out' ? -amount : amount
    world.move({ id, code: 'T0000', money: { currency, minor }, status: 'S' })
    return id
  },
  comeBack: (key) => {
    world.look()
    if (!payouts.comeBack(key)) throw new Error('expected the key of a payout that succeeded')
  },
})

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
    if (path === 'come-back') {
      act.comeBack(String(at(json, 'key')))
      return { status: 204 }
    }
    return undefined
  }
}

if (pathToFileURL(process.argv[1] ?? '').href === import.meta.url) {
  const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } })
  const { url, env, accounts, close } = await startPaypalStandIn({ port: Number(values.port) })
  process.stdout.write(`${JSON.stringify({ url, pid: process.pid, env, accounts })}\n`)
  process.once('SIGTERM', () => void close())
}
