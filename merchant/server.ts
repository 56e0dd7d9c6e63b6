/**
 * The storefront: every shop of the catalogue under `/m/{merchant}/`, each with its own key and payee, all in one
 * process with one durable book. Shops sell to anybody who brings a receipt; they know nothing of mandates, tokens
 * or limits. Some of them lie, on purpose: they stand for the world that a gateway has to withstand. Nothing here
 * may be believed because this code is ours.
 */
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { identifierSchema, receiptIdSchema, shortReceiptIdOf } from '../runtime/core/ids.ts'
import { parseJson } from '../runtime/core/json.ts'
import type { Jwks } from '../runtime/core/keys.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { type Currency, currencySchema } from '../runtime/core/money.ts'
import { type Clock, nowSeconds } from '../runtime/core/time.ts'
import { quoteBody } from '../runtime/core/wire.ts'
import { type AskGateway, askGatewayAt } from './ask-gateway.ts'
import { type Order, OrderBook } from './book.ts'
import type { CatalogueMerchant, Product } from './catalogue.ts'
import { createGatewayKeys, type GatewayKeys } from './gateway-keys.ts'
import { openShopKeys, type ShopKeys } from './keys.ts'
import { judgeOrder } from './orders.ts'
import { ORDERS_POLICY, ordersPage } from './orders-page.ts'
import { makeQuote } from './quotes.ts'
import { createIndex, type SearchIndex } from './search.ts'

/** One shop as it is listed: where it is and what an operator needs to configure it. */
export interface ListedMerchant {
  readonly id: string
  readonly name: string
  readonly payee: string
  readonly url: string
  readonly jwksUrl: string
  readonly jwks: Jwks
  /** How its quotes behave; `honest` for a shop that can be dealt with. */
  readonly behaviour: string
}

export interface Storefront {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  readonly merchants: readonly ListedMerchant[]
  close(): Promise<void>
}

export interface StorefrontOptions {
  readonly port: number
  readonly host?: string
  /** The address under which others reach it, if not the one it listens on. */
  readonly publicUrl?: string
  readonly directory: string
  readonly catalogue: readonly CatalogueMerchant[]
  /** URL or file of the gateway's JWKS; read when the first receipt comes. */
  readonly gatewayJwks: string
  /** The one gateway whose receipts the shops take: what they name as `iss`. */
  readonly gatewayId: string
  /** Address of that gateway's `POST /receipts/verify`, asked before anything is handed over; absent: nobody is asked. */
  readonly gatewayVerify?: string
  readonly clock: Clock
}

interface Shop {
  readonly merchant: CatalogueMerchant
  readonly keys: ShopKeys
  readonly index: SearchIndex
}

interface Context {
  readonly shops: ReadonlyMap<string, Shop>
  readonly book: OrderBook
  readonly gatewayKeys: GatewayKeys
  readonly gatewayId: string
  readonly ask: AskGateway | undefined
  readonly clock: Clock
}

/** Opens keys and book in `directory` and listens; port 0 takes a free one. */
export async function startStorefront(options: StorefrontOptions): Promise<Storefront> {
  const book = new OrderBook(options.directory)
  const shops = new Map<string, Shop>()
  for (const merchant of options.catalogue) {
    const keys = openShopKeys(join(options.directory, 'keys'), merchant.id)
    shops.set(merchant.id, { merchant, keys, index: createIndex(merchant.products) })
  }
  const gatewayKeys = createGatewayKeys(options.gatewayJwks, options.clock)
  const { clock, gatewayId, gatewayVerify } = options
  const ask = gatewayVerify === undefined ? undefined : askGatewayAt(gatewayVerify)
  const app = createApp({ shops, book, gatewayKeys, gatewayId, ask, clock })
  app.addHook('onClose', async () => book.close())

  let url = options.publicUrl ?? ''
  app.get('/catalogue', async () => ({ merchants: listShops(shops, url) }))
  const address = await app.listen({ port: options.port, host: options.host ?? '127.0.0.1' })
  url ||= address
  return { url, merchants: listShops(shops, url), close: () => app.close() }
}

