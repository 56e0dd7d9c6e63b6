/**
 * Rails to force into every failure that they have, each with credentials that were planted and that appear nowhere
 * else. A rail is one entry of the table at the end.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { credentialsIn, needsOfRail } from '../../runtime/cli/credentials.ts'
import type { ConfigFile } from '../../runtime/config.ts'
import { parseConfig } from '../../runtime/config.ts'
import type { Currency } from '../../runtime/core/money.ts'
import { startSimulatedRail } from '../../runtime/rails/simulated/server.ts'
import { payoutBodySchema } from '../../runtime/rails/simulated/wire.ts'
import type { Credentials } from '../../runtime/secrets/resolve.ts'
import { operatorOf, temporaryDirectory } from '../rails/support.ts'
import { startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { startRazorpayStandIn } from '../support/razorpay-stand-in.ts'

export interface PlantedRail {
  readonly config: ConfigFile['rail']
  /** Of the one payee. */
  readonly account: string
  readonly currency: Currency
  readonly credentials: Credentials
  /** Names of everything that can be forced. */
  readonly faults: readonly string[]
  /** What the next payment, and the refund after it, meet. */
  force(fault: string): Promise<void>
  close(): Promise<void>
}

/** Credentials as a client of the rail is given them, by the names of their variables. */
export function credentialsFor(
  rail: ConfigFile['rail'],
  env: Readonly<Record<string, string>>,
): Promise<Credentials> {
  const whole = {
    organisation: 'x',
    gateway: { id: 'x', url: 'http://x' },
    principals: [],
    payees: [],
    merchants: [],
    rail,
  }
  return credentialsIn(env, needsOfRail(parseConfig(JSON.stringify(whole)).rail))
}

const SIMULATED = [
  'settle',
  'decline',
  'lostReply',
  'lostRequest',
  'lateCommit',
  'slow',
  'lateReversal',
  'garbage',
  'error500AfterSettle',
  'wrongAmount',
]

async function simulated(): Promise<PlantedRail> {
  const directory = temporaryDirectory()
  const rail = await startSimulatedRail({ port: 0, directory: directory.path })
  const operator = operatorOf(rail.url, rail.apiKey)
  const config = { name: 'simulated', url: rail.url } as const
  return {
    config,
    account: 'account-of-shop',
    currency: 'INR',
    credentials: await credentialsFor(config, { HEADGATE_RAIL_KEY: rail.apiKey }),
    faults: SIMULATED,
    force: async (outcome) => {
      const delay = ['lateCommit', 'slow'].includes(outcome) ? { delayMs: 100 } : {}
      const refund = outcome === 'lateReversal' ? 'settle' : outcome
      await operator.post('script', { outcome, ...delay })
      await operator.post('script', { on: 'refund', outcome: refund, ...delay })
    },
    close: async () => {
      await rail.close()
      directory.remove()
    },
  }
}

type Leak = (key: string, request: string, response: ServerResponse) => void

const answer = (response: ServerResponse, status: number, body: unknown) =>
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(typeof body === 'string' ? body : JSON.stringify(body))

/** A payout that settled, with the credential where the rail has words of its own. */
const payout = (request: string, more: object): object => ({
  ...payoutBodySchema.safeParse(JSON.parse(request || '{}')).data,
  state: 'settled',
  reference: 'sim_1',
  createdAtSeconds: 1,
  ...more,
})

/** Everywhere in an answer where a rail can repeat what it was told. */
const LEAKS: Readonly<Record<string, Leak>> = {
  'in an error': (key, _request, response) =>
    answer(response, 500, { error: { description: `unexpected Authorization: Bearer ${key}` } }),
  'in a refusal of the key': (key, _request, response) =>
    answer(response, 401, { error: `the key ${key} is not known` }),
  'in a header': (key, _request, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:9/${key}`, 'x-key': key }).end(),
  'in a reference': (key, request, response) =>
    answer(response, 200, payout(request, { reference: `sim_${key}` })),
  'in a reference in hexadecimal': (key, request, response) => {
    const hex = Buffer.from(key).toString('hex')
    answer(response, 200, payout(request, { reference: `sim_${hex}` }))
  },
  'in a reason': (key, request, response) =>
    answer(response, 200, payout(request, { state: 'declined', reason: key })),
  'in a page': (key, _request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${key}</p>`),
  'in half an answer': (key, _request, response) => {
    response.writeHead(200, { 'content-length': '9000' })
    response.write(`{"reference": "${key}`)
    setTimeout(() => response.socket?.destroy(), 20)
  },
}

