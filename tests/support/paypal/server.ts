/** Takes requests apart, lets them meet what is scripted, and never answers what PayPal would not. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Tokens } from './oauth.ts'
import { debugId, plainRefusal, Refusal, type Reply, refusal } from './refusals.ts'
import { type Ask, type Route, routeFor } from './routes.ts'
import type { StandInFault, World } from './world.ts'

const HTML = '<!doctype html><html><body><h1>Bad Gateway</h1></body></html>'

export interface Wiring {
  readonly world: World
  readonly tokens: Tokens
  readonly routes: readonly Route[]
  /** Routes below `/_control`, for other processes. */
  control(method: string, path: string, json: unknown): Reply | undefined
}

export async function listen(wiring: Wiring, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    answer(wiring, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  wiring.world.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return server
}

async function answer(wiring: Wiring, request: IncomingMessage, response: ServerResponse) {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const url = new URL(request.url ?? '/', wiring.world.url)
  const method = request.method ?? 'GET'
  wiring.world.look()
  const json = parsed(text)
  const control = url.pathname.startsWith('/_control/')
    ? controlled(wiring, method, url.pathname.slice('/_control/'.length), json)
    : undefined
  if (control) return send(response, control)
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
  )
  const found = routeFor(wiring.routes, method, url.pathname)
  const isToken = method === 'POST' && url.pathname === '/v1/oauth2/token'
  const fault = isToken
    ? wiring.world.takeNamed('token')
    : found && wiring.world.take(found.route.on)
  const ask: Ask = { json, text, id: found?.id ?? '', query: url.searchParams, headers, fault }
  const act = () => {
    if (isToken) return wiring.tokens.give(ask)
    if (!wiring.tokens.accepts(headers.authorization)) throw plainRefusal(401)
    if (!found) throw plainRefusal(404)
    if (text !== '' && !isJson(headers))
      return { status: 415, json: { name: 'UNSUPPORTED_MEDIA_TYPE' } }
    if (text !== '' && json === undefined) throw refusal('MALFORMED_REQUEST_JSON')
    return found.route.act(ask)
  }
  const met = meet(fault, ask, act)
  if (met === 'reset') request.socket.resetAndDestroy()
  else if (met !== 'hang') send(response, met)
}

/** What it is told to do and cannot is 404: nothing of the kind is there. */
function controlled(wiring: Wiring, method: string, path: string, json: unknown): Reply {
  try {
    return wiring.control(method, path, json) ?? { status: 404 }
  } catch {
    return { status: 404 }
  }
}

function meet(
  fault: StandInFault | undefined,
  { headers, text }: Ask,
  act: () => Reply,
): Reply | 'reset' | 'hang' {
  if (fault === 'resetBefore') return 'reset'
  if (fault === 'html502Before') return { status: 502, html: HTML }
  if (fault === 'redirect307') return { status: 307, headers: { location: '/elsewhere' } }
  if (fault === 'rateLimit') return plainRefusal(429).reply
  if (fault === 'leakSecret') return leak(headers, text)
  const reply = replyOf(act)
  if (fault === 'resetAfter') return 'reset'
  if (fault === 'html502After') return { status: 502, html: HTML }
  if (fault === 'html200After') return { status: 200, html: HTML }
  if (fault === 'empty500After') return { status: 500 }
  return fault === 'hang' ? 'hang' : reply
}

/** An error that repeats everything it was sent, in each of its texts. */
function leak(headers: Ask['headers'], text: string): Reply {
  const [, encoded = ''] = (headers.authorization ?? '').split(' ')
  const secrets = `${headers.authorization} ${Buffer.from(encoded, 'base64').toString('latin1')} ${text}`
  const details = [{ issue: secrets, description: secrets, field: secrets, value: secrets }]
  return { status: 422, json: { name: secrets, message: secrets, debug_id: debugId(), details } }
}

function replyOf(act: () => Reply): Reply {
  try {
    return act()
  } catch (error) {
    if (error instanceof Refusal) return error.reply
    throw error
  }
}

const isJson = (headers: Ask['headers']) =>
  headers['content-type']?.startsWith('application/json') ?? false

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function send(response: ServerResponse, { status, json, html, headers = {} }: Reply): void {
  const body = html ?? (json === undefined ? undefined : JSON.stringify(json))
  const type = html === undefined ? 'application/json' : 'text/html'
  const typed = body === undefined ? {} : { 'content-type': type }
  response.writeHead(status, { 'paypal-debug-id': debugId(), ...typed, ...headers }).end(body)
}
