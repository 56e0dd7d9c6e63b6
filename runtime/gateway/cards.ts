/**
 * The card that a person is shown when a payment is held, and its digest. The digest covers everything on the card,
 * so a yes is for exactly this payment: another amount, account, line, path, rule or policy is another card.
 */
import type { DenialCode } from '../core/codes.ts'
import { type Digest, type NodeId, type PaymentId, sha256 } from '../core/ids.ts'
import { canonicalJson } from '../core/json.ts'
import type { Currency, Minor } from '../core/money.ts'
import type { Provenance } from '../core/provenance.ts'
import type { QuoteLine } from '../core/quote.ts'
import type { HoldRecord } from '../core/records.ts'
import type { Seconds } from '../core/time.ts'

/** What a card shows of the payment itself. */
export interface Card {
  /** The leaf's secret, so that what is on the card cannot be found from the digest by trying. */
  readonly salt?: string
  readonly payment: PaymentId
  readonly payee: string
  readonly payeeName: string
  /** Digest of the account that the payee is bound to. */
  readonly account: Digest
  readonly merchant: string
  readonly amount: Minor
  readonly currency: Currency
  readonly lines: readonly QuoteLine[]
  /** Root first: the nodes that the money comes down through. */
  readonly path: readonly { readonly id: NodeId; readonly label: string }[]
  /** Where each value came from; a question of before has none. */
  readonly provenance?: Provenance
  readonly quote: Digest
  readonly policy: Digest
}

/** Why a person is asked, and until when. */
export interface Question {
  readonly code: DenialCode
  readonly rule?: string
  readonly expiresAtSeconds: Seconds
}

/** SHA-256 over the canonical JSON of the card and the question. */
export function cardDigest(card: Card, { code, rule, expiresAtSeconds }: Question): Digest {
  const { path, lines, ...rest } = card
  return sha256(
    canonicalJson({
      ...rest,
      path: path.map(({ id, label }) => ({ id, label })),
      lines: lines.map(({ sku, title, quantity, unitAmount }) => ({
        sku,
        title,
        quantity,
        unitAmount,
      })),
      code,
      rule: rule ?? null,
      expires: expiresAtSeconds,
    }),
  )
}

/** True if this hold asked about exactly this card, and its answer still counts at `now`. */
export function asksAbout(hold: HoldRecord, card: Card, now: Seconds): boolean {
  return (
    hold.payment === card.payment &&
    now < hold.expiresAtSeconds &&
    hold.digest === cardDigest(card, hold)
  )
}
