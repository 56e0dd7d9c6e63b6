/** Shopping lists made at random, and the many ways in which people write the same list down. */
import fc from 'fast-check'
import type { TaskLine } from '../../agents/scripted/task.ts'
import { type Currency, EXPONENTS, minor } from '../../runtime/core/money.ts'

const THINGS = [
  'desks', 'office chairs', 'standing desks', 'desk lamps', 'coffee machine', 'whiteboard', 'kettle', 'mugs', 'zorblings',
  'black monitors', 'filing cabinets', 'USB-C hubs', 'HDMI cables', 'A4 paper', '27-inch monitors', 'gel pens',
  'fair trade coffee', 'moving boxes', 'meeting table', 'potted plants', 'quarbs', 'wireless keyboards', 'window cleaning',
] // biome-ignore format: a list of words
const WISHES = [
  'preferably oak',
  'from Desk Bazaar',
  'cheapest',
  'preferably ergonomic',
  'blue if possible',
]
const WISH_TEXT: Readonly<Record<string, string>> = {
  'preferably oak': 'oak',
  'from Desk Bazaar': 'from Desk Bazaar',
  cheapest: 'cheapest',
  'preferably ergonomic': 'ergonomic',
  'blue if possible': 'blue',
}

const ONES =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const TENS = '- - twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

export const inWords = (n: number): string =>
  n < 20 ? (ONES[n] ?? '') : `${TENS[Math.floor(n / 10)]}${n % 10 === 0 ? '' : `-${ONES[n % 10]}`}`

const western = (digits: string) => digits.replace(/\B(?=(\d{3})+$)/g, ',')
const indian = (digits: string) =>
  digits.length <= 3
    ? digits
    : `${digits.slice(0, -3).replace(/\B(?=(\d{2})+$)/g, ',')},${digits.slice(-3)}`

const SYMBOLS: Readonly<Record<Currency, string>> = { INR: '₹', USD: '$', JPY: '¥', KWD: 'KD ' }

/** The amount as text: separators, the currency before, after or nowhere. */
export function amountText(amount: number, currency: Currency, style: number): string {
  const places = EXPONENTS[currency]
  const digits = String(amount).padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const cents = digits.slice(digits.length - places)
  const fraction = /^0*$/.test(cents) && style % 2 === 0 ? '' : `.${cents}`
  const grouped = [whole, western(whole), indian(whole)][style % 3] ?? whole
  const number = `${grouped}${places === 0 ? '' : fraction}`
  const forms = [
    number,
    `${SYMBOLS[currency]}${number}`,
    `${currency} ${number}`,
    `${number} ${currency}`,
  ]
  return forms[Math.floor(style / 3) % 4] ?? number
}

interface Item {
  readonly thing: string
  readonly quantity: number
  readonly maxUnit: number | undefined
  readonly maxTotal: number | undefined
  readonly wish: string | undefined
  readonly style: number
}

const amount = fc.integer({ min: 1, max: 20_000_000 })

export const itemArbitrary: fc.Arbitrary<Item> = fc.record({
  thing: fc.constantFrom(...THINGS),
  quantity: fc.integer({ min: 1, max: 99 }),
  maxUnit: fc.option(amount, { nil: undefined }),
  maxTotal: fc.option(amount, { nil: undefined }),
  wish: fc.option(fc.constantFrom(...WISHES), { nil: undefined }),
  style: fc.nat(1000),
})

/** What the item must be read as, under these headings. */
export function lineOf(item: Item, path: readonly string[]): TaskLine {
  const { thing, quantity, maxUnit, maxTotal, wish } = item
  return {
    text: thing,
    quantity,
    ...(maxUnit === undefined ? {} : { maxUnit: minor(maxUnit) }),
    ...(maxTotal === undefined ? {} : { maxTotal: minor(maxTotal) }),
    prefer: wish === undefined ? [] : [WISH_TEXT[wish] ?? wish],
    path,
  }
}

const counted = ({ thing, quantity: n, style }: Item, isProse: boolean): string => {
  const before = [
    `${n} ${thing}`,
    `${inWords(n)} ${thing}`,
    `${n}x ${thing}`,
    `${n} x ${thing}`,
    `${n} pcs ${thing}`,
  ]
  const after = [
    `${thing} x${n}`,
    `${thing} x ${n}`,
    `${thing} (${n})`,
    `${thing}: ${n}`,
    `${thing}, ${n} pcs`,
  ]
  const forms = isProse ? before : [...before, ...after, `qty ${n} ${thing}`]
  return forms[style % forms.length] ?? ''
}

const UNIT = ['up to # each', 'at most # each', 'max # per unit', 'no more than # apiece', 'not exceeding # a piece', 'max. # per piece', 'for at most # each'] // biome-ignore format: a list
const TOTAL = [
  'for at most # in total',
  'at most # in total',
  'max # total',
  'no more than # for the lot',
]

/** The item in words, its limits and wishes behind it or in brackets. */
export function itemText(item: Item, currency: Currency, isProse = false): string {
  const { maxUnit, maxTotal, wish, style } = item
  const fill = (form: string | undefined, value: number) =>
    (form ?? '').replace('#', amountText(value, currency, style))
  const details = [
    ...(maxUnit === undefined ? [] : [fill(UNIT[style % UNIT.length], maxUnit)]),
    ...(maxTotal === undefined ? [] : [fill(TOTAL[style % TOTAL.length], maxTotal)]),
    ...(wish === undefined ? [] : [wish]),
  ]
  const head = counted(item, isProse)
  if (details.length === 0) return head
  return !isProse && style % 4 === 0
    ? `${head} (${details.join(style % 8 === 0 ? '; ' : ', ')})`
    : `${head}, ${details.join(', ')}`
}

export const LISTS: readonly (readonly [string, (items: readonly string[]) => string])[] = [
  ['bullets', (items) => items.map((item) => `- ${item}`).join('\n')],
  ['stars', (items) => items.map((item) => `  * ${item}`).join('\n')],
  ['numbers', (items) => items.map((item, i) => `${i + 1}. ${item}`).join('\n')],
  ['brackets', (items) => items.map((item, i) => `${i + 1}) ${item}`).join('\n')],
  ['rows', (items) => items.join('\n')],
  ['semicolons', (items) => items.join('; ')],
  [
    'greeting',
    (items) =>
      `Hello team,\n\nPlease order:\n${items.map((item) => `- ${item}`).join('\n')}\n\nThanks,\nAnna`,
  ],
]

export const PROSE: readonly (readonly [string, (items: readonly string[]) => string])[] = [
  ['we need', (items) => `We need ${joined(items)}.`],
  ['please buy', (items) => `Hi! Please buy ${joined(items)} by Friday. Thank you.`],
  ['one sentence each', (items) => items.map((item) => `We also need ${item}.`).join(' ')],
]

const joined = (items: readonly string[]): string =>
  items.length < 2
    ? items.join('')
    : `${items.slice(0, -1).join(', ')} and ${items[items.length - 1]}`
