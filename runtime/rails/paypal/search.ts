/**
 * Transaction search, the account's own list. It runs up to three hours behind, so that what it does not show is absent
 * only once it was refreshed well after the thing must have happened.
 */
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import type { RailObject, RailPage, RailStatement } from '../../core/rail.ts'
import { railStatusOf } from '../../core/rail.ts'
import { isoTime, seconds } from '../../core/time.ts'
import { ourKeyIn, unreadable } from '../words.ts'
import { read, textSchema } from './answers.ts'
import type { Deadline, PaypalClient, Said } from './client.ts'
import { type Sum, sumOf } from './money.ts'
import { searchRequest } from './requests.ts'

/** PayPal's: up to three hours until a transaction is shown. */
export const LAG_SECONDS = 3 * 3600
/** PayPal's: one question spans 31 days at most. */
const WINDOW_SECONDS = 31 * 24 * 3600
/** A statement's page; its lines take some 900 bytes each. */
const PAGE = 200
/** A look-up reads the largest pages that there are, and this many of them at most. */
const LOOKUP_PAGE = 500
const LOOKUP_PAGES = 20
/** Our clock and PayPal's may differ by this much. */
const CLOCKS_SECONDS = 300

export const timeSchema = z
  .string()
  .max(64)
  .transform((text) => Math.floor(Date.parse(text) / 1000))
  .pipe(z.number().int().min(0))

const infoSchema = z.object({
  transaction_id: textSchema,
  transaction_event_code: textSchema,
  transaction_initiation_date: timeSchema,
  transaction_amount: z.object({ currency_code: textSchema, value: textSchema }),
  transaction_status: textSchema.optional(),
  custom_field: textSchema.optional(),
  invoice_id: textSchema.optional(),
})

const pageSchema = z.object({
  transaction_details: z
    .array(z.object({ transaction_info: infoSchema }))
    .max(500)
    .default([]),
  last_refreshed_datetime: timeSchema,
  total_pages: z.number().int().min(0).default(1),
})

type Info = z.infer<typeof infoSchema>

export type Found =
  | { readonly kind: 'found'; readonly id: string; readonly word: string; readonly sum: Sum }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unclear'; readonly reason: string }

/** What left the account with `key` on it. `absent` only where the list is fresh enough to show it. */
export async function findByKey(
  client: PaypalClient,
  deadline: Deadline,
  key: string,
  of: { readonly submittedAtSeconds: number; readonly nowSeconds: number },
): Promise<Found> {
  const fromSeconds = of.submittedAtSeconds - CLOCKS_SECONDS
  const toSeconds = Math.max(fromSeconds, Math.min(fromSeconds + WINDOW_SECONDS - 1, of.nowSeconds))
  const hits: Info[] = []
  let refreshedSeconds = Number.POSITIVE_INFINITY
  for (let page = 1; ; page += 1) {
    const said = await client.call(
      searchRequest({ from: iso(fromSeconds), to: iso(toSeconds), page, pageSize: LOOKUP_PAGE }),
      deadline,
    )
    const got = read(pageSchema, said)
    if (got === undefined) return { kind: 'unclear', reason: whyNot(said) }
    refreshedSeconds = Math.min(refreshedSeconds, got.last_refreshed_datetime)
    const infos = got.transaction_details.map(({ transaction_info }) => transaction_info)
    hits.push(...infos.filter((info) => carriesKey(info, key) && isPayment(info)))
    if (page >= got.total_pages) break
    if (page >= LOOKUP_PAGES) return { kind: 'unclear', reason: 'search_too_long' }
  }
  const [hit, ...more] = hits
  if (more.length > 0) return { kind: 'unclear', reason: 'search_ambiguous' }
  if (hit !== undefined) return foundIn(hit)
  const isFresh = refreshedSeconds >= of.submittedAtSeconds + LAG_SECONDS
  return isFresh ? { kind: 'absent' } : { kind: 'unclear', reason: 'search_not_fresh' }
}

function foundIn(info: Info): Found {
  const {
    transaction_amount: { value, currency_code },
    transaction_id: id,
  } = info
  const sum = sumOf(value, currency_code)
  if (sum === undefined) return { kind: 'unclear', reason: 'answer_malformed' }
  return { kind: 'found', id, word: info.transaction_status ?? '', sum }
}