/** Looks like the simulated rail and repeats its key in whatever it says. */
async function leaking(): Promise<PlantedRail> {
  const key = 'planted-key-of-a-talky-rails'
  let leak: Leak = (_key, _request, response) => answer(response, 503, '')
  const server = createServer((request: IncomingMessage, response) => {
    const given = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => leak(given, body, response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const config = { name: 'simulated', url: `http://127.0.0.1:${port}` } as const
  return {
    config,
    account: 'account-of-shop',
    currency: 'INR',
    credentials: await credentialsFor(config, { HEADGATE_RAIL_KEY: key }),
    faults: Object.keys(LEAKS),
    force: async (fault) => {
      leak = LEAKS[fault] ?? leak
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Of both stand-ins, and where each is met: by the payment, by what is asked of it afterwards, or by whatever comes. */
const FAULTS = [
  'decline',
  'resetBefore',
  'resetAfter',
  'html502Before',
  'html502After',
  'html200After',
  'empty500After',
  'redirect307',
  'rateLimit',
  'wrongAmount',
  'pending',
  'leakSecret',
] as const
const METS = ['payout.create', 'payout.get', 'payout.list', 'token', '*'] as const

const SCRIPTED = [
  ...FAULTS.map((fault) => `${fault} at payout.create`),
  ...METS.map((met) => `leakSecret at ${met}`),
  ...METS.map((met) => `html200After at ${met}`),
  'hang at payout.create',
].filter((each, i, all) => all.indexOf(each) === i)

/** What `SCRIPTED` says, for a stand-in. */
function ruleOf(scripted: string) {
  const [named, on = '*'] = scripted.split(' at ')
  const fault = [...FAULTS, 'hang' as const].find((each) => each === named)
  if (fault === undefined) throw new Error(`expected a fault of the table, not ${scripted}`)
  return { on, fault, times: 1 }
}

async function razorpay(): Promise<PlantedRail> {
  const rail = await startRazorpayStandIn()
  const { url, accountNumber, accounts, env } = rail
  const config = { name: 'razorpay', mode: 'test', accountNumber, url } as const
  const previous = { RAZORPAY_WEBHOOK_SECRET_PREVIOUS: 'planted-webhook-secret-of-before' }
  return {
    config,
    account: accounts[0] ?? '',
    currency: 'INR',
    credentials: await credentialsFor(config, { ...env, ...previous }),
    faults: SCRIPTED.filter((each) => !each.endsWith(' token')),
    force: async (scripted) => rail.script(ruleOf(scripted)),
    close: () => rail.close(),
  }
}

async function paypal(): Promise<PlantedRail> {
  const rail = await startPaypalStandIn()
  const config = { name: 'paypal', mode: 'sandbox', url: rail.url } as const
  return {
    config,
    account: rail.accounts[0] ?? '',
    currency: 'USD',
    credentials: await credentialsFor(config, { ...rail.env, PAYPAL_INSTRUMENT: rail.instrument }),
    faults: SCRIPTED,
    force: async (scripted) => {
      // Otherwise the credentials themselves are told once, and a token of theirs after that.
      rail.revokeTokens()
      rail.script(ruleOf(scripted))
    },
    close: () => rail.close(),
  }
}

export const PLANTED_RAILS: Readonly<Record<string, () => Promise<PlantedRail>>> = {
  simulated,
  'simulated, repeating its key': leaking,
  razorpay,
  paypal,
}
