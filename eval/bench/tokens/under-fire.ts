/**
 * Honest payments at a gateway that is a process of its own, with an attack on it and without, turn and turn about. The
 * gateway is the product's own command with its store on disk; the rail is the simulated one. One honest payer after another
 * waits for its answer, so what is measured is what one waits.
 */
import type { KeyObject } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { startWorld, type World } from '../../../runtime/cli/world.ts'
import { createClient } from '../../../runtime/client/client.ts'
import { mintChild, readToken } from '../../../runtime/client/mint.ts'
import { retrying } from '../../../runtime/client/node.ts'
import type { BlockClaims } from '../../../runtime/core/block.ts'
import { systemClock } from '../../../runtime/core/clock.ts'
import {
  allottedNodeIdOf,
  freshId,
  type RunId,
  runIdSchema,
  sha256,
} from '../../../runtime/core/ids.ts'
import { signJws } from '../../../runtime/core/jws.ts'
import { rawPublicKey } from '../../../runtime/core/keys.ts'
import { minor } from '../../../runtime/core/money.ts'
import { nowSeconds } from '../../../runtime/core/time.ts'
import { newKey } from '../../attacks/forge/tokens.ts'
import { startProbe } from '../probe.ts'
import type { AttackOrder, Fired } from './attacker-probe.ts'
import { hostileShots } from './hostile.ts'

export interface UnderFireOrder {
  /** Of each kind of phase. */
  readonly phases: number
  /** Honest payments in each phase. */
  readonly payments: number
}

/** Milliseconds of every honest payment, and what the attacker was answered over all phases. */
export interface UnderFire {
  readonly calm: readonly number[]
  readonly attacked: readonly number[]
  readonly answers: Fired['answers']
  readonly attackSeconds: number
}

const ATTACKER = new URL('./attacker-probe.ts', import.meta.url)
const SHOP = 'bench-shop'
const PRICE = minor(1_000)
/** Of one planner: below the mandate's fan-out. */
const LEAVES = 200
/** Leaves that are made at once, before anything is measured. */
const MAKERS = 4
const SETTLE_MS = 500

const clock = systemClock()
const shopKey = newKey()

/** A node with its key. */
interface Held {
  readonly token: string
  readonly holder: KeyObject
  readonly claims: BlockClaims
  readonly run: RunId
}

interface Purchase {
  readonly leaf: Held
  readonly quote: string
}

async function startGateway(): Promise<World> {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(shopKey), kid: 'bench-1' } as const
  return startWorld({
    clock,
    config: {
      payees: [{ id: SHOP, name: 'Bench', accounts: { simulated: 'account-of-bench' } }],
      policy: { rules: [] },
      // Nobody is there: its quotes are signed here.
      merchants: [{ id: SHOP, url: 'http://127.0.0.1:9', jwks: { keys: [jwk] } }],
    },
  })
}

async function startRun({ sign, gateway }: World): Promise<Held> {
  const holder = newKey()
  const mandate = sign({
    task: 'Buy as many things as there are',
    holder: rawPublicKey(holder),
    ceiling: 9_000_000,
    limits: { depth: 16, fanOut: 256, nodes: 9_000 },
  })
  const answer = await fetch(new URL('/runs', gateway.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mandate }),
  })
  const { token, run } = (await answer.json()) as { token?: string; run?: { id?: unknown } }
  const claims = token === undefined ? undefined : readToken(token)[0]
  if (token === undefined || claims === undefined) throw new Error('expected a run with a token')
  return { token, holder, claims, run: runIdSchema.parse(run?.id) }
}

interface Wish extends Partial<BlockClaims> {
  /** Of this parent's children. */
  readonly index: number
  readonly nodes?: number
}

/** A child that the gateway has recorded. */
async function split(world: World, parent: Held, { index, nodes, ...wish }: Wish): Promise<Held> {
  const holder = newKey()
  const { mandate: _mandate, run: _run, ...inherited } = parent.claims
  const claims: BlockClaims = {
    ...inherited,
    node: allottedNodeIdOf(parent.claims.node, index),
    holder: rawPublicKey(holder),
    ...wish,
  }
  const { token } = mintChild(parent.token, parent.holder, claims)
  await retrying(() => clientOf(world, parent).registerNode(parent.run, token, nodes))
  return { token, holder, claims, run: parent.run }
}

