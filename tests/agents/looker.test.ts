import { describe, expect, it } from 'vitest'
import { createAgents } from '../../agents/agents.ts'
import { LOOK } from '../../agents/bounds.ts'
import { createScriptedModel } from '../../agents/scripted/model.ts'
import { lookInputSchema } from '../../agents/shapes.ts'
import { ClientError } from '../../runtime/client/errors.ts'
import {
  type LookerSession,
  ModelFault,
  type ModelRequest,
  type Usage,
} from '../../runtime/core/agents.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import type { Item } from '../../runtime/core/merchants.ts'
import { minor } from '../../runtime/core/money.ts'
import { itemOf, lookOf, needOf, picks, read, saying, search, shopping, step } from './shop.ts'

const { signal } = new AbortController()

const KETTLES = [
  itemOf('Kettle A', 10),
  itemOf('Kettle B', 20, { merchant: 'stall' }),
  itemOf('Kettle C', 30, { description: `${'steel '.repeat(200)}with a lid` }),
]

/** A look by a model that answers these steps, the last one for ever. */
async function lookBy(
  steps: readonly unknown[],
  { items = KETTLES, down = [] as readonly string[], over = {} } = {},
) {
  const shop = shopping(items, down)
  const said = saying((_request, nth) => steps[Math.min(nth, steps.length - 1)])
  const looking = createAgents(said.model).look(lookOf(items, over), shop.session, signal)
  const inputs = () => said.questions.map(({ input }) => lookInputSchema.parse(input))
  return { ...shop, ...said, looking, inputs }
}

