/**
 * Routes about receipts, for whoever was given one: payees, merchants and their programs. None of them asks who is calling,
 * and each says the same to everybody.
 */
import { z } from 'zod'
import { LIMITS } from '../../core/limits.ts'
import {
  receiptClaimBody,
  receiptVerdictSchema,
  receiptViewSchema,
} from '../../core/wire-receipt.ts'
import { HttpProblem } from '../problems.ts'
import { checkReceipt } from '../receipt-check.ts'
import { noReceiptPage, receiptPage } from '../receipt-page.ts'
import { readReceipt } from '../receipt-view.ts'
import { ok, type Route, route } from '../route.ts'
import { wantsPage } from '../shell.ts'
import { createThrottle } from '../throttle.ts'
import type { RouteDeps } from './deps.ts'

/** Any text: what is no id is answered as one that nobody gave. */
const params = z.strictObject({ receipt: z.string() })

export const receiptRoutes = (deps: RouteDeps): Route[] => [
  readRoute(deps),
  signedRoute(deps),
  verifyRoute(deps),
]

const readRoute = (deps: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/receipts/:receipt',
    who: ['public'],
    ownPage: true,
    summary:
      'The receipt of a settled payment, by its own id or the payment’s: a page for a person, JSON for a program.',
    params,
    answers: { 200: receiptViewSchema },
    handle: async ({ params, reply }) => {
      const view = await readReceipt(deps, params.receipt)
      if (wantsPage(reply.request)) {
        return view === undefined ? noReceiptPage() : receiptPage(view, deps.url)
      }
      if (view === undefined) throw new HttpProblem('not_found')
      return ok(view)
    },
  })

const signedRoute = (deps: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/receipts/:receipt/jws',
    who: ['public'],
    summary: 'The signed text of a receipt alone, to be kept.',
    params,
    answers: { 200: 'application/jose' },
    handle: async ({ params }) => {
      const view = await readReceipt(deps, params.receipt)
      if (view === undefined) throw new HttpProblem('not_found')
      return {
        status: 200,
        text: view.receipt,
        type: 'application/jose',
        headers: { 'content-disposition': `attachment; filename="${view.shortId}.jws"` },
      }
    },
  })

/** A receipt that is one of ours is always answered, however many others ask: only what nobody knows is counted together. */
function verifyRoute(deps: RouteDeps): Route {
  const throttle = createThrottle({ perMinute: LIMITS.receiptAsks, clock: deps.clock })
  return route({
    method: 'POST',
    path: '/receipts/verify',
    who: ['public'],
    summary:
      'Whether a receipt holds and is about this amount and merchant: five booleans, all of them false for one that is not this gateway’s.',
    body: receiptClaimBody,
    answers: { 200: receiptVerdictSchema },
    handle: async ({ body }) => {
      const { payment, verdict } = await checkReceipt(deps, body)
      if (!throttle.take(payment?.id ?? 'unknown')) {
        throw new HttpProblem('rate_limited', { headers: { 'retry-after': '60' } })
      }
      return ok(verdict)
    },
  })
}
