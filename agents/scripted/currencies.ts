/** Names of money, the four that Headgate carries and others, so that a limit in another currency is noticed. */
import type { Currency } from '../../runtime/core/money.ts'

/** A currency that Headgate carries, or the code of one that it does not. */
export type MoneyCode = Currency | (string & {})

export const CURRENCY_SIGNS: ReadonlyMap<string, MoneyCode> = new Map([
  ['₹', 'INR'],
  ['$', 'USD'],
  ['¥', 'JPY'],
  ['円', 'JPY'],
  ['元', 'CNY'],
  ['€', 'EUR'],
  ['£', 'GBP'],
  ['₩', 'KRW'],
  ['₽', 'RUB'],
  ['₺', 'TRY'],
  ['₫', 'VND'],
  ['฿', 'THB'],
  ['₱', 'PHP'],
])

const WORDS: ReadonlyMap<string, MoneyCode> = new Map([
  ...['inr', 'rs', 'rupee', 'rupees', 're'].map((word) => [word, 'INR'] as const),
  ...['usd', 'dollar', 'dollars', 'bucks'].map((word) => [word, 'USD'] as const),
  ...['jpy', 'yen'].map((word) => [word, 'JPY'] as const),
  ...['kwd', 'kd', 'k.d', 'dinar', 'dinars'].map((word) => [word, 'KWD'] as const),
  ...['eur', 'euro', 'euros'].map((word) => [word, 'EUR'] as const),
  ...['gbp', 'sterling', 'quid'].map((word) => [word, 'GBP'] as const),
  ...['cny', 'rmb', 'yuan'].map((word) => [word, 'CNY'] as const),
  ...['chf', 'francs'].map((word) => [word, 'CHF'] as const),
  ...['aed', 'dirham', 'dirhams'].map((word) => [word, 'AED'] as const),
  ...['sar', 'riyal', 'riyals'].map((word) => [word, 'SAR'] as const),
  ...[
    'aud',
    'cad',
    'nzd',
    'sgd',
    'hkd',
    'sek',
    'nok',
    'dkk',
    'krw',
    'thb',
    'brl',
    'mxn',
    'zar',
  ].map((word) => [word, word.toUpperCase()] as const),
  ...[
    'bhd',
    'omr',
    'qar',
    'php',
    'idr',
    'myr',
    'pln',
    'czk',
    'huf',
    'ils',
    'lkr',
    'pkr',
    'bdt',
  ].map((word) => [word, word.toUpperCase()] as const),
])

/** Letters before a `$` that make it another dollar. */
const DOLLARS: ReadonlyMap<string, MoneyCode> = new Map([
  ['us', 'USD'],
  ['a', 'AUD'],
  ['au', 'AUD'],
  ['c', 'CAD'],
  ['ca', 'CAD'],
  ['nz', 'NZD'],
  ['s', 'SGD'],
  ['hk', 'HKD'],
])

/** Words for a hundredth or a thousandth, and whose. */
export const SUBUNITS: ReadonlyMap<string, Currency> = new Map([
  ['cent', 'USD'],
  ['cents', 'USD'],
  ['paise', 'INR'],
  ['paisa', 'INR'],
  ['fils', 'KWD'],
])

/** Zeros that a word after a number adds. */
export const MULTIPLIERS: ReadonlyMap<string, number> = new Map([
  ['k', 3],
  ['thousand', 3],
  ['lakh', 5],
  ['lakhs', 5],
  ['lac', 5],
  ['lacs', 5],
  ['million', 6],
  ['crore', 7],
  ['crores', 7],
  ['cr', 7],
])

/** `word` in lower case. */
export const currencyOfWord = (word: string): MoneyCode | undefined => WORDS.get(word)

export const dollarOf = (letters: string): MoneyCode | undefined => DOLLARS.get(letters)