function listShops(shops: ReadonlyMap<string, Shop>, base: string): readonly ListedMerchant[] {
  return [...shops.values()].map(({ merchant, keys }) => {
    const url = `${base}/m/${merchant.id}`
    const { id, name, payee, behaviour } = merchant
    const jwksUrl = `${url}/.well-known/jwks.json`
    return { id, name, payee, url, jwksUrl, jwks: keys.jwks, behaviour: behaviour.kind }
  })
}

function createApp(context: Context): FastifyInstance {
  const app = Fastify({
    forceCloseConnections: true,
    // A quote and a receipt together.
    bodyLimit: 2 * LIMITS.bodyBytes,
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer))
    } catch {
      done(null, undefined)
    }
  })
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'not_found'))
  app.setErrorHandler((error, _request, reply) => {
    const status = (error as { statusCode?: number }).statusCode ?? 500
    return refuse(reply, status, status < 500 ? 'malformed' : 'shop_failed')
  })
  addReadRoutes(app, context)
  addQuoteRoute(app, context)
  addOrderRoutes(app, context)
  return app
}

const searchQuery = z.strictObject({
  text: z.string().min(1).max(LIMITS.titleChars),
  currency: currencySchema,
  limit: z
    .string()
    .regex(/^[1-9][0-9]?$/)
    .transform(Number)
    .refine((limit) => limit <= LIMITS.searchItems)
    .optional(),
})

const productQuery = z.strictObject({ sku: identifierSchema, currency: currencySchema })

function addReadRoutes(app: FastifyInstance, { shops, book }: Context): void {
  app.get('/m/:merchant/search', async (request, reply) => {
    const shop = shops.get(merchantOf(request))
    if (!shop) return refuse(reply, 404, 'not_found')
    const query = searchQuery.safeParse(request.query)
    if (!query.success) return refuse(reply, 400, 'malformed')
    const { text, currency, limit = LIMITS.searchItems } = query.data
    const stockOf = (product: Product) => stockLeft(book, shop, product)
    const found = shop.index.search(text, limit)
    return { items: found.map((product) => toItem(product, currency, stockOf(product))) }
  })

  app.get('/m/:merchant/products', async (request, reply) => {
    const shop = shops.get(merchantOf(request))
    if (!shop) return refuse(reply, 404, 'not_found')
    const query = productQuery.safeParse(request.query)
    if (!query.success) return refuse(reply, 400, 'malformed')
    const { sku, currency } = query.data
    const product = shop.merchant.products.find((other) => other.sku === sku)
    if (!product) return refuse(reply, 404, 'no_such_product')
    return { product: toItem(product, currency, stockLeft(book, shop, product)) }
  })

  app.get('/m/:merchant/.well-known/jwks.json', async (request, reply) => {
    return shops.get(merchantOf(request))?.keys.jwks ?? refuse(reply, 404, 'not_found')
  })

  app.get('/m/:merchant/orders', async (request, reply) => {
    const shop = shops.get(merchantOf(request))
    if (!shop) return refuse(reply, 404, 'not_found')
    const orders = book.list(shop.merchant.id).map(shownOrder)
    reply.header('vary', 'Accept')
    if (!/^text\/html\b/.test(request.headers.accept ?? '')) return { orders }
    return reply
      .header('content-security-policy', ORDERS_POLICY)
      .type('text/html; charset=utf-8')
      .send(ordersPage(shop.merchant.name, orders))
  })
}

/** With the word that stands on the shop's bank statement for this payment. */
const shownOrder = (order: Order) => {
  const receipt = receiptIdSchema.safeParse(order.receipt)
  return receipt.success ? { ...order, shortReceipt: shortReceiptIdOf(receipt.data) } : order
}

const toItem = (product: Product, currency: Currency, stock: number) => ({
  sku: product.sku,
  title: product.title,
  description: product.description,
  category: product.category,
  unitAmount: product.prices[currency],
  currency,
  stock,
})

