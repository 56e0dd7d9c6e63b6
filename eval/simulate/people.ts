/** Who asks a simulated gateway from outside, with keys of their own: principals, planners elsewhere, payers in a hurry. */
import { ClientError } from '../../runtime/client/errors.ts'
import { allottedNodeIdOf, type NodeId, type RunId, sha256 } from '../../runtime/core/ids.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { minor } from '../../runtime/core/money.ts'
import { seconds } from '../../runtime/core/time.ts'
import type { PaymentAnswer } from '../../runtime/core/wire.ts'
import type { FunnelDeps } from '../../runtime/funnel/context.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import type { RawRequest } from '../../runtime/gateway/attempt.ts'
import type { Gateway } from '../../runtime/gateway/gateway.ts'
import { quoteOf, SHOPS } from './fakes.ts'
import type { Process } from './process.ts'
import { nameOf, QUICK } from './signatures.ts'
import { keyFor } from './tokens.ts'
import type { World } from './world.ts'

export const URL = 'http://headgate.localhost:8080'
export const PRINCIPAL = keyFor('principal')

/** Leaves of one outside planner; the first few are paid by two senders at the same time. */
const [LEAVES, CONTESTED] = [30, 3]

/** A mandate; with `holder` it is planned by an outside agent. */
export function mandateOf(world: World, jti: string, holder?: string): string {
  const now = Math.floor(world.scheduler.nowMs / 1000)
  const { random } = world
  const claims = {
    iss: 'ada',
    aud: 'gw',
    jti,
    iat: now,
    exp: now + (holder === undefined ? 3_600 : 160),
    task: 'buy things',
    currency: 'INR',
    ceiling: random.between(5_000, 24_000),
    payees: [...SHOPS],
    limits: { depth: 3, fanOut: 32, nodes: 60 },
    ...(random.chance(0.2) ? { approvalAbove: 600 } : {}),
    ...(random.chance(0.2) ? { window: { zone: 'Asia/Kolkata', perDay: 5_000 } } : {}),
    ...(holder === undefined ? {} : { holder }),
  }
  return signJws({ typ: 'mandate+jwt', key: PRINCIPAL, kid: 'p1', claims }, QUICK)
}

/** Asks until the gateway has answered; the request, the answer or the whole process may be lost meanwhile. */
async function insist<T>(
  world: World,
  act: (gateway: Gateway) => Promise<T>,
  tries = 12,
): Promise<T | undefined> {
  for (let tried = 0; tried < tries; tried += 1) {
    await world.pause(world.random.between(5, 300) * (tried + 1))
    const answer = await world.outside(act)
    if (answer !== undefined) return answer
  }
  return undefined
}

async function startRun(world: World, mandate: string) {
  const made = await insist(world, (gateway) => gateway.createRun(mandate), 40)
  if (!made?.ok) return undefined
  world.runs.add(made.run.id)
  return made
}

/** A run that the gateway's own funnel carries out. */
export async function funnelRun(world: World, jti: string): Promise<void> {
  const made = await startRun(world, mandateOf(world, jti))
  if (made !== undefined) world.process.funnel.start(made.run)
}

interface Caller {
  readonly token: string
  readonly key: ReturnType<typeof keyFor>
}

interface Leaf {
  readonly caller: Caller
  readonly quote: string
}

interface Root {
  readonly caller: Caller
  readonly run: RunId
  readonly node: NodeId
}

/** A planner elsewhere: leaves for quotes of its own, and two of them for one and the same quote. */
export async function outsidePlanner(world: World, name: string): Promise<void> {
  const key = world.keys.privateKey(name)
  const made = await startRun(world, mandateOf(world, name, nameOf(key)))
  if (made?.token === undefined) return
  const root = { caller: { token: made.token, key }, run: made.run.id, node: made.node }
  const shared = quoteOf(world, 'shop', 'shared', 1, world.random.between(50, 900))
  const own = () => quoteOf(world, 'stall', 'own', 1, world.random.between(50, 900))
  const quotes = [shared, shared, ...Array.from({ length: LEAVES - 2 }, own)]
  await Promise.all(
    quotes.map(async (quote, i) => {
      const leaf = await register(world, root, quote, i)
      if (leaf === undefined) return
      await Promise.all([payer(world, leaf), ...(i < CONTESTED ? [payer(world, leaf)] : [])])
    }),
  )
  if (!world.random.chance(0.7)) return
  const path = `/runs/${root.run}/nodes/${root.node}/close`
  await insist(world, (gateway) =>
    gateway.closeNode(root.run, root.node, requestOf(world, root.caller, path, {})),
  )
}

