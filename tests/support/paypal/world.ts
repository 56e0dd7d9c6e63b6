/** What the stand-in knows: its clock, its ids, its accounts, what is scripted, and what it would tell by messages. */
import { randomInt } from 'node:crypto'
import { refusal } from './refusals.ts'

export type StandInFault =
  | 'decline'
  | 'resetBefore'
  | 'resetAfter'
  | 'hang'
  | 'html502Before'
  | 'html502After'
  | 'html200After'
  | 'empty500After'
  | 'redirect307'
  | 'rateLimit'
  | 'wrongAmount'
  | 'pending'
  | 'leakSecret'

export interface Rule {
  readonly on: string
  readonly fault: StandInFault
  readonly times?: number
}

/** Its own reading of money, so that a mistake of the adapter's is not made twice. */
export interface Money {
  readonly currency: string
  /** By ISO 4217. */
  readonly minor: number
}

const WITHOUT_DECIMALS = new Set(['JPY', 'HUF', 'TWD'])
const TAKEN = new Set(
  'AUD BRL CAD CNY CZK DKK EUR HKD HUF ILS JPY MYR MXN TWD NZD NOK PHP PLN GBP SGD SEK CHF THB USD INR'.split(
    ' ',
  ),
)
const ISO_PLACES = (currency: string): number => (currency === 'JPY' ? 0 : 2)

/** What PayPal refuses of an amount, or the amount. `pointer` is where it stood. */
export function moneyOf(value: unknown, currency: unknown, pointer: string): Money {
  if (typeof currency !== 'string' || typeof value !== 'string') {
    throw refusal('MISSING_REQUIRED_PARAMETER', `${pointer}/value`)
  }
  if (!/^[A-Z]{3}$/.test(currency) || !TAKEN.has(currency)) {
    throw refusal('INVALID_CURRENCY_CODE', `${pointer}/currency_code`)
  }
  if (value.length > 32 || !/^((-?[0-9]+)|(-?([0-9]+)?[.][0-9]+))$/.test(value)) {
    throw refusal('INVALID_PARAMETER_SYNTAX', `${pointer}/value`)
  }
  const [whole = '', decimals = ''] = value.split('.')
  if (WITHOUT_DECIMALS.has(currency) && value.includes('.')) {
    throw refusal('DECIMALS_NOT_SUPPORTED', `${pointer}/value`)
  }
  if (decimals.length > 2) throw refusal('DECIMAL_PRECISION', `${pointer}/value`)
  const minor = Number(`${whole}${decimals.padEnd(ISO_PLACES(currency), '0')}`)
  if (!(minor > 0)) throw refusal('CANNOT_BE_ZERO_OR_NEGATIVE', `${pointer}/value`)
  if (whole.length > 15 || !Number.isSafeInteger(minor))
    throw refusal('MAX_VALUE_EXCEEDED', `${pointer}/value`)
  if (currency === 'INR') throw refusal('DOMESTIC_TRANSACTION_REQUIRED', `${pointer}/currency_code`)
  return { currency, minor }
}

export function valueText({ currency, minor }: Money): string {
  if (currency === 'JPY') return String(minor)
  if (WITHOUT_DECIMALS.has(currency)) return String(minor / 100)
  const digits = String(Math.abs(minor)).padStart(3, '0')
  return `${minor < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** As the newer APIs write it; Payouts write `currency` instead. */
export const amountOf = (money: Money) => ({
  currency_code: money.currency,
  value: valueText(money),
})

export const half = ({ currency, minor }: Money): Money => ({
  currency,
  minor: Math.floor(minor / 2),
})

/** One line of the account's own list, as transaction search shows it. */
export interface Movement {
  readonly id: string
  readonly code: string
  /** Negative: out. */
  readonly money: Money
  status: 'S' | 'P' | 'V' | 'D'
  readonly atMs: number
  readonly customField?: string
  readonly invoiceId?: string
  readonly of?: string
}

export interface Message {
  readonly id: string
  readonly body: string
}

const LETTERS = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

export class World {
  readonly movements: Movement[] = []
  readonly rules: { on: string; fault: StandInFault; left: number }[] = []
  readonly queue: Message[] = []
  /** Called on each look and each move of the clock. */
  readonly due: (() => void)[] = []
  payments = 0
  refunds = 0
  url = ''
  #movedMs = 0

  nowMs(): number {
    return Date.now() + this.#movedMs
  }

  iso(ms = this.nowMs()): string {
    return `${new Date(ms).toISOString().slice(0, 19)}Z`
  }

  advance(seconds: number): void {
    this.#movedMs += seconds * 1000
    this.look()
  }

  look(): void {
    for (const happen of this.due) happen()
  }

  id(length: number): string {
    return Array.from({ length }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  }

  /** The fault that this operation meets now, and one less of it. */
  take(operation: string): StandInFault | undefined {
    return this.takeNamed(operation, '*')
  }

  takeNamed(...names: readonly string[]): StandInFault | undefined {
    const rule = this.rules.find(({ on, left }) => left > 0 && names.includes(on))
    if (rule !== undefined) rule.left -= 1
    return rule?.fault
  }

  move(movement: Omit<Movement, 'atMs'>): void {
    this.movements.push({ ...movement, atMs: this.nowMs() })
  }

  tell(type: string, resourceType: string, resource: unknown): void {
    const id = `WH-${this.id(17)}-${this.id(17)}`
    const event = {
      id,
      create_time: this.iso(),
      resource_type: resourceType,
      event_type: type,
      event_version: '1.0',
      resource_version: '2.0',
      summary: `${type.toLowerCase()} happened`,
      resource,
      links: [{ href: `${this.url}/v1/notifications/webhooks-events/${id}`, rel: 'self' }],
    }
    // Spaces and a number that JSON would write otherwise: whoever writes it anew breaks the signature.
    const body = JSON.stringify(event).replace(
      '"event_version":',
      ' "weight": 1.0, "event_version": ',
    )
    this.queue.push({ id, body })
  }

  totals(): Record<string, number> {
    const totals: Record<string, number> = {}
    for (const { money, status } of this.movements) {
      if (status !== 'S' && status !== 'V') continue
      totals[money.currency] = (totals[money.currency] ?? 0) - money.minor
    }
    return Object.fromEntries(Object.entries(totals).filter(([, sum]) => sum !== 0))
  }
}

/** The value under names and positions of a parsed JSON text, or undefined. */
export function at(json: unknown, ...path: readonly (string | number)[]): unknown {
  let value = json
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Object.entries(value).find(([name]) => name === String(step))?.[1]
  }
  return value
}

/** A text of a request, held to its longest. */
export function textAt(json: unknown, max: number, ...path: readonly (string | number)[]) {
  const value = at(json, ...path)
  if (value === undefined) return undefined
  const pointer = `/${path.join('/')}`
  if (typeof value !== 'string') throw refusal('INVALID_PARAMETER_SYNTAX', pointer)
  if (value.length > max) throw refusal('INVALID_STRING_LENGTH', pointer)
  return value
}
