/** Signed quotes for what a looker picked, one after the other. */
import type { Look, LookerSession, Need } from '../runtime/core/agents.ts'
import type { Item } from '../runtime/core/merchants.ts'
import { LOOK } from './bounds.ts'
import { assertMayGoOn } from './troubles.ts'

export interface Picked {
  readonly item: Item
  readonly score: number
}

interface Quoting {
  readonly session: LookerSession
  readonly need: Need
  readonly signal: AbortSignal
}

/**
 * The best few that can be had, best first. A merchant that gave none is asked again only when nobody else is left, so
 * that one that is down hides nobody’s offers. Throws what went wrong where there is none at all.
 */
export async function quoteAll(
  { session, need, signal }: Quoting,
  picked: readonly Picked[],
): Promise<Look['found']> {
  const waiting = picked.toSorted((a, b) => b.score - a.score)
  const found: { quote: string; score: number }[] = []
  const silent = new Set<string>()
  let failure: unknown
  for (let asked = 0; asked < LOOK.quotes && found.length < LOOK.offers; asked += 1) {
    const at = waiting.findIndex(({ item }) => !silent.has(item.merchant))
    const [next] = waiting.splice(Math.max(0, at), 1)
    if (next === undefined) break
    signal.throwIfAborted()
    const { item, score } = next
    try {
      const lines = [{ sku: item.sku, quantity: need.quantity }]
      found.push({ quote: await session.quote(item.merchant, lines), score })
    } catch (error) {
      assertMayGoOn(error)
      silent.add(item.merchant)
      failure = error
    }
  }
  if (found.length === 0 && failure !== undefined) throw failure
  return found.sort((a, b) => b.score - a.score)
}
