/**
 * The looker’s role: a loop of actions that are data. At each step the model says what to search for, what to read, or
 * what it picks; we carry it out with the looker’s own session, one call after the other, and show it what came back.
 * SKUs, quantities and merchants are ours to fill in: a model names an item by its place in the list, or nothing. So whoever
 * is fooled by a listing brings at most other quotes of merchants that were allowed anyway. It ends by `bounds.ts`.
 */
import {
  addUsage,
  type Look,
  type LookerSession,
  type LookRequest,
  type Model,
  ModelFault,
  NO_USAGE,
  type Usage,
} from '../runtime/core/agents.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { type Asked, ask } from './ask.ts'
import { LOOK } from './bounds.ts'
import { INSTRUCTIONS } from './instructions.ts'
import { type Picked, quoteAll } from './quoting.ts'
import { type Action, actionsSchema, type Call, type LookInput } from './shapes.ts'
import { Shelf } from './shelf.ts'
import { assertMayGoOn } from './troubles.ts'

interface Work {
  readonly model: Model
  readonly request: LookRequest
  readonly session: LookerSession
  readonly signal: AbortSignal
  readonly shelf: Shelf
  /** All that was asked for so far, and what came of it. */
  readonly calls: Call[]
  usage: Usage
  answeredBy: string
  /** Why a merchant gave nothing, the last one. */
  failure: unknown
}

/**
 * Quotes for what fits the need, best first; none where nothing does. Throws ModelFault where the model came to no answer,
 * and what a session threw where no merchant could be asked.
 */
export async function look(
  model: Model,
  request: LookRequest,
  session: LookerSession,
  signal: AbortSignal,
): Promise<Asked<Look>> {
  const shelf = new Shelf(request.need)
  const counted = { usage: NO_USAGE, answeredBy: model.engine, failure: undefined }
  const work: Work = { model, request, session, signal, shelf, calls: [], ...counted }
  const picked = await picksOf(work)
  const found = await quoteAll({ session, need: request.need, signal }, picked)
  return { value: { found }, usage: work.usage, model: work.answeredBy }
}

/** Steps until there is an answer. An empty catalogue is one: nothing found. */
async function picksOf(work: Work): Promise<readonly Picked[]> {
  let idle = 0
  for (let step = 1; step <= LOOK.steps && idle < LOOK.idleSteps; step += 1) {
    const outcome = await carryOut(work, await nextActions(work, LOOK.steps - step))
    if (outcome.picked !== undefined) return outcome.picked
    idle = outcome.hasMoved ? 0 : idle + 1
  }
  if (hasSearched(work) && work.shelf.size === 0) return []
  if (!hasSearched(work) && work.failure !== undefined) throw work.failure
  const { usage, answeredBy: model } = work
  const options = { retryable: false, usage, model }
  throw new ModelFault('malformed', 'the looker came to no answer within its bounds', options)
}

async function nextActions(work: Work, steps: number): Promise<readonly Action[]> {
  const { model, request, signal } = work
  const { need, currency, ceiling, merchants } = request
  const input: LookInput = {
    need: { ...need, prefer: [...need.prefer] },
    currency,
    ceiling,
    merchants: [...merchants],
    left: {
      steps,
      searches: LOOK.searches - countOf(work, 'search'),
      reads: LOOK.reads - countOf(work, 'read'),
    },
    calls: [...work.calls],
    items: work.shelf.shown(),
  }
  const instructions = INSTRUCTIONS.looker
  const question = { role: 'looker', instructions, input, schema: actionsSchema, signal } as const
  const answer = await ask(model, question)
  work.usage = addUsage(work.usage, answer.usage)
  work.answeredBy = answer.model
  return answer.value.actions
}

/** The calls that were really made. */
const countOf = ({ calls }: Work, tool: 'search' | 'read'): number =>
  calls.filter((call) => call.tool === tool && ['done', 'unavailable'].includes(call.result)).length

const hasSearched = ({ calls }: Work): boolean =>
  calls.some(({ tool, result }) => tool === 'search' && result === 'done')

interface Outcome {
  readonly picked?: readonly Picked[]
  /** Whether anything is known that was not before. */
  readonly hasMoved: boolean
}

