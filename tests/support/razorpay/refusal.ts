/** What Razorpay refuses, in its own words and shape, and the reading of a request's fields that finds it out. */

interface ErrorBody {
  readonly error: {
    readonly code: string
    readonly description: string
    readonly field?: string
    readonly source: string
    readonly step: string
    readonly reason: string
    readonly metadata: Record<string, string>
  }
}

export class Refusal extends Error {
  readonly status: number
  readonly body: ErrorBody

  constructor(
    description: string,
    options: { field?: string; status?: number; reason?: string; step?: string } = {},
  ) {
    super(description)
    this.status = options.status ?? 400
    this.body = {
      error: {
        code: 'BAD_REQUEST_ERROR',
        description,
        ...(options.field === undefined ? {} : { field: options.field }),
        source: this.status === 409 ? 'NA' : 'business',
        step: this.status === 409 ? 'NA' : (options.step ?? 'payment_initiation'),
        reason: this.status === 409 ? 'NA' : (options.reason ?? 'input_validation_failed'),
        metadata: {},
      },
    }
  }
}

export type Fields = Readonly<Record<string, unknown>>

/** The body's fields; an unknown one is refused as Razorpay does. */
export function fieldsOf(
  body: unknown,
  known: { required: readonly string[]; optional?: readonly string[] },
): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal('The request body is not a JSON object')
  }
  const fields = body as Fields
  const names = [...known.required, ...(known.optional ?? [])]
  const extra = Object.keys(fields).filter((name) => !names.includes(name))
  if (extra.length > 0) {
    throw new Refusal(`${extra.join(', ')} is/are not required and should not be sent`)
  }
  for (const field of known.required) {
    if (fields[field] === undefined) {
      throw new Refusal(`The ${field} field is required.`, { field })
    }
  }
  return fields
}

/** Razorpay's own exponents where they are not 2, and what it does not carry is not listed here at all. */
const EXPONENTS: Readonly<Record<string, number>> = {
  INR: 2,
  USD: 2,
  EUR: 2,
  GBP: 2,
  SGD: 2,
  AED: 2,
  HUF: 2,
  TWD: 2,
  JPY: 0,
  KRW: 0,
  VND: 0,
  CLP: 0,
  ISK: 0,
  BHD: 3,
  IQD: 3,
  JOD: 3,
  KWD: 3,
  OMR: 3,
  TND: 3,
}

export function currencyOf(value: unknown): string {
  if (typeof value !== 'string' || EXPONENTS[value] === undefined) {
    throw new Refusal('The currency should be a valid 3 letter ISO code', { field: 'currency' })
  }
  return value
}

/** A whole number of subunits; `floats: 'truncate'` is what the test API does to a refund's. */
export function amountOf(
  value: unknown,
  options: { currency: string; floats?: 'refuse' | 'truncate' },
): number {
  const field = 'amount'
  if (typeof value !== 'number') throw new Refusal('The amount must be an integer.', { field })
  const amount = options.floats === 'truncate' ? Math.trunc(value) : value
  if (!Number.isSafeInteger(amount)) throw new Refusal('The amount must be an integer.', { field })
  const least = options.currency === 'INR' ? 100 : 1
  if (amount < least) {
    throw new Refusal(`The amount must be at least ${options.currency} 1.00`, { field })
  }
  if (EXPONENTS[options.currency] === 3 && amount % 10 !== 0) {
    throw new Refusal('The last digit of a three decimal amount must be 0', { field })
  }
  return amount
}

export function textOf(
  value: unknown,
  field: string,
  limit: { least?: number; most: number; charset?: RegExp },
): string {
  if (typeof value !== 'string') throw new Refusal(`The ${field} must be a string.`, { field })
  if (value.length > limit.most || value.length < (limit.least ?? 0)) {
    throw new Refusal(`The ${field} may not be greater than ${limit.most} characters.`, { field })
  }
  if (limit.charset !== undefined && !limit.charset.test(value)) {
    throw new Refusal(`The ${field} format is invalid.`, { field })
  }
  return value
}

export const optionalText = (
  value: unknown,
  field: string,
  limit: { least?: number; most: number; charset?: RegExp },
): string | null => (value === undefined || value === null ? null : textOf(value, field, limit))

/** Pairs of text; none of them is shown as an empty list, which is Razorpay's own oddity. */
export function notesOf(value: unknown, most = 256): Record<string, string> | [] {
  if (value === undefined || value === null) return []
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new Refusal('The notes must be an array.', { field: 'notes' })
  }
  const pairs = Object.entries(value)
  if (pairs.length > 15) throw new Refusal('Number of fields in notes should be less than 15')
  for (const [, text] of pairs) textOf(text, 'notes', { most })
  return pairs.length === 0 ? [] : (Object.fromEntries(pairs) as Record<string, string>)
}

export function boolOf(value: unknown, field: string): boolean {
  if (value === undefined) return false
  if (typeof value !== 'boolean') {
    throw new Refusal(`The ${field} field must be true or false.`, { field })
  }
  return value
}

export const unknownId = () => new Refusal('The id provided does not exist')