const failure = (looking: Promise<unknown>): Promise<unknown> =>
  looking.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('a look', () => {
  it('carries out what the model says, step by step, and shows it what came back', async () => {
    const { looking, asked, inputs } = await lookBy([
      step(search('kettle', ['shop'])),
      step(read(1), search('steel kettle')),
      step(picks([1, 900], [2, 950])),
    ])
    const { look, usage, model } = await looking
    expect(look.found).toEqual([
      { quote: 'stall 1 x KettleB', score: 950 },
      { quote: 'shop 1 x KettleC', score: 900 },
    ])
    expect(asked).toEqual([
      { call: 'search', text: 'kettle', merchants: ['shop'] },
      { call: 'read', merchant: 'shop', sku: 'KettleC' },
      { call: 'search', text: 'steel kettle', merchants: ['shop', 'stall'] },
      { call: 'quote', merchant: 'stall', lines: [{ sku: 'KettleB', quantity: 1 }] },
      { call: 'quote', merchant: 'shop', lines: [{ sku: 'KettleC', quantity: 1 }] },
    ])
    expect([usage, model]).toEqual([
      { calls: 3, inputTokens: 300, outputTokens: 30, costMicros: 9 },
      'said-1',
    ])
    const [first, second, third] = inputs()
    expect(first).toMatchObject({ calls: [], items: [], left: { steps: 5, searches: 8, reads: 6 } })
    expect(second?.items.map(({ item, sku }) => [item, sku])).toEqual([
      [0, 'KettleA'],
      [1, 'KettleC'],
    ])
    expect(third?.calls).toEqual([
      { tool: 'search', text: 'kettle', merchants: ['shop'], result: 'done', found: 2 },
      { tool: 'read', item: 1, result: 'done' },
      { tool: 'search', text: 'steel kettle', merchants: ['shop', 'stall'], result: 'done', found: 1 },
    ]) // biome-ignore format: a list
    expect(third?.left).toEqual({ steps: 3, searches: 6, reads: 5 })
  })

  it('shows each item with its source beside it, and a place that never changes', async () => {
    const { looking, inputs } = await lookBy([
      step(search('kettle', ['shop'])),
      step(read(1), search('kettle')),
      step(picks(0)),
    ])
    await looking
    const [, second, third] = inputs()
    expect(second?.items[1]).toEqual({
      item: 1,
      source: 'page',
      tool: 'search',
      merchant: 'shop',
      sku: 'KettleC',
      words: {
        title: 'Kettle C',
        category: 'things',
        description: 'steel '.repeat(100),
      },
      more: true,
      unitAmount: 30,
      total: 30,
      enough: true,
    })
    const { more: _more, ...listed } = second?.items[1] ?? {}
    const whole = { title: 'Kettle C', category: 'things', description: KETTLES[2]?.description }
    expect(third?.items[1]).toEqual({ ...listed, tool: 'read', words: whole })
    expect(third?.items.map(({ sku }) => sku)).toEqual(['KettleA', 'KettleC', 'KettleB'])
  })

  it('does one thing at a time, whatever a step holds', async () => {
    const { looking, atOnce, asked } = await lookBy([
      step(search('a'), search('b'), search('c'), search('d')),
      step(read(0), read(1), read(2)),
      step(picks(0, 1, 2)),
    ])
    await looking
    expect(asked).toHaveLength(10)
    expect(atOnce()).toBe(1)
  })

  it.each([
    ['a search', [step(search('kettle')), step(search(' KETTLE '), search('kettle', ['stall']))], 'search', 1],
    ['a read', [step(search('kettle')), step(read(0), read(0)), step(read(0))], 'read', 1],
  ] as const)('asks %s that it has made not again', async (_what, steps, call, most) => {
    const { looking, count, inputs } = await lookBy([...steps, step(picks(0))])
    await looking
    expect(count(call)).toBe(most)
    expect(inputs().at(-1)?.calls.some(({ result }) => result === 'repeated')).toBe(true)
  }) // biome-ignore format: a table

  it('searches only merchants that it may, whatever is named, and all of them for none', async () => {
    const { looking, asked, inputs } = await lookBy([
      step(search('a', ['elsewhere'])),
      step(search('a', ['elsewhere', 'stall'])),
      step(search('b', [])),
      step(picks(0)),
    ])
    await looking
    expect(asked.flatMap((one) => (one.call === 'search' ? [one.merchants] : []))).toEqual([
      ['stall'],
      ['shop', 'stall'],
    ])
    expect(inputs()[1]?.calls[0]).toMatchObject({ result: 'no_such_merchant', found: 0 })
  })

  it('reads nothing by an index that it was not shown, though it has come to be since', async () => {
    const { looking, count, inputs } = await lookBy([
      step(search('kettle'), read(0), read(999)),
      step(picks(0)),
    ])
    await looking
    expect(count('read')).toBe(0)
    expect(inputs()[1]?.calls.map(({ result }) => result)).toEqual([
      'done',
      'no_such_item',
      'no_such_item',
    ])
  })

  it('takes no picks beside a search whose result they cannot know', async () => {
    const { looking, inputs } = await lookBy([step(search('kettle'), picks(2)), step(picks(0))])
    expect((await looking).look.found).toEqual([{ quote: 'shop 1 x KettleA', score: 500 }])
    expect(inputs()[1]?.calls.at(-1)).toEqual({ tool: 'picks', result: 'not_alone' })
  })

  it('takes no picks before anything was searched for', async () => {
    const { looking, inputs } = await lookBy([step(picks()), step(search('kettle')), step(picks())])
    expect((await looking).look.found).toEqual([])
    expect(inputs()[1]?.calls).toEqual([{ tool: 'picks', result: 'not_searched' }])
  })

  it('ignores picks that are not in the list, and asks again where none is', async () => {
    const { looking, inputs } = await lookBy([
      step(search('kettle')),
      step(picks(3, 99)),
      step(picks(99, 0, 0)),
    ])
    expect((await looking).look.found).toHaveLength(1)
    expect(inputs()[2]?.calls.at(-1)).toEqual({ tool: 'picks', result: 'no_such_item' })
  })

  it('asks for no quote of what the need itself rules out', async () => {
    const items = [
      itemOf('Too dear', 60),
      itemOf('Too few', 40, { stock: 1 }),
      itemOf('Right', 50),
      itemOf('Too much', 46, { sku: 'M' }),
    ]
    const over = { need: needOf('x', { quantity: 2, maxUnit: minor(55), maxTotal: minor(100) }) }
    const steps = [step(search('x')), step(picks(0, 1)), step(picks(0, 1, 2))]
    const { looking, asked, inputs } = await lookBy(steps, { items, over })
    await looking
    expect(asked.filter(({ call }) => call === 'quote')).toEqual([
      { call: 'quote', merchant: 'shop', lines: [{ sku: 'Right', quantity: 2 }] },
    ])
    expect(inputs()[2]?.calls.at(-1)).toEqual({ tool: 'picks', result: 'not_buyable' })
    expect(inputs()[1]?.items.map(({ total, enough }) => [total, enough])).toEqual([
      [120, true],
      [80, false],
      [100, true],
      [92, true],
    ])
  })

  it('shows nothing of another currency or of a merchant that was not asked', async () => {
    const items = [itemOf('A', 5), itemOf('B', 5, { currency: 'USD' }), itemOf('C', 5, { merchant: 'other' })]
    const shop = shopping(items)
    const session = { ...shop.session, search: async () => items }
    const { model, questions } = saying((_r, nth) => (nth === 0 ? step(search('x')) : step(picks(0, 1, 2))))
    const { look } = await createAgents(model).look(lookOf(items, { merchants: ['shop'] }), session, signal)
    expect(look.found).toHaveLength(1)
    expect(lookInputSchema.parse(questions[1]?.input).items).toHaveLength(1)
  }) // biome-ignore format: short

  it('gives no reason of the model’s to anybody: neither to a later step nor in what it brings', async () => {
    const reason = 'MARKED reason, tell the planner'
    const { looking, questions } = await lookBy([
      step(search('kettle')),
      step({ kind: 'picks', picks: [{ item: 77, reason, score: 1 }] }),
      step({ kind: 'picks', picks: [{ item: 0, reason, score: 1 }] }),
    ])
    const answer = await looking
    expect(JSON.stringify([answer, questions.map(({ input }) => input)])).not.toContain('MARKED')
  })
})

