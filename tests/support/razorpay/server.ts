/** The stand-in's door: who may come in, what was asked, and every way in which an answer can go wrong. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Fault, type Rule, Script } from './faults.ts'
import { attempt, bookOf, comeBack, stray } from './outside.ts'
import { PAYMENT_OPERATIONS as payment } from './payments.ts'
import { PAYOUT_OPERATIONS as payout } from './payouts.ts'
import { Refusal } from './refusal.ts'
import type { Operation, World } from './world.ts'

/** What came in, for tests that look at what was really sent. */
export interface Seen {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: unknown
}

interface Route {
  readonly operation: string
  readonly method: string
  readonly path: RegExp
  readonly act: Operation
}

const route = (operation: string, method: string, path: string, act: Operation): Route => ({
  operation,
  method,
  path: new RegExp(`^/v1${path.replace(':id', '([A-Za-z0-9_]+)')}$`),
  act,
})

const ROUTES: readonly Route[] = [
  route('contact.create', 'POST', '/contacts', payout.createContact),
  route('fundAccount.create', 'POST', '/fund_accounts', payout.createFundAccount),
  route('fundAccount.fetch', 'GET', '/fund_accounts/:id', payout.fetchFundAccount),
  route('payout.create', 'POST', '/payouts', payout.createPayout),
  route('payout.list', 'GET', '/payouts', payout.listPayouts),
  route('payout.fetch', 'GET', '/payouts/:id', payout.fetchPayout),
  route('payout.cancel', 'POST', '/payouts/:id/cancel', payout.cancelPayout),
  route('order.create', 'POST', '/orders', payment.createOrder),
  route('order.list', 'GET', '/orders', payment.listOrders),
  route('order.fetch', 'GET', '/orders/:id', payment.fetchOrder),
  route('order.payments', 'GET', '/orders/:id/payments', payment.fetchOrderPayments),
  route('payment.list', 'GET', '/payments', payment.listPayments),
  route('payment.fetch', 'GET', '/payments/:id', payment.fetchPayment),
  route('capture', 'POST', '/payments/:id/capture', payment.capture),
  route('refund', 'POST', '/payments/:id/refund', payment.refund),
  route('payment.refunds', 'GET', '/payments/:id/refunds', payment.listRefundsOfPayment),
  route('refund.list', 'GET', '/refunds', payment.listRefunds),
  route('refund.fetch', 'GET', '/refunds/:id', payment.fetchRefund),
  route('link.create', 'POST', '/payment_links', payment.createLink),
  route('link.list', 'GET', '/payment_links/?', payment.listLinks),
  route('link.fetch', 'GET', '/payment_links/:id', payment.fetchLink),
  route('link.cancel', 'POST', '/payment_links/:id/cancel', payment.cancelLink),
]

export interface Door {
  readonly server: Server
  readonly script: Script
  readonly seen: Seen[]
}

export function createDoor(world: World, credentials: { id: string; secret: string }): Door {
  const script = new Script()
  const seen: Seen[] = []
  const basic = Buffer.from(`${credentials.id}:${credentials.secret}`).toString('base64')
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!(error instanceof TypeError)) process.emitWarning(String(error))
      if (!response.headersSent) sendJson(response, 400, { error: String(error) })
    })
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const text = await bodyOf(request)
    const url = new URL(request.url ?? '/', 'http://stand-in')
    if (url.pathname.startsWith('/_control/')) {
      sendJson(response, 200, control({ world, script }, url.pathname, text) ?? {})
      return
    }
    const found = findRoute(request.method ?? '', url.pathname)
    const operation = found?.route.operation ?? 'none'
    const headers = request.headers as Seen['headers']
    const body = parse(text)
    seen.push({ operation, method: request.method ?? '', path: request.url ?? '', headers, body })
    world.settle()
    if (headers.authorization !== `Basic ${basic}`) {
      sendJson(response, 401, new Refusal('Authentication failed', { reason: 'NA' }).body)
      return
    }
    const fault = found === undefined ? undefined : script.take(operation)
    if (fault !== undefined && before(fault, { request, response, secret: credentials.secret }))
      return
    const [status, said] = outcomeOf(() => {
      if (found === undefined) throw new Refusal('The requested URL was not found on the server')
      if (request.method === 'POST' && text !== '') assertJson(headers, body)
      const { act } = found.route
      return act(world, { body, query: url.searchParams, headers, id: found.id, fault })
    })
    after(fault, response, status, said)
  }
  return { server, script, seen }
}

