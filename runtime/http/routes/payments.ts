/** Operators' routes about payments that the rail has not ended, or has ended and taken back; and about what it moved alone. */
import { z } from 'zod'
import { receiptOf } from '../../audit/receipts.ts'
import { outsideIdSchema, type PaymentId } from '../../core/ids.ts'
import { LIMITS } from '../../core/limits.ts'
import { formatMoney } from '../../core/money.ts'
import { everyRun } from '../../ledger/reads.ts'
import { isOpenRefund, leftToRefund } from '../../ledger/refunds.ts'
import { operatorsView, viewOfMessage, viewOfOutside, viewOfRefund } from '../payment-view.ts'
import { HttpProblem, refusalProblem } from '../problems.ts'
import { ok, type Route, route } from '../route.ts'
import {
  acknowledgeBody,
  alarmsAnswer,
  outsideView,
  paymentView,
  refundAnswer,
  refundBody,
  resolveBody,
  returnBody,
} from '../shapes.ts'
import { nameOf, type RouteDeps } from './deps.ts'
import { paymentParams } from './params.ts'

export function paymentRoutes(deps: RouteDeps): Route[] {
  return [
    alarmsRoute(deps),
    resolveRoute(deps),
    returnRoute(deps),
    refundRoute(deps),
    settlementRoute(deps),
    acknowledgeRoute(deps),
  ]
}

const alarmsRoute = ({ ledger }: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/alarms',
    who: ['operator'],
    summary:
      'Payments that the rail has no word on: unknown ones, submitted ones past their time, settled ones with an unknown refund; runs that were halted; what moved at the rail without us; messages of the rail that nobody could act on.',
    answers: { 200: alarmsAnswer },
    handle: async () => {
      const limit = LIMITS.pageItems
      const submitted = await ledger.payments({ states: ['submitted'], limit })
      const unknown = await ledger.payments({ states: ['unknown'], limit })
      const late = submitted.filter(({ overdue }) => overdue !== undefined)
      const open = await ledger.refunding(limit)
      const silent = open.filter(({ refunds = [] }) =>
        refunds.some(({ state }) => state === 'unknown'),
      )
      // Whoever waits for a payer has heard from the rail.
      const wordless = unknown.filter(({ awaits }) => awaits !== 'payer')
      const alarms = [...late, ...wordless, ...silent].sort(
        (a, b) => a.createdAtSeconds - b.createdAtSeconds,
      )
      const outside = await ledger.unacknowledged(limit)
      const parked = await ledger.parked(limit)
      return ok({
        alarms: alarms.map(operatorsView),
        halted: await haltedIn(ledger),
        outside: outside.map(viewOfOutside),
        stuck: parked.filter(({ stuck }) => stuck !== undefined).map(viewOfMessage),
      })
    },
  })

async function haltedIn(ledger: RouteDeps['ledger']) {
  const halted = []
  for await (const { id, halted: why } of everyRun(ledger)) {
    if (why !== undefined) {
      halted.push({ run: id, stream: why.stream, haltedAtSeconds: why.atSeconds })
    }
  }
  return halted
}

const resolveRoute = ({ gateway }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/payments/:payment/resolve',
    who: ['operator'],
    summary:
      'Say what became of an unknown payment: one named operator proposes (202), another says the same (200).',
    params: paymentParams,
    body: resolveBody,
    answers: { 200: paymentView, 202: paymentView },
    handle: async ({ params, body, operator }) => {
      if (operator?.person === undefined) throw new HttpProblem('unnamed')
      const by = `operator:${operator.person}`
      const said = await gateway.resolve({ payment: params.payment, ...body, by })
      if (!said.ok) throw refusalProblem(said)
      const status = said.payment.state === 'unknown' ? 202 : 200
      return { status, body: operatorsView(said.payment) }
    },
  })

const refundRoute = ({ gateway, ledger }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/payments/:payment/refunds',
    who: ['operator'],
    summary:
      'Give back a part of a settled payment to where it was paid from: once for each `idempotencyKey` (202 while the rail has no word).',
    params: paymentParams,
    body: refundBody,
    answers: { 200: refundAnswer, 201: refundAnswer, 202: refundAnswer },
    handle: async ({ params, body, operator }) => {
      const { amount, ...rest } = body
      if (amount === undefined) throw await left(ledger, params.payment, 'amount_needed')
      const word = { payment: params.payment, amount, ...rest, by: nameOf(operator) }
      const said = await gateway.refund(word)
      if (!said.ok && said.code === 'insufficient') {
        throw await left(ledger, params.payment, 'refused')
      }
      if (!said.ok) throw refusalProblem(said)
      const { refund, payment, replayed } = said
      const status = isOpenRefund(refund) ? 202 : replayed || refund.state === 'failed' ? 200 : 201
      const headers = replayed ? { 'idempotent-replayed': 'true' } : {}
      return {
        status,
        body: { refund: viewOfRefund(refund), payment: operatorsView(payment) },
        headers,
      }
    },
  })

/** What of the payment could be refunded, priced for a person. */
async function left(
  ledger: RouteDeps['ledger'],
  id: PaymentId,
  code: 'amount_needed' | 'refused',
): Promise<HttpProblem> {
  const payment = await ledger.payment(id)
  if (payment === undefined) return new HttpProblem('not_found')
  const amount = leftToRefund(payment)
  const text = formatMoney(amount, payment.currency)
  return new HttpProblem(code, { left: { amount, currency: payment.currency, text } })
}

const acknowledgeRoute = ({ gateway }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/outside/:outside/acknowledge',
    who: ['operator'],
    summary: 'Say that money which moved at the rail without us is known, and why: ends its alarm.',
    params: z.strictObject({ outside: outsideIdSchema }),
    body: acknowledgeBody,
    answers: { 200: outsideView },
    handle: async ({ params, body, operator }) => {
      const word = { outside: params.outside, ...body, by: nameOf(operator) }
      const said = await gateway.acknowledge(word)
      if (!said.ok) throw refusalProblem(said)
      return ok(viewOfOutside(said.outside))
    },
  })

const returnRoute = ({ gateway }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/payments/:payment/return',
    who: ['operator'],
    summary:
      'Put what came back of a settled payment to use again, once: it goes to the nearest open node above.',
    params: paymentParams,
    body: returnBody,
    answers: { 200: paymentView },
    handle: async ({ params, body, operator }) => {
      const word = { payment: params.payment, ...body, by: nameOf(operator) }
      const regained = await gateway.regain(word)
      if (!regained.ok) throw refusalProblem(regained)
      return ok(operatorsView(regained.payment))
    },
  })

const settlementRoute = ({ settlement, ledger, signer }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/payments/:payment/settlement',
    who: ['operator'],
    summary:
      'Ask the rail about one payment now and write down what it says (409 while somebody else asks, or before it was sent).',
    params: paymentParams,
    answers: { 200: paymentView },
    handle: async ({ params }) => {
      const asked = await settlement(params.payment)
      if (!asked.ok) throw refusalProblem(asked)
      const { payment } = asked
      const run = await ledger.run(payment.run)
      const receipt = run && receiptOf(run, payment, signer)
      return ok({ ...operatorsView(payment), ...(receipt === undefined ? {} : { receipt }) })
    },
  })
