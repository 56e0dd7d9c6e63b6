/** Shelves, needs and models for tests of the roles. */
import type {
  LookerSession,
  LookRequest,
  Model,
  ModelRequest,
  Need,
} from '../../runtime/core/agents.ts'
import { Fault } from '../../runtime/core/errors.ts'
import type { Item } from '../../runtime/core/merchants.ts'
import { minor } from '../../runtime/core/money.ts'

export const needOf = (text: string, over: Partial<Need> = {}): Need => ({
  text,
  quantity: 1,
  prefer: [],
  ...over,
})

export const itemOf = (title: string, price: number, over: Partial<Item> = {}): Item => ({
  merchant: 'shop',
  sku: title.replace(/\W/g, '').slice(0, 60) || 'X',
  title,
  description: '',
  category: 'things',
  unitAmount: minor(price),
  currency: 'INR',
  stock: 100,
  ...over,
})

export const lookOf = (items: readonly Item[], over: Partial<LookRequest> = {}): LookRequest => ({
  need: needOf('kettle'),
  currency: 'INR',
  merchants: [...new Set(items.map(({ merchant }) => merchant))],
  ceiling: minor(1_000_000),
  ...over,
})

/** One call of a session, as it was asked for. */
export type Asked =
  | { readonly call: 'search'; readonly text: string; readonly merchants: readonly string[] }
  | { readonly call: 'read'; readonly merchant: string; readonly sku: string }
  | {
      readonly call: 'quote'
      readonly merchant: string
      readonly lines: readonly { sku: string; quantity: number }[]
    }

/** A session that notes everything that it is asked, and never two things at once. A search shows short descriptions. */
export function shopping(items: readonly Item[], down: readonly string[] = []) {
  const asked: Asked[] = []
  let busy = 0
  let most = 0
  const serve = async <T>(call: Asked, merchants: readonly string[], act: () => T): Promise<T> => {
    asked.push(call)
    busy += 1
    most = Math.max(most, busy)
    await new Promise((resolve) => setImmediate(resolve))
    busy -= 1
    if (merchants.every((id) => down.includes(id))) throw new Fault('merchant_unavailable', 'down')
    return act()
  }
  const session: LookerSession = {
    search: ({ text, merchants = [], limit }) =>
      serve({ call: 'search', text, merchants }, merchants, () =>
        items
          .filter(({ merchant }) => merchants.includes(merchant) && !down.includes(merchant))
          .slice(0, limit)
          .map((one) => ({ ...one, description: one.description.slice(0, 1_000) })),
      ),
    read: (merchant, sku) =>
      serve({ call: 'read', merchant, sku }, [merchant], () => {
        const found = items.find((one) => one.merchant === merchant && one.sku === sku)
        if (found === undefined) throw new Fault('merchant_unavailable', 'no such product')
        return found
      }),
    quote: (merchant, lines) =>
      serve({ call: 'quote', merchant, lines }, [merchant], () =>
        [merchant, ...lines.map(({ sku, quantity }) => `${quantity} x ${sku}`)].join(' '),
      ),
  }
  const count = (call: Asked['call']) => asked.filter((one) => one.call === call).length
  return { session, asked, count, atOnce: () => most }
}

/** A model that says whatever a test wants, and notes each question. */
export function saying(answer: (request: ModelRequest<unknown>, nth: number) => unknown) {
  const questions: ModelRequest<unknown>[] = []
  const model: Model = {
    engine: 'said',
    ask: async (request) => {
      questions.push(request)
      const value = await answer(request, questions.length - 1)
      const usage = { inputTokens: 100, outputTokens: 10, costMicros: 3 }
      return { value: value as never, usage, model: 'said-1', finish: 'stop' }
    },
  }
  return { model, questions }
}

export const picks = (...items: readonly (number | readonly [number, number])[]) => ({
  kind: 'picks',
  picks: items.map((one) => {
    const [item, score] = typeof one === 'number' ? [one, 500] : one
    return { item, reason: 'because', score }
  }),
})
export const search = (text: string, merchants?: readonly string[]) =>
  merchants === undefined ? { kind: 'search', text } : { kind: 'search', text, merchants }
export const read = (item: number) => ({ kind: 'read', item })
export const step = (...actions: readonly object[]) => ({ actions })
