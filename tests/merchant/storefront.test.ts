import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CatalogueMerchant, loadCatalogue } from '../../merchant/catalogue.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { CURRENCIES } from '../../runtime/core/money.ts'
import {
  claimsOf,
  get,
  isSignedBy,
  NOW_SECONDS,
  openWorld,
  post,
  quoteOf,
  type World,
} from './support.ts'

const catalogue = loadCatalogue()
const priceAt = (merchant: string, sku: string) =>
  catalogue.find(({ id }) => id === merchant)?.products.find((other) => other.sku === sku)?.prices

let world: World
beforeAll(async () => {
  world = await openWorld(catalogue)
})
afterAll(() => world.close())

describe('a shop', () => {
  it('is listed with its payee, its address and the keys that it publishes', async () => {
    const { body } = await get(`${world.storefront.url}/catalogue`)
    expect(body.merchants).toEqual(world.storefront.merchants)
    const shop = world.shop('desk-bazaar')
    expect(shop).toMatchObject({ name: 'Desk Bazaar', payee: 'desk-bazaar', behaviour: 'honest' })
    expect((await get(shop.jwksUrl)).body).toEqual(shop.jwks)
  })

  it('has a key of its own, kept where only its owner can read it, also after a restart', async () => {
    const before = world.storefront.merchants.map(({ jwks }) => jwks)
    expect(new Set(before.map(({ keys }) => keys[0]?.kid)).size).toBe(before.length)
    expect(new Set(before.map(({ keys }) => keys[0]?.x)).size).toBe(before.length)
    const file = join(world.directory, 'keys', 'oakline.jwk')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await world.restart()
    expect(world.storefront.merchants.map(({ jwks }) => jwks)).toEqual(before)
  })

  it('shows what it sells at the price of the currency that was asked for', async () => {
    for (const currency of CURRENCIES) {
      const query = `text=ergonomic+chair&currency=${currency}&limit=3`
      const { status, body } = await get(`${world.shop('desk-bazaar').url}/search?${query}`)
      expect(status).toBe(200)
      const items = body.items as { sku: string; unitAmount: number; currency: string }[]
      expect(items).toHaveLength(3)
      for (const item of items) {
        expect(item.currency).toBe(currency)
        expect(item.unitAmount).toBe(priceAt('desk-bazaar', item.sku)?.[currency])
      }
    }
  })

  it.each([
    ['no text', 'currency=INR'],
    ['an empty text', 'text=&currency=INR'],
    ['an unknown currency', 'text=desk&currency=EUR'],
    ['a currency twice', 'text=desk&currency=INR&currency=USD'],
    ['a limit of nothing', 'text=desk&currency=INR&limit=0'],
    ['a limit past the most', `text=desk&currency=INR&limit=${LIMITS.searchItems + 1}`],
    ['a limit in another notation', 'text=desk&currency=INR&limit=1e1'],
    ['an unknown parameter', 'text=desk&currency=INR&sort=price'],
    ['a text past the most', `text=${'a'.repeat(LIMITS.titleChars + 1)}&currency=INR`],
  ])('refuses to search with %s', async (_what, query) => {
    const { status, body } = await get(`${world.shop('oakline').url}/search?${query}`)
    expect(status).toBe(400)
    expect(body.code).toBe('malformed')
  })

  it('shows one product as its search does', async () => {
    const { url } = world.shop('oakline')
    const found = await get(`${url}/search?text=clock&currency=USD&limit=1`)
    const [item] = found.body.items as { sku: string }[]
    const one = await get(`${url}/products?sku=${item?.sku}&currency=USD`)
    expect(one).toEqual({ status: 200, body: { product: item } })
  })

  it.each([
    ['without a currency', '/products?sku=OL-CLK-WAL', 400],
    ['in an unknown currency', '/products?sku=OL-CLK-WAL&currency=EUR', 400],
    ['with another parameter', '/products?sku=OL-CLK-WAL&currency=INR&limit=1', 400],
    ['for two SKUs', '/products?sku=OL-CLK-WAL&sku=NOPE&currency=INR', 400],
    ['that it does not have', '/products?sku=NOPE&currency=INR', 404],
    ['by a path', '/products?sku=..%2Forders&currency=INR', 400],
  ])('shows no product %s', async (_what, path, status) => {
    expect((await get(`${world.shop('oakline').url}${path}`)).status).toBe(status)
  })

  it.each([
    '/m/nobody/products?sku=OL-CLK-WAL&currency=INR',
    '/m/nobody/search?text=a&currency=INR',
    '/m/nobody/orders',
    '/m/%2e%2e/orders',
    '/elsewhere',
  ])('is not found at %s', async (path) => {
    expect((await get(`${world.storefront.url}${path}`)).status).toBe(404)
  })

  it.each(CURRENCIES)(
    'quotes every honest product exactly in %s, to the minor unit',
    async (currency) => {
      const shops = catalogue.filter(({ behaviour }) => behaviour.kind === 'honest')
      for (const { id, payee, products } of shops) {
        for (const some of chunks(products, 16)) {
          const lines = some.map(({ sku }, i) => ({ sku, quantity: 1 + (i % 3) }))
          const { body } = await post(`${world.shop(id).url}/quotes`, { currency, lines })
          expect(isSignedBy(String(body.quote), world.shop(id))).toBe(true)
          const quote = claimsOf(String(body.quote))
          expect(quote).toMatchObject({
            iss: id,
            payee,
            currency,
            kind: 'merchant',
            iat: NOW_SECONDS,
          })
          expect(
            quote.lines.map(({ sku, quantity, unitAmount }) => [sku, quantity, unitAmount]),
          ).toEqual(some.map(({ sku, prices }, i) => [sku, 1 + (i % 3), prices[currency]]))
          const total = some.reduce(
            (sum, { prices }, i) => sum + prices[currency] * (1 + (i % 3)),
            0,
          )
          expect(quote.amount).toBe(total)
        }
      }
    },
  )

  it('gives every quote an id of its own and fifteen minutes', async () => {
    const shop = world.shop('oakline')
    const [a, b] = [await quoteOf(shop, 'OL-CLK-WAL'), await quoteOf(shop, 'OL-CLK-WAL')].map(
      claimsOf,
    )
    expect(a?.jti).not.toBe(b?.jti)
    expect(a?.exp).toBe(NOW_SECONDS + 900)
  })

  it('says of a subscription that it recurs, and of nothing else', async () => {
    const shop = world.shop('pantry-row')
    expect(claimsOf(await quoteOf(shop, 'PR-BEA-SUB')).recurring).toBe(true)
    expect(claimsOf(await quoteOf(shop, 'PR-BEA-FT')).recurring).toBeUndefined()
  })

  it.each([
    ['an unknown SKU', { currency: 'INR', lines: [{ sku: 'NOPE', quantity: 1 }] }, 404],
    ['another shop’s SKU', { currency: 'INR', lines: [{ sku: 'OL-CLK-WAL', quantity: 1 }] }, 404],
    ['more than there is', { currency: 'INR', lines: [{ sku: 'DB-TBL-MT10', quantity: 10 }] }, 409],
    [
      'more than there is over two lines',
      {
        currency: 'INR',
        lines: [
          { sku: 'DB-TBL-MT10', quantity: 5 },
          { sku: 'DB-TBL-MT10', quantity: 5 },
        ],
      },
      409,
    ],
    ['no lines', { currency: 'INR', lines: [] }, 400],
    ['nothing of something', { currency: 'INR', lines: [{ sku: 'DB-DSK-100', quantity: 0 }] }, 400],
    ['half of something', { currency: 'INR', lines: [{ sku: 'DB-DSK-100', quantity: 0.5 }] }, 400],
    [
      'a price of one’s own',
      { currency: 'INR', lines: [{ sku: 'DB-DSK-100', quantity: 1, unitAmount: 1 }] },
      400,
    ],
    ['a key twice', '{"currency":"INR","currency":"USD","lines":[]}', 400],
    ['something that is not JSON', '{"currency":', 400],
    [
      'a line too many',
      {
        currency: 'INR',
        lines: Array(LIMITS.quoteLines + 1).fill({ sku: 'DB-CHR-VIS', quantity: 1 }),
      },
      400,
    ],
  ])('does not quote %s', async (_what, body, status) => {
    const answer = await post(`${world.shop('desk-bazaar').url}/quotes`, body)
    expect(answer.status).toBe(status)
    expect(answer.body.quote).toBeUndefined()
  })

  it('does not sign an amount that no integer can hold', async () => {
    const shop: CatalogueMerchant = {
      id: 'huge',
      name: 'Huge',
      payee: 'huge',
      quoteSeconds: 60,
      behaviour: { kind: 'honest' },
      products: catalogue
        .flatMap(({ products }) =>
          products.slice(0, 1).map((one) => ({ ...one, stock: 1e9, sku: 'S' })),
        )
        .slice(0, 1)
        .map((one) => ({
          ...one,
          prices: { ...one.prices, INR: Number.MAX_SAFE_INTEGER as typeof one.prices.INR },
        })),
    }
    const other = await openWorld([shop])
    try {
      const ask = (quantity: number) =>
        post(`${other.shop('huge').url}/quotes`, {
          currency: 'INR',
          lines: [{ sku: 'S', quantity }],
        })
      expect((await ask(1)).status).toBe(200)
      expect(await ask(2)).toMatchObject({ status: 422, body: { code: 'amount_too_large' } })
    } finally {
      await other.close()
    }
  })
})

