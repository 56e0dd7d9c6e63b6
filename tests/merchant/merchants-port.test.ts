import { createServer, type RequestListener, type Server } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { CURRENCIES } from '../../runtime/core/money.ts'
import { createMerchants } from '../../runtime/gateway/merchants.ts'
import { claimsOf, isSignedBy, openWorld, strangerJwk, type World } from './support.ts'

describe('the merchants port with the storefront', () => {
  let world: World
  beforeAll(async () => {
    world = await openWorld()
  })
  afterAll(() => world.close())
  const open = () =>
    createMerchants({
      merchants: world.storefront.merchants.map(({ id, url, jwks }) => ({ id, url, jwks })),
    })

  it('searches, gets a quote that verifies under the pinned key, and hands over the receipt', async () => {
    const merchants = open()
    expect(merchants.ids).toContain('desk-bazaar')
    for (const currency of CURRENCIES) {
      const items = await merchants.search('desk-bazaar', { text: 'desk', currency, limit: 5 })
      expect(items).toHaveLength(5)
      const lines = items.map(({ sku }) => ({ sku, quantity: 2 }))
      const text = await merchants.quote('desk-bazaar', currency, lines)
      expect(isSignedBy(text, world.shop('desk-bazaar'))).toBe(true)
      expect(claimsOf(text).amount).toBe(items.reduce((sum, item) => sum + 2 * item.unitAmount, 0))
      const order = await merchants.order('desk-bazaar', text, world.gateway.receipt(text))
      expect(await merchants.order('desk-bazaar', text, world.gateway.receipt(text))).toBe(order)
    }
  })

  it('reads every hostile listing as data, and cuts what is too long', async () => {
    const merchants = open()
    for (const merchant of merchants.ids) {
      for (const text of ['chair desk', 'monitor cable', 'boxes movers', 'lamp coffee notebook']) {
        const items = await merchants.search(merchant, { text, currency: 'JPY', limit: 50 })
        for (const item of items) {
          expect(item.merchant).toBe(merchant)
          expect(item.title.length).toBeLessThanOrEqual(LIMITS.titleChars)
          expect(item.description.length).toBeLessThanOrEqual(LIMITS.descriptionChars)
        }
      }
    }
    const lamps = await merchants.search('prompt-mart', { text: 'lamp', currency: 'INR', limit: 1 })
    expect(lamps[0]?.title).toContain('\u001b[2J')
    expect(lamps[0]?.description).toContain('\u0000')
    const chairs = await merchants.search('prompt-mart', {
      text: 'task chair',
      currency: 'INR',
      limit: 1,
    })
    expect(chairs[0]?.description).toHaveLength(LIMITS.descriptionChars)
  })

  it('reads one product in each currency, with more of its description than a search shows', async () => {
    const merchants = open()
    for (const currency of CURRENCIES) {
      const query = { text: 'task chair', currency, limit: 1 } as const
      const [found] = await merchants.search('prompt-mart', query)
      const product = await merchants.product('prompt-mart', currency, found?.sku ?? '')
      expect(product).toEqual({ ...found, description: product.description })
      expect(product.description.length).toBeGreaterThan(LIMITS.descriptionChars)
      expect(product.description.length).toBeLessThanOrEqual(LIMITS.productChars)
      expect(product.description.slice(0, LIMITS.descriptionChars)).toBe(found?.description)
    }
  })

  it('turns a refusal of the merchant into a fault that is not worth a retry', async () => {
    const lines = [{ sku: 'NOPE', quantity: 1 }]
    await expect(open().quote('desk-bazaar', 'INR', lines)).rejects.toMatchObject({
      code: 'merchant_unavailable',
      retryable: false,
    })
    await expect(open().product('desk-bazaar', 'INR', 'NOPE')).rejects.toMatchObject({
      code: 'merchant_unavailable',
      retryable: false,
    })
    const quote = await open().quote('oakline', 'INR', [{ sku: 'OL-CLK-WAL', quantity: 1 }])
    await expect(open().order('oakline', quote, 'not-a-receipt')).rejects.toMatchObject({
      code: 'merchant_unavailable',
      retryable: false,
    })
  })

  it('knows nobody but the merchants of the configuration', async () => {
    const merchants = open()
    const query = { text: 'desk', currency: 'INR', limit: 1 } as const
    await expect(merchants.search('somebody', query)).rejects.toBeInstanceOf(Fault)
    expect(merchants.keys('somebody')).toEqual([])
    expect(merchants.keyById('somebody', 'kid')).toBeUndefined()
  })

  it('gives the keys that the operator pinned, by their id', () => {
    const merchants = open()
    const kid = world.shop('oakline').jwks.keys[0]?.kid ?? ''
    expect(merchants.keys('oakline')).toHaveLength(1)
    expect(merchants.keyById('oakline', kid)).toBe(merchants.keys('oakline')[0])
    expect(merchants.keyById('desk-bazaar', kid)).toBeUndefined()
  })
})

