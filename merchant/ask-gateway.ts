/**
 * Asking the gateway about a receipt that has verified offline: what came back since, and whether its log still stands,
 * only the gateway can say. A shop that asks hands nothing over without an answer.
 */
import { parseJson } from '../runtime/core/json.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { type ReceiptVerdict, receiptVerdictSchema } from '../runtime/core/wire-receipt.ts'
import type { Order } from './book.ts'

/** Undefined where all holds; a sentence where it does not; `silent` where the gateway gave no usable answer. */
export type AskGateway = (receipt: string, order: Order) => Promise<string | undefined>

const FALSE: Readonly<Record<keyof ReceiptVerdict, string>> = {
  approved: 'the gateway says that it approved no such payment',
  settled: 'the gateway says that this payment is not settled any more',
  amount: 'the gateway says that this payment was of another amount',
  merchant: 'the gateway says that another merchant was paid',
  logIntact: 'the gateway’s log does not verify up to this receipt',
}

export const askGatewayAt =
  (url: string): AskGateway =>
  async (receipt, { amount, currency, merchant }) => {
    const verdict = await ask(url, { receipt, amount, currency, merchant })
    if (verdict === undefined) return 'silent'
    const names = Object.keys(FALSE) as (keyof ReceiptVerdict)[]
    const wrong = names.find((name) => !verdict[name])
    return wrong && FALSE[wrong]
  }

async function ask(url: string, claim: object): Promise<ReceiptVerdict | undefined> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(LIMITS.merchantMs),
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(claim),
    })
    if (answer.status === 200) return receiptVerdictSchema.parse(parseJson(await answer.text()))
    await answer.body?.cancel()
  } catch {
    // No answer in time, or none of this shape: the caller waits.
  }
  return undefined
}