describe('the bounds of a look', () => {
  const many = Array.from({ length: 90 }, (_, i) => itemOf(`Kettle ${i}`, 10 + i))

  it('shows no more items than the most, and none of them moves', async () => {
    const shelf = shopping(many)
    const pages = { ...shelf.session, search: async () => many }
    const { model, questions } = saying((_r, nth) => (nth === 0 ? step(search('a'), search('b')) : step(picks(59, 60))))
    const { look } = await createAgents(model).look(lookOf(many), pages, signal)
    expect(look.found.map(({ quote }) => quote)).toEqual(['shop 1 x Kettle59'])
    expect(lookInputSchema.parse(questions[1]?.input).items).toHaveLength(LOOK.items)
  }) // biome-ignore format: short

  it('shows no more of strangers’ words than the most, what was read before what was listed', async () => {
    const words = { title: 'T'.repeat(500), description: 'D'.repeat(9_000) }
    const items = many.map((one) => ({ ...one, ...words }))
    const steps = [
      step(search('a')),
      step(...[46, 47, 48, 49].map(read)),
      step(read(44), read(45)),
      step(picks(0)),
    ]
    const { looking, inputs } = await lookBy(steps, { items })
    await looking
    for (const { items: shown } of inputs()) {
      const texts = shown.flatMap((one) => Object.values(one.words))
      expect(texts.join('').length).toBeLessThanOrEqual(LOOK.wordsChars)
      expect(shown.every((one) => one.words.title.length === LIMITS.titleChars)).toBe(true)
      expect(shown.every(({ more }) => more === true)).toBe(true)
    }
    const last = inputs()
      .at(-1)
      ?.items.map((one) => one.words.description.length)
    expect(last?.slice(44, 50)).toEqual(Array(6).fill(LOOK.pageChars))
    expect([last?.[0], last?.[43]]).toEqual([LOOK.listingChars, 0])
  })

  it('cuts between characters, never within one', async () => {
    const description = `${'x'.repeat(LOOK.listingChars - 1)}\u{1f4b8}`
    const items = [itemOf('Kettle', 5, { description })]
    const { looking, inputs } = await lookBy([step(search('a')), step(picks(0))], { items })
    await looking
    expect(inputs()[1]?.items[0]?.words.description).toBe('x'.repeat(LOOK.listingChars - 1))
  })

  it('makes no more searches and reads than the most', async () => {
    const rest = (nth: number) =>
      nth < 3
        ? step(...[1, 2, 3, 4].map((i) => search(`${nth}-${i}`)))
        : nth < 5
          ? step(...[0, 1, 2, 3].map((i) => read((nth - 3) * 4 + i)))
          : step(picks(0))
    const shop = shopping(many)
    const { model, questions } = saying((_request, nth) => rest(nth))
    await createAgents(model).look(lookOf(many), shop.session, signal)
    expect([shop.count('search'), shop.count('read')]).toEqual([LOOK.searches, LOOK.reads])
    const { calls, left } = lookInputSchema.parse(questions.at(-1)?.input)
    expect(calls.filter(({ result }) => result === 'no_more')).toHaveLength(6)
    expect(left).toEqual({ steps: 0, searches: 0, reads: 0 })
  })

  it('brings no more quotes than the most, the best first', async () => {
    const scores = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i, i * 100] as const)
    const { looking, count } = await lookBy([step(search('a')), step(picks(...scores))], { items: many }) // biome-ignore format: short
    expect((await looking).look.found.map(({ score }) => score)).toEqual([700, 600, 500, 400])
    expect(count('quote')).toBe(LOOK.offers)
  })

  it.each([
    ['no action', step()],
    ['too many actions', step(...[1, 2, 3, 4, 5].map((i) => search(`${i}`)))],
    ['too many picks', step(picks(0, 1, 2, 3, 4, 5, 6, 7, 8))],
    ['an action of its own', step({ kind: 'pay', payee: 'mallory', amount: 5 })],
    ['a quote of its own', step({ kind: 'picks', picks: [{ item: 0, reason: '', score: 1, quote: 'a.b.c' }] })],
    ['a SKU for an item', step({ kind: 'read', item: 'KettleA' })],
    ['an address to read', step({ kind: 'read', url: 'http://elsewhere' })],
    ['a search without end', step(search('x'.repeat(201)))],
    ['a search for nothing', step(search(''))],
    ['a merchant that is none', step(search('x', ['../elsewhere']))],
    ['a score out of range', step(picks([0, 1001]))],
    ['a score that is none', step({ kind: 'picks', picks: [{ item: 0, reason: '', score: '900' }] })],
    ['a place before the first', step(read(-1))],
    ['words', 'search for kettles'],
    ['nothing', undefined],
  ])('is no decision for a model that answers %s', async (_what, answer) => {
    const { looking, asked, questions } = await lookBy([answer])
    expect(await failure(looking)).toMatchObject({
      code: 'model_failed',
      failure: 'malformed',
      usage: { calls: 1, inputTokens: 100 },
      model: 'said-1',
    })
    expect([asked, questions.length]).toEqual([[], 1])
  }) // biome-ignore format: a table

  it.each([
    ['asks for the same again for ever', [step(search('kettle'))], 4],
    ['points outside the list for ever', [step(search('kettle')), step(picks(70))], 4],
    ['picks before it searches for ever', [step(picks(0))], 3],
    ['names merchants of nobody for ever', [step(search('x', ['elsewhere']))], 3],
  ])('ends a model that %s', async (_what, steps, most) => {
    const { looking, questions } = await lookBy(steps)
    const error = await failure(looking)
    expect(error).toBeInstanceOf(ModelFault)
    expect(error).toMatchObject({
      code: 'model_failed',
      retryable: false,
      usage: { calls: most, costMicros: most * 3 },
    })
    expect(questions).toHaveLength(most)
  })

  it('ends a model that searches for ever and never picks', async () => {
    const shop = shopping(KETTLES)
    const { model, questions } = saying((_request, nth) => step(search(`kettle ${nth}`)))
    const looking = createAgents(model).look(lookOf(KETTLES), shop.session, signal)
    expect(await failure(looking)).toMatchObject({ code: 'model_failed', retryable: false })
    expect(questions).toHaveLength(LOOK.steps)
  })

  it('of an empty catalogue is nothing found, also for a model that never stops', async () => {
    const shop = shopping([])
    const { model, questions } = saying((_request, nth) => step(search(`kettle ${nth}`)))
    const request = lookOf([], { merchants: ['shop'] })
    const { look } = await createAgents(model).look(request, shop.session, signal)
    expect(look.found).toEqual([])
    expect(questions).toHaveLength(LOOK.steps)
    const scripted = createAgents(createScriptedModel())
    expect((await scripted.look(request, shopping([]).session, signal)).look.found).toEqual([])
  })

  it('passes a failure on as it came, with each call before it told to whoever counts', async () => {
    const shop = shopping(KETTLES)
    const told: Usage[] = []
    const meter = { before: () => {}, after: (usage: Usage) => told.push(usage) }
    const usage = { calls: 2, inputTokens: 7, outputTokens: 0, costMicros: 1 }
    const fault = new ModelFault('rate_limited', 'later', { usage, model: 'said-1' })
    const { model } = saying((_request, nth) => {
      if (nth < 2) return step(search(`kettle ${nth}`))
      throw fault
    })
    const session = { ...shop.session, meter }
    const looking = createAgents(model).look(lookOf(KETTLES), session, signal)
    expect(await failure(looking)).toBe(fault)
    const step2 = { calls: 1, inputTokens: 100, outputTokens: 10, costMicros: 3 }
    expect(told).toEqual([step2, step2, usage])
  })

  it('ends where no budget has room for another step', async () => {
    const shop = shopping(KETTLES)
    const { model, questions } = saying((_request, nth) => step(search(`kettle ${nth}`)))
    const spent = new ModelFault('quota', 'no more', { retryable: false })
    const before = () => {
      if (questions.length === 2) throw spent
    }
    const session = { ...shop.session, meter: { before, after: () => {} } }
    const looking = createAgents(model).look(lookOf(KETTLES), session, signal)
    expect(await failure(looking)).toBe(spent)
    expect(questions).toHaveLength(2)
  })
})

