/**
 * A receipt as somebody shows it, opened without asking anybody: what it takes is the gateway's published key. Whoever
 * ships against one goes on from here: whether it is about their own sale is theirs to compare.
 */
import { receiptIdOf } from './ids.ts'
import { type ParsedJws, parseJws, verifyJws } from './jws.ts'
import { type Receipt, receiptSchema } from './receipt.ts'
import type { VerifyingKey } from './signatures.ts'

/** Why a text is not a receipt that holds, each as a sentence for whoever showed it. */
export const RECEIPT_FAULTS = {
  form: 'this is not a receipt: expected a compact JWS of type receipt+jwt that names its key',
  key: 'the gateway publishes no key by the id that this receipt names',
  signature: 'the signature does not hold under the key that the receipt names',
  claims: 'the receipt does not have exactly the documented claims',
  ids: 'the ids in the receipt do not belong to one another',
} as const

export type ReceiptFault = keyof typeof RECEIPT_FAULTS

/** A text of the right form: `kid` says which key to look for, and nothing in it is believed yet. */
export interface ShownReceipt {
  readonly kid: string
  readonly jws: ParsedJws
}

/** Undefined for what is not a receipt at all, by form. */
export function parseReceipt(text: string): ShownReceipt | undefined {
  const jws = parseJws(text, 'receipt+jwt')
  const kid = jws?.header.kid
  // A key that the text brings along proves nothing of who signed it.
  if (jws === undefined || kid === undefined || jws.header.jwk !== undefined) return undefined
  return { kid, jws }
}

/** The claims, once all of it holds under `key`: the published one by the receipt's `kid`, undefined if there is none. */
export function openReceipt(
  { jws }: ShownReceipt,
  key: VerifyingKey | undefined,
): Receipt | ReceiptFault {
  if (key === undefined) return 'key'
  // Receipts are signed with Ed25519 (RFC 8037) and nothing else.
  if (jws.header.alg !== 'EdDSA' || !verifyJws(jws, key)) return 'signature'
  const { data: receipt } = receiptSchema.safeParse(jws.claims)
  if (receipt === undefined) return 'claims'
  const { jti, payment, head, node } = receipt
  return jti === receiptIdOf(payment) && head.stream === node ? receipt : 'ids'
}
