/**
 * `POST /mcp`: the tools over streamable HTTP. One request is one message, one server, one transport and at most one call
 * of the gateway, which is made with the caller's own headers: the proof over this very route is what the nine checks judge.
 * No answer leaves before the gateway has let the caller in, whatever was posted, and nothing is kept afterwards.
 */
import { z } from 'zod'
import { readToken } from '../../client/mint.ts'
import type { BlockClaims } from '../../core/block.ts'
import { Rejected } from '../../core/errors.ts'
import type { HolderKey, RunId } from '../../core/ids.ts'
import { LIMITS } from '../../core/limits.ts'
import { nowSeconds } from '../../core/time.ts'
import type { RawRequest } from '../../gateway/attempt.ts'
import { parseBare } from '../../gateway/parse.ts'
import type { Exchanged } from '../../mcp/exchange.ts'
import { createLanes, type InOrder } from '../../mcp/lanes.ts'
import { errorMessage, type Message, readMessage, SAID } from '../../mcp/message.ts'
import { checkProof } from '../../tokens/proof.ts'
import { bare, OneCall } from '../one-call.ts'
import { HttpProblem } from '../problems.ts'
import { type Answer, type Route, route } from '../route.ts'
import type { RouteDeps } from './deps.ts'

/** For the document alone: what is posted is read by `runtime/mcp/message.ts`. */
const rpcMessage = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number().int()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
})

export const mcpRoutes = (deps: RouteDeps): Route[] => [
  route({
    method: 'POST',
    path: '/mcp',
    who: ['holder'],
    summary:
      'MCP over streamable HTTP, without sessions: one JSON-RPC message, with a proof over this route. The tools are those of the token.',
    body: rpcMessage,
    answers: { 200: rpcMessage, 202: 'empty', 400: rpcMessage, 409: rpcMessage },
    handle: answering(deps),
  }),
]

/** Whoever signed the proof, and what the token says of itself; neither has been judged by the gateway. */
interface Caller {
  readonly holder: HolderKey
  readonly claims: BlockClaims
  readonly run: RunId
}

function answering(deps: RouteDeps): (call: { readonly raw: RawRequest }) => Promise<Answer> {
  const { gateway } = deps
  const lanes = createLanes()
  return async ({ raw }) => {
    assertNoForeignPage(raw)
    const caller = callerOf(deps, raw)
    // It is counted there, and answered like every caller that is not known.
    if (caller === undefined) return gateway.ownNode(bare(raw))
    const letIn = async (answer: Exchanged): Promise<Answer> => {
      const own = await gateway.ownNode(bare(raw))
      return own.status === 200 ? answerOf(answer) : own
    }
    const read = readMessage(raw.body, LIMITS.bodyBytes)
    if (!read.ok) return letIn({ status: 400, text: JSON.stringify(read.error) })
    const { message } = read
    if (message.id === undefined) return served(deps, { raw, caller, message, letIn })
    const entered = lanes.enter(caller.holder, message.id)
    if (!entered.ok) {
      const said = entered.why === 'in_flight' ? SAID.inFlight : SAID.tooMany
      return letIn({
        status: 409,
        text: JSON.stringify(errorMessage(message.id, -32600, said)),
      })
    }
    try {
      const { inOrder } = entered
      return await served(deps, { raw, caller, message, letIn, inOrder })
    } finally {
      entered.leave()
    }
  }
}

interface ToServe {
  readonly raw: RawRequest
  readonly caller: Caller
  readonly message: Message
  readonly letIn: (answer: Exchanged) => Promise<Answer>
  readonly inOrder?: InOrder
}

async function served(deps: RouteDeps, { raw, caller, message, letIn, ...rest }: ToServe) {
  const { gateway, clock, url, log } = deps
  const { claims, run } = caller
  const call = new OneCall(gateway, raw, { node: claims.node, run })
  // The library takes its time to load, and most gateways and commands never need it.
  const { exchange } = await import('../../mcp/exchange.ts')
  const posted = { url: url + raw.path, headers: raw.headers, message }
  const answer = await exchange(posted, {
    kind: claims.kind,
    calls: call.calls,
    clock,
    inOrder: rest.inOrder ?? ((act) => act()),
    onBug: (error) => {
      const name = error instanceof Error ? error.name : 'not an error'
      log({ level: 'error', code: 'mcp_bug', message: `a tool threw what it should not (${name})` })
    },
  })
  if (call.turnedAway !== undefined) return call.turnedAway
  return call.asked ? answerOf(answer) : letIn(answer)
}

const answerOf = ({ status, text }: Exchanged): Answer =>
  text === undefined ? { status } : { status, text, type: 'application/json' }

function callerOf({ clock, url }: RouteDeps, raw: RawRequest): Caller | undefined {
  const parsed = parseBare(bare(raw), url)
  if (!parsed.ok) return undefined
  const possession = checkProof({ ...parsed.request, now: nowSeconds(clock) })
  if (!possession.ok) return undefined
  try {
    const chain = readToken(parsed.request.token)
    const [claims, run] = [chain.at(-1), chain[0]?.run]
    if (claims === undefined || run === undefined) return undefined
    return { holder: possession.holder, claims, run }
  } catch (error) {
    if (error instanceof Rejected) return undefined
    throw error
  }
}

/**
 * A page's script sends its Origin. Only a page of the host that was asked may call, and that host is one of ours: the
 * allow-list has been met before, without which a rebound name would pass here.
 */
function assertNoForeignPage({ headers }: RawRequest): void {
  const of = (wanted: string) =>
    headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)
  const [origin, ...more] = of('origin')
  if (origin === undefined) return
  const host = of('host')[0]?.toLowerCase()
  if (more.length > 0 || URL.parse(origin)?.host !== host) throw new HttpProblem('cross_site')
}