const clientOf = ({ gateway }: World, { token, holder }: Held) =>
  createClient({ gateway: gateway.url, token, holder, clock })

function newQuote(): string {
  const now = nowSeconds(clock)
  const claims = {
    iss: SHOP,
    jti: freshId(),
    iat: now,
    exp: now + 3_600,
    kind: 'merchant',
    payee: SHOP,
    lines: [{ sku: 'THING', title: 'A thing', quantity: 1, unitAmount: PRICE }],
    amount: PRICE,
    currency: 'INR',
  }
  return signJws({ typ: 'quote+jwt', key: shopKey, kid: 'bench-1', claims })
}

/** Leaves at depth 4, each for one quote, all recorded before anything is measured. */
async function makePurchases(world: World, count: number): Promise<readonly Purchase[]> {
  const root = await startRun(world)
  const groups = Math.ceil(count / LEAVES)
  const most = groups * (LEAVES + 1) + 1
  const first = await split(world, root, { index: 0, nodes: most })
  const second = await split(world, first, { index: 0, nodes: most - 1 })
  const purchases: Purchase[] = []
  let begun = 0
  for (let group = 0; group < groups; group += 1) {
    const ceiling = minor(LEAVES * PRICE)
    const planner = await split(world, second, { index: group, nodes: LEAVES, ceiling })
    let index = 0
    const make = async () => {
      while (index < LEAVES && begun < count) {
        begun += 1
        const quote = newQuote()
        const wish = { kind: 'leaf', ceiling: PRICE, quote: sha256(quote), index: index++ } as const
        purchases.push({ leaf: await split(world, planner, wish), quote })
      }
    }
    await Promise.all(Array.from({ length: MAKERS }, make))
  }
  return purchases
}

/** How long each took, one after another; whatever a payer must do again is in its time. */
async function payAll(world: World, purchases: readonly Purchase[]): Promise<number[]> {
  const times: number[] = []
  for (const { leaf, quote } of purchases) {
    const client = clientOf(world, leaf)
    const started = performance.now()
    const { verdict } = await retrying(() => client.pay(quote))
    times.push(performance.now() - started)
    if (verdict !== 'allow') throw new Error(`expected an honest payment to go, got ${verdict}`)
  }
  return times
}

async function spoilsOf(world: World, stolen: string) {
  const insider = await startRun(world)
  return { insider, stolen, nodesPath: `/runs/${insider.run}/nodes` }
}

export async function measureUnderFire(order: UnderFireOrder): Promise<UnderFire> {
  const { phases, payments } = order
  const world = await startGateway()
  const attacker = startProbe<AttackOrder, Fired>(ATTACKER)
  try {
    const purchases = [...(await makePurchases(world, (2 * phases + 1) * payments))]
    const [last] = purchases
    if (last === undefined) throw new Error('expected something to buy')
    const shots = await hostileShots(await spoilsOf(world, last.leaf.token))
    const { url } = world.gateway
    await attacker.ask({ kind: 'load', origin: url, url, shots })
    const take = () => payAll(world, purchases.splice(0, payments))
    await take()
    const [calm, attacked]: [number[], number[]] = [[], []]
    const answers: Record<string, Record<number, number>> = {}
    let attackMs = 0
    for (let phase = 0; phase < phases; phase += 1) {
      await sleep(SETTLE_MS)
      calm.push(...(await take()))
      const began = performance.now()
      await attacker.ask({ kind: 'begin' })
      await sleep(SETTLE_MS)
      attacked.push(...(await take()))
      addTo(answers, (await attacker.ask({ kind: 'end' })).answers)
      attackMs += performance.now() - began
    }
    return { calm, attacked, answers, attackSeconds: attackMs / 1000 }
  } finally {
    await attacker.close()
    await world.close()
  }
}

function addTo(sums: Record<string, Record<number, number>>, more: Fired['answers']): void {
  for (const [kind, statuses] of Object.entries(more)) {
    const known = sums[kind] ?? {}
    sums[kind] = known
    for (const [status, n] of Object.entries(statuses)) {
      known[Number(status)] = (known[Number(status)] ?? 0) + n
    }
  }
}
