/**
 * Receipts. A receipt is a function of the settled payment, its run and the gateway's key: asked again it is the same
 * text, so it is stored nowhere and nothing can be lost between a settlement and its receipt.
 */
import { receiptIdOf } from '../core/ids.ts'
import { signJws } from '../core/jws.ts'
import { type Receipt, receiptSchema } from '../core/receipt.ts'
import type { PaymentRecord, RunRecord } from '../core/records.ts'
import type { GatewaySigner } from './signer.ts'

/** The claims of a settled payment's receipt; undefined for any other payment. Throws ZodError for a broken record. */
export function receiptClaims(
  run: RunRecord,
  payment: PaymentRecord,
  gateway: string,
): Receipt | undefined {
  if (payment.state !== 'settled') return undefined
  const { settledAmount, railReference, endHead, endedAtSeconds } = payment
  return receiptSchema.parse({
    iss: gateway,
    jti: receiptIdOf(payment.id),
    iat: endedAtSeconds,
    payment: payment.id,
    run: run.id,
    node: payment.node,
    payee: payment.payee,
    account: run.bindings[payment.payee],
    amount: settledAmount,
    currency: payment.currency,
    quote: payment.quote,
    rail: payment.rail,
    railReference,
    head: { stream: payment.node, ...endHead },
  })
}

/** Compact JWS `receipt+jwt` of a settled payment; undefined for any other. */
export function receiptOf(
  run: RunRecord,
  payment: PaymentRecord,
  { gateway, key, kid, signatures }: GatewaySigner,
): string | undefined {
  const claims = receiptClaims(run, payment, gateway)
  return claims && signJws({ typ: 'receipt+jwt', key, kid, claims }, signatures)
}