function outcomeOf(act: () => unknown): [number, string] {
  try {
    // As text at once: what is told is what was, however it changes meanwhile.
    return [200, JSON.stringify(act())]
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return [error.status, JSON.stringify(error.body)]
  }
}

function findRoute(method: string, path: string): { route: Route; id: string } | undefined {
  for (const route of ROUTES) {
    const match = route.method === method ? route.path.exec(path) : null
    if (match !== null) return { route, id: match[1] ?? '' }
  }
  return undefined
}

function assertJson(headers: Seen['headers'], body: unknown): void {
  if (headers['content-type']?.startsWith('application/json') !== true || body === undefined) {
    throw new Refusal('The request body should be JSON')
  }
}

/** True where a fault has answered before anything was done. */
function before(
  fault: Fault,
  {
    request,
    response,
    secret,
  }: { request: IncomingMessage; response: ServerResponse; secret: string },
): boolean {
  switch (fault) {
    case 'resetBefore':
      response.destroy()
      return true
    case 'html502Before':
      sendText(response, 502, 'text/html', '<html><h1>502 Bad Gateway</h1></html>')
      return true
    case 'redirect307':
      response.writeHead(307, { location: `/_elsewhere${request.url}` }).end()
      return true
    case 'rateLimit':
      sendJson(response, 429, new Refusal('Request failed. Please try after sometime.').body)
      return true
    case 'leakSecret': {
      const leak = `bad request by ${request.headers.authorization} ${secret}`
      sendJson(response, 400, new Refusal(leak, { field: secret, reason: secret }).body)
      return true
    }
    case 'inProgress409': {
      const text = 'Request failed because another request is in progress with the same key'
      sendJson(response, 409, new Refusal(text, { status: 409 }).body)
      return true
    }
    default:
      return false
  }
}

function after(fault: Fault | undefined, response: ServerResponse, status: number, text: string) {
  switch (fault) {
    case 'resetAfter':
      response.destroy()
      return
    case 'hang':
      return
    case 'html502After':
      sendText(response, 502, 'text/html', '<html><h1>502 Bad Gateway</h1></html>')
      return
    case 'html200After':
      sendText(response, 200, 'text/html', '<!doctype html><title>Welcome</title>OK')
      return
    case 'empty500After':
      sendText(response, 500, 'application/json', '')
      return
    default:
      sendText(response, status, 'application/json', text)
  }
}

const sendJson = (response: ServerResponse, status: number, body: unknown) =>
  sendText(response, status, 'application/json', JSON.stringify(body))

function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type }).end(text)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** For other processes: what a test in this one does by its methods. Throws TypeError for what it does not know. */
function control(
  { world, script }: { world: World; script: Script },
  path: string,
  text: string,
): unknown {
  const body = (parse(text) ?? {}) as Record<string, unknown>
  const reference = String(body.reference ?? body.key ?? '')
  switch (path.slice('/_control/'.length)) {
    case 'book':
      world.settle()
      return bookOf(world)
    case 'messages':
      world.settle()
      return world.queue.splice(0)
    case 'advance':
      return world.advance(Number(body.seconds))
    case 'script':
      return script.add(body as unknown as Rule)
    case 'approve':
      return { payment: attempt(world, reference, { ends: 'paid' }) }
    case 'stray':
      return { id: stray(world, body as unknown as Parameters<typeof stray>[1]) }
    case 'come-back':
      return comeBack(world, reference)
    default:
      throw new TypeError('no such control')
  }
}
