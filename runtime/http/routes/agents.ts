/**
 * Agents' routes. The request goes to the gateway as it came, headers and bytes, and the gateway's answer goes back
 * as it is: nothing is decided, parsed or added on the way.
 */
import { receiptOf } from '../../audit/receipts.ts'
import {
  closedNodeSchema,
  decisionAnswerSchema,
  ownNodeSchema,
  paymentAnswerSchema,
  paymentBody,
  productAnswerSchema,
  productBody,
  quoteAnswerSchema,
  quoteBody,
  registeredNodeSchema,
  registerNodeBody,
  searchAnswerSchema,
  searchBody,
} from '../../core/wire.ts'
import { operatorsView, viewOfPayment, withApproval } from '../payment-view.ts'
import { HttpProblem, refusalProblem } from '../problems.ts'
import { ok, type Route, route } from '../route.ts'
import { paymentView } from '../shapes.ts'
import { nameOf, type RouteDeps } from './deps.ts'
import { nodeParams, paymentParams, runParams } from './params.ts'

export function agentRoutes(deps: RouteDeps): Route[] {
  const { gateway } = deps
  return [
    route({
      method: 'POST',
      path: '/search',
      who: ['holder'],
      summary: 'A looker searches the merchants that its token allows.',
      body: searchBody,
      answers: { 200: searchAnswerSchema },
      handle: ({ raw }) => gateway.search(raw),
    }),
    route({
      method: 'POST',
      path: '/products',
      who: ['holder'],
      summary: 'A looker reads one product of one merchant, with the whole of its description.',
      body: productBody,
      answers: { 200: productAnswerSchema },
      handle: ({ raw }) => gateway.product(raw),
    }),
    route({
      method: 'POST',
      path: '/quotes',
      who: ['holder'],
      summary: 'A looker asks one merchant for a signed quote.',
      body: quoteBody,
      answers: { 200: quoteAnswerSchema },
      handle: ({ raw }) => gateway.quote(raw),
    }),
    route({
      method: 'POST',
      path: '/payments',
      who: ['holder'],
      summary:
        'A leaf pays the quote that it was made for. The same quote again is the same payment.',
      body: paymentBody,
      answers: {
        200: paymentAnswerSchema,
        202: paymentAnswerSchema,
        403: paymentAnswerSchema,
        409: paymentAnswerSchema,
      },
      handle: ({ raw }) => gateway.pay(raw),
    }),
    route({
      method: 'POST',
      path: '/decisions',
      who: ['holder'],
      summary:
        'What a payment of this quote would be answered, by the same checks. Nothing is reserved, paid or asked of a person.',
      body: paymentBody,
      answers: { 200: decisionAnswerSchema, 202: decisionAnswerSchema, 403: decisionAnswerSchema },
      handle: ({ raw }) => gateway.decide(raw),
    }),
    route({
      method: 'POST',
      path: '/runs/:run/nodes',
      who: ['holder'],
      summary: 'An outside planner registers a child that it split off.',
      params: runParams,
      body: registerNodeBody,
      answers: { 201: registeredNodeSchema },
      handle: ({ params, raw }) => gateway.registerNode(params.run, raw),
    }),
    closeRoute(deps),
    route({
      method: 'GET',
      path: '/node',
      who: ['holder'],
      summary:
        'The caller’s own node: what its token allows, what is left, what needs a person, and its own payments.',
      answers: { 200: ownNodeSchema },
      handle: ({ raw }) => gateway.ownNode(raw),
    }),
    paymentRoute(deps),
  ]
}

const closeRoute = ({ gateway, ledger }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/runs/:run/nodes/:node/close',
    who: ['holder', 'operator'],
    summary:
      'Close a node with everything below it; what it did not spend goes back to its parent.',
    params: nodeParams,
    answers: { 200: closedNodeSchema },
    handle: async ({ params, raw, operator }) => {
      if (operator === undefined) return gateway.closeNode(params.run, params.node, raw)
      const node = await ledger.node(params.node)
      if (node?.run !== params.run) throw new HttpProblem('not_found')
      const closed = await gateway.close(params.node, nameOf(operator))
      if (!closed.ok) throw refusalProblem(closed)
      return ok({ node: { id: params.node, standing: closed.standing } })
    },
  })

const paymentRoute = ({ gateway, ledger, signer }: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/payments/:payment',
    who: ['holder', 'operator'],
    summary: 'One payment; for operators, for its own leaf, and for a planner above it.',
    params: paymentParams,
    answers: { 200: paymentView },
    handle: async ({ params, raw, operator }) => {
      const payment = await ledger.payment(params.payment)
      let isHolder = false
      if (operator === undefined) {
        const reader = await gateway.admitPaymentReader(params.payment, raw)
        if (!reader.ok) return reader.answer
        const node = payment && (await ledger.node(payment.node))
        if (!node?.path.includes(reader.node)) throw new HttpProblem('not_found')
        isHolder = reader.isOwn
      }
      if (payment === undefined) throw new HttpProblem('not_found')
      const run = await ledger.run(payment.run)
      const receipt = run && receiptOf(run, payment, signer)
      const agents = isHolder ? withApproval : viewOfPayment
      const view = operator === undefined ? agents(payment) : operatorsView(payment)
      return ok({ ...view, ...(receipt === undefined ? {} : { receipt }) })
    },
  })