describe('a merchant that is down', () => {
  const items = [
    ...[1, 2, 3, 4, 5, 6].map((i) => itemOf(`Kettle ${i}`, i, { merchant: 'down' })),
    itemOf('Kettle', 90),
    itemOf('Kettle', 95, { merchant: 'stall' }),
  ]
  /** Found while it was up, gone when quotes are asked for. */
  const fading = () => {
    const up = shopping(items)
    const gone = shopping(items, ['down'])
    const session: LookerSession = { ...gone.session, search: up.session.search }
    return { session, asked: gone.asked }
  }

  it('hides nobody else’s offers, though its own are thought to be the best', async () => {
    const { session, asked } = fading()
    const { model } = saying((_r, nth) =>
      nth === 0 ? step(search('a')) : step(picks(...[0, 1, 2, 3, 4, 5].map((i) => [i, 900] as const), [6, 10], [7, 5])),
    ) // biome-ignore format: short
    const { look } = await createAgents(model).look(lookOf(items), session, signal)
    expect(look.found.map(({ quote }) => quote)).toEqual(['shop 1 x Kettle', 'stall 1 x Kettle'])
    const merchants = asked.flatMap((one) => (one.call === 'quote' ? [one.merchant] : []))
    expect(merchants.slice(0, 3)).toEqual(['down', 'shop', 'stall'])
    expect(merchants.length).toBeLessThanOrEqual(LOOK.quotes)
  })

  it('is a result when it alone was searched or read, and the look goes on', async () => {
    const steps = [step(search('a', ['down'])), step(search('a')), step(read(0)), step(picks(0))]
    const { looking, inputs } = await lookBy(steps, { items, down: ['down'] })
    expect((await looking).look.found).toEqual([{ quote: 'shop 1 x Kettle', score: 500 }])
    expect(inputs()[1]?.calls[0]).toMatchObject({ result: 'unavailable', found: 0 })
    const gone = fading()
    const { model, questions } = saying((_r, nth) => [step(search('a')), step(read(0)), step(picks(6))][nth])
    await createAgents(model).look(lookOf(items), gone.session, signal)
    expect(lookInputSchema.parse(questions[2]?.input).calls[1]).toMatchObject({ result: 'unavailable' })
  }) // biome-ignore format: short

  it('is thrown where it is the only one, so that whoever asked tries again later', async () => {
    const only = items.slice(0, 2)
    const all = await lookBy([step(search('a'))], { items: only, down: ['down'] })
    expect(await failure(all.looking)).toMatchObject({ code: 'merchant_unavailable' })
    expect(all.questions).toHaveLength(1)
    const some = await lookBy([step(search('a', ['down']))], { items, down: ['down'] })
    expect(await failure(some.looking)).toMatchObject({ code: 'merchant_unavailable' })
    const { session } = fading()
    const { model } = saying((_r, nth) => (nth === 0 ? step(search('a')) : step(picks(0, 1))))
    const quoted = createAgents(model).look(lookOf(items), session, signal)
    expect(await failure(quoted)).toMatchObject({ code: 'merchant_unavailable' })
  })
})

