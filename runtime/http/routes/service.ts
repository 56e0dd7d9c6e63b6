/** Routes of the service itself: signing in, the log, keys, health and the description of the interface. */
import { Readable } from 'node:stream'
import { z } from 'zod'
import { exportLog, exportSides } from '../../audit/export.ts'
import { type RunId, runIdSchema } from '../../core/ids.ts'
import { jwksSchema, rootKeysSchema } from '../../core/keys.ts'
import type { Ledger } from '../../core/ledger.ts'
import { nowSeconds, seconds } from '../../core/time.ts'
import { noteAct } from '../../gateway/acts.ts'
import { everyRun } from '../../ledger/reads.ts'
import { COOKIE } from '../access.ts'
import { openApi } from '../openapi.ts'
import { HttpProblem } from '../problems.ts'
import { ok, type Route, route } from '../route.ts'
import {
  demoAnswer,
  healthAnswer,
  loginBody,
  loginCodeAnswer,
  reconcileAnswer,
  reconcileQuery,
  sessionAnswer,
} from '../shapes.ts'
import { nameOf, type RouteDeps } from './deps.ts'

const COOKIE_OPTIONS = { path: '/', httpOnly: true, secure: true, sameSite: 'strict' } as const

/** What an operator did to the console itself, in the gateway's own stream. */
const record = ({ ledger, clock }: RouteDeps, data: Parameters<typeof noteAct>[1]) =>
  noteAct(ledger, data, nowSeconds(clock))

export function sessionRoutes(deps: RouteDeps): Route[] {
  const { operators, ledger, signer, demo } = deps
  return [
    route({
      method: 'POST',
      path: '/login',
      who: ['public'],
      summary: 'Spend a one-time login code for a session cookie.',
      body: loginBody,
      answers: { 204: 'empty' },
      handle: async ({ body, reply }) => {
        const login = operators.login(body.code)
        if (login === 'throttled') {
          throw new HttpProblem('rate_limited', { headers: { 'retry-after': '60' } })
        }
        if (login === 'no') throw new HttpProblem('login_refused')
        await record(deps, { act: 'login', by: nameOf(login.operator) })
        reply.setCookie(COOKIE, login.secret, COOKIE_OPTIONS)
        return { status: 204 }
      },
    }),
    route({
      method: 'POST',
      path: '/logout',
      who: ['operator'],
      summary: 'End the session.',
      answers: { 204: 'empty' },
      handle: async ({ session, operator, reply }) => {
        if (session !== undefined) operators.logout(session)
        await record(deps, { act: 'logout', by: nameOf(operator) })
        reply.clearCookie(COOKIE, COOKIE_OPTIONS)
        return { status: 204, headers: { 'clear-site-data': '"cache", "storage"' } }
      },
    }),
    route({
      method: 'GET',
      path: '/session',
      who: ['operator'],
      summary: 'Who is signed in, and what this gateway can show.',
      answers: { 200: sessionAnswer },
      handle: async ({ operator }) => {
        const { state } = await ledger.standing('gateway')
        return ok({
          operator: operator?.name ?? '',
          gateway: signer.gateway,
          frozen: state === 'frozen',
          demo: demo !== undefined,
        })
      },
    }),
    route({
      method: 'POST',
      path: '/login-codes',
      who: ['operator'],
      summary: 'A fresh one-time login code.',
      answers: { 201: loginCodeAnswer },
      handle: async ({ operator }) => {
        const code = operators.newLoginCode(operator?.person)
        await record(deps, { act: 'login_code', by: nameOf(operator) })
        return { status: 201, body: code }
      },
    }),
  ]
}