const carriesKey = ({ custom_field, invoice_id }: Info, key: string) =>
  custom_field === key || invoice_id === key

/** T00: payments; out of the account. Refunds and reversals may carry the same texts and are neither. */
const isPayment = ({ transaction_event_code: code, transaction_amount: { value } }: Info) =>
  code.startsWith('T00') && value.startsWith('-')

const whyNot = (said: Said): string =>
  said.kind === 'said' ? `search_status_${said.status}` : said.reason

const iso = (atSeconds: number): string => isoTime(seconds(Math.max(0, atSeconds)))

/** Where a statement goes on: the window's first second and the page in it. */
const AFTER = /^([0-9]{1,12})\.([0-9]{1,9})$/

/** Reads windows of 31 days one after another; `next` says where the following page begins. */
export const createStatement =
  (client: PaypalClient): RailStatement =>
  async ({ fromSeconds, toSeconds, after }) => {
    const at = AFTER.exec(after ?? `${fromSeconds}.1`)
    if (at === null) throw new Fault('internal', 'expected where a statement goes on')
    const fromWindow = Number(at[1])
    const page = Number(at[2])
    const toWindow = Math.min(fromWindow + WINDOW_SECONDS - 1, toSeconds)
    const said = await client.call(
      searchRequest({ from: iso(fromWindow), to: iso(toWindow), page, pageSize: PAGE }),
      client.deadline(),
    )
    const got = read(pageSchema, said)
    if (got === undefined) throw unreadable(whyNot(said))
    const objects = got.transaction_details.flatMap(({ transaction_info }) =>
      objectOf(transaction_info),
    )
    objects.sort((a, b) => a.atSeconds - b.atSeconds)
    const next = nextOf({ page, pages: got.total_pages, fromWindow, toWindow, toSeconds })
    return { ...pageOf(objects, got.last_refreshed_datetime, toSeconds), ...next }
  }

const pageOf = (objects: readonly RailObject[], refreshed: number, to: number): RailPage => ({
  objects,
  completeUntilSeconds: Math.min(refreshed, to),
})

function nextOf(of: {
  readonly page: number
  readonly pages: number
  readonly fromWindow: number
  readonly toWindow: number
  readonly toSeconds: number
}): { next?: string } {
  if (of.page < of.pages) return { next: `${of.fromWindow}.${of.page + 1}` }
  return of.toWindow < of.toSeconds ? { next: `${of.toWindow + 1}.1` } : {}
}

function objectOf(info: Info): readonly RailObject[] {
  const {
    transaction_amount: { value, currency_code },
    transaction_id: id,
  } = info
  const sum = sumOf(value, currency_code)
  // A line that cannot be read is still a line: the reader must not believe the list to be whole without it.
  if (sum === undefined) throw unreadable('answer_malformed')
  // A draw's custom field is its authorisation's key, a refund's its payment's: the invoice id is each one's own.
  const key = ourKeyIn(info.invoice_id) ?? ourKeyIn(info.custom_field)
  return [
    {
      id,
      type: typeOf(info.transaction_event_code),
      ...(key === undefined ? {} : { key }),
      direction: sum.isNegative ? 'out' : 'in',
      amount: sum.amount,
      currency: sum.currency,
      status: WORDS[info.transaction_status ?? ''] ?? railStatusOf(info.transaction_status),
      // V: it was done and then undone; what undid it is a line of its own.
      moved: info.transaction_status === 'S' || info.transaction_status === 'V',
      atSeconds: info.transaction_initiation_date,
    },
  ]
}

const WORDS: Readonly<Record<string, string>> = {
  S: 'SUCCESS',
  P: 'PENDING',
  D: 'DENIED',
  V: 'REVERSED',
}

/** PayPal's transaction event codes: T0001 mass payment, T11 refunds and reversals, T13 authorisations. */
function typeOf(code: string): RailObject['type'] {
  if (code === 'T0001') return 'payout'
  if (code.startsWith('T00')) return 'payment'
  if (code === 'T1107') return 'refund'
  if (code.startsWith('T11')) return 'reversal'
  return code.startsWith('T13') ? 'authorisation' : 'other'
}