describe('a look that has to stop', () => {
  const refusal = (code: string, advice: 'wait_for_person' | 'stop') =>
    new ClientError('no', { status: 403, code, advice })

  it.each([
    ['a freeze', refusal('frozen', 'wait_for_person')],
    ['an expiry', refusal('expired', 'stop')],
    ['a bound of the session', new Fault('model_failed', 'too many', { retryable: false })],
    ['a bug', new TypeError('odd')],
  ])('stops at once for %s, at whichever call', async (_what, error) => {
    const { session } = shopping(KETTLES)
    const fails = async (): Promise<never> => {
      throw error
    }
    const steps = [step(search('a')), step(read(0)), step(picks(0, 1))]
    for (const name of ['search', 'read', 'quote'] as const) {
      const { model } = saying((_request, nth) => steps[nth])
      const failing = { ...session, [name]: fails }
      const looking = createAgents(model).look(lookOf(KETTLES), failing, signal)
      expect(await failure(looking)).toBe(error)
    }
  })

  it('asks no shop and no model once it was called off', async () => {
    const caller = new AbortController()
    const shop = shopping(KETTLES)
    const { model, questions } = saying(() => {
      caller.abort(new Error('called off'))
      return step(search('a'), search('b'))
    })
    const looking = createAgents(model).look(lookOf(KETTLES), shop.session, caller.signal)
    await expect(looking).rejects.toThrow('called off')
    expect([shop.asked, questions.length]).toEqual([[], 1])
  })
})

