/**
 * Personal data beside the log. An event holds of an account, a label, a list of goods or a reference to evidence only a
 * salted digest; the clear value lies in a record that may be changed. Once record and salt are erased, the digest
 * stands for a value that nobody can find by trying, and no hash has changed.
 */
import { createHmac } from 'node:crypto'
import { type Digest, sha256 } from './ids.ts'
import { canonicalJson } from './json.ts'
import type { NodeRecord, PaymentRecord } from './records.ts'

/** What stands in a record where a clear value was. */
export const ERASED = 'erased'

/** What a clear value is, as a side record names it. */
export const PERSONAL = ['mandate', 'label', 'account', 'lines', 'evidence'] as const

/** One clear value with what it takes to hold it against the log. */
export interface SideRecord {
  /** The run, node or payment that it says something of. */
  readonly of: string
  readonly what: (typeof PERSONAL)[number]
  /** Empty for a mandate: the signature in it is what nobody can guess. */
  readonly salt: string
  readonly value: string
}

/** SHA-256 over `salt`, a line end and the value. */
export const saltedDigest = (salt: string, value: string): Digest => sha256(`${salt}\n${value}`)

/** A salt of its own for each kind of value at a node, so that giving one away opens no other. */
export const saltOf = (secret: string, what: string): string =>
  createHmac('sha256', secret).update(what).digest('base64url')

/** The digest of one value at a node; undefined at a node of before salts, or one that was erased. */
export const digestAt = (
  { salt }: Pick<NodeRecord, 'salt'>,
  what: string,
  value: string,
): Digest | undefined => (salt === undefined ? undefined : saltedDigest(saltOf(salt, what), value))

/** The text of a payment's lines that their digest is over. */
export const linesText = ({ lines }: Pick<PaymentRecord, 'lines'>): string =>
  canonicalJson(
    lines.map(({ sku, title, quantity, unitAmount }) => ({
      sku,
      title,
      quantity,
      unitAmount,
    })),
  )
