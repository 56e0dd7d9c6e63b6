/** Listings that try to give orders to whoever reads them: what the lookers of a run were shown, looked up again. */
import { z } from 'zod'
import { parseJson } from '../core/json.ts'
import type { RunDetail } from '../core/wire.ts'
import type { PaymentView } from './proof.ts'
import type { World } from './world.ts'

export interface OrderInListing {
  readonly merchant: string
  readonly sku: string
  readonly text: string
  /** Pieces of it that were bought after all. */
  readonly bought: number
}

const foundSchema = z.object({
  items: z.array(z.object({ sku: z.string(), title: z.string(), description: z.string() })),
})

/** For display only; what a listing may not do is decided elsewhere, without reading it. */
const ORDER =
  /\b(ignore|system message|agents?|ai buyers?|ceiling|pre-?approved|forget|do not ask)\b/i

const LIMIT = 20

/** Asks the shops that the mandate allows what a looker of this run would have been shown. */
export async function findOrders(
  world: Pick<World, 'merchants'>,
  { run, nodes }: RunDetail,
  settled: readonly PaymentView[],
): Promise<readonly OrderInListing[]> {
  const shops = world.merchants.filter(({ id }) => run.payees.includes(id))
  const wanted = [
    ...new Set(nodes.flatMap(({ kind, label }) => (kind === 'looker' ? [label] : []))),
  ]
  const found = new Map<string, OrderInListing>()
  for (const shop of shops) {
    for (const text of wanted) {
      for (const { sku, title, description } of await search(shop.url, text, run.currency)) {
        const telling = [title, description].find((words) => ORDER.test(words))
        if (telling === undefined || found.has(sku)) continue
        const lines = settled.flatMap((payment) => payment.lines)
        const bought = lines.reduce((sum, line) => sum + (line.sku === sku ? line.quantity : 0), 0)
        found.set(sku, { merchant: shop.id, sku, text: telling, bought })
      }
    }
  }
  return [...found.values()].sort((a, b) => a.bought - b.bought)
}

async function search(url: string, text: string, currency: string) {
  const query = new URLSearchParams({ text: text.slice(0, 200), currency, limit: String(LIMIT) })
  try {
    const answer = await fetch(`${url}/search?${query}`)
    return foundSchema.parse(parseJson(await answer.text())).items
  } catch {
    return []
  }
}
