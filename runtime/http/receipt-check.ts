/**
 * What holds of a receipt that somebody shows, as five booleans. It says nothing else: a receipt that is not this
 * gateway's, or is of a payment that has not settled, answers five times false in the same shape. A receipt's text counts
 * only with the gateway's signature, and only while the ledger still says exactly what was signed.
 */

import type { z } from 'zod'
import { receiptClaims } from '../audit/receipts.ts'
import { CHECK_NAMES } from '../core/codes.ts'
import { eventHash, parseEvent } from '../core/events.ts'
import { canonicalJson } from '../core/json.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { openReceipt, parseReceipt } from '../core/open-receipt.ts'
import type { Receipt } from '../core/receipt.ts'
import { type EventRecord, type PaymentRecord, reversedOf } from '../core/records.ts'
import type { ReceiptVerdict, receiptClaimBody } from '../core/wire-receipt.ts'
import { settledPayment } from './receipt-view.ts'
import type { RouteDeps } from './routes/deps.ts'

type Deps = Pick<RouteDeps, 'ledger' | 'signer' | 'publicKeys'>
type Claim = z.output<typeof receiptClaimBody>

const NOTHING: ReceiptVerdict = {
  approved: false,
  settled: false,
  amount: false,
  merchant: false,
  logIntact: false,
}

export interface CheckedReceipt {
  /** Undefined where it is not one of ours. */
  readonly payment?: PaymentRecord
  readonly verdict: ReceiptVerdict
}

/** Throws Fault where the ledger cannot be read. */
export async function checkReceipt(deps: Deps, claim: Claim): Promise<CheckedReceipt> {
  const shown = shownIn(deps, claim.receipt)
  const found = shown === undefined ? undefined : await settledPayment(deps, shown.id)
  const claims = found && receiptClaims(found.run, found.payment, deps.signer.gateway)
  if (found === undefined || claims === undefined) return { verdict: NOTHING }
  if (shown?.signed !== undefined && !says(claims, shown.signed)) return { verdict: NOTHING }
  const { payment } = found
  const verdict = {
    approved: isApproved(payment),
    settled: reversedOf(payment) < claims.amount,
    amount: claim.amount === claims.amount && claim.currency === claims.currency,
    merchant: claim.merchant === payment.merchant,
    logIntact: await isIntact(deps.ledger, claims),
  }
  return { payment, verdict }
}

/** Which receipt is meant: by its id, or by its text if this gateway signed that. */
function shownIn(
  { publicKeys }: Deps,
  text: string,
): { readonly id: string; readonly signed?: Receipt } | undefined {
  const shown = parseReceipt(text.trim())
  if (shown === undefined) return { id: text }
  const signed = openReceipt(
    shown,
    publicKeys.find(({ kid }) => kid === shown.kid),
  )
  return typeof signed === 'string' ? undefined : { id: signed.jti, signed }
}

const says = (claims: Receipt, signed: Receipt): boolean =>
  canonicalJson(signed) === canonicalJson(claims)

const isApproved = ({ checks }: PaymentRecord): boolean =>
  checks.length === CHECK_NAMES.length &&
  checks.every(({ status }) => status === 'passed' || status === 'not-applicable')

/** Every event of the leaf's stream up to the receipt's head, which is the settlement that it is about. */
async function isIntact(ledger: Ledger, claims: Receipt): Promise<boolean> {
  const { stream, seq, hash } = claims.head
  let prev: string | undefined
  for (let after = 0; after < seq; ) {
    const events = await ledger.events(stream, after, Math.min(LIMITS.pageItems, seq - after))
    if (events.length === 0) return false
    for (const event of events) {
      if (!isNext(event, { stream, seq: after + 1, prev })) return false
      prev = event.hash
      after += 1
      if (after === seq) return event.hash === hash && settles(event, claims)
    }
  }
  return false
}

function isNext(
  { seq, hash, body }: EventRecord,
  at: { readonly stream: string; readonly seq: number; readonly prev: string | undefined },
): boolean {
  if (seq !== at.seq || eventHash(body) !== hash) return false
  const event = eventIn(body)
  if (event === undefined || event.stream !== at.stream || event.seq !== at.seq) return false
  // The first one hangs on its parent's split, which is in another stream.
  return at.prev === undefined ? event.type === 'opened' : event.prev === at.prev
}

function settles({ body }: EventRecord, { payment, amount, jti }: Receipt): boolean {
  const event = eventIn(body)
  if (event?.type !== 'settled') return false
  const { data } = event
  return data.payment === payment && data.amount === amount && data.receipt === jti
}

function eventIn(body: string) {
  try {
    return parseEvent(body)
  } catch {
    return undefined
  }
}
