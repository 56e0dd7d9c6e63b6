/**
 * The two rails as a seed has them: the product's own adapter, over real HTTP, to a stand-in that keeps books of its own. What
 * goes between them is looked at on the way and changed by nobody.
 */
import type { ConfigFile } from '../../../runtime/config.ts'
import type { Rail } from '../../../runtime/core/rail.ts'
import type { Clock } from '../../../runtime/core/time.ts'
import type { Transport } from '../../../runtime/rails/exchange.ts'
import { openRail, type RailSettings } from '../../../runtime/rails/open.ts'
import { startPaypalStandIn } from '../../../tests/support/paypal-stand-in.ts'
import { startRazorpayStandIn } from '../../../tests/support/razorpay-stand-in.ts'
import type { Fault, HostileRailName } from './plan.ts'

export interface RailMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface HostileRail {
  readonly name: HostileRailName
  readonly currency: 'INR' | 'USD'
  /** As an operator writes it. */
  readonly config: ConfigFile['rail']
  /** That payees are paid at. */
  readonly accounts: readonly string[]
  /** As the stand-in's script names the request that moves the money. */
  readonly operation: string
  /** Of a payment that is being asked for by this request; undefined for every other request. */
  readonly keyOf: (request: Parameters<Transport>[0]) => string | undefined
  /** What may be in nothing that is said. */
  readonly secrets: readonly string[]
  adapter(given: { readonly clock: Clock; readonly transport: Transport }): Rail
  script(on: string, fault: Exclude<Fault, 'none'>): void
  advance(seconds: number): void
  /** What moved less what came back, in minor units, by the stand-in's own sums. */
  total(): number
  /** Whether it has a payment of ours more than then. */
  payments(): number
  messages(): readonly RailMessage[]
  comeBack(key: string): void
  close(): Promise<void>
}

/** Long enough for a busy machine, short enough to wait for. */
const TIMEOUT_MS = 1_000

const secretsOf = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).flatMap(([name, value]) => (/SECRET/.test(name) ? [value] : []))

type StandIn =
  | Awaited<ReturnType<typeof startRazorpayStandIn>>
  | Awaited<ReturnType<typeof startPaypalStandIn>>

/** What is the same for both: the adapter as a gateway opens it, and the stand-in's own desk. */
const over = (standIn: StandIn, config: Exclude<RailSettings, { name: 'simulated' }>) => ({
  config,
  operation: 'payout.create',
  secrets: secretsOf(standIn.env),
  adapter: ({ clock, transport }: Parameters<HostileRail['adapter']>[0]): Rail =>
    openRail(config, {
      credential: (name) => standIn.env[name],
      clock,
      transport,
      timeoutMs: TIMEOUT_MS,
    }),
  script: (on: string, fault: Exclude<Fault, 'none'>) => standIn.script({ on, fault }),
  advance: (seconds: number) => standIn.advance(seconds),
  payments: () => standIn.book().payments,
  messages: () => standIn.messages(),
  comeBack: (key: string) => standIn.comeBack(key),
  close: () => standIn.close(),
})

async function razorpay(): Promise<HostileRail> {
  const standIn = await startRazorpayStandIn()
  const { url, accountNumber } = standIn
  return {
    ...over(standIn, { name: 'razorpay', mode: 'test', accountNumber, url }),
    name: 'razorpay',
    currency: 'INR',
    // Every other account is of another kind, with other limits.
    accounts: standIn.accounts.filter((_account, i) => i % 2 === 0),
    keyOf: ({ method, url: { pathname }, headers }) =>
      method === 'POST' && pathname === '/v1/payouts' ? headers['X-Payout-Idempotency'] : undefined,
    total: () => standIn.book().totals.INR ?? 0,
  }
}

async function paypal(): Promise<HostileRail> {
  const standIn = await startPaypalStandIn()
  return {
    ...over(standIn, { name: 'paypal', mode: 'sandbox', url: standIn.url }),
    name: 'paypal',
    currency: 'USD',
    accounts: standIn.accounts.filter((account) => account.includes('@')),
    keyOf: ({ method, url: { pathname }, body = '' }) =>
      method === 'POST' && pathname === '/v1/payments/payouts'
        ? /"sender_batch_id":"([^"]+)"/.exec(body)?.[1]
        : undefined,
    total: () => standIn.book().totals.USD ?? 0,
  }
}

/** A stand-in of its own for each seed. */
export const startHostileRail = (name: HostileRailName): Promise<HostileRail> =>
  name === 'razorpay' ? razorpay() : paypal()
