/** Transaction search: three hours behind, 31 days at most, and so never proof at once that something did not happen. */
import { debugId, Refusal, type Reply } from './refusals.ts'
import type { Ask, Route } from './routes.ts'
import { amountOf, type Movement, type World } from './world.ts'

const LAG_MS = 3 * 3600 * 1000
const LONGEST_MS = 31 * 24 * 3600 * 1000
const TIME = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})$/

export const reportingRoutes = (world: World): readonly Route[] => [
  {
    on: 'search',
    method: 'GET',
    path: '/v1/reporting/transactions',
    act: (ask) => search(world, ask),
  },
]

function search(world: World, { query }: Ask): Reply {
  const from = timeOf(query, 'start_date')
  const to = timeOf(query, 'end_date')
  if (to < from || to - from > LONGEST_MS) throw invalid('end_date')
  const size = wholeOf(query, 'page_size', 100, 500)
  const page = wholeOf(query, 'page', 1, 2_147_483_647)
  const refreshedMs = Math.floor((world.nowMs() - LAG_MS) / 1000) * 1000
  const all = world.movements.filter(
    ({ atMs, code }) =>
      atMs >= from &&
      atMs <= to &&
      atMs <= refreshedMs &&
      (query.get('balance_affecting_records_only') === 'N' || !code.startsWith('T13')),
  )
  const shown = all.slice((page - 1) * size, page * size)
  return {
    status: 200,
    json: {
      transaction_details: shown.map((movement) => ({ transaction_info: infoOf(world, movement) })),
      account_number: 'STANDINACCOUNT',
      start_date: world.iso(from),
      end_date: world.iso(Math.min(to, refreshedMs)),
      last_refreshed_datetime: world.iso(refreshedMs),
      page,
      total_items: all.length,
      total_pages: Math.max(1, Math.ceil(all.length / size)),
      links: [],
    },
  }
}

const infoOf = (
  world: World,
  { id, code, money, status, atMs, customField, invoiceId, of }: Movement,
) => ({
  transaction_id: id,
  ...(of === undefined ? {} : { paypal_reference_id: of, paypal_reference_id_type: 'TXN' }),
  transaction_event_code: code,
  transaction_initiation_date: world.iso(atMs),
  transaction_updated_date: world.iso(atMs),
  transaction_amount: amountOf(money),
  transaction_status: status,
  ...(invoiceId === undefined ? {} : { invoice_id: invoiceId }),
  ...(customField === undefined ? {} : { custom_field: customField }),
})

function timeOf(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? ''
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) throw invalid(name)
  return ms
}

function wholeOf(query: URLSearchParams, name: string, otherwise: number, max: number): number {
  const text = query.get(name)
  if (text === null) return otherwise
  const n = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (n < 1 || n > max) throw invalid(name)
  return n
}

const invalid = (field: string) =>
  new Refusal({
    status: 400,
    json: {
      name: 'INVALID_REQUEST',
      message: 'Request is not well-formed, syntactically incorrect, or violates schema.',
      debug_id: debugId(),
      details: [{ field, location: 'query', issue: 'INVALID_PARAMETER_VALUE' }],
    },
  })
