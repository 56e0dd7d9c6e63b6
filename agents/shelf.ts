/**
 * What a looker has seen: items by their place, which never changes, so that an index means the same in every step. Each
 * is shown with its source beside it, and all strangers’ words together are bounded.
 */
import type { Need } from '../runtime/core/agents.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import type { Item } from '../runtime/core/merchants.ts'
import { type Minor, minor } from '../runtime/core/money.ts'
import { LOOK } from './bounds.ts'
import type { ShownItem } from './shapes.ts'
import { cut } from './words.ts'

interface Seen {
  readonly item: Item
  readonly total: Minor
  readonly tool: ShownItem['tool']
}

export class Shelf {
  private readonly seen = new Map<string, Seen>()
  private readonly need: Need

  constructor(need: Need) {
    this.need = need
  }

  get size(): number {
    return this.seen.size
  }

  at(index: number): Item | undefined {
    return [...this.seen.values()][index]?.item
  }

  /** How many of these were not known before. What costs more than a number can say is for nobody. */
  add(items: readonly Item[]): number {
    const before = this.size
    for (const item of items) {
      const key = keyOf(item)
      const isKnown = this.seen.has(key)
      if (!isKnown && this.size < LOOK.items) this.put(item, 'search')
    }
    return this.size - before
  }

  /** In the place of the listing that it was read for. */
  read(page: Item): void {
    if (this.seen.has(keyOf(page))) this.put(page, 'read')
  }

  /** Within what the need itself allows: a quote for anything else would only be thrown away. */
  isBuyable({ unitAmount, stock }: Item): boolean {
    const { quantity, maxUnit, maxTotal } = this.need
    return (
      stock >= quantity &&
      unitAmount <= (maxUnit ?? unitAmount) &&
      unitAmount * quantity <= (maxTotal ?? Number.MAX_SAFE_INTEGER)
    )
  }

  shown(): ShownItem[] {
    const all = [...this.seen.values()]
    const descriptions = described(all)
    return all.map((seen, index) => {
      const { item, total, tool } = seen
      const description = descriptions.get(seen) ?? ''
      return {
        item: index,
        source: 'page',
        tool,
        merchant: item.merchant,
        sku: item.sku,
        words: { ...namesOf(item), description },
        ...(description.length < item.description.length ? { more: true } : {}),
        unitAmount: item.unitAmount,
        total,
        enough: item.stock >= this.need.quantity,
      }
    })
  }

  private put(item: Item, tool: Seen['tool']): void {
    const total = item.unitAmount * this.need.quantity
    if (Number.isSafeInteger(total)) this.seen.set(keyOf(item), { item, total: minor(total), tool })
  }
}

const namesOf = ({ title, category }: Item) => ({
  title: cut(title, LIMITS.titleChars),
  category: cut(category, LIMITS.titleChars),
})

/** As much as there is room for beside all titles: first what was read whole, then the list from its top. */
function described(all: readonly Seen[]): ReadonlyMap<Seen, string> {
  const names = all.map(({ item }) => namesOf(item))
  let left = names.reduce(
    (sum, { title, category }) => sum - title.length - category.length,
    LOOK.wordsChars as number,
  )
  const isRead = ({ tool }: Seen) => tool === 'read'
  const inOrder = [...all.filter(isRead), ...all.filter((seen) => !isRead(seen))]
  return new Map(
    inOrder.map((seen) => {
      const most = isRead(seen) ? LOOK.pageChars : LOOK.listingChars
      const text = cut(seen.item.description, Math.max(0, Math.min(most, left)))
      left -= text.length
      return [seen, text]
    }),
  )
}

const keyOf = ({ merchant, sku }: Item): string => `${merchant} ${sku}`
