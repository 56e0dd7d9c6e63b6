/**
 * The rails that a play world can have, each a process of its own with a book of its own: the simulated rail, or a
 * stand-in for a real one, which speaks that rail's own interface on this machine and moves play money.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ConfigFile } from '../config.ts'
import { parseJson } from '../core/json.ts'
import { type Currency, currencySchema } from '../core/money.ts'
import { bookSchema } from '../rails/simulated/wire.ts'
import { CREDENTIAL_NAMES } from '../secrets/catalogue.ts'
import type { Credentials } from '../secrets/resolve.ts'
import { Secret } from '../secrets/secret.ts'
import { type Child, startChild } from './child.ts'
import { Failure } from './failure.ts'

const ROOT = join(import.meta.dirname, '../..')

export const RAIL_NAMES = ['simulated', 'razorpay', 'paypal'] as const
export type RailName = (typeof RAIL_NAMES)[number]

/** What a rail's own book says moved: `totals` is what left, less what came back, in minor units. */
export interface RailBook {
  readonly calls: number
  readonly totals: Readonly<Partial<Record<Currency, number>>>
  /** How many payments moved money. */
  readonly payments: number
  /** Each of them, from a rail that tells. */
  readonly entries?: readonly {
    readonly key: string
    readonly account: string
    readonly reference: string
    readonly amount: number
    readonly currency: string
  }[]
}

export interface WorldRail {
  readonly name: RailName
  readonly url: string
  /** What the simulated rail asks for; a stand-in's own secret. */
  readonly key: Secret
  /** What a gateway in this process is given. */
  readonly credentials: Credentials
  /** The same for one in a process of its own. */
  readonly env: Readonly<Record<string, string>>
  readonly config: ConfigFile['rail']
  /** A payer’s saved instrument, at a stand-in that has one; a gateway is not given it. */
  readonly instrument?: string
  /** Of the `index`-th payee, from 0. */
  accountOf(payee: string, index: number): string
  /** Whether it can be paid here; of accounts that a rail issues a stand-in knows none but its own. */
  isKnown(account: string): boolean
  book(): Promise<RailBook>
  /** Adds a rule to its script of misbehaviour: `rails/simulated/script.ts`, or the stand-in's own. */
  script(rule: object): Promise<void>
}

/** Starts one below `dir`; the gateway's messages go to `webhooks`, which need not listen yet. */
export function startRail(
  name: RailName,
  dir: string,
  webhooks: string,
): Promise<Child<WorldRail>> {
  return name === 'simulated' ? startSimulated(dir) : startStandIn(name, dir, webhooks)
}

async function startSimulated(dir: string): Promise<Child<WorldRail>> {
  const child = await startChild({
    name: 'the simulated rail',
    file: join(ROOT, 'runtime/rails/simulated/main.ts'),
    args: ['--data', join(dir, 'rail')],
    log: join(dir, 'rail.log'),
    ready: z.object({ url: z.string(), keyFile: z.string() }),
  })
  const { url, keyFile } = child.ready
  const key = new Secret(readFileSync(keyFile, 'utf8').trim())
  const call = caller(url, { authorization: `Bearer ${key.reveal()}` })
  return {
    ...child,
    ready: {
      name: 'simulated',
      url,
      key,
      credentials: { HEADGATE_RAIL_KEY: { secret: key, from: 'file' } },
      env: { HEADGATE_RAIL_KEY_FILE: keyFile },
      config: { name: 'simulated', url },
      accountOf: (payee) => `account-of-${payee}`,
      isKnown: () => true,
      book: async () => {
        const { calls, totals, payouts } = bookSchema.parse(parseJson(await call('/book')))
        const entries = payouts.filter(({ state }) => state === 'settled')
        return { calls, totals, payments: entries.length, entries }
      },
      script: async (rule) => void (await call('/script', rule)),
    },
  }
}

const standInReady = z.object({
  url: z.string(),
  env: z.record(z.string(), z.string()),
  accountNumber: z.string().optional(),
  accounts: z.array(z.string()).min(1),
  instrument: z.string().optional(),
})

const standInBook = z.object({
  totals: z.partialRecord(currencySchema, z.number().int()),
  payments: z.number().int(),
})

const SECRET_OF = { razorpay: 'RAZORPAY_KEY_SECRET', paypal: 'PAYPAL_CLIENT_SECRET' } as const

async function startStandIn(
  name: keyof typeof SECRET_OF,
  dir: string,
  webhooks: string,
): Promise<Child<WorldRail>> {
  const child = await startChild({
    name: `the stand-in for ${name}`,
    file: join(ROOT, `tests/support/${name}-stand-in.ts`),
    args: ['--deliver-to', `${webhooks}/webhooks/${name}`],
    log: join(dir, 'rail.log'),
    ready: standInReady,
  })
  const { url, env, accounts, accountNumber = '', instrument } = child.ready
  const call = caller(url)
  // No payer sits here to approve an order.
  const payable = accounts.filter((account) => !account.startsWith('merchant:'))
  return {
    ...child,
    ready: {
      name,
      url,
      key: new Secret(env[SECRET_OF[name]] ?? ''),
      credentials: Object.fromEntries(
        CREDENTIAL_NAMES.flatMap((each) => {
          const value = env[each]
          const secret = value === undefined ? undefined : new Secret(value)
          return secret === undefined ? [] : [[each, { secret, from: 'variable' }] as const]
        }),
      ),
      env,
      ...(instrument === undefined ? {} : { instrument }),
      config: name === 'razorpay' ? { name, accountNumber, url } : { name, url },
      accountOf: (_payee, index) => payable[index % payable.length] ?? '',
      isKnown: (account) => !account.startsWith('fa_') || accounts.includes(account),
      book: async () => {
        const { totals, payments } = standInBook.parse(parseJson(await call('/_control/book')))
        return { calls: payments, totals, payments }
      },
      script: async (rule) => void (await call('/_control/script', rule)),
    },
  }
}

/** Asks the rail's own desk: GET, or POST where something is said. */
const caller =
  (url: string, headers: Readonly<Record<string, string>> = {}) =>
  async (path: string, said?: object): Promise<string> => {
    const answer = await fetch(new URL(path, url), {
      headers: { ...headers, 'content-type': 'application/json' },
      ...(said === undefined ? {} : { method: 'POST', body: JSON.stringify(said) }),
    })
    if (!answer.ok) throw new Failure('unreachable', `the rail answered ${answer.status}`)
    return answer.text()
  }