export function auditRoutes(deps: RouteDeps): Route[] {
  const { ledger, publicKeys, rootKeys } = deps
  return [
    route({
      method: 'GET',
      path: '/audit',
      who: ['operator'],
      summary:
        'The log of a run, or of everything, one event a line, for `headgate audit verify`; with `personal=yes` the clear values beside it too.',
      query: z.strictObject({ run: runIdSchema.optional(), personal: z.literal('yes').optional() }),
      answers: { 200: 'application/x-ndjson' },
      handle: async ({ query, operator }) => {
        if (query.run !== undefined && (await ledger.run(query.run)) === undefined) {
          throw new HttpProblem('not_found')
        }
        const { run, personal } = query
        const isPersonal = personal !== undefined
        const data = { act: 'export', by: nameOf(operator), run: run ?? '' }
        await record(deps, isPersonal ? { ...data, personal: true } : data)
        const texts = isPersonal ? withSides(ledger, run) : exportLog(ledger, run)
        const stream = Readable.from(lines(texts))
        return { status: 200, stream, type: 'application/x-ndjson' }
      },
    }),
    route({
      method: 'GET',
      path: '/.well-known/jwks.json',
      who: ['public'],
      summary: 'Keys that receipts and seals verify under.',
      answers: { 200: jwksSchema },
      handle: async () => ok({ keys: publicKeys }),
    }),
    route({
      method: 'GET',
      path: '/.well-known/root-keys.json',
      who: ['public'],
      summary: 'Keys that tokens verify under, each with its id; an older one until it retires.',
      answers: { 200: rootKeysSchema },
      handle: async () => ok(rootKeys),
    }),
  ]
}

async function* withSides(ledger: Ledger, run: RunId | undefined): AsyncGenerator<string> {
  yield* exportLog(ledger, run)
  yield* exportSides(ledger, run === undefined ? idsOf(ledger) : [run])
}

async function* idsOf(ledger: Ledger): AsyncGenerator<RunId> {
  for await (const { id } of everyRun(ledger)) yield id
}

async function* lines(texts: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const text of texts) yield `${text}\n`
}

export function serviceRoutes(deps: RouteDeps): Route[] {
  const { demo } = deps
  // Anyone may ask, and writing it costs as much as many payments: it is written once.
  let described: ReturnType<typeof openApi> | undefined
  return [
    route({
      method: 'GET',
      path: '/',
      who: ['public'],
      page: true,
      summary: 'The console for browsers; for everyone else, where things are.',
      answers: { 200: z.record(z.string(), z.string()) },
      handle: async () =>
        ok({ name: 'headgate', openapi: '/openapi.json', health: '/health/ready' }),
    }),
    route({
      method: 'GET',
      path: '/health/live',
      who: ['public'],
      summary: 'Whether the process answers.',
      answers: { 200: healthAnswer },
      handle: async () => ok({ state: 'live' }),
    }),
    route({
      method: 'GET',
      path: '/health/ready',
      who: ['public'],
      summary: 'Whether store, token engine, rail and clock can be used now.',
      answers: { 200: healthAnswer, 503: healthAnswer },
      handle: async () => {
        const failing = await deps.failing()
        if (failing.length === 0) {
          // Of one run: all others go on, so it must not take the gateway out of service.
          const isHalted = deps.gateway.haltedRuns().length > 0
          return ok({ state: 'ready', ...(isHalted ? { warnings: ['halted_runs'] } : {}) })
        }
        return {
          status: 503,
          body: { state: 'not_ready', failing },
          headers: { 'retry-after': '2' },
        }
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      who: ['operator'],
      summary: 'Gauges and counts of this gateway, for Prometheus.',
      answers: { 200: 'text/plain' },
      handle: async () => ({
        status: 200,
        stream: Readable.from([await deps.metrics()]),
        type: 'text/plain; version=0.0.4; charset=utf-8',
      }),
    }),
    route({
      method: 'GET',
      path: '/openapi.json',
      who: ['public'],
      summary: 'This interface, described.',
      answers: { 200: z.looseObject({}) },
      handle: async () => {
        described ??= openApi(deps.table(), deps.url)
        return ok(described)
      },
    }),
    route({
      method: 'POST',
      path: '/internal/reconcile',
      who: ['operator'],
      summary:
        'Ask the rail now about every payment that nobody has ended, and hold its own list against the ledger.',
      query: reconcileQuery,
      answers: { 200: reconcileAnswer },
      handle: async ({ query: { from } }) => {
        const round = await deps.reconcile()
        const statement = await deps.compare(from === undefined ? from : seconds(Number(from)))
        const rail = deps.railName
        return ok(statement === undefined ? { ...round, rail } : { ...round, rail, statement })
      },
    }),
    ...(demo === undefined ? [] : [demoRoute(demo)]),
  ]
}

const demoRoute = (demo: NonNullable<RouteDeps['demo']>): Route =>
  route({
    method: 'POST',
    path: '/demo',
    who: ['operator'],
    summary: 'Begin the demonstration run, signed by the demonstration principal.',
    answers: { 201: demoAnswer },
    handle: async () => ({ status: 201, body: { run: { id: await demo() } } }),
  })
