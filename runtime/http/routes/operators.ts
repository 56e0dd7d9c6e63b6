/** Operators' routes: what waits for a person, and the stops. Each act is recorded in the stream that it touches. */
import { z } from 'zod'
import { holdIdSchema, type NodeId, runIdSchema } from '../../core/ids.ts'
import { decideBody, holdViewSchema } from '../../core/wire.ts'
import type { StandingResult } from '../../gateway/operate.ts'
import { HttpProblem, refusalProblem } from '../problems.ts'
import { type Answer, ok, type Route, route } from '../route.ts'
import { holdsAnswer, standingAnswer } from '../shapes.ts'
import { nameOf, type RouteDeps } from './deps.ts'
import { nodeParams } from './params.ts'

const holdParams = z.strictObject({ hold: holdIdSchema })
const holdsQuery = z.strictObject({ run: runIdSchema.optional() })

export function holdRoutes({ gateway, ledger, views }: RouteDeps): Route[] {
  const decide = (verb: 'approve' | 'refuse'): Route =>
    route({
      method: 'POST',
      path: `/holds/:hold/${verb}`,
      who: ['operator'],
      summary:
        verb === 'approve'
          ? 'Approve one held payment, once, exactly as its card showed it.'
          : 'Refuse one held payment for good.',
      params: holdParams,
      body: decideBody,
      answers: { 200: holdViewSchema },
      handle: async ({ params, body, operator }) => {
        const { digest } = body
        const decided = await gateway[verb]({ hold: params.hold, digest, by: nameOf(operator) })
        if (!decided.ok) throw refusalProblem(decided)
        return ok(await views.hold(decided.hold))
      },
    })
  return [
    route({
      method: 'GET',
      path: '/holds',
      who: ['operator'],
      page: true,
      summary: 'What waits for a person, the earliest deadline first.',
      query: holdsQuery,
      answers: { 200: holdsAnswer },
      handle: async ({ query }) => {
        const waiting = await views.waiting(query.run)
        return ok({ holds: await Promise.all(waiting.map(views.hold)) })
      },
    }),
    route({
      method: 'GET',
      path: '/holds/:hold',
      who: ['operator'],
      page: true,
      summary: 'One held payment, as a card.',
      params: holdParams,
      answers: { 200: holdViewSchema },
      handle: async ({ params }) => {
        const hold = await ledger.hold(params.hold)
        if (hold === undefined) throw new HttpProblem('not_found')
        return ok(await views.hold(hold))
      },
    }),
    decide('approve'),
    decide('refuse'),
  ]
}

const SUMMARIES = {
  freeze: 'Stop this node and everything below it: once answered, nothing there is submitted.',
  resume: 'Let what was frozen go on.',
  revoke: 'Stop this node and everything below it for good.',
} as const

const answerOf = (node: NodeId | 'gateway', set: StandingResult): Answer => {
  if (!set.ok) throw refusalProblem(set)
  const { state, version } = set.standing
  return ok({ node, state, version, onTheirWay: [...set.onTheirWay] })
}

export function standingRoutes({ gateway, ledger }: RouteDeps): Route[] {
  const ofNode = (verb: keyof typeof SUMMARIES): Route =>
    route({
      method: 'POST',
      path: `/runs/:run/nodes/:node/${verb}`,
      who: ['operator'],
      summary: SUMMARIES[verb],
      params: nodeParams,
      answers: { 200: standingAnswer },
      handle: async ({ params, operator }) => {
        const node = await ledger.node(params.node)
        if (node?.run !== params.run) throw new HttpProblem('not_found')
        return answerOf(node.id, await gateway[verb](node.id, nameOf(operator)))
      },
    })
  const ofGateway = (verb: 'freeze' | 'resume'): Route =>
    route({
      method: 'POST',
      path: `/${verb}`,
      who: ['operator'],
      summary: verb === 'freeze' ? 'Stop the whole gateway.' : 'Let the whole gateway go on.',
      answers: { 200: standingAnswer },
      handle: async ({ operator }) =>
        answerOf('gateway', await gateway[verb]('gateway', nameOf(operator))),
    })
  return [
    ofNode('freeze'),
    ofNode('resume'),
    ofNode('revoke'),
    ofGateway('freeze'),
    ofGateway('resume'),
  ]
}