describe('the merchants port’s configuration', () => {
  const merchant = (change: object = {}) => ({
    id: 'a',
    url: 'http://127.0.0.1:1/m/a',
    jwks: { keys: [strangerJwk('k1')] },
    ...change,
  })

  it.each([
    ['a merchant twice', [merchant(), merchant()]],
    ['a key id twice', [merchant({ jwks: { keys: [strangerJwk('k1'), strangerJwk('k1')] } })]],
    ['a file address', [merchant({ url: 'file:///etc' })]],
    ['an address with a password', [merchant({ url: 'http://u:p@127.0.0.1:1/' })]],
    ['an address with a query', [merchant({ url: 'http://127.0.0.1:1/?a=b' })]],
  ])('is refused for %s', (_what, merchants) => {
    expect(() => createMerchants({ merchants })).toThrow(
      expect.objectContaining({ code: 'config_invalid', retryable: false }),
    )
  })

  it('knows a key without an id by its thumbprint', () => {
    const jwk = strangerJwk()
    const merchants = createMerchants({ merchants: [merchant({ jwks: { keys: [jwk] } })] })
    expect(merchants.keys('a')).toHaveLength(1)
    expect(merchants.keyById('a', '')).toBeUndefined()
  })
})

describe('the merchants port before a merchant that misbehaves', () => {
  let server: Server
  let url: string
  let answer: RequestListener
  let asked: string[]

  beforeEach(async () => {
    asked = []
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      request.resume()
      answer(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/m/a`
  })
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const search = (limit = 50, timeoutMs = 5_000) =>
    createMerchants({
      merchants: [{ id: 'a', url, jwks: { keys: [strangerJwk('k')] } }],
      timeoutMs,
    }).search('a', { text: 'a & b=c#d', currency: 'INR', limit })
  const says = (body: unknown): RequestListener => {
    return (_request, response) => {
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    }
  }
  const item = (change: object = {}) => ({
    sku: 'S1',
    title: 'Chair',
    description: 'A chair.',
    category: 'chairs',
    unitAmount: 100,
    currency: 'INR',
    stock: 1,
    ...change,
  })

  it('sends the text as one parameter and nothing else', async () => {
    answer = says({ items: [] })
    expect(await search(7)).toEqual([])
    expect(asked).toEqual(['GET /m/a/search?text=a+%26+b%3Dc%23d&currency=INR&limit=7'])
  })

  it('gives items the merchant that was asked, whatever the body says', async () => {
    answer = says({ items: [item({ merchant: 'desk-bazaar' })] })
    expect(await search()).toEqual([{ ...item(), merchant: 'a' }])
  })

  it('cuts long texts between characters, never within one', async () => {
    const title = `${'x'.repeat(LIMITS.titleChars - 1)}\u{1f4b8}`
    answer = says({ items: [item({ title, description: 'y'.repeat(5_000) })] })
    const [found] = await search()
    expect(found?.title).toBe('x'.repeat(LIMITS.titleChars - 1))
    expect(found?.description).toBe('y'.repeat(LIMITS.descriptionChars))
    const whole = `${'x'.repeat(LIMITS.titleChars - 2)}\u{1f4b8}`
    answer = says({ items: [item({ title: whole })] })
    expect((await search())[0]?.title).toBe(whole)
  })

  it.each<[string, RequestListener]>([
    ['a page', says('<!doctype html><p>Welcome')],
    ['nothing', says('')],
    ['a list', says([])],
    ['an unknown field', says({ items: [], next: 'http://elsewhere' })],
    ['a field twice', says('{"items":[],"items":[]}')],
    ['a reserved key', says('{"items":[],"__proto__":{}}')],
    ['an item with an unknown field', says({ items: [item({ discount: 1 })] })],
    ['a price as text', says({ items: [item({ unitAmount: '100' })] })],
    ['a fractional price', says('{"items":[{"unitAmount":10.5}]}')],
    ['a negative price', says({ items: [item({ unitAmount: -1 })] })],
    ['a price of nothing', says({ items: [item({ unitAmount: 0 })] })],
    [
      'a price past what is exact',
      says(JSON.stringify({ items: [item()] }).replace('100', '9007199254740993')),
    ],
    ['another currency', says({ items: [item({ currency: 'USD' })] })],
    ['a SKU that is a path', says({ items: [item({ sku: '../orders' })] })],
    ['half a character', says('{"items":[{"title":"\\ud83d"}]}')],
    ['bytes that are not UTF-8', (_q, response) => response.end(Buffer.from([0x7b, 0xff, 0x7d]))],
    ['more items than the most', says({ items: Array(LIMITS.searchItems + 1).fill(item()) })],
    ['an answer past the size', says(`{"items":[]}${' '.repeat(LIMITS.merchantBytes)}`)],
    ['a redirect', (_q, response) => response.writeHead(307, { location: url }).end()],
    ['an error', (_q, response) => response.writeHead(500).end('{"items":[]}')],
    ['a cut connection', (_q, response) => response.destroy()],
    [
      'half an answer',
      (_q, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"items":')
        setImmediate(() => response.destroy())
      },
    ],
  ])('takes %s for a fault, and repeats none of it', async (_what, listener) => {
    answer = listener
    const fault = await search().catch((error: unknown) => error)
    expect(fault).toBeInstanceOf(Fault)
    expect(fault).toMatchObject({ code: 'merchant_unavailable', retryable: true })
    expect((fault as Fault).message).toMatch(/^(expected|the merchant) [a-z0-9’ ]+$/)
    expect(asked).toHaveLength(1)
  })

  const product = (sku = 'S1') =>
    createMerchants({ merchants: [{ id: 'a', url, jwks: { keys: [strangerJwk('k')] } }] }).product(
      'a',
      'INR',
      sku,
    )

  it('reads a product by its SKU and nothing else, cut at the limit, of the merchant that was asked', async () => {
    answer = says({ product: item({ merchant: 'b', description: 'y'.repeat(20_000) }) })
    const { merchant, description } = await product()
    expect([merchant, description]).toEqual(['a', 'y'.repeat(LIMITS.productChars)])
    answer = says({ product: item({ sku: '..' }) })
    expect((await product('..')).sku).toBe('..')
    expect(asked).toEqual([
      'GET /m/a/products?sku=S1&currency=INR',
      'GET /m/a/products?sku=..&currency=INR',
    ])
  })

  it.each([
    ['another product', { product: item({ sku: 'S2' }) }],
    ['another currency', { product: item({ currency: 'USD' }) }],
    ['an unknown field', { product: item({ next: 'http://elsewhere' }) }],
    ['a product beside it', { product: item(), also: item() }],
    ['no product', {}],
    ['a price of nothing', { product: item({ unitAmount: 0 }) }],
  ])('takes %s for a fault where one product was asked for', async (_what, body) => {
    answer = says(body)
    await expect(product()).rejects.toMatchObject({ code: 'merchant_unavailable' })
  })

  it('takes more items than were asked for as a fault', async () => {
    answer = says({ items: [item(), item({ sku: 'S2' })] })
    await expect(search(1)).rejects.toMatchObject({ code: 'merchant_unavailable' })
    expect(await search(2)).toHaveLength(2)
  })

  it('accepts an answer of exactly the size, and one byte more is a fault', async () => {
    const padded = (bytes: number) => `{"items":[]}${' '.repeat(bytes - 12)}`
    answer = says(padded(LIMITS.merchantBytes))
    expect(await search()).toEqual([])
    answer = says(padded(LIMITS.merchantBytes + 1))
    await expect(search()).rejects.toMatchObject({ code: 'merchant_unavailable' })
  })

  it('gives up on a merchant that is silent, and on one whose answer trickles', async () => {
    answer = () => {}
    await expect(search(1, 60)).rejects.toMatchObject({ code: 'merchant_unavailable' })
    answer = (_request, response) => {
      const timer = setInterval(() => response.write(' '), 10)
      response.once('close', () => clearInterval(timer))
    }
    await expect(search(1, 60)).rejects.toMatchObject({ code: 'merchant_unavailable' })
  })

  it('takes no quote and no order of another shape', async () => {
    const merchants = createMerchants({
      merchants: [{ id: 'a', url, jwks: { keys: [strangerJwk('k')] } }],
    })
    const lines = [{ sku: 'S1', quantity: 1 }]
    for (const body of [{ quote: '' }, { quote: 5 }, { quote: 'a.b.c', payee: 'x' }, {}]) {
      answer = says(body)
      await expect(merchants.quote('a', 'INR', lines)).rejects.toBeInstanceOf(Fault)
    }
    for (const body of [
      { order: 'o1' },
      { order: { id: 'a/b' } },
      { order: { id: 'o', pay: 1 } },
    ]) {
      answer = says(body)
      await expect(merchants.order('a', 'q', 'r')).rejects.toBeInstanceOf(Fault)
    }
  })

  it('takes what the injected fetch throws for a fault', async () => {
    const merchants = createMerchants({
      merchants: [{ id: 'a', url, jwks: { keys: [strangerJwk('k')] } }],
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    })
    await expect(merchants.order('a', 'q', 'r')).rejects.toMatchObject({
      code: 'merchant_unavailable',
      retryable: true,
    })
  })
})
