/**
 * The HTTP server: what every request meets before a handler, and how every answer leaves. It knows no route by
 * name; they come as a table. Order: Host, then where the request came from and who sends it, then strict parsing,
 * then the handler. It may not decide anything about money.
 */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import cookie from '@fastify/cookie'
import helmet from '@fastify/helmet'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { TextGuard } from '../core/agents.ts'
import { Fault } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { LIMITS } from '../core/limits.ts'
import { problem } from '../gateway/answers.ts'
import type { RawRequest } from '../gateway/attempt.ts'
import { JSON_TYPE } from '../gateway/parse.ts'
import { type Access, authorise } from './access.ts'
import { checkHost, headerValues } from './hosts.ts'
import type { Metrics } from './metrics.ts'
import type { Operators } from './operators.ts'
import { HttpProblem, PROBLEMS, problemOf, sendProblem } from './problems.ts'
import { type Answer, type Route, TAKEN_OVER } from './route.ts'
import { addShell, sendShell, wantsPage } from './shell.ts'
import { releaseUnasked } from './unasked.ts'

/** An entry of the operator’s log: what broke, never what a caller sent. */
export interface LogEntry {
  readonly level: 'error' | 'warn' | 'info'
  readonly code: string
  readonly message: string
}

export interface ServerOptions {
  readonly routes: readonly Route[]
  readonly operators: Operators
  /** Asked on each request, because the port is known only after listening. */
  readonly hosts: () => ReadonlySet<string>
  /** Whether probes may call by any name: a platform's prober chooses its own, and learns a word that is no secret. */
  readonly probesByAnyName: () => boolean
  /** Folder of the console’s static files. */
  readonly consoleDir: string
  readonly log: (entry: LogEntry) => void
  /** An answer that holds a secret is not sent; absent: none is looked at. */
  readonly guard?: TextGuard
  /** Told of every answer, by the pattern that matched. */
  readonly observe?: Metrics['observe']
  /**
   * From a request to its 401, at least; `LIMITS.refusalMs` if absent. Whoever is not known learns nothing from how long
   * its refusal took, and has no more of them in a second than it holds connections open.
   */
  readonly refusalMs?: number
}

/** Long enough for a slow line, far too short to hold a socket open byte by byte. */
const HEADERS_MS = 10_000
const REQUEST_MS = 15_000
const KEEP_ALIVE_MS = 30_000
const CONNECTIONS = 2_000

const CSP = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    fontSrc: ["'self'"],
    workerSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
  },
}

export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { refusalMs = LIMITS.refusalMs } = options
  const app = Fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    exposeHeadRoutes: false,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    onProtoPoisoning: 'error',
    http: {
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: HEADERS_MS,
      connectionsCheckingInterval: 2_000,
    },
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, refusalMs),
    frameworkErrors: (error, request, reply) => refuseAddress(error, request, reply, options),
  })
  app.server.maxConnections = CONNECTIONS
  releaseUnasked(app)
  app.addHook('onRequest', async (request) => {
    if (options.probesByAnyName() && isProbe(request.raw)) return
    checkHost(request.raw, options.hosts())
  })
  app.addHook('onSend', async (_request, reply, payload) => withheld(reply, payload, options))
  app.addHook('onSend', async (_request, reply, payload) => {
    const leftMs = refusalMs - reply.elapsedTime
    if (reply.statusCode === 401 && leftMs > 0) await sleep(leftMs)
    return payload
  })
  app.addHook('onResponse', async ({ method, routeOptions }, reply) => {
    const isOurs = options.routes.some(({ path }) => path === routeOptions.url)
    const route = isOurs ? routeOptions.url : undefined
    options.observe?.(method, route, reply.statusCode, reply.elapsedTime / 1000)
  })
  await app.register(helmet, {
    contentSecurityPolicy: CSP,
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    referrerPolicy: { policy: 'no-referrer' },
    // Only a deployment knows whether every name below its host speaks TLS.
    strictTransportSecurity: false,
  })
  await app.register(cookie)
  keepBodiesRaw(app)
  app.setErrorHandler((error, _request, reply) => {
    logFailure(error, options.log)
    return sendProblem(reply, error)
  })
  app.setNotFoundHandler((request, reply) => {
    return sendProblem(reply, missing(request, options.routes))
  })
  await addShell(app, options.consoleDir)
  for (const route of options.routes) addRoute(app, route, options)
  return app
}

