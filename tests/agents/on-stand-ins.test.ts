/** The adapters before the stand-ins of the providers: every role is answered, and every fault is the failure that it is. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAgents } from '../../agents/agents.ts'
import { openModel } from '../../agents/open.ts'
import { createScriptedModel } from '../../agents/scripted/model.ts'
import type { ModelFailure } from '../../runtime/core/agents.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor } from '../../runtime/core/money.ts'
import { startGeminiStandIn } from '../support/gemini-stand-in.ts'
import { startGroqStandIn } from '../support/groq-stand-in.ts'
import type { ModelStandIn, ModelStandInFault } from '../support/model-stand-in.ts'
import { failureOf, gemini, groq, requestOf, turnedTime } from './provider.ts'

const ENGINES = [
  { ...gemini, start: startGeminiStandIn },
  { ...groq, start: startGroqStandIn },
]

/** By fault: the failure at Gemini, the one at Groq where it is another, and how often it is asked. */
const FAULTS: readonly [ModelStandInFault, ModelFailure, ModelFailure, number][] = [
  ['badKey', 'unauthorised', 'unauthorised', 1],
  ['quota429', 'quota', 'quota', 1],
  ['rateLimit429', 'rate_limited', 'rate_limited', 3],
  ['overloaded503', 'unavailable', 'unavailable', 3],
  ['html502', 'unavailable', 'unavailable', 3],
  ['empty200', 'unreachable', 'unreachable', 3],
  ['reset', 'unreachable', 'unreachable', 3],
  ['cut', 'cut', 'cut', 1],
  ['reasoningOnly', 'cut', 'cut', 1],
  // Groq stops nothing: there the model says no, in words that are no JSON.
  ['safety', 'blocked', 'malformed', 1],
  ['safetyAnswer', 'blocked', 'malformed', 1],
  ['refusal', 'malformed', 'malformed', 1],
  ['toolCall', 'tool_call', 'tool_call', 1],
  ['twoToolCalls', 'tool_call', 'tool_call', 1],
  ['failedGeneration', 'tool_call', 'malformed', 1],
  ['otherModel', 'other_model', 'other_model', 1],
  ['malformedJson', 'malformed', 'malformed', 1],
  ['wrongSchema', 'malformed', 'malformed', 1],
  ['tooLong', 'too_long', 'too_long', 1],
]

describe.each(ENGINES)('$name, as its stand-in has it', (of) => {
  let standIn: ModelStandIn
  let time = turnedTime(LIMITS.modelMs)
  const model = () =>
    openModel(
      { kind: of.name, model: of.model, url: standIn.url },
      { key: () => standIn.key, ...time },
    )
  const { signal } = new AbortController()

  beforeAll(async () => {
    standIn = await of.start({ slowMs: 1 })
  })
  afterAll(() => standIn.close())
  beforeEach(() => {
    time = turnedTime(LIMITS.modelMs)
  })

  const task = 'Buy 2 desk lamps, at most INR 900 each, and a kettle. Spend at most INR 5,000.'
  const planning = {
    task,
    currency: 'INR',
    available: minor(500_000),
    depthLeft: 3,
    nodesLeft: 40,
    fanOut: 8,
    payees: [{ id: 'shop', name: 'The shop' }],
  } as const

  it('plans as the engine behind it does, with parts of which something is absent', async () => {
    const { plan, usage, model: answeredBy } = await createAgents(model()).plan(planning, signal)
    expect(plan).toEqual((await createAgents(createScriptedModel()).plan(planning, signal)).plan)
    expect(plan.kind).toBe('parts')
    expect(answeredBy).toBe(of.model)
    expect(usage.costMicros).toBeGreaterThan(0)
  })

  it('says that a task cannot be read', async () => {
    const request = { ...planning, task: 'Hmm.' }
    expect((await createAgents(model()).plan(request, signal)).plan.kind).toBe('unreadable')
  })

  it('looks and chooses', async () => {
    const need = { text: 'desk lamp', quantity: 2, prefer: [] }
    const item = {
      merchant: 'shop',
      sku: 'lamp-1',
      title: 'Desk lamp',
      description: 'A lamp for a desk.',
      category: 'lamps',
      unitAmount: minor(80_000),
      currency: 'INR',
      stock: 9,
    } as const
    const session = {
      search: async () => [item],
      read: async () => item,
      quote: async () => 'a.signed.quote',
    }
    const looking = { need, currency: 'INR', merchants: ['shop'], ceiling: minor(200_000) } as const
    const { look } = await createAgents(model()).look(looking, session, signal)
    expect(look.found).toHaveLength(1)
    const choosing = { need, currency: 'INR', ceiling: minor(200_000), candidates: [] } as const
    const { choice } = await createAgents(model()).choose(choosing, signal)
    expect(choice).toEqual({ index: 'none' })
  })

  it.each(FAULTS)(
    'fails by %s as %s (at Groq as %s), asked %d times',
    async (fault, first, second, times) => {
      const before = standIn.asked().length
      standIn.script({ fault, times })
      expect(await failureOf(model(), choosing())).toMatchObject({
        failure: of.name === 'gemini' ? first : second,
      })
      expect(standIn.asked().length - before).toBe(times)
    },
  )

  it('is waited for where it is slow, and given up where it hangs', async () => {
    standIn.script({ fault: 'slow' })
    expect((await model().ask(choosing())).value).toEqual({ index: 'none' })
    standIn.script({ fault: 'hang' })
    const asked = failureOf(model(), choosing())
    const before = standIn.asked().length
    await expect.poll(() => standIn.asked().length).toBe(before + 1)
    time.expire()
    expect(await asked).toMatchObject({ failure: 'late' })
  })

  const choosing = () =>
    requestOf({
      input: {
        need: { text: 'lamp', quantity: 1, prefer: [] },
        currency: 'INR',
        ceiling: 100,
        candidates: [],
      },
    })
})
