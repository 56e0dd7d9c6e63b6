import { generateKeyPairSync } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadCatalogue } from '../../merchant/catalogue.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { signJws } from '../../runtime/core/jws.ts'
import {
  createTestGateway,
  get,
  openWorld,
  post,
  quoteOf,
  strangerKey,
  type World,
} from './support.ts'

const SHOPS = ['desk-bazaar', 'oakline', 'ghost-signer', 'stamp-twice']
const catalogue = loadCatalogue().filter(({ id }) => SHOPS.includes(id))

describe('an order', () => {
  let world: World
  beforeEach(async () => {
    world = await openWorld(catalogue)
  })
  afterEach(() => world.close())

  const order = (quote: string, receipt: string, merchant = 'desk-bazaar') =>
    post(`${world.shop(merchant).url}/orders`, { quote, receipt })
  const orders = async (merchant = 'desk-bazaar') =>
    (await get(`${world.shop(merchant).url}/orders`)).body.orders as Record<string, unknown>[]
  const chair = (quantity = 1) => quoteOf(world.shop('desk-bazaar'), 'DB-CHR-ERG', quantity)

  it('is fulfilled against a receipt about exactly its quote, and shows what was bought', async () => {
    const quote = await chair(2)
    const { status, body } = await order(quote, world.gateway.receipt(quote))
    expect(status).toBe(201)
    const { id } = body.order as { id: string }
    expect(id).toMatch(/^ord_/)
    expect(await orders()).toMatchObject([
      { id, payee: 'desk-bazaar', amount: 2_398_000, currency: 'INR', quoteDigest: sha256(quote) },
    ])
  })

  it('is the same order when it is sent again, also after a restart', async () => {
    const quote = await chair()
    const receipt = world.gateway.receipt(quote)
    const first = await order(quote, receipt)
    const again = await order(quote, receipt)
    expect(again).toEqual({ ...first, status: 200 })
    await world.restart()
    expect(await order(quote, receipt)).toEqual(again)
    expect(await orders()).toHaveLength(1)
  })

  it('is one order when it is sent many times at once', async () => {
    const quote = await chair()
    const receipt = world.gateway.receipt(quote)
    const answers = await Promise.all(Array.from({ length: 8 }, () => order(quote, receipt)))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await orders()).toHaveLength(1)
  })

  it('is honoured after its quote has expired, because it was paid', async () => {
    const quote = await chair()
    world.clock.seconds += 3_600
    expect((await order(quote, world.gateway.receipt(quote))).status).toBe(201)
  })

  it.each([
    ['for less', { amount: 1_198_999 }, 'is for less than'],
    ['for more', { amount: 1_199_001 }, 'is for more than'],
    ['in another currency', { currency: 'KWD' }, 'in another currency'],
    ['to another payee', { payee: 'oakline' }, 'somebody else was paid'],
    ['about another quote', { quote: sha256('another') }, 'about another quote'],
    ['of another gateway that has the same key', { iss: 'other' }, 'of another gateway'],
  ])('is refused for a receipt %s, in a sentence', async (_what, change, why) => {
    const quote = await chair()
    const answer = await order(quote, world.gateway.receipt(quote, change))
    expect(answer).toMatchObject({ status: 403, body: { code: 'receipt_mismatch' } })
    expect(answer.body.title).toContain(why)
    expect(await orders()).toEqual([])
  })

  it.each([
    ['an id that is not its payment’s', { payment: 'pay_other' }],
    ['a head in another stream than its leaf’s', { node: 'nd_other' }],
  ])('is refused for a receipt with %s', async (_what, change) => {
    const quote = await chair()
    const answer = await order(quote, world.gateway.receipt(quote, change))
    expect(answer).toMatchObject({ status: 403, body: { code: 'receipt_invalid' } })
    expect(answer.body.title).toContain('do not belong to one another')
  })

  it('is refused for a receipt that has earned another order, also after a restart', async () => {
    const [first, second] = [await chair(), await chair(2)]
    const receipt = world.gateway.receipt(first)
    expect((await order(first, receipt)).status).toBe(201)
    const { jti, payment } = JSON.parse(
      String(Buffer.from(receipt.split('.')[1] ?? '', 'base64url')),
    )
    // Of a gateway that gives one receipt's id to two payments: what is signed is whole, and used.
    const again = world.gateway.receipt(second, { jti, payment })
    const used = { status: 409, body: { code: 'receipt_used' } }
    expect(await order(second, again)).toMatchObject(used)
    await world.restart()
    expect(await order(second, again)).toMatchObject(used)
    expect(await orders()).toHaveLength(1)
    expect((await order(first, receipt)).status).toBe(200)
  })

  it('is refused for a receipt that brings its own key along', async () => {
    const quote = await chair()
    const text = world.gateway.receipt(quote).split('.')[1] ?? ''
    const claims = JSON.parse(String(Buffer.from(text, 'base64url')))
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const jwk = publicKey.export({ format: 'jwk' }) as never
    const { kid } = world.gateway
    const own = signJws({ typ: 'receipt+jwt', key: privateKey, kid, jwk, claims })
    expect(await order(quote, own)).toMatchObject({ body: { code: 'receipt_invalid' } })
  })

  it('is refused for a receipt under a key that is published no more', async () => {
    const quote = await chair()
    const [early, late] = [await chair(), await chair()]
    expect((await order(early, world.gateway.receipt(early))).status).toBe(201)
    const [receipt, lateReceipt] = [quote, late].map((text) => world.gateway.receipt(text))
    const next = { ...generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }) }
    writeFileSync(world.gateway.jwksFile, JSON.stringify({ keys: [{ ...next, kid: 'gateway-2' }] }))
    world.clock.seconds += 299
    expect((await order(quote, receipt ?? '')).status).toBe(201)
    world.clock.seconds += 1
    const answer = await order(late, lateReceipt ?? '')
    expect(answer).toMatchObject({ status: 403, body: { code: 'receipt_invalid' } })
    expect(answer.body.title).toContain('publishes no key')
  })

  it('is honoured for a day by keys that cannot be read again, and then waits', async () => {
    const [first, second, third] = [await chair(), await chair(), await chair()]
    const receipts = [first, second, third].map((text) => world.gateway.receipt(text))
    expect((await order(first, receipts[0] ?? '')).status).toBe(201)
    rmSync(world.gateway.jwksFile)
    world.clock.seconds += 86_399
    expect((await order(second, receipts[1] ?? '')).status).toBe(201)
    world.clock.seconds += 1
    expect((await order(third, receipts[2] ?? '')).status).toBe(503)
  })

  it('shows the word on the bank statement, to a program and to who packs it', async () => {
    const quote = await chair()
    await order(quote, world.gateway.receipt(quote))
    const [shown] = await orders()
    expect(shown?.shortReceipt).toMatch(/^HG[0-9A-F]{16}$/)
    const page = await fetch(`${world.shop('desk-bazaar').url}/orders`, {
      headers: { accept: 'text/html,*/*' },
    })
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    const text = await page.text()
    expect(text).toContain(String(shown?.shortReceipt))
    expect(text).not.toContain('<script')
  })

  it('is refused for the receipt of another quote of the same price', async () => {
    const [mine, other] = [await chair(), await chair()]
    const answer = await order(mine, world.gateway.receipt(other))
    expect(answer).toMatchObject({ status: 403, body: { code: 'receipt_mismatch' } })
  })

  it('is refused for a receipt that the gateway did not sign', async () => {
    const quote = await chair()
    const forged = world.gateway.receipt(quote, {}, strangerKey())
    expect(await order(quote, forged)).toMatchObject({
      status: 403,
      body: { code: 'receipt_invalid' },
    })
    expect(await orders()).toEqual([])
  })

  it('is refused for a receipt whose claims were changed after signing', async () => {
    const quote = await chair(2)
    const cheap = world.gateway.receipt(await chair(1)).split('.')
    const dear = world.gateway.receipt(quote).split('.')
    const spliced = [dear[0], dear[1], cheap[2]].join('.')
    expect(await order(quote, spliced)).toMatchObject({ body: { code: 'receipt_invalid' } })
  })

  it('is refused for something else that the gateway signed', async () => {
    const quote = await chair()
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const kid = world.gateway.kid
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid }]
    writeFileSync(world.gateway.jwksFile, JSON.stringify({ keys }))
    const text = world.gateway.receipt(quote).split('.')[1] ?? ''
    const claims = JSON.parse(String(Buffer.from(text, 'base64url')))
    const asSeal = signJws({ typ: 'seal+jwt', key: privateKey, kid, claims })
    expect(await order(quote, asSeal)).toMatchObject({ body: { code: 'receipt_invalid' } })
    const without = signJws({ typ: 'receipt+jwt', key: privateKey, claims })
    expect(await order(quote, without)).toMatchObject({ body: { code: 'receipt_invalid' } })
    const extra = signJws({ typ: 'receipt+jwt', key: privateKey, kid, claims: { ...claims, x: 1 } })
    expect(await order(quote, extra)).toMatchObject({ body: { code: 'receipt_invalid' } })
    const proper = signJws({ typ: 'receipt+jwt', key: privateKey, kid, claims })
    expect((await order(quote, proper)).status).toBe(201)
  })

  it('is refused for a quote of another shop, or of none', async () => {
    const other = await quoteOf(world.shop('oakline'), 'OL-CHR-OAK')
    expect(await order(other, world.gateway.receipt(other))).toMatchObject({
      status: 403,
      body: { code: 'quote_invalid' },
    })
    const ghost = await quoteOf(world.shop('ghost-signer'), 'GS-DOC-TB4')
    expect(await order(ghost, world.gateway.receipt(ghost), 'ghost-signer')).toMatchObject({
      body: { code: 'quote_invalid' },
    })
  })

  it('is refused a second time for the same quote under another payment', async () => {
    const quote = await chair()
    await order(quote, world.gateway.receipt(quote))
    const second = await order(
      quote,
      world.gateway.receipt(quote, { jti: 'rcpt_other', payment: 'pay_other' }),
    )
    expect(second).toMatchObject({ status: 409, body: { code: 'quote_fulfilled' } })
    expect(await orders()).toHaveLength(1)
  })

  it('is made once where a shop gives two quotes one id', async () => {
    const shop = world.shop('stamp-twice')
    const [a, b] = [await quoteOf(shop, 'ST-PLN-SET'), await quoteOf(shop, 'ST-HMP-FT')]
    expect((await order(a, world.gateway.receipt(a), 'stamp-twice')).status).toBe(201)
    expect((await order(b, world.gateway.receipt(b), 'stamp-twice')).status).toBe(409)
  })

  it('takes what was bought off the stock, and leaves it off after a restart', async () => {
    const shop = () => world.shop('oakline')
    const stock = async () => {
      const found = await get(`${shop().url}/search?text=phone+booth&currency=INR&limit=1`)
      return (found.body.items as { stock: number }[])[0]?.stock
    }
    expect(await stock()).toBe(3)
    const quote = await quoteOf(shop(), 'OL-BTH-PHN', 2)
    expect(await stock()).toBe(3)
    await order(quote, world.gateway.receipt(quote), 'oakline')
    expect(await stock()).toBe(1)
    await world.restart()
    expect(await stock()).toBe(1)
    const lines = [{ sku: 'OL-BTH-PHN', quantity: 2 }]
    expect((await post(`${shop().url}/quotes`, { currency: 'INR', lines })).status).toBe(409)
  })

  it('owes the goods to everybody who paid, even beyond its stock', async () => {
    const shop = world.shop('oakline')
    const quotes = [await quoteOf(shop, 'OL-BTH-PHN', 3), await quoteOf(shop, 'OL-BTH-PHN', 3)]
    for (const quote of quotes) {
      expect((await order(quote, world.gateway.receipt(quote), 'oakline')).status).toBe(201)
    }
  })

  it('waits when the gateway’s keys cannot be read, instead of refusing', async () => {
    const quote = await chair()
    const receipt = world.gateway.receipt(quote)
    rmSync(world.gateway.jwksFile)
    expect(await order(quote, receipt)).toMatchObject({
      status: 503,
      body: { code: 'gateway_keys_unavailable' },
    })
    const { jwksFile, receipt: sign } = createTestGateway(world.directory)
    expect(jwksFile).toBe(world.gateway.jwksFile)
    expect((await order(quote, sign(quote))).status).toBe(201)
  })

  it('takes keys that the gateway began to publish later', async () => {
    const first = await chair()
    await order(first, world.gateway.receipt(first))
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'gateway-2' }]
    writeFileSync(world.gateway.jwksFile, JSON.stringify({ keys }))
    const quote = await chair()
    const text = world.gateway.receipt(quote).split('.')[1] ?? ''
    const claims = JSON.parse(String(Buffer.from(text, 'base64url')))
    const receipt = signJws({ typ: 'receipt+jwt', key: privateKey, kid: 'gateway-2', claims })
    expect((await order(quote, receipt)).status).toBe(403)
    world.clock.seconds += 2
    expect((await order(quote, receipt)).status).toBe(201)
  })
})