/** The last line: whatever made an answer that holds a secret, nobody gets it. */
function withheld(reply: FastifyReply, payload: unknown, { guard, log }: ServerOptions): unknown {
  if (typeof payload !== 'string' || !guard?.holdsSecret(payload)) return payload
  log({
    level: 'error',
    code: 'secret_withheld',
    message: 'an answer held a secret and was withheld',
  })
  const { status, type, body } = problemOf(undefined)
  reply.code(status).type(type)
  return JSON.stringify(body)
}

/**
 * Bodies stay bytes, of whatever type: the strict reader parses them where JSON was announced, and the gateway does
 * where it judges the request itself.
 */
function keepBodiesRaw(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
}

/** Stands for a body that was too large to be read: the gateway counts and answers it like any other. */
const PAST_LIMIT = new Uint8Array(LIMITS.bodyBytes + 1)

function addRoute(app: FastifyInstance, route: Route, options: ServerOptions): void {
  const admitted = new WeakMap<FastifyRequest, Access>()
  const isHolders = route.who.includes('holder')
  const isRails = route.who.includes('rail')
  const answer = async (request: FastifyRequest, reply: FastifyReply, bytes: Uint8Array) => {
    const lastEventId = request.headers['last-event-id']
    const answer = await route.handle({
      params: parseParams(route, request),
      query: parse(route.query, request.query, 'malformed'),
      body: isHolders || isRails ? undefined : parseBody(route, bytes),
      raw: rawRequest(request, bytes),
      ...admitted.get(request),
      ...(typeof lastEventId === 'string' ? { lastEventId } : {}),
      reply,
    })
    return send(reply, answer)
  }
  app.route({
    method: route.method,
    url: route.path,
    bodyLimit: isRails ? LIMITS.webhookBytes : LIMITS.bodyBytes,
    // Before the body is read: whoever may not be here sends us nothing more.
    onRequest: async (request, reply) => {
      if (route.page || route.ownPage) reply.header('vary', 'Accept')
      if (route.page && wantsPage(request)) return sendShell(reply, options.consoleDir)
      admitted.set(request, authorise(request, route.who, options.operators))
      if (!isHolders && !isRails) checkType(request)
    },
    handler: (request, reply) => answer(request, reply, bytesOf(request.body)),
    errorHandler: (error, request, reply) => {
      if (isHolders && isTooLarge(error)) return answer(request, reply, PAST_LIMIT)
      logFailure(error, options.log)
      return sendProblem(reply, error)
    },
  })
}

const isTooLarge = (error: Error & { code?: string }): boolean =>
  error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'

/** JSON as it is: no page of another origin can send that type unasked, and no small body grows past the limit. */
function checkType(request: FastifyRequest): void {
  const { rawHeaders } = request.raw
  const types = headerValues(rawHeaders, 'content-type')
  const encodings = headerValues(rawHeaders, 'content-encoding')
  if (types.some((type) => !JSON_TYPE.test(type)) || types.length > 1 || encodings.length > 0) {
    throw new HttpProblem('unsupported_media_type')
  }
}

function send(reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer === TAKEN_OVER) return reply
  reply.code(answer.status).headers({ 'cache-control': 'no-store', ...answer.headers })
  if ('text' in answer) return reply.type(answer.type).send(answer.text)
  if ('stream' in answer) return reply.type(answer.type).send(answer.stream)
  if (answer.body === undefined) return reply.send()
  return reply.type(answer.type ?? 'application/json').send(JSON.stringify(answer.body))
}

