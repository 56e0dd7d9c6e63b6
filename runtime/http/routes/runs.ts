/** Routes about runs: beginning one, reading it, following its feed, ending it. */
import { z } from 'zod'
import { runIdSchema } from '../../core/ids.ts'
import { LIMITS } from '../../core/limits.ts'
import { createRunBody, runDetailSchema } from '../../core/wire.ts'
import { HttpProblem, refusalProblem } from '../problems.ts'
import { type Call, ok, type Route, route, TAKEN_OVER } from '../route.ts'
import { cancelBody, createRunAnswer, runAnswer, runsAnswer } from '../shapes.ts'
import { listRuns } from '../views.ts'
import { nameOf, type RouteDeps } from './deps.ts'
import { runParams } from './params.ts'

/** Runs of one page unless asked otherwise: each costs a look at its whole tree. */
const RUNS = 50

const page = z.strictObject({
  after: runIdSchema.optional(),
  limit: z
    .string()
    .regex(/^[1-9]\d{0,2}$/)
    .transform(Number)
    .refine((limit) => limit <= LIMITS.pageItems)
    .optional(),
})

export function runRoutes(deps: RouteDeps): Route[] {
  return [
    createRoute(deps),
    listRoute(deps),
    readRoute(deps),
    eventsRoute(deps),
    cancelRoute(deps),
    eraseRoute(deps),
  ]
}

const createRoute = ({ gateway, carryOut }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/runs',
    who: ['principal'],
    summary:
      'Begin a run: the mandate’s signature is the authentication. Posted again, it is the same run.',
    body: createRunBody,
    answers: { 200: createRunAnswer, 201: createRunAnswer },
    handle: async ({ body }) => {
      const made = await gateway.createRun(body.mandate)
      if (!made.ok) throw refusalProblem(made)
      const { run, created, node, token } = made
      carryOut(run)
      const answer = {
        run: { id: run.id, state: run.state },
        node,
        ...(token === undefined ? {} : { token }),
      }
      return { status: created ? 201 : 200, body: answer, headers: { location: `/runs/${run.id}` } }
    },
  })

const listRoute = ({ ledger, views }: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/runs',
    who: ['operator'],
    page: true,
    summary: 'Runs, newest first.',
    query: page,
    answers: { 200: runsAnswer },
    handle: async ({ query }) =>
      ok({ runs: await listRuns(ledger, views, query.limit ?? RUNS, query.after) }),
  })

const readRoute = ({ gateway, ledger, views }: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/runs/:run',
    who: ['holder', 'operator'],
    page: true,
    summary: 'A run with its tree; for operators, and for a planner its own subtree.',
    params: runParams,
    answers: { 200: runDetailSchema },
    handle: async ({ params, raw, operator }) => {
      if (operator !== undefined) {
        const run = await ledger.run(params.run)
        if (run === undefined) throw new HttpProblem('not_found')
        return ok(await views.detail(run))
      }
      const reader = await gateway.admitReader(raw)
      if (!reader.ok) return reader.answer
      const run = await ledger.run(params.run)
      if (run === undefined || reader.run !== run.id) throw new HttpProblem('not_found')
      return ok(await views.subtree(run, reader.node))
    },
  })

const eventsQuery = z.strictObject({ after: z.string().optional() })

const eventsRoute = ({ ledger, streams }: RouteDeps): Route =>
  route({
    method: 'GET',
    path: '/runs/:run/events',
    who: ['operator'],
    summary:
      'The run’s feed as server-sent events: `fact` with its position as id, `hb`, `reset`, `bye`. Resumes after `Last-Event-ID` or `after`.',
    params: runParams,
    query: eventsQuery,
    answers: { 200: 'text/event-stream' },
    handle: async (call) => {
      const { params, operator, reply } = call
      const after = cursorOf(call)
      const run = await ledger.run(params.run)
      if (run === undefined || operator === undefined) throw new HttpProblem('not_found')
      await streams.open({ run: run.id, after, operator, reply })
      return TAKEN_OVER
    },
  })

/** A browser that reconnects says where it was in the header; whoever begins anew says it in the query. */
function cursorOf({
  lastEventId,
  query,
}: Call<unknown, z.infer<typeof eventsQuery>, unknown>): number {
  const text = lastEventId ?? query.after ?? '0'
  const position = Number(text)
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(position)) throw new HttpProblem('cursor')
  return position
}

const eraseRoute = ({ gateway, views }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/runs/:run/erase',
    who: ['operator'],
    summary:
      'Erase the personal values of a run that has ended: mandate, labels, accounts, goods, evidence. The log still verifies.',
    params: runParams,
    answers: { 200: runAnswer },
    handle: async ({ params, operator }) => {
      const erased = await gateway.erase(params.run, nameOf(operator))
      if (!erased.ok) throw refusalProblem(erased)
      return ok({ run: await views.run(erased.run) })
    },
  })

const cancelRoute = ({ gateway, ledger, views }: RouteDeps): Route =>
  route({
    method: 'POST',
    path: '/runs/:run/cancel',
    who: ['principal', 'operator'],
    summary: 'Cancel a run: by an operator, or by its principal’s own signature (`cancel+jwt`).',
    params: runParams,
    body: cancelBody,
    answers: { 200: runAnswer },
    handle: async ({ params, body, operator }) => {
      if (body.cancel === undefined && operator === undefined) {
        throw new HttpProblem('unauthenticated')
      }
      const cancelled =
        body.cancel === undefined
          ? await gateway.cancel(params.run, nameOf(operator))
          : await gateway.cancelSigned(params.run, body.cancel)
      if (!cancelled.ok) throw refusalProblem(cancelled)
      const run = await ledger.run(params.run)
      return ok({ run: await views.run(run ?? cancelled.run) })
    },
  })
