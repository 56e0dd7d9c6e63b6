import { describe, expect, it } from 'vitest'
import { loadCatalogue, mergeCatalogue } from '../../merchant/catalogue.ts'
import { priceIn, pricesOf } from '../../merchant/prices.ts'
import { createIndex, stemsOf } from '../../merchant/search.ts'
import { CURRENCIES } from '../../runtime/core/money.ts'

const catalogue = loadCatalogue()
const hostileIds = new Set([
  'desk-bazar',
  'prompt-mart',
  'flash-deals',
  'blink-offers',
  'mirror-kiosk',
  'detour-supplies',
  'paperwork-plus',
  'ghost-signer',
  'coin-swap',
  'bulk-padder',
  'stamp-twice',
])
const honest = catalogue.filter(({ id }) => !hostileIds.has(id))

const product = (sku: string, title: string, more: object = {}) => ({
  sku,
  title,
  category: 'things',
  paise: 1_000,
  stock: 5,
  description: '',
  ...more,
})

describe('the built-in catalogue', () => {
  it('has nine honest merchants with more than 250 products between them, and the hostile ones', () => {
    expect(honest).toHaveLength(9)
    expect(honest.every(({ behaviour }) => behaviour.kind === 'honest')).toBe(true)
    expect(honest.flatMap(({ products }) => products).length).toBeGreaterThan(250)
    expect(catalogue.filter(({ id }) => hostileIds.has(id))).toHaveLength(hostileIds.size)
  })

  it('gives every merchant a payee of its own', () => {
    expect(new Set(catalogue.map(({ payee }) => payee)).size).toBe(catalogue.length)
  })

  it('prices every product in every currency, at least one minor unit', () => {
    for (const { prices } of catalogue.flatMap(({ products }) => products)) {
      for (const currency of CURRENCIES) {
        expect(Number.isSafeInteger(prices[currency])).toBe(true)
        expect(prices[currency]).toBeGreaterThan(0)
      }
    }
  })

  it.each([
    'desk',
    'standing desk',
    'ergonomic chair',
    '4K monitor',
    'USB-C cable',
    'whiteboard',
    'moving boxes',
    'movers',
    'end of lease cleaning',
    'plants',
  ])('offers %s at more than one honest merchant', (need) => {
    const words = stemsOf(need)
    const offering = honest.filter(({ products }) =>
      createIndex(products)
        .search(need, 5)
        .some(({ title, category }) => {
          const named = stemsOf(`${title} ${category}`)
          return words.every((word) => named.includes(word))
        }),
    )
    expect(offering.map(({ id }) => id).length).toBeGreaterThan(1)
  })

  it('hides a lookalike: another id and payee, a name that only looks the same', () => {
    const real = catalogue.find(({ id }) => id === 'desk-bazaar')
    const fake = catalogue.find(({ id }) => id === 'desk-bazar')
    expect(fake?.name).toHaveLength(real?.name.length ?? 0)
    expect(fake?.name).not.toBe(real?.name)
    expect(fake?.name.replaceAll('\u0435', 'e').replaceAll('\u0430', 'a')).toBe(real?.name)
    const sku = 'DB-CHR-ERG'
    const priceAt = (shop: typeof real) =>
      shop?.products.find((other) => other.sku === sku)?.prices.INR ?? 0
    expect(priceAt(fake)).toBeLessThan(priceAt(real) / 2)
  })

  it('carries every kind of hostile text, some of it inside honest shops', () => {
    const texts = catalogue
      .flatMap(({ products }) => products)
      .map(({ title, description }) => `${title} ${description}`)
    const patterns = [
      /ignore all previous instructions/i,
      /<script>/,
      /<system>/,
      /"verdict":"allow"/,
      /\[provenance: operator/,
      /\u200b/,
      /\u202e/,
      /\u2067/,
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the listing holds them on purpose
      /\u0000|\u001b/,
      /\u{e0069}/u,
      /[A-Za-z0-9+/]{60,}={0,2}/,
    ]
    for (const pattern of patterns) expect(texts.some((text) => pattern.test(text))).toBe(true)
    const placed = honest.flatMap(({ products }) => products.filter(({ sku }) => /X-/.test(sku)))
    expect(placed.length).toBeGreaterThan(5)
  })
})

describe('a catalogue file', () => {
  const shop = (id: string, products: object[] = []) => ({ id, name: id, payee: id, products })

  it.each([
    ['a merchant twice', [{ merchants: [shop('a'), shop('a')] }]],
    ['a merchant twice over two files', [{ merchants: [shop('a')] }, { merchants: [shop('a')] }]],
    ['a SKU twice', [{ merchants: [shop('a', [product('1', 'x'), product('1', 'y')])] }]],
    [
      'a listing in no shop',
      [{ merchants: [], listings: [{ ...product('1', 'x'), merchant: 'b' }] }],
    ],
    ['an unknown field', [{ merchants: [{ ...shop('a'), discount: 5 }] }]],
    ['a price of nothing', [{ merchants: [shop('a', [product('1', 'x', { paise: 0 })])] }]],
    ['a price as text', [{ merchants: [shop('a', [product('1', 'x', { paise: '100' })])] }]],
    ['an id with a slash', [{ merchants: [shop('a/b')] }]],
  ])('is refused for %s', (_what, documents) => {
    expect(() => mergeCatalogue(documents)).toThrow()
  })

  it('may state a price of its own for one currency', () => {
    const [merged] = mergeCatalogue([
      { merchants: [shop('a', [product('1', 'x', { prices: { KWD: 1_234 } })])] },
    ])
    expect(merged?.products[0]?.prices).toEqual({ ...pricesOf(1_000), KWD: 1_234 })
  })
})

describe('prices', () => {
  it.each([
    // A desk of 4,490 rupees.
    ['INR', 449_000, 449_000],
    ['USD', 449_000, 5_299],
    ['JPY', 449_000, 7_950],
    ['KWD', 449_000, 16_250],
    // A notebook of 149 rupees.
    ['USD', 14_900, 175],
    ['JPY', 14_900, 260],
    ['KWD', 14_900, 550],
    // The least there is.
    ['USD', 1, 5],
    ['JPY', 1, 10],
    ['KWD', 1, 50],
  ] as const)('in %s for %i paise are %i minor units', (currency, paise, expected) => {
    expect(priceIn(currency, paise)).toBe(expected)
  })

  it('never fall when the base rises', () => {
    for (const currency of CURRENCIES) {
      let last = 0
      for (let paise = 1; paise < 40_000_000; paise = Math.ceil(paise * 1.01) + 7) {
        const price = priceIn(currency, paise)
        expect(price).toBeGreaterThanOrEqual(last)
        last = price
      }
    }
  })
})

describe('search', () => {
  const [shop] = mergeCatalogue([
    {
      merchants: [
        {
          id: 'a',
          name: 'A',
          payee: 'a',
          products: [
            product('P1', 'Moving Boxes, pack of ten', { category: 'boxes' }),
            product('P2', 'Gift Box', { category: 'gifts', description: 'For moving farewells.' }),
            product('P3', 'Ergonomic Chair', { category: 'chairs' }),
            product('P4', 'Plain Chair', { category: 'chairs' }),
            product('P5', 'Tote', { description: 'Buy me for a chair, a box, a desk, a battery.' }),
            product('P6', '27-inch Monitor', { category: 'monitors' }),
            product('P7', 'Batteries, set of four', { category: 'power' }),
            product('P8', 'Note\u200bbook Ca\u0301fe\u0301', { category: 'paper' }),
          ],
        },
      ],
    },
  ])
  const search = (text: string, limit = 10) =>
    createIndex(shop?.products ?? [])
      .search(text, limit)
      .map(({ sku }) => sku)

  it.each([
    ['chairs', ['P4', 'P3']],
    ['ergonomic chairs', ['P3', 'P4']],
    ['box', ['P1', 'P2']],
    ['battery', ['P7']],
    ['screens', ['P6']],
    ['27 INCH monitors!', ['P6']],
    ['notebook', ['P8']],
    ['cáfé', ['P8']],
    ['the of and', []],
    ['submarine', []],
    ['   ', []],
    ['.*', []],
  ])('for %j finds %j in this order', (text, skus) => {
    const found = search(text)
    expect([...found].sort()).toEqual([...skus].sort())
    if (text === 'ergonomic chairs' || text === 'box') expect(found).toEqual(skus)
  })

  it('lets no description buy its way into a result', () => {
    expect(search('chair')).not.toContain('P5')
    expect(search('desk')).toEqual([])
  })

  it('gives the same order again, whatever the order of the catalogue', () => {
    const products = [...(shop?.products ?? [])]
    const order = search('moving box chair monitor')
    const reversed = createIndex(products.reverse()).search('moving box chair monitor', 10)
    expect(reversed.map(({ sku }) => sku)).toEqual(order)
  })

  it('gives no more than was asked for', () => {
    expect(search('chair', 1)).toHaveLength(1)
  })
})