function rawRequest(request: FastifyRequest, body: Uint8Array): RawRequest {
  const target = request.raw.url ?? ''
  const at = target.indexOf('?')
  const { rawHeaders } = request.raw
  const headers = rawHeaders.flatMap((name, i) =>
    i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? ''] as const] : [],
  )
  return {
    method: request.method,
    path: at < 0 ? target : target.slice(0, at),
    query: at < 0 ? '' : target.slice(at + 1),
    headers,
    body,
  }
}

const bytesOf = (body: unknown): Uint8Array =>
  body instanceof Uint8Array ? body : new Uint8Array(0)

/** An id that cannot exist is an address with nothing behind it. */
const parseParams = (route: Route, request: FastifyRequest): unknown =>
  parse(route.params, request.params, 'not_found')

function parse(
  schema: z.ZodType | undefined,
  value: unknown,
  code: 'malformed' | 'not_found',
): unknown {
  if (schema === undefined) return undefined
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const claim = parsed.error.issues[0]?.path.join('.')
  throw new HttpProblem(code, code === 'malformed' && claim ? { claim } : {})
}

function parseBody(route: Route, bytes: Uint8Array): unknown {
  if (route.body !== undefined) return parse(route.body, parseJson(bytes), 'malformed')
  if (bytes.length > 0 && Object.keys(Object(parseJson(bytes))).length > 0) {
    throw new HttpProblem('malformed')
  }
  return undefined
}

/** 405 where another method would be served, 404 otherwise. */
function missing(request: FastifyRequest, routes: readonly Route[]): HttpProblem {
  const path = request.url.split('?', 1)[0]?.split('/') ?? []
  const methods = routes
    .filter((route) => {
      const parts = route.path.split('/')
      return parts.length === path.length && parts.every((p, i) => p[0] === ':' || p === path[i])
    })
    .map((route) => route.method)
  if (methods.length === 0 || methods.some((method) => method === request.method)) {
    return new HttpProblem('not_found')
  }
  return new HttpProblem('method_not_allowed', { headers: { allow: methods.join(', ') } })
}

const isProbe = ({ method, url }: FastifyRequest['raw']): boolean =>
  method === 'GET' && (url === '/health/live' || url === '/health/ready')

/** An address that the router itself cannot read never meets a hook: the Host comes first here too. */
function refuseAddress(
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
  { hosts }: ServerOptions,
): void {
  try {
    checkHost(request.raw, hosts())
    sendProblem(reply, error)
  } catch (refused) {
    sendProblem(reply, refused)
  }
}

/** A caller who leaves before its body has arrived: nothing of ours broke. */
const isCallerGone = (error: unknown): boolean =>
  error instanceof Error &&
  error.message === 'aborted' &&
  'code' in error &&
  error.code === 'ECONNRESET'

function logFailure(error: unknown, log: ServerOptions['log']): void {
  const { status, code } = problemOf(error).body
  if (status < 500 || isCallerGone(error)) return
  if (error instanceof Fault) log({ level: 'error', code: error.code, message: error.message })
  else
    log({ level: 'error', code, message: error instanceof Error ? error.message : 'not an error' })
}

/** What is not HTTP, or is too large to be read, is answered on the socket and closed. */
function refuseConnection(
  error: Error & { code?: string },
  socket: Socket,
  refusalMs: number,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const code = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'malformed'
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : PROBLEMS[code].status
  const title = status === 408 ? 'the request took too long to arrive' : PROBLEMS[code].title
  const { body } = problem({ status, code: status === 408 ? 'timeout' : code, title })
  const text = JSON.stringify(body)
  // What is still on its way is not read.
  socket.pause()
  setTimeout(() => {
    if (socket.writable) {
      socket.write(
        `HTTP/1.1 ${status} Refused\r\ncontent-type: application/problem+json\r\nconnection: close\r\n` +
          `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
      )
    }
    socket.destroySoon()
  }, refusalMs)
}
