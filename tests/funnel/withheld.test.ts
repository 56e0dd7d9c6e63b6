import { describe, expect, it } from 'vitest'
import { createAgents } from '../../agents/agents.ts'
import { createScriptedModel } from '../../agents/scripted/model.ts'
import type { Model, ModelRequest } from '../../runtime/core/agents.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import { createSecretGuard } from '../../runtime/secrets/guard.ts'
import { Secret } from '../../runtime/secrets/secret.ts'
import { SHOPS, World, type WorldOptions } from './world.ts'

const SECRET = 'pasted-by-mistake-0123456789'
const guard = createSecretGuard()
guard.watch(new Secret(SECRET))

/** The scripted model under the guard, with what it was really asked, and its answers changed on the way back. */
function guardedModel(
  change: (value: unknown, asked: ModelRequest<unknown>) => unknown = (v) => v,
) {
  const scripted = createScriptedModel()
  const asked: ModelRequest<unknown>[] = []
  const model: Model = {
    engine: 'scripted',
    ask: async (request) => {
      asked.push(request)
      const answer = await scripted.ask(request)
      const value = request.schema.parse(change(answer.value, request))
      return { ...answer, value }
    },
  }
  return { agents: () => createAgents(model, guard), asked }
}

async function walk(options: WorldOptions) {
  const world = await World.open(options)
  const run = await world.finished()
  const feed = await world.ledger.feed(world.run.id, 0, 1_000)
  const events = feed.map(({ body }) => parseEvent(body))
  const codes = events.flatMap(({ type, data }) => (type === 'unmet' ? [data.code] : []))
  return { world, run, codes, text: feed.map(({ body }) => body).join() }
}

describe('a text that holds a secret', () => {
  it('is told to no planner, ends the branch, and the log says why', async () => {
    const { agents, asked } = guardedModel()
    const { world, run, codes, text } = await walk({ task: `1 kettle, key ${SECRET}`, agents })
    expect(asked).toEqual([])
    expect(run).toMatchObject({
      state: 'failed',
      reason: 'The run ended early: a text for a model, or from one, held a secret.',
    })
    expect(codes).toEqual(['secret_withheld'])
    expect(world.faults).toContainEqual(expect.objectContaining({ code: 'secret_withheld' }))
    expect(text).not.toContain(SECRET)
  })

  it('is told to no looker, although a listing had it, and ends that part alone', async () => {
    const { agents, asked } = guardedModel()
    const shops = SHOPS.map((shop) => ({
      ...shop,
      products: shop.products.map((product) => {
        const description = Buffer.from(`key=${SECRET}`).toString('base64')
        return product.sku === 'K1' ? { ...product, description } : product
      }),
    }))
    const { world, codes } = await walk({ task: '1 kettle; 1 desk lamp', shops, agents })
    expect(await world.bought()).toHaveLength(1)
    expect(new Set(codes)).toEqual(new Set(['secret_withheld']))
    expect(JSON.stringify(asked)).not.toContain(Buffer.from(SECRET.slice(0, 6)).toString('base64'))
  })

  it('is taken from no model', async () => {
    const { agents } = guardedModel((value, { role }) =>
      role === 'planner' && typeof value === 'object' && value !== null && 'parts' in value
        ? { ...value, parts: [{ ...Object(Object(value.parts)[0]), label: [...SECRET].join(' ') }] }
        : value,
    )
    const { world, codes, text } = await walk({ task: '1 kettle', agents })
    expect(codes).toEqual(['secret_withheld'])
    expect(world.book.size).toBe(0)
    expect(text).not.toContain([...SECRET].join(' '))
  })

  it('is never asked about twice', async () => {
    const { agents, asked } = guardedModel(() => ({ kind: 'unreadable', reason: SECRET }))
    await walk({ task: '1 kettle', agents })
    expect(asked).toHaveLength(1)
  })
})

describe('a guarded model', () => {
  it('answers as before where there is no secret, and says nothing of one in its fault', async () => {
    const { agents, asked } = guardedModel()
    const { run } = await walk({ task: '1 kettle', agents })
    expect(run).toMatchObject({ state: 'completed' })
    expect(asked.length).toBeGreaterThan(2)
    const plan = agents().plan(
      {
        task: SECRET,
        currency: 'INR',
        available: 1,
        depthLeft: 1,
        nodesLeft: 1,
        fanOut: 1,
        payees: [],
      } as never,
      new AbortController().signal,
    )
    const fault = await plan.catch((error: unknown) => error)
    expect(fault).toBeInstanceOf(Fault)
    expect(String(fault)).not.toContain(SECRET)
    expect(fault).toMatchObject({ code: 'secret_withheld', retryable: false })
  })
})
