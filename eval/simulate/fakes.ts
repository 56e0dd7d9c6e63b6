/** What stands behind ports in a simulated world: a token engine without signatures, shops, agents, a monitor, the door. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { ClientError } from '../../runtime/client/errors.ts'
import type { Agents, PlanPart } from '../../runtime/core/agents.ts'
import type { BlockClaims, RequestFacts } from '../../runtime/core/block.ts'
import type { HolderKeys, TokenEngine, TokenVerdict } from '../../runtime/core/engine.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import type { Monitor } from '../../runtime/core/judges.ts'
import { signJws } from '../../runtime/core/jws.ts'
import { ed25519FromSeed, rawPublicKey } from '../../runtime/core/keys.ts'
import type { Merchants } from '../../runtime/core/merchants.ts'
import { minor } from '../../runtime/core/money.ts'
import type { PaymentAnswer } from '../../runtime/core/wire.ts'
import type { FunnelDeps } from '../../runtime/funnel/context.ts'
import type { Answer } from '../../runtime/gateway/answers.ts'
import type { RawRequest } from '../../runtime/gateway/attempt.ts'
import type { Process, World } from './world.ts'

export const URL = 'http://headgate.localhost:8080'
export const SHOPS = ['shop', 'stall'] as const
export const keyFor = (name: string): KeyObject =>
  ed25519FromSeed(Buffer.from(sha256(name), 'base64url'))

interface FakeToken {
  readonly blocks: readonly BlockClaims[]
  readonly revocationIds: readonly string[]
}

/** Tokens are kept in plain sight; they outlive every process, as real ones do. */
export class Tokens {
  readonly #tokens = new Map<string, FakeToken>()

  port(world: World, process: Process): TokenEngine {
    const hop = <T>(act: () => T) =>
      world.io(process, 'engine', () => {
        if (world.isFaulty && world.random.chance(0.005))
          throw new Fault('engine_busy', 'simulated')
        return act()
      })
    return {
      verify: (text, request) => hop(() => this.#verify(text, request)),
      recognise: () => undefined,
      mintRoot: (claims) => hop(() => this.mint(undefined, claims)),
      mintChild: (parent, _holder, claims) => hop(() => this.mint(parent, claims)),
      close: async () => undefined,
    }
  }

  mint(
    parent: string | undefined,
    claims: BlockClaims,
  ): { token: string; revocationIds: readonly string[] } {
    const above = parent === undefined ? undefined : this.#tokens.get(parent)
    const id = Buffer.from(`revocation ${this.#tokens.size}`).toString('hex')
    const revocationIds = [...(above?.revocationIds ?? []), id]
    const token = sha256(`token ${this.#tokens.size}`)
    this.#tokens.set(token, { blocks: [...(above?.blocks ?? []), claims], revocationIds })
    return { token, revocationIds }
  }

  #verify(text: string, request: RequestFacts | undefined): TokenVerdict {
    const token = this.#tokens.get(text)
    if (token === undefined) return { ok: false, code: 'token_invalid' }
    const { blocks, revocationIds } = token
    const authorised = request === undefined || blocks.every((block) => permits(block, request))
    const sealed = blocks.at(-1)?.kind !== 'planner'
    return {
      ok: true,
      token: { rootKeyId: 1, blocks, revocationIds, sealed, ...(request && { authorised }) },
    }
  }
}

const permits = (block: BlockClaims, request: RequestFacts): boolean =>
  request.amount <= block.ceiling &&
  request.currency === block.currency &&
  block.payees.includes(request.payee) &&
  request.nowSeconds < block.expiresAtSeconds &&
  (block.quote === undefined || block.quote === request.quote)

/** Keys that derive from the node, each worked out once. */
export function holderKeys(): HolderKeys {
  const keys = new Map<string, { privateKey: KeyObject; publicKey: string }>()
  const of = (node: string) => {
    const known = keys.get(node)
    if (known !== undefined) return known
    const privateKey = keyFor(node)
    const made = { privateKey, publicKey: rawPublicKey(privateKey) }
    keys.set(node, made)
    return made
  }
  return { privateKey: (node) => of(node).privateKey, publicKey: (node) => of(node).publicKey }
}

const SHOP_KEYS = new Map(
  SHOPS.map((id) => {
    const key = keyFor(`shop ${id}`)
    return [id as string, { key, open: createPublicKey(key) }] as const
  }),
)

/** A shop's signed offer for one thing. */
export function quoteOf(
  world: World,
  iss: string,
  sku: string,
  quantity: number,
  amount: number,
): string {
  const key = SHOP_KEYS.get(iss)?.key
  if (key === undefined) throw new Error('no such shop')
  const now = Math.floor(world.scheduler.nowMs / 1000)
  const exp = now + (world.random.chance(0.05) ? 3 : 240)
  const lines = [{ sku, title: sku, quantity, unitAmount: amount }]
  const jti = `q-${world.fresh()}`
  const total = amount * quantity
  const claims = {
    iss,
    jti,
    iat: now,
    exp,
    kind: 'merchant',
    payee: iss,
    lines,
    amount: total,
    currency: 'INR',
  }
  return signJws({ typ: 'quote+jwt', key, kid: 'k1', claims })
}