/** A quote reserves nothing, so a shop may come to owe more than it has; it then says 0. */
const stockLeft = (book: OrderBook, { merchant }: Shop, { sku, stock }: Product): number =>
  Math.max(0, stock - book.sold(merchant.id, sku))

const wantedSchema = quoteBody.omit({ merchant: true }).extend({ currency: currencySchema })

function addQuoteRoute(app: FastifyInstance, { shops, book, clock }: Context): void {
  app.post('/m/:merchant/quotes', async (request, reply) => {
    const shop = shops.get(merchantOf(request))
    if (!shop) return refuse(reply, 404, 'not_found')
    const body = wantedSchema.safeParse(request.body)
    if (!body.success) return refuse(reply, 400, 'malformed')
    const wanted = []
    const counts = new Map<string, number>()
    for (const { sku, quantity } of body.data.lines) {
      const product = shop.merchant.products.find((other) => other.sku === sku)
      if (!product) return refuse(reply, 404, 'no_such_product')
      const count = (counts.get(sku) ?? 0) + quantity
      if (count > stockLeft(book, shop, product)) return refuse(reply, 409, 'out_of_stock')
      counts.set(sku, count)
      wanted.push({ product, quantity })
    }
    const { merchant, keys } = shop
    const { currency } = body.data
    const quote = makeQuote({ shop: merchant, keys, currency, wanted, now: nowSeconds(clock) })
    return quote === undefined ? refuse(reply, 422, 'amount_too_large') : { quote }
  })
}

const orderBody = z.strictObject({
  quote: z.string().min(1).max(LIMITS.bodyBytes),
  receipt: z.string().min(1).max(LIMITS.bodyBytes),
})

function addOrderRoutes(app: FastifyInstance, context: Context): void {
  const { shops, book, gatewayKeys, gatewayId, ask, clock } = context
  app.post('/m/:merchant/orders', async (request, reply) => {
    const shop = shops.get(merchantOf(request))
    if (!shop) return refuse(reply, 404, 'not_found')
    const body = orderBody.safeParse(request.body)
    if (!body.success) return refuse(reply, 400, 'malformed')
    const verdict = await judgeOrder({
      ...body.data,
      merchant: shop.merchant.id,
      key: shop.keys.key,
      gatewayId,
      gatewayKeys,
      now: nowSeconds(clock),
    }).catch(() => undefined)
    if (!verdict) return refuse(reply.header('retry-after', '1'), 503, 'gateway_keys_unavailable')
    if (!verdict.ok) return refuse(reply, 403, verdict.code, verdict.why)
    const wanted = verdict.order
    // What was handed over once stays so, whatever came back since.
    if (ask !== undefined && book.find(wanted.merchant, wanted.quote) === undefined) {
      const said = await ask(body.data.receipt, wanted)
      if (said === 'silent') {
        return refuse(reply.header('retry-after', '1'), 503, 'gateway_unavailable')
      }
      if (said !== undefined) return refuse(reply, 403, 'receipt_refused', said)
    }
    const { order, created } = book.add(wanted)
    if (order.quote !== wanted.quote || order.merchant !== wanted.merchant) {
      return refuse(reply, 409, 'receipt_used', 'this receipt has earned another order already')
    }
    const isSame = order.quoteDigest === wanted.quoteDigest && order.receipt === wanted.receipt
    if (!isSame) {
      const why = 'this quote was fulfilled already, against another receipt'
      return refuse(reply, 409, 'quote_fulfilled', why)
    }
    return reply.code(created ? 201 : 200).send({ order: { id: order.id } })
  })
}

const merchantOf = (request: FastifyRequest): string => {
  const { merchant } = request.params as { merchant: string }
  return identifierSchema.safeParse(merchant).data ?? ''
}

/** RFC 9457, without a word of the caller's: `why` is a sentence of ours. */
function refuse(
  reply: FastifyReply,
  status: number,
  code: string,
  why = code.replaceAll('_', ' '),
): FastifyReply {
  const problem = { type: 'about:blank', title: why, status, code }
  return reply.code(status).type('application/problem+json').send(problem)
}
