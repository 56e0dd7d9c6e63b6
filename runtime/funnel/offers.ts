/**
 * Quotes that a looker brought back, judged before anyone may choose one: signed by a merchant whose keys are pinned,
 * payable by this node, in its currency, still good, and for exactly what was asked. The rest are dropped unread.
 */
import type { Candidate, Need } from '../core/agents.ts'
import type { Minor } from '../core/money.ts'
import { isSigned, type Quote, readQuote } from '../core/quote.ts'
import type { NodeRecord } from '../core/records.ts'
import { nowSeconds } from '../core/time.ts'
import type { Walk } from './context.ts'
import type { Found } from './looker.ts'

/** A quote must last at least this long, so that its payment can reach the gateway in time. */
const LEAST_LIFE_SECONDS = 2

/** The looker's quotes that hold, in its order; each text once. */
export function candidatesOf(
  walk: Walk,
  node: NodeRecord,
  need: Need,
  found: readonly Found[],
): Candidate[] {
  const candidates: Candidate[] = []
  for (const asked of found) {
    const { quote: text, score } = asked
    const read = readQuote(text)
    const { digest, claims: quote } = read
    if (quote === undefined || !isSigned(read, walk.merchants, walk.signatures)) continue
    if (candidates.some((other) => other.digest === digest)) continue
    if (!isPayable(walk, node, need, quote) || !isWhatWasAsked(quote, asked)) continue
    candidates.push({
      quote: text,
      digest,
      merchant: quote.iss,
      payee: quote.payee,
      amount: quote.amount,
      expiresAtSeconds: quote.exp,
      lines: quote.lines,
      score,
    })
  }
  return candidates
}

/** One line, in the quantity asked: what else a merchant puts into a quote was not asked for. */
function isPayable(walk: Walk, node: NodeRecord, need: Need, quote: Quote): boolean {
  return (
    quote.exp > nowSeconds(walk.clock) + LEAST_LIFE_SECONDS &&
    quote.recurring !== true &&
    quote.currency === node.currency &&
    quote.payee === walk.payeeOf(quote.iss) &&
    node.payees.includes(quote.payee) &&
    quote.lines.length === 1 &&
    quote.lines[0]?.quantity === need.quantity
  )
}

/** Of the merchant that was asked, and for the same things in the same numbers. */
const isWhatWasAsked = ({ iss, lines }: Quote, asked: Found): boolean =>
  iss === asked.merchant &&
  lines.length === asked.lines.length &&
  lines.every((line, i) => {
    const wanted = asked.lines[i]
    return wanted?.sku === line.sku && wanted.quantity === line.quantity
  })

/** Within what the task itself allows, whatever money there is. */
export const isWanted = (need: Need, { amount, lines }: Candidate): boolean =>
  (need.maxTotal === undefined || amount <= need.maxTotal) &&
  lines.every(({ unitAmount }) => need.maxUnit === undefined || unitAmount <= need.maxUnit)

export const cheapestOf = (candidates: readonly Candidate[]): Minor | undefined =>
  candidates.map(({ amount }) => amount).sort((a, b) => a - b)[0]