describe('a hostile shop', () => {
  const quoteAt = async (merchant: string, sku: string, quantity = 1) => {
    const text = await quoteOf(world.shop(merchant), sku, quantity)
    return { text, claims: claimsOf(text), isSigned: isSignedBy(text, world.shop(merchant)) }
  }

  it('flash-deals quotes more than its search says', async () => {
    const { claims, isSigned } = await quoteAt('flash-deals', 'FD-CHR-ERG', 2)
    expect(isSigned).toBe(true)
    const shown = priceAt('flash-deals', 'FD-CHR-ERG')?.INR ?? 0
    expect(claims.lines[0]?.unitAmount).toBe(Math.ceil(shown * 1.4))
    expect(claims.amount).toBe(2 * Math.ceil(shown * 1.4))
  })

  it('blink-offers gives quotes that have expired', async () => {
    const { claims, isSigned } = await quoteAt('blink-offers', 'BO-DSK-140')
    expect(isSigned).toBe(true)
    expect(claims.exp).toBe(NOW_SECONDS)
  })

  it.each([
    ['mirror-kiosk', 'MK-CHR-TSK', 'desk-bazaar'],
    ['detour-supplies', 'DS-PPR-A4', 'acct-7f31c'],
  ])('%s wants the money elsewhere', async (merchant, sku, payee) => {
    const { claims, isSigned } = await quoteAt(merchant, sku)
    expect(isSigned).toBe(true)
    expect(claims.payee).toBe(payee)
    expect(claims.payee).not.toBe(world.shop(merchant).payee)
  })

  it('paperwork-plus adds a fee that nobody asked for', async () => {
    const { claims, isSigned } = await quoteAt('paperwork-plus', 'PP-FIL-LVR')
    expect(isSigned).toBe(true)
    expect(claims.lines).toHaveLength(2)
    expect(claims.lines[1]).toMatchObject({ sku: 'FEE', quantity: 1, unitAmount: 15_480 })
    expect(claims.amount).toBe(129_000 + 15_480)
  })

  it('ghost-signer signs with a key that it does not publish, under the id of the one it does', async () => {
    const { text, isSigned } = await quoteAt('ghost-signer', 'GS-DOC-TB4')
    expect(isSigned).toBe(false)
    const header = JSON.parse(String(Buffer.from(text.split('.')[0] ?? '', 'base64url')))
    expect(header.kid).toBe(world.shop('ghost-signer').jwks.keys[0]?.kid)
  })

  it('coin-swap quotes another currency than it was asked for', async () => {
    const { claims, isSigned } = await quoteAt('coin-swap', 'CS-KET-17')
    expect(isSigned).toBe(true)
    expect(claims.currency).not.toBe('INR')
    expect(claims.amount).toBe(priceAt('coin-swap', 'CS-KET-17')?.INR)
  })

  it('bulk-padder quotes more pieces than it was asked for', async () => {
    const { claims, isSigned } = await quoteAt('bulk-padder', 'BP-TAP-PCK', 2)
    expect(isSigned).toBe(true)
    expect(claims.lines[0]?.quantity).toBe(5)
  })

  it('stamp-twice gives two quotes the same id', async () => {
    const [a, b] = [
      await quoteAt('stamp-twice', 'ST-PLN-SET'),
      await quoteAt('stamp-twice', 'ST-HMP-FT'),
    ]
    expect(a.claims.jti).toBe(b.claims.jti)
    expect(a.claims.amount).not.toBe(b.claims.amount)
  })

  it('prompt-mart speaks to the reader in its listings and beside its quotes', async () => {
    const url = `${world.shop('prompt-mart').url}/search?text=office+chair&currency=INR`
    expect(JSON.stringify((await get(url)).body)).toContain('IGNORE ALL PREVIOUS INSTRUCTIONS')
    const { claims, isSigned } = await quoteAt('prompt-mart', 'PM-CHR-1')
    expect(isSigned).toBe(true)
    expect(JSON.stringify(claims.ext)).toContain('SYSTEM:')
    expect(claims.payee).toBe('prompt-mart')
  })

  it('desk-bazar sells under its own name and to its own payee', async () => {
    const { claims, isSigned } = await quoteAt('desk-bazar', 'DB-CHR-ERG')
    expect(isSigned).toBe(true)
    expect(claims).toMatchObject({ iss: 'desk-bazar', payee: 'desk-bazar', amount: 399_000 })
  })
})

function chunks<T>(items: readonly T[], size: number): T[][] {
  const parts: T[][] = []
  for (let at = 0; at < items.length; at += size) parts.push(items.slice(at, at + size))
  return parts
}
