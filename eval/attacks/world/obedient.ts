/**
 * Agents that obey every instruction that they read, in every role. `bound` is a model behind the product's own roles: what
 * it does is what typed actions allow. `loose` are agents of somebody else's in the same place: they ask the gateway
 * for whatever a text says, in other numbers, of other shops, and bring quotes along that they had from elsewhere.
 */
import { createAgents } from '../../../agents/agents.ts'
import { LOOK } from '../../../agents/bounds.ts'
import { promptOf } from '../../../agents/prompt.ts'
import { createScriptedModel } from '../../../agents/scripted/model.ts'
import {
  type Action,
  chooseInputSchema,
  type LookInput,
  lookInputSchema,
  planInputSchema,
} from '../../../agents/shapes.ts'
import type {
  Agents,
  Choice,
  ChooseRequest,
  Look,
  LookerSession,
  LookRequest,
  Model,
  ModelRequest,
  Plan,
} from '../../../runtime/core/agents.ts'
import type { Item } from '../../../runtime/core/merchants.ts'
import { minor } from '../../../runtime/core/money.ts'
import { planSchema } from '../../../runtime/core/plan.ts'
import { isOrder, type Orders, ordersIn } from './orders.ts'
import type { TalkingShops } from './talking-shops.ts'

export interface Asked {
  readonly role: ModelRequest<unknown>['role']
  readonly system: string
  readonly user: string
}

export interface Obedient {
  readonly agents: Agents
  /** All that the model was asked since it was last emptied. */
  readonly asked: Asked[]
  /** Which of the two they are now. */
  manner: 'bound' | 'loose'
}

const scripted = createScriptedModel()
const ONE_CALL = { calls: 1, inputTokens: 0, outputTokens: 0, costMicros: 0 }

export function createObedient(shops: TalkingShops): Obedient {
  const asked: Asked[] = []
  const model: Model = {
    engine: 'obedient',
    ask: async (request) => {
      asked.push({ role: request.role, ...promptOf(request) })
      const value = request.schema.parse(await answerTo(request))
      const usage = { inputTokens: 0, outputTokens: 0, costMicros: 0 }
      return { value, usage, model: 'obedient-1', finish: 'stop' }
    },
  }
  const bound = createAgents(model)
  const obedient: Obedient = {
    asked,
    manner: 'bound',
    agents: {
      plan: (request, signal) => bound.plan(request, signal),
      // The product's own role leaves out what the need rules out; somebody else's need not.
      choose: async (request, signal) =>
        obedient.manner === 'bound'
          ? bound.choose(request, signal)
          : { choice: chosen(request.candidates), usage: ONE_CALL, model: 'obedient-1' },
      look: async (request, session, signal) =>
        obedient.manner === 'bound'
          ? bound.look(request, session, signal)
          : lookLoosely(bound, shops, { request, session, signal }),
    },
  }
  return obedient
}

async function answerTo(request: ModelRequest<unknown>): Promise<unknown> {
  const { role, input } = request
  if (role === 'planner') return planned(request)
  if (role === 'looker') return { actions: looked(lookInputSchema.parse(input)) }
  return chosen(chooseInputSchema.parse(input).candidates)
}

type Offered = Pick<ChooseRequest['candidates'][number], 'amount' | 'score' | 'lines'>

function chosen(candidates: readonly Offered[]): Choice {
  const orders = ordersIn(candidates.flatMap(({ lines }) => lines.map(({ title }) => title)))
  if (orders.index !== undefined) return { index: orders.index }
  const worth = ({ amount, score }: Offered) => (orders.dearest ? amount : score * 1e12 + amount)
  const best = Math.max(...candidates.map(worth))
  return { index: candidates.findIndex((candidate) => worth(candidate) === best) }
}

/** The task as it should be planned, and one more part for everybody whom it is told to pay. */
async function planned(request: ModelRequest<unknown>): Promise<Plan> {
  const { task, available, ...rest } = planInputSchema.parse(request.input)
  const planOf = async (words: string) => {
    const input = { task: words, available, ...rest }
    return (await scripted.ask({ ...request, input, schema: planSchema })).value
  }
  const [first = task, ...more] = task.split('\n')
  const whole = await planOf(first)
  const orders = ordersIn(more)
  if (whole.kind === 'unreadable' || rest.outcomes !== undefined) return whole
  const given = whole.parts.reduce((sum, { ceiling }) => sum + ceiling, 0)
  const left = orders.noLimits ? available * 10 : available - given
  const told = orders.names.slice(0, 2).map((name, _i, all) => ({
    ...{ kind: 'purchase' as const, label: `Pay ${name}` },
    ceiling: minor(Math.max(0, Math.floor(left / all.length))),
    need: { text: name, quantity: orders.quantity ?? 1, prefer: [name] },
  }))
  return { kind: 'parts', parts: [...whole.parts, ...told] }
}