async function register(
  world: World,
  root: Root,
  quote: string,
  index: number,
): Promise<Leaf | undefined> {
  const node = allottedNodeIdOf(root.node, index)
  const key = world.keys.privateKey(node)
  const { amount, payee } = JSON.parse(
    Buffer.from(quote.split('.')[1] ?? '', 'base64url').toString(),
  )
  const { token } = world.tokens.mint(root.caller.token, {
    node,
    kind: 'leaf',
    currency: 'INR',
    ceiling: minor(amount),
    holder: nameOf(key),
    expiresAtSeconds: seconds(Math.floor(world.scheduler.nowMs / 1000) + 120),
    payees: [payee],
    quote: sha256(quote),
  })
  const path = `/runs/${root.run}/nodes`
  for (let tried = 0; tried < 6; tried += 1) {
    const answer = await insist(world, (gateway) =>
      gateway.registerNode(root.run, requestOf(world, root.caller, path, { token })),
    )
    if (answer?.status === 201) return { caller: { token, key }, quote }
    await world.pause(1_000)
  }
  return undefined
}

/** Sends the same payment again and again, sometimes the very same request, until it has ended. */
async function payer(world: World, { caller, quote }: Leaf): Promise<void> {
  let last: RawRequest | undefined
  for (let tried = 0; tried < 5; tried += 1) {
    await world.pause(world.random.between(1, 2_500) * (tried + 1))
    const again = world.random.chance(0.15) ? last : undefined
    const request = again ?? requestOf(world, caller, '/payments', { quote })
    last = request
    if (again !== undefined) world.count('duplicates')
    world.count('attempts')
    const answer = await world.outside((gateway) => gateway.pay(request))
    if (answer === undefined) continue
    world.answered(answer)
    if (isEnd(answer)) return
    // Most do what they are told, and some go on asking.
    if (adviceOf(answer) === 'stop' || adviceOf(answer) === 'requote') {
      if (world.random.chance(0.9)) return
    } else if (isWaiting(answer) && world.random.chance(0.5)) return
    if (answer.status === 409) await world.pause(2_000)
  }
}

const isEnd = ({ status, body }: Answer): boolean => {
  const { state, verdict } = body as { state?: string; verdict?: string }
  return status === 200 && (state === 'settled' || state === 'released') && verdict === 'allow'
}

/** Told no for now, that somebody else is at it, or that the rail has no word: the gateway goes on without the payer. */
const isWaiting = ({ status, body }: Answer): boolean =>
  status === 403 || status === 409 || (body as { state?: string }).state === 'unknown'

const adviceOf = ({ body }: Answer) => (body as { reason?: { advice?: string } }).reason?.advice

/** A request with a fresh proof, as a holder's client would send it. */
function requestOf(world: World, { token, key }: Caller, path: string, body: unknown): RawRequest {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: nameOf(key) } as const
  const claims = {
    htm: 'POST',
    htu: URL + path,
    iat: Math.floor(world.wallMs() / 1000),
    jti: `proof-${world.fresh().padStart(18, '0')}`,
    ath: sha256(token),
  }
  return {
    method: 'POST',
    path,
    query: '',
    headers: [
      ['Authorization', `DPoP ${token}`],
      ['DPoP', signJws({ typ: 'dpop+jwt', key, jwk, claims }, QUICK)],
      ['Content-Type', 'application/json'],
    ],
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** The funnel's own door: the gateway of the same process, through the same checks as everybody. */
export function doorOf(world: World, process: Process): FunnelDeps['connect'] {
  return ({ token, holder: key }) => {
    const send = (path: string, body: unknown) => requestOf(world, { token, key }, path, body)
    return {
      search: async (body) =>
        bodyOf(await process.gateway.search(send('/search', body)), [200]) as never,
      product: async (body) =>
        bodyOf(await process.gateway.product(send('/products', body)), [200]) as never,
      quote: async (body) =>
        bodyOf(await process.gateway.quote(send('/quotes', body)), [200]) as never,
      pay: async (quote) => {
        world.count('attempts')
        const answer = await process.gateway.pay(send('/payments', { quote }))
        world.answered(answer)
        return bodyOf(answer, [200, 202, 403, 409]) as PaymentAnswer
      },
    }
  }
}

function bodyOf({ status, type, body }: Answer, statuses: readonly number[]): unknown {
  if (type === 'application/json' && statuses.includes(status)) return body
  const { code, advice } = body as { code: string; advice?: 'retry' }
  throw new ClientError('refused', { status, code, advice })
}
