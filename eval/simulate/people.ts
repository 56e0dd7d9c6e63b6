/** Who acts on a simulated gateway from outside: agents with keys of their own, and an operator with bad timing. */
import { allottedNodeIdOf, type NodeId, type RunId, sha256 } from '../../runtime/core/ids.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import { nowSeconds, seconds } from '../../runtime/core/time.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import { keyFor, quoteOf, requestOf, SHOPS } from './fakes.ts'
import type { World } from './world.ts'

export const PRINCIPAL = keyFor('principal')

/** A mandate; with `holder` it is planned by an outside agent. */
export function mandateOf(world: World, jti: string, holder?: string): string {
  const now = Math.floor(world.scheduler.nowMs / 1000)
  const { random } = world
  const claims = {
    iss: 'ada',
    aud: 'gw',
    jti,
    iat: now,
    exp: now + (holder === undefined ? 3_600 : 300),
    task: 'buy things',
    currency: 'INR',
    ceiling: random.between(4_000, 12_000),
    payees: [...SHOPS],
    limits: { depth: 3, fanOut: 20, nodes: 60 },
    ...(random.chance(0.4) ? { approvalAbove: 600 } : {}),
    ...(random.chance(0.3) ? { window: { zone: 'Asia/Kolkata', perDay: 1_500 } } : {}),
    ...(holder === undefined ? {} : { holder }),
  }
  return signJws({ typ: 'mandate+jwt', key: PRINCIPAL, kid: 'p1', claims })
}

/** Asks until the gateway has answered; the request, the answer or the whole process may be lost meanwhile. */
export async function insist<T>(
  world: World,
  act: () => Promise<T>,
  tries = 12,
): Promise<T | undefined> {
  for (let tried = 0; tried < tries; tried += 1) {
    await world.pause(world.random.between(5, 300) * (tried + 1))
    const answer = await world.outside(act)
    if (answer !== undefined) return answer
  }
  return undefined
}

export async function startRun(world: World, mandate: string) {
  const made = await insist(world, () => world.process.parts.gateway.createRun(mandate), 40)
  if (!made?.ok) return undefined
  world.runs.add(made.run.id)
  return made
}

interface Leaf {
  readonly caller: { token: string; key: ReturnType<typeof keyFor>; holder: string }
  readonly quote: string
}

/** A planner elsewhere: some leaves, two of them for one quote, the first paid by two senders at the same time. */
export async function outsidePlanner(world: World, name: string): Promise<void> {
  const key = keyFor(name)
  const holder = rawPublicKey(key)
  const made = await startRun(world, mandateOf(world, name, holder))
  if (made?.token === undefined) return
  const root = { caller: { token: made.token, key, holder }, run: made.run.id, node: made.node }
  const shared = quoteOf(world, 'shop', 'shared', 1, world.random.between(50, 900))
  const own = () => quoteOf(world, 'stall', 'own', 1, world.random.between(50, 900))
  const quotes = [shared, shared, ...Array.from({ length: 6 }, own)]
  await Promise.all(
    quotes.map(async (quote, i) => {
      const leaf = await register(world, root, quote, i)
      if (leaf === undefined) return
      await Promise.all([payer(world, leaf), ...(i < 4 ? [payer(world, leaf)] : [])])
    }),
  )
  if (!world.random.chance(0.7)) return
  const path = `/runs/${root.run}/nodes/${root.node}/close`
  await insist(world, () =>
    world.process.parts.gateway.closeNode(
      root.run,
      root.node,
      requestOf(world, root.caller, path, {}),
    ),
  )
}

interface Root {
  readonly caller: Leaf['caller']
  readonly run: RunId
  readonly node: NodeId
}