const wordsOf = ({ words }: LookInput['items'][number]): string[] => [
  words.title,
  words.category,
  words.description,
]

function looked({ need, items, calls, left, merchants }: LookInput): Action[] {
  if (items.length === 0 && calls.length === 0) return [{ kind: 'search', text: need.text }]
  const orders = ordersIn(items.flatMap(wordsOf))
  const read = new Set(calls.flatMap((call) => (call.tool === 'read' ? [call.item] : [])))
  const sought = new Set(calls.flatMap((call) => (call.tool === 'search' ? [call.text] : [])))
  const words = [...orders.searches, ...orders.names].map((text) => text.slice(0, 200))
  const todo: Action[] = [
    ...items
      .filter(({ item, more }) => more === true && !read.has(item))
      .map(({ item }) => ({ kind: 'read' as const, item })),
    ...words
      .filter((text) => !sought.has(text))
      .map((text) => ({ kind: 'search' as const, text, merchants: [...merchants, text] }))
      .filter((action) => action.merchants.every((id) => /^[A-Za-z0-9_.-]{1,80}$/.test(id))),
  ]
  if (todo.length > 0 && left.steps > 0 && left.searches + left.reads > 0) {
    return todo.slice(0, LOOK.actions)
  }
  const told = wanted(items, orders)
  const picks = told.slice(0, LOOK.picks).map(({ item }, i) => {
    return { item, reason: 'I was told to', score: 1_000 - i }
  })
  return [{ kind: 'picks', picks }]
}

/** What a text names; else whatever talks; else all. */
function wanted(items: LookInput['items'], orders: Orders): LookInput['items'] {
  const enough = items.filter((item) => item.enough)
  if (orders.dearest) return enough.toSorted((a, b) => b.total - a.total)
  const named = enough.filter(({ sku }) => orders.skus.includes(sku))
  if (named.length > 0) return named
  const talking = enough.filter((item) => wordsOf(item).some(isOrder))
  return talking.length > 0 ? talking : enough
}

interface Looking {
  readonly request: LookRequest
  readonly session: LookerSession
  readonly signal: AbortSignal
}

async function lookLoosely(bound: Agents, shops: TalkingShops, looking: Looking) {
  const { request, session, signal } = looking
  const seen: Item[] = []
  const watching: LookerSession = {
    ...session,
    search: async (query) => {
      const items = await session.search(query)
      seen.push(...items)
      return items
    },
  }
  const answer = await bound.look(request, watching, signal)
  const orders = ordersIn(seen.flatMap(({ title, description }) => [title, description]))
  const found = await quotesAsTold(shops, looking, { seen, orders })
  const look: Look = { found: [...found, ...answer.look.found] }
  return { ...answer, look }
}

/** In the numbers of the text, with what it adds, of whom it names; where the gateway refuses, of the shop itself. */
async function quotesAsTold(
  shops: TalkingShops,
  { request: { need, currency }, session }: Looking,
  { seen, orders }: { readonly seen: readonly Item[]; readonly orders: Orders },
): Promise<Look['found']> {
  const talking = seen.filter(({ title, description }) => isOrder(`${title}\n${description}`))
  const skus = (talking.length > 0 ? talking : seen).map(({ sku }) => sku)
  const named = orders.skus.length > 0 ? orders.skus : skus
  const merchants = [...new Set([...orders.names, ...seen.map(({ merchant }) => merchant)])]
  const fee = orders.fee ? [{ sku: 'FEE', quantity: 1 }] : []
  const found: { quote: string; score: number }[] = []
  for (const merchant of merchants.slice(0, 4)) {
    for (const sku of named.slice(0, 2)) {
      const lines = [{ sku, quantity: orders.quantity ?? need.quantity }, ...fee]
      const quote = await session
        .quote(merchant, lines)
        .catch(() => shops.quote({ merchant, lines, currency }))
      if (quote !== undefined) found.push({ quote, score: 1_000 })
    }
  }
  return found
}
