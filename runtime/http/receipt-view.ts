/**
 * What whoever knows a receipt's id may read of it. The id is 160 bits that derive from a leaf and a signed quote, so it
 * is known to those who were told; what is told of the payee's account is at most its last four characters, to everybody.
 */
import { receiptOf } from '../audit/receipts.ts'
import { parseEvent } from '../core/events.ts'
import {
  type PaymentId,
  paymentIdSchema,
  paymentOfReceipt,
  receiptIdOf,
  receiptIdSchema,
  shortReceiptIdOf,
} from '../core/ids.ts'
import { ERASED } from '../core/personal.ts'
import { type PaymentRecord, type RunRecord, refundedOf, reversedOf } from '../core/records.ts'
import type { ReceiptView } from '../core/wire-receipt.ts'
import type { RouteDeps } from './routes/deps.ts'

type Deps = Pick<RouteDeps, 'ledger' | 'signer' | 'payeeName'>

/** The payment that a receipt's id, or its own, names; undefined for any other text. */
export function paymentNamed(text: string): PaymentId | undefined {
  const receipt = receiptIdSchema.safeParse(text)
  return receipt.success ? paymentOfReceipt(receipt.data) : paymentIdSchema.safeParse(text).data
}

/** A settled payment with its run and receipt; undefined for one that is not settled as for one that is not there. */
export async function settledPayment(
  { ledger, signer }: Pick<Deps, 'ledger' | 'signer'>,
  id: string,
) {
  const named = paymentNamed(id)
  const payment = named && (await ledger.payment(named))
  const run = payment && (await ledger.run(payment.run))
  const receipt = run && receiptOf(run, payment, signer)
  return receipt === undefined || payment === undefined || run === undefined
    ? undefined
    : { payment, run, receipt }
}

/** Undefined where there is no receipt to read. Throws Fault. */
export async function readReceipt(deps: Deps, id: string): Promise<ReceiptView | undefined> {
  const found = await settledPayment(deps, id)
  if (found === undefined) return undefined
  const { payment, run, receipt } = found
  const { endHead, settledAmount, endedAtSeconds, railReference = '' } = payment
  // A receipt was made of exactly these, so they are there.
  if (endHead === undefined || settledAmount === undefined || endedAtSeconds === undefined) {
    return undefined
  }
  const previous = await hashBefore(deps, payment)
  const receiptId = receiptIdOf(payment.id)
  return {
    id: receiptId,
    shortId: shortReceiptIdOf(receiptId),
    receipt,
    state: 'settled',
    gateway: deps.signer.gateway,
    payee: {
      id: payment.payee,
      name: deps.payeeName(payment.payee),
      account: maskedAccount(payment.account),
    },
    merchant: payment.merchant,
    amount: settledAmount,
    currency: payment.currency,
    settledAtSeconds: endedAtSeconds,
    rail: payment.rail,
    railReference,
    settledBy: railReference.startsWith('resolution:') ? 'operators' : 'rail',
    checks: payment.checks.map(({ n, name, status }) => ({ n, name, status })),
    ...(payment.policy === undefined ? {} : { policy: payment.policy }),
    head: {
      stream: payment.node,
      ...endHead,
      ...(previous === undefined ? {} : { previous }),
    },
    ...whatCameBack(payment),
    ...(isErased(run, payment) ? { erased: true } : {}),
  }
}

const isErased = ({ erasedAtSeconds }: RunRecord, { account }: PaymentRecord): boolean =>
  erasedAtSeconds !== undefined || account === ERASED

/** Four characters are for whoever knows the account already; of a short one fewer, so that most stays unsaid. */
export function maskedAccount(account: string): string {
  if (account === ERASED) return ERASED
  const characters = [...account]
  const most = Math.min(4, Math.floor(characters.length / 3))
  return `••••${most === 0 ? '' : characters.slice(-most).join('')}`
}

/** From the event itself, as it stands in the leaf's log. */
async function hashBefore({ ledger }: Deps, { node, endHead }: PaymentRecord) {
  if (endHead === undefined) return undefined
  const [event] = await ledger.events(node, endHead.seq - 1, 1)
  if (event?.seq !== endHead.seq || event.hash !== endHead.hash) return undefined
  try {
    return parseEvent(event.body).prev
  } catch {
    // What stands there is no event: the page has nothing to say about it, and the log's verifier will.
    return undefined
  }
}

/** By the rail's own words, each once, and what was asked for and has none yet. */
function whatCameBack(payment: PaymentRecord): Pick<ReceiptView, 'refundedAmount'> {
  const { reversals = [], refunds = [] } = payment
  const made = reversals.map(({ kind, amount, atSeconds }) => {
    return { kind, state: 'made' as const, amount, atSeconds }
  })
  const pending = refunds
    .filter(({ state }) => state === 'pending' || state === 'unknown')
    .map(({ amount, atSeconds }) => {
      return { kind: 'refunded' as const, state: 'pending' as const, amount, atSeconds }
    })
  const back = [...made, ...pending]
  const refunded = refundedOf(payment)
  return {
    ...(refunded === 0 ? {} : { refundedAmount: refunded }),
    ...(made.length === 0 ? {} : { returnedAmount: reversedOf(payment) }),
    ...(back.length === 0 ? {} : { back }),
  }
}