describe('the scripted looker', () => {
  const lookFor = async (items: readonly Item[], over = {}) => {
    const shop = shopping(items)
    const requests: ModelRequest<unknown>[] = []
    const scripted = createScriptedModel()
    const model = {
      ...scripted,
      ask: <T>(request: ModelRequest<T>) => {
        requests.push(request)
        return scripted.ask(request)
      },
    }
    const { look } = await createAgents(model).look(lookOf(items, over), shop.session, signal)
    return { ...shop, requests, quotes: look.found.map(({ quote }) => quote) }
  }

  it('reads to its end what may be the thing, when nothing that it saw is', async () => {
    const padding = 'A fine thing for every office. '.repeat(30)
    const items = [
      itemOf('Kettle', 20, { sku: 'LAST', description: `${padding} In turquoise.` }),
      itemOf('Kettle', 10, { sku: 'PLAIN', description: padding }),
      itemOf('Lamp', 1, { sku: 'LAMP', description: `${padding} In turquoise.` }),
    ]
    const { quotes, asked } = await lookFor(items, { need: needOf('turquoise kettle') })
    expect(asked.filter(({ call }) => call === 'read')).toEqual([
      { call: 'read', merchant: 'shop', sku: 'LAST' },
      { call: 'read', merchant: 'shop', sku: 'PLAIN' },
    ])
    expect(quotes).toEqual(['shop 1 x LAST'])
  })

  it('searches everywhere for what the preferred shop does not have', async () => {
    const items = [itemOf('Lamp', 5, { merchant: 'desk-bazaar' }), itemOf('Kettle', 9)]
    const over = { need: needOf('kettle', { prefer: ['from Desk Bazaar'] }) }
    const { quotes, asked } = await lookFor(items, over)
    expect(asked.slice(0, 2)).toMatchObject([
      { text: 'kettle', merchants: ['desk-bazaar'] },
      { text: 'kettle', merchants: ['desk-bazaar', 'shop'] },
    ])
    expect(quotes).toEqual(['shop 1 x Kettle'])
  })

  it('says the same to the same question', async () => {
    const [one, two] = [await lookFor(KETTLES), await lookFor(KETTLES)]
    expect(one.requests.map(({ input }) => input)).toEqual(two.requests.map(({ input }) => input))
    expect(one.asked).toEqual(two.asked)
  })
})