describe('a shop that asks the gateway too', () => {
  const ALL = { approved: true, settled: true, amount: true, merchant: true, logIntact: true }
  let answer: { status: number; body: unknown }
  let asked: Record<string, unknown>[]
  let world: World
  let server: ReturnType<typeof createServer>
  beforeEach(async () => {
    answer = { status: 200, body: ALL }
    asked = []
    server = createServer((request, response) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        asked.push(JSON.parse(text))
        response.writeHead(answer.status).end(JSON.stringify(answer.body))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    world = await openWorld(catalogue, undefined, `http://127.0.0.1:${port}/receipts/verify`)
  })
  afterEach(async () => {
    await world.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const order = async () => {
    const shop = world.shop('desk-bazaar')
    const quote = await quoteOf(shop, 'DB-CHR-ERG')
    const receipt = world.gateway.receipt(quote)
    const send = () => post(`${shop.url}/orders`, { quote, receipt })
    return { receipt, send, sent: await send() }
  }

  it('hands over what the gateway confirms, and asks once about one order', async () => {
    const { receipt, send, sent } = await order()
    expect(sent.status).toBe(201)
    answer = { status: 200, body: { ...ALL, settled: false } }
    expect((await send()).status).toBe(200)
    expect(asked).toEqual([
      { receipt, amount: 1_199_000, currency: 'INR', merchant: 'desk-bazaar' },
    ])
  })

  it.each(['approved', 'settled', 'amount', 'merchant', 'logIntact'])(
    'hands nothing over where %s is not so',
    async (name) => {
      answer = { status: 200, body: { ...ALL, [name]: false } }
      const { sent } = await order()
      expect(sent).toMatchObject({ status: 403, body: { code: 'receipt_refused' } })
      expect(String(sent.body.title)).toContain('gateway')
    },
  )

  it.each([
    [503, ALL],
    [429, {}],
    [200, { ...ALL, more: true }],
    [200, { approved: true }],
    [302, ALL],
  ])('waits where the gateway answers %i %j', async (status, body) => {
    answer = { status, body }
    const { send, sent } = await order()
    expect(sent).toMatchObject({ status: 503, body: { code: 'gateway_unavailable' } })
    answer = { status: 200, body: ALL }
    expect((await send()).status).toBe(201)
  })
})

describe('the gateway’s keys', () => {
  it('may come from an address, where a redirect is not followed', async () => {
    const asked: string[] = []
    let body = ''
    const server = createServer((request, response) => {
      asked.push(request.url ?? '')
      if (request.url === '/moved') response.writeHead(302, { location: '/jwks' }).end()
      else response.end(body)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    for (const [path, status] of [
      ['/jwks', 201],
      ['/moved', 503],
    ] as const) {
      const world = await openWorld(catalogue, `${base}${path}`)
      const { publicKey, privateKey } = generateKeyPairSync('ed25519')
      body = JSON.stringify({
        keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'gateway-1' }],
      })
      const quote = await quoteOf(world.shop('desk-bazaar'), 'DB-CHR-ERG')
      const receipt = world.gateway.receipt(quote, {}, privateKey)
      const answer = await post(`${world.shop('desk-bazaar').url}/orders`, { quote, receipt })
      expect(answer.status).toBe(status)
      await world.close()
    }
    expect(asked).toEqual(['/jwks', '/moved'])
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
})