/** One step, serially. Indexes mean what the model was shown, whatever has been found since. */
async function carryOut(work: Work, actions: readonly Action[]): Promise<Outcome> {
  const shown = work.shelf.size
  let hasMoved = false
  for (const action of actions) {
    if (action.kind === 'picks') continue
    work.signal.throwIfAborted()
    const call =
      action.kind === 'search'
        ? await search(work, action)
        : await read(work, action.item, action.item < shown)
    work.calls.push(call)
    hasMoved ||= call.result === 'done'
  }
  const last = actions.findLast((action) => action.kind === 'picks')
  if (last === undefined) return { hasMoved }
  const answer = hasMoved ? 'not_alone' : picksAmong(work, last.picks)
  if (typeof answer !== 'string') return { picked: answer, hasMoved }
  work.calls.push({ tool: 'picks', result: answer })
  return { hasMoved }
}

type SearchCall = Extract<Call, { tool: 'search' }>
type ReadCall = Extract<Call, { tool: 'read' }>
type PicksCall = Extract<Call, { tool: 'picks' }>

/** A search of all merchants that fails is the caller’s fault to see; one of some of them is only a result. */
async function search(
  work: Work,
  { text, merchants: named }: Extract<Action, { kind: 'search' }>,
): Promise<SearchCall> {
  const { request, session, shelf } = work
  const isForAll = named === undefined || named.length === 0
  const merchants = request.merchants.filter((id) => isForAll || named.includes(id))
  const call = (result: SearchCall['result'], found = 0): SearchCall => {
    return { tool: 'search', text, merchants, result, found }
  }
  if (merchants.length === 0) return call('no_such_merchant')
  if (isRepeated(work, text, merchants)) return call('repeated')
  if (countOf(work, 'search') >= LOOK.searches) return call('no_more')
  try {
    const items = await session.search({ text, merchants, limit: LIMITS.searchItems })
    const ours = items.filter(
      ({ merchant, currency }) => currency === request.currency && merchants.includes(merchant),
    )
    return call('done', shelf.add(ours))
  } catch (error) {
    assertMayGoOn(error)
    if (merchants.length === request.merchants.length) throw error
    work.failure = error
    return call('unavailable')
  }
}

const wordsOf = (text: string): string => text.trim().toLowerCase().replace(/\s+/g, ' ')

const isRepeated = ({ calls }: Work, text: string, merchants: readonly string[]): boolean =>
  calls.some(
    (call) =>
      call.tool === 'search' &&
      wordsOf(call.text) === wordsOf(text) &&
      merchants.every((id) => call.merchants.includes(id)),
  )

async function read(work: Work, index: number, isShown: boolean): Promise<ReadCall> {
  const { session, shelf, request } = work
  const call = (result: ReadCall['result']): ReadCall => ({ tool: 'read', item: index, result })
  const item = isShown ? shelf.at(index) : undefined
  if (item === undefined) return call('no_such_item')
  if (wasRead(work, index)) return call('repeated')
  if (countOf(work, 'read') >= LOOK.reads) return call('no_more')
  try {
    const page = await session.read(item.merchant, item.sku)
    if (page.currency === request.currency) shelf.read(page)
    return call('done')
  } catch (error) {
    assertMayGoOn(error)
    return call('unavailable')
  }
}

const wasRead = ({ calls }: Work, index: number): boolean =>
  calls.some(
    (call) =>
      call.tool === 'read' && call.item === index && ['done', 'unavailable'].includes(call.result),
  )

/** What was picked of what can be bought, each once; or why this is no answer. */
function picksAmong(
  work: Work,
  picks: readonly { readonly item: number; readonly score: number }[],
): readonly Picked[] | PicksCall['result'] {
  if (!hasSearched(work)) return 'not_searched'
  const picked = new Map<number, Picked>()
  for (const { item: index, score } of picks) {
    const item = work.shelf.at(index)
    if (item !== undefined && !picked.has(index)) picked.set(index, { item, score })
  }
  if (picks.length > 0 && picked.size === 0) return 'no_such_item'
  const buyable = [...picked.values()].filter(({ item }) => work.shelf.isBuyable(item))
  return picks.length > 0 && buyable.length === 0 ? 'not_buyable' : buyable
}
