/**
 * Exchanges with the providers as files: what we ask, to the last field, what they say, and what that comes to. A change of
 * a prompt's frame, of a schema's form or of a request's options shows here.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { monitorVerdictSchema } from '../../agents/monitor-shapes.ts'
import { openModel } from '../../agents/open.ts'
import { actionsSchema, choiceSchema } from '../../agents/shapes.ts'
import { ModelFault } from '../../runtime/core/agents.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { planSchema } from '../../runtime/core/plan.ts'
import { KEY, type Provider, startProvider, turnedTime } from './provider.ts'

const FOLDER = join(import.meta.dirname, 'exchanges')
const SCHEMAS = {
  plan: planSchema,
  actions: actionsSchema,
  choice: choiceSchema,
  verdict: monitorVerdictSchema,
}

const exchangeSchema = z.strictObject({
  engine: z.enum(['gemini', 'groq']),
  model: z.string(),
  asked: z.strictObject({
    role: z.enum(['planner', 'looker', 'chooser', 'monitor']),
    instructions: z.string(),
    input: z.unknown(),
    schema: z.enum(['plan', 'actions', 'choice', 'verdict']),
  }),
  request: z.strictObject({ path: z.string(), body: z.unknown() }),
  response: z.strictObject({
    status: z.number().int(),
    headers: z.record(z.string(), z.string()),
    body: z.unknown(),
  }),
  comesTo: z.unknown(),
})

describe('an exchange that was kept', () => {
  let provider: Provider
  beforeAll(async () => {
    provider = await startProvider()
  })
  afterAll(() => provider.close())

  it.each(readdirSync(FOLDER))('is asked and read as in %s', async (name) => {
    const kept: unknown = JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))
    const { engine, model, asked, request, response, comesTo } = exchangeSchema.parse(kept)
    provider.say(response)
    const { clock, timers } = turnedTime(LIMITS.modelMs)
    const opened = openModel(
      { kind: engine, model, url: provider.url },
      { key: () => KEY, clock, timers },
    )
    const { signal } = new AbortController()
    const schema: z.ZodType = SCHEMAS[asked.schema]
    const came = await opened.ask({ ...asked, schema, signal }).catch((error: unknown) => {
      if (!(error instanceof ModelFault)) throw error
      const { failure, usage, model: named = null, retryable } = error
      return { failure, usage, model: named, retryable }
    })
    const sent = provider.asked.map(({ path, body }) => ({ path, body }))
    expect({ request: sent[0], comesTo: came, times: sent.length }).toEqual({
      request,
      comesTo,
      times: 1,
    })
  })
})