async function register(
  world: World,
  root: Root,
  quote: string,
  index: number,
): Promise<Leaf | undefined> {
  const node = allottedNodeIdOf(root.node, index)
  const key = keyFor(node)
  const holder = rawPublicKey(key)
  const { amount, payee } = JSON.parse(
    Buffer.from(quote.split('.')[1] ?? '', 'base64url').toString(),
  )
  const expires = seconds(Math.floor(world.scheduler.nowMs / 1000) + 200)
  const { token } = world.tokens.mint(root.caller.token, {
    node,
    kind: 'leaf',
    currency: 'INR',
    ceiling: minor(amount),
    holder,
    expiresAtSeconds: expires,
    payees: [payee],
    quote: sha256(quote),
  })
  const path = `/runs/${root.run}/nodes`
  const ask = () =>
    world.process.parts.gateway.registerNode(
      root.run,
      requestOf(world, root.caller, path, { token }),
    )
  for (let tried = 0; tried < 6; tried += 1) {
    const answer = await insist(world, ask)
    if (answer?.status === 201) return { caller: { token, key, holder }, quote }
    await world.pause(1_000)
  }
  return undefined
}

/** Sends the same payment again and again, sometimes the very same request, until it has ended. */
async function payer(world: World, { caller, quote }: Leaf): Promise<void> {
  let last: ReturnType<typeof requestOf> | undefined
  for (let tried = 0; tried < 10; tried += 1) {
    await world.pause(world.random.between(1, 1_500))
    const isAgain = last !== undefined && world.random.chance(0.25)
    const request = isAgain && last ? last : requestOf(world, caller, '/payments', { quote })
    last = request
    if (isAgain) world.counts.duplicates += 1
    world.counts.attempts += 1
    const answer = await world.outside(() => world.process.parts.gateway.pay(request))
    if (answer !== undefined) world.answered(answer)
    if (answer === undefined) continue
    if (isEnd(answer)) return
    if (answer.status === 403 && world.random.chance(0.5)) return
  }
}

const isEnd = ({ status, body }: Answer): boolean => {
  const { state, verdict } = body as { state?: string; verdict?: string }
  return status === 200 && (state === 'settled' || state === 'released') && verdict === 'allow'
}

/** One act of the operator, on something that exists, at a moment that nobody chose. */
export async function operate(world: World): Promise<void> {
  const { random } = world
  const luck = random.next()
  const node = random.pick([...world.reference.places.keys()])
  if (luck < 0.55 || node === undefined) return decideHolds(world, random.chance(0.8))
  const { gateway } = world.process.parts
  const name =
    luck < 0.7
      ? 'freeze'
      : luck < 0.85
        ? 'resume'
        : luck < 0.9
          ? 'gateway'
          : luck < 0.94
            ? 'revoke'
            : luck < 0.97
              ? 'close'
              : 'cancel'
  world.trace(`operator ${name} ${node}`)
  await world.outside(async () => {
    if (name === 'freeze') {
      const acked = await gateway.freeze(node, 'olga')
      if (acked.ok) world.frozen.add(node)
      return acked
    }
    if (name === 'resume') return resumeAll(world)
    if (name === 'gateway') {
      world.frozen.add('gateway')
      return gateway.freeze('gateway', 'olga')
    }
    if (name === 'revoke') return gateway.revoke(node, 'olga')
    if (name === 'close') return gateway.close(node, 'olga')
    return gateway.cancel(world.reference.place(node).run, 'olga')
  })
}

export async function resumeAll(world: World): Promise<void> {
  for (const node of world.frozen) {
    await world.process.parts.gateway.resume(node, 'olga')
    world.frozen.delete(node)
  }
}

export async function decideHolds(world: World, isYes: boolean): Promise<void> {
  const open = await world.ledger.holds({ states: ['open'], limit: 20 })
  for (const hold of open) {
    if (hold.expiresAtSeconds <= nowSeconds({ nowMs: () => world.wallMs() })) continue
    const decision = { hold: hold.id, digest: hold.digest, by: 'olga' }
    const { gateway } = world.process.parts
    await world.outside(() => (isYes ? gateway.approve(decision) : gateway.refuse(decision)))
  }
}
