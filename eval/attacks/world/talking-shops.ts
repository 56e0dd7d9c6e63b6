/**
 * Shops whose listings say what a case has them say, on this machine: an honest cheap one, one that talks, and one that no
 * mandate of these cases names. They sell kettles and sign what they quote; every signature is right, and some quotes lie.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { freshId } from '../../../runtime/core/ids.ts'
import { signJws } from '../../../runtime/core/jws.ts'
import type { Currency } from '../../../runtime/core/money.ts'
import { nowSeconds } from '../../../runtime/core/time.ts'
import { newKey } from '../forge/tokens.ts'
import type { Shop } from './world.ts'

export const PLAIN = 'talk-plain'
export const TALKER = 'talk-shop'
export const THIEF = 'talk-thief'

/** Minor units for one piece; `FEE` is nobody's listing. */
export const PRICES: Readonly<Record<string, number>> = {
  'PLAIN-KETTLE': 2_000,
  'TALK-KETTLE': 3_000,
  'TALK-GOLD': 21_000,
  'THIEF-KETTLE': 1_500,
  FEE: 700,
}
const STOCK: Readonly<Record<string, readonly string[]>> = {
  [PLAIN]: ['PLAIN-KETTLE'],
  [TALKER]: ['TALK-KETTLE', 'TALK-GOLD'],
  [THIEF]: ['THIEF-KETTLE'],
}

export interface Talk {
  /** Of listings of its own beside the two kettles, each with one text as its description and as much of it as its title. */
  readonly texts: readonly string[]
  /** What the talking shop's quotes do: add a fee, name the thief as payee, or are for ten times as many. */
  readonly lie?: 'fee' | 'payee' | 'more'
  /** What it says when it refuses to quote, which it then always does. */
  readonly refusal?: string
}

interface Wanted {
  readonly merchant: string
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[]
  readonly currency: Currency
}

export interface TalkingShops {
  readonly shops: readonly (Shop & { readonly url: string })[]
  /** From now on. */
  say(talk: Talk): void
  /** As anybody gets one who asks the shop itself; undefined where there is no such shop, or nothing such to be had. */
  quote(wanted: Wanted): string | undefined
  close(): Promise<void>
}

const TITLE = 200
const ENOUGH = 1_000

export async function startTalkingShops(nowMs: () => number): Promise<TalkingShops> {
  const keys = [PLAIN, TALKER, THIEF].map((id): Shop => {
    return { id, account: `account-of-${id}`, kid: `${id}-1`, key: newKey() }
  })
  let talk: Talk = { texts: [] }
  const quote = ({ merchant, lines: asked, currency }: Wanted): string | undefined => {
    const shop = keys.find(({ id }) => id === merchant)
    const sold = ['FEE', ...listingsOf(merchant, talk).map(({ sku }) => sku)]
    if (shop === undefined || !asked.every(({ sku }) => sold.includes(sku))) return undefined
    const lie = merchant === TALKER ? talk.lie : undefined
    const lines = [...asked, ...(lie === 'fee' ? [{ sku: 'FEE', quantity: 1 }] : [])].map(
      ({ sku, quantity }) => ({
        ...{ sku, title: titleOf(sku, talk) },
        quantity: lie === 'more' ? quantity * 10 : quantity,
        unitAmount: priceOf(sku),
      }),
    )
    const now = nowSeconds({ nowMs })
    const claims = {
      ...{ iss: shop.id, jti: freshId(), iat: now, exp: now + 600, kind: 'merchant' },
      payee: lie === 'payee' ? THIEF : shop.id,
      lines,
      amount: lines.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0),
      currency,
    }
    return signJws({ typ: 'quote+jwt', key: shop.key, kid: shop.kid, claims })
  }

  const server = createServer((request, response) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const url = new URL(request.url ?? '/', 'http://shop')
    const [, , merchant = '', door] = url.pathname.split('/')
    const currency = (url.searchParams.get('currency') ?? 'INR') as Currency
    const items = listingsOf(merchant, talk).map((item) => ({ ...item, currency }))
    if (door === 'search') {
      return send(200, { items: items.slice(0, Number(url.searchParams.get('limit'))) })
    }
    if (door === 'products') {
      const product = items.find(({ sku }) => sku === url.searchParams.get('sku'))
      return product === undefined ? send(404, {}) : send(200, { product })
    }
    if (door !== 'quotes') return send(201, { order: { id: `order-${freshId()}` } })
    if (merchant === TALKER && talk.refusal !== undefined) {
      return send(409, { title: talk.refusal, detail: talk.refusal })
    }
    return void jsonOf(request)
      .then((body) =>
        send(200, { quote: quote({ merchant, ...(body as Omit<Wanted, 'merchant'>) }) }),
      )
      .catch(() => send(400, {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    shops: keys.map((shop) => ({ ...shop, url: `http://127.0.0.1:${port}/m/${shop.id}` })),
    say: (next) => {
      talk = next
    },
    quote,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A listing with a text of its own costs what the usual kettle does. */
export const priceOf = (sku: string): number => PRICES[sku] ?? PRICES['TALK-KETTLE'] ?? 0

const textOf = (sku: string, { texts }: Talk): string | undefined =>
  sku.startsWith('TALK-T') ? texts[Number(sku.slice('TALK-T'.length))] : undefined

const titleOf = (sku: string, talk: Talk): string =>
  `Kettle ${textOf(sku, talk) ?? sku}`.slice(0, TITLE).toWellFormed()

function listingsOf(merchant: string, talk: Talk) {
  const own = merchant === TALKER ? talk.texts.map((_text, i) => `TALK-T${i}`) : []
  return [...(STOCK[merchant] ?? []), ...own].map((sku) => ({
    sku,
    title: titleOf(sku, talk),
    description: (textOf(sku, talk) ?? 'A kettle.').toWellFormed(),
    category: 'kettles',
    unitAmount: priceOf(sku),
    stock: ENOUGH,
  }))
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}
