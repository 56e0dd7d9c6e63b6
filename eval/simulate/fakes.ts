/** Who is asked by a process: shops, agents and a monitor, each with its own moods. */
import { createPublicKey } from 'node:crypto'
import type { Agents, PlanPart } from '../../runtime/core/agents.ts'
import { Fault } from '../../runtime/core/errors.ts'
import type { Monitor } from '../../runtime/core/judges.ts'
import { signJws } from '../../runtime/core/jws.ts'
import type { Item, Merchants } from '../../runtime/core/merchants.ts'
import { type Currency, minor } from '../../runtime/core/money.ts'
import type { Process } from './process.ts'
import { QUICK } from './signatures.ts'
import { keyFor } from './tokens.ts'
import type { World } from './world.ts'

export const SHOPS = ['shop', 'stall'] as const

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
  return signJws({ typ: 'quote+jwt', key, kid: 'k1', claims }, QUICK)
}

const itemOf = (merchant: string, text: string, currency: Currency): Item => ({
  merchant,
  sku: text,
  title: text,
  description: '',
  category: 'all',
  unitAmount: minor(100 + (text.length % 7) * 50),
  currency,
  stock: 9,
})

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
    search: (merchant, { text, currency }) => hop(() => [itemOf(merchant, text, currency)]),
    product: (merchant, currency, sku) => hop(() => itemOf(merchant, sku, currency)),
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
  const usage = { calls: 1, inputTokens: 10, outputTokens: 10, costMicros: 0 }
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