export function shopsOf(world: World, process: Process): Merchants {
  const hop = <T>(act: () => T): Promise<T> =>
    world.io(
      process,
      'shop',
      () => {
        if (world.isFaulty && world.random.chance(0.02))
          throw new Fault('merchant_unavailable', 'simulated')
        return act()
      },
      world.random.between(1, 400),
    )
  return {
    ids: SHOPS,
    search: (merchant, { text, currency }) =>
      hop(() => {
        const unitAmount = minor(100 + (text.length % 7) * 50)
        return [
          {
            merchant,
            sku: text,
            title: text,
            description: '',
            category: 'all',
            unitAmount,
            currency,
            stock: 9,
          },
        ]
      }),
    quote: (merchant, _currency, [line]) =>
      hop(() =>
        quoteOf(
          world,
          merchant,
          line?.sku ?? '',
          line?.quantity ?? 1,
          world.random.between(50, 900),
        ),
      ),
    order: () => hop(() => 'order-1'),
    keys: (merchant) => [...SHOP_KEYS].flatMap(([id, { open }]) => (id === merchant ? [open] : [])),
    keyById: (merchant, kid) => (kid === 'k1' ? SHOP_KEYS.get(merchant)?.open : undefined),
  }
}

/** Agents that decide by the seed, and sometimes do not answer. */
export function agentsOf(world: World, process: Process): Agents {
  const usage = { calls: 1, inputTokens: 10, outputTokens: 10 }
  const { random } = world
  const hop = <T>(act: () => T | Promise<T>) =>
    world.io(process, 'agent', () => {
      if (world.isFaulty && random.chance(0.01)) throw new Fault('model_failed', 'simulated')
      return act()
    })
  return {
    plan: ({ available, depthLeft, nodesLeft, outcomes }) =>
      hop(() => {
        const most = outcomes ? 0 : Math.min(random.between(2, 5), Math.floor(nodesLeft / 8))
        const ceiling = minor(Math.floor(available / Math.max(1, most)))
        const parts = Array.from({ length: Math.max(outcomes ? 0 : 1, most) }, (_, i): PlanPart => {
          const label = `part-${i}`
          if (depthLeft > 1 && nodesLeft > 20 && i === 0)
            return { kind: 'branch', label, task: label, ceiling, nodes: 12 }
          return {
            kind: 'purchase',
            label,
            ceiling,
            need: { text: `thing-${i}`, quantity: 1, prefer: [] },
          }
        })
        return { plan: { kind: 'parts', parts } as const, usage, model: 'seed' }
      }),
    look: async ({ merchants, need }, session) => {
      const found: { quote: string; score: number }[] = []
      const merchant = random.pick(merchants)
      if (merchant !== undefined) {
        await session.search({ text: need.text, merchants: [merchant], limit: 5 })
        const quote = await session.quote(merchant, [{ sku: need.text, quantity: need.quantity }])
        found.push({ quote, score: 500 })
      }
      return { look: { found }, usage, model: 'seed' }
    },
    choose: () => hop(() => ({ choice: { index: 0 }, usage, model: 'seed' })),
  }
}

export const monitorOf = (world: World, process: Process): Monitor => ({
  judge: () => {
    const luck = world.isFaulty ? world.random.next() : 1
    if (luck < 0.02) return world.never()
    return world.io(process, 'monitor', () => {
      if (luck < 0.07) return { kind: 'object' } as const
      if (luck < 0.12) return { kind: 'unavailable', why: 'quota' } as const
      if (luck < 0.14) throw new Error('simulated')
      return { kind: 'allow' } as const
    })
  },
})

/** A request with a fresh proof, as a holder's client would send it. */
export function requestOf(
  world: World,
  { token, key, holder }: { token: string; key: KeyObject; holder: string },
  path: string,
  body: unknown,
): RawRequest {
  const iat = Math.floor(world.wallMs() / 1000)
  const claims = {
    htm: 'POST',
    htu: URL + path,
    iat,
    jti: `proof-${world.fresh().padStart(18, '0')}`,
    ath: sha256(token),
  }
  const proof = signJws({
    typ: 'dpop+jwt',
    key,
    jwk: { kty: 'OKP', crv: 'Ed25519', x: holder },
    claims,
  })
  return {
    method: 'POST',
    path,
    query: '',
    headers: [
      ['Authorization', `DPoP ${token}`],
      ['DPoP', proof],
      ['Content-Type', 'application/json'],
    ],
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** The funnel's own door: the gateway of the same process, through the same checks as everybody. */
export function doorOf(world: World, process: Process): FunnelDeps['connect'] {
  return ({ token, holder: key }) => {
    const caller = { token, key, holder: rawPublicKey(key) }
    const send = (path: string, body: unknown) => requestOf(world, caller, path, body)
    return {
      search: async (body) =>
        bodyOf(await process.parts.gateway.search(send('/search', body)), [200]) as never,
      quote: async (body) =>
        bodyOf(await process.parts.gateway.quote(send('/quotes', body)), [200]) as never,
      pay: async (quote) => {
        world.counts.attempts += 1
        const answer = await process.parts.gateway.pay(send('/payments', { quote }))
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
