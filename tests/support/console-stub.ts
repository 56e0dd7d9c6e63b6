/** A server that serves the console's files under its policy and answers with data that a test sets. */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import type { HoldView, NodeView, RunView } from '../../runtime/core/wire.ts'

export const CONSOLE_DIR = join(import.meta.dirname, '../../console')

/** The policy that the console must live under, to the letter. */
export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export interface Posted {
  readonly path: string
  readonly body: unknown
}

export interface StubState {
  signedIn: boolean
  frozen: boolean
  /** False: every request that is not for a file is dropped. */
  up: boolean
  runs: RunView[]
  nodes: NodeView[]
  holds: HoldView[]
  position: number
}

export interface ConsoleStub {
  readonly url: string
  readonly state: StubState
  /** What was posted, in order. */
  readonly posted: Posted[]
  /** The `after` of each stream that was opened, in order. */
  readonly streams: number[]
  /** How often the run was read. */
  reads(): number
  /** Sends one event to every open stream. */
  send(event: 'fact' | 'hb' | 'reset' | 'bye', data?: object): void
  /** Cuts every open stream as a network would. */
  cut(): void
  close(): Promise<void>
}

export const CODE = 'ABCD-EFGH-JKMN'

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString('utf8') || 'null')
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, {
    'content-type': status < 400 ? 'application/json' : 'application/problem+json',
    'cache-control': 'no-store',
  })
  response.end(JSON.stringify(body))
}

const problem = (status: number, code: string) => ({
  type: `urn:headgate:problem:${code}`,
  title: `the stub refuses: ${code}`,
  status,
  code,
})

async function sendFile(response: ServerResponse, name: string): Promise<void> {
  const file = join(CONSOLE_DIR, name)
  const bytes = file.startsWith(CONSOLE_DIR)
    ? await readFile(file).catch(() => undefined)
    : undefined
  response.writeHead(bytes ? 200 : 404, {
    'content-type': TYPES[extname(name)] ?? 'text/plain',
    'content-security-policy': CSP,
    'x-content-type-options': 'nosniff',
  })
  response.end(bytes)
}

/** Starts the stub on 127.0.0.1; the caller closes it. */
export async function startConsoleStub(initial: Partial<StubState>): Promise<ConsoleStub> {
  const state: StubState = {
    signedIn: true,
    frozen: false,
    up: true,
    runs: [],
    nodes: [],
    holds: [],
    position: 1,
    ...initial,
  }
  const posted: Posted[] = []
  const streams: number[] = []
  const open = new Set<ServerResponse>()
  let reads = 0

  const stream = (response: ServerResponse, after: number) => {
    streams.push(after)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(`retry: 200\n\nevent: hb\ndata: {"head":${state.position},"now":0}\n\n`)
    open.add(response)
    response.on('close', () => open.delete(response))
  }

  const getHold = (id: string | undefined, response: ServerResponse) => {
    const hold = state.holds.find((each) => each.id === id)
    if (hold === undefined) return answer(response, 404, problem(404, 'not_found'))
    return answer(response, 200, hold)
  }

  const get = (path: string, query: URLSearchParams, response: ServerResponse) => {
    const [, first, id, what] = path.split('/')
    const run = state.runs.find((each) => each.id === id)
    if (path === '/session')
      return answer(response, 200, {
        operator: 'test',
        gateway: 'stub',
        frozen: state.frozen,
        demo: true,
      })
    if (path === '/runs') return answer(response, 200, { runs: state.runs })
    if (path === '/holds') {
      return answer(response, 200, { holds: state.holds.filter((hold) => hold.state === 'open') })
    }
    if (first === 'holds') return getHold(id, response)
    if (first !== 'runs' || run === undefined)
      return answer(response, 404, problem(404, 'not_found'))
    if (what === 'events') return stream(response, Number(query.get('after')))
    reads += 1
    return answer(response, 200, { run, nodes: state.nodes, position: state.position })
  }

  const post = (path: string, response: ServerResponse) => {
    const [, first, id, verb] = path.split('/')
    if (path === '/freeze' || path === '/resume') {
      state.frozen = path === '/freeze'
      return answer(response, 200, { onTheirWay: state.frozen ? ['pay_on_its_way'] : [] })
    }
    if (path === '/logout') state.signedIn = false
    if (path === '/demo') return answer(response, 201, { run: { id: 'run_demo' } })
    if (first === 'holds') {
      const to = verb === 'approve' ? 'approved' : 'refused'
      state.holds = state.holds.map((hold) => (hold.id === id ? { ...hold, state: to } : hold))
      return answer(response, 200, {})
    }
    return answer(response, 200, { onTheirWay: [] })
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stub')
    if (pathname.startsWith('/console/')) return sendFile(response, pathname.slice(9))
    if (request.headers.accept?.startsWith('text/html')) return sendFile(response, 'index.html')
    if (!state.up) return response.destroy()
    if (request.method === 'POST') {
      const body = await bodyOf(request)
      posted.push({ path: pathname, body })
      if (pathname !== '/login') return post(pathname, response)
      state.signedIn = (body as { code?: unknown }).code === CODE
      if (state.signedIn) return answer(response, 200, {})
      return answer(response, 401, problem(401, 'login_refused'))
    }
    if (!state.signedIn) return answer(response, 401, problem(401, 'unauthenticated'))
    return get(pathname, searchParams, response)
  }

  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}`,
    state,
    posted,
    streams,
    reads: () => reads,
    send: (event, data = {}) => {
      const id = event === 'fact' ? `id: ${state.position}\n` : ''
      for (const each of open) each.write(`${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
      if (event === 'bye') for (const each of open) each.end()
    },
    cut: () => {
      for (const each of open) each.destroy()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
