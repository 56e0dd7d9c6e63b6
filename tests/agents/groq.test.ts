/** What Groq says, field by field, and what it means. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wireOf } from '../../agents/wire-schema.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import {
  choiceSchema,
  failureOf,
  groq,
  KEY,
  PRICE,
  type Provider,
  requestOf,
  type Said,
  startProvider,
  turnedTime,
} from './provider.ts'

const TEXT = '{"index":0}'
let provider: Provider

beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider.close())

const modelOf = (model: string = groq.model) =>
  groq.create({ model, key: KEY, url: provider.url, price: PRICE, ...turnedTime(LIMITS.modelMs) })

const failing = async (said: Said) => {
  provider.say(said)
  return await failureOf(modelOf())
}
const message = (fields: Record<string, unknown>, finish_reason = 'stop') => ({
  message: { role: 'assistant', ...fields },
  finish_reason,
})

describe('a question to Groq', () => {
  it('is one request with a strict schema, and nothing that a caller did not ask for', async () => {
    provider.say({ body: groq.answer(TEXT) })
    await modelOf().ask(requestOf())
    const [asked] = provider.asked
    expect(asked?.path).toBe('/openai/v1/chat/completions')
    expect(asked?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'user-agent': 'headgate',
    })
    expect(Object.keys(asked?.headers ?? {}).filter((name) => name.startsWith('x-'))).toEqual([])
    expect(asked?.body).toEqual({
      model: 'openai/gpt-oss-120b',
      messages: [
        { role: 'system', content: expect.stringMatching(/^Choose one\.\n/) },
        { role: 'user', content: '{"input":{"secretive":"words of a stranger"},"role":"chooser"}' },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'chooser', strict: true, schema: wireOf(choiceSchema).schema },
      },
      temperature: 0,
      seed: 1,
      max_completion_tokens: LIMITS.modelReservedTokens,
      reasoning_effort: 'low',
      include_reasoning: false,
    })
  })

  it('says nothing of reasoning to a model that has none', async () => {
    provider.say({ body: groq.answer(TEXT, { model: 'llama-3.3-70b-versatile' }) })
    await modelOf('llama-3.3-70b-versatile').ask(requestOf())
    expect(JSON.stringify(provider.asked[0]?.body)).not.toContain('reasoning')
  })
})

describe('an answer of Groq', () => {
  it.each([
    ['length', 'cut'],
    [null, 'cut'],
    ['tool_calls', 'tool_call'],
    ['function_call', 'tool_call'],
    ['content_filter', 'blocked'],
    ['STOP', 'malformed'],
    ['constructor', 'malformed'],
  ])(
    'that ended by %s is %s, however whole it looks, and is paid for',
    async (finish_reason, failure) => {
      const fault = await failing({ body: groq.answer(TEXT, {}, { finish_reason }) })
      expect(fault.failure).toBe(failure)
      expect(fault.usage).toEqual({
        calls: 1,
        inputTokens: 120,
        outputTokens: 100,
        costMicros: 286,
      })
      expect(provider.asked).toHaveLength(1)
    },
  )

  const call = { id: 'call_1', type: 'function', function: { name: 'pay', arguments: '{"amou' } }
  it.each([
    ['a refusal', message({ content: null, refusal: 'I cannot help with that.' }), 'refused'],
    ['a refusal beside an answer', message({ content: TEXT, refusal: 'No.' }), 'refused'],
    ['a call that was cut', message({ content: null, tool_calls: [call] }, 'length'), 'tool_call'],
    ['a call beside an answer', message({ content: TEXT, tool_calls: [call] }), 'tool_call'],
    ['two calls', message({ content: TEXT, tool_calls: [call, call] }, 'tool_calls'), 'tool_call'],
    [
      'a call of the old form',
      message({ content: TEXT, function_call: call.function }),
      'tool_call',
    ],
    [
      'what a tool of Groq did',
      message({ content: TEXT, executed_tools: [{ type: 'search' }] }),
      'tool_call',
    ],
    ['reasoning alone', message({ content: null, reasoning: TEXT }), 'malformed'],
    ['nothing', message({}), 'malformed'],
  ])('that holds %s is none', async (_, choice, failure) => {
    expect(await failing({ body: groq.answer('', {}, choice) })).toMatchObject({ failure })
  })

  it('with empty lists of calls is one', async () => {
    const choice = message({ content: TEXT, tool_calls: [], executed_tools: null, refusal: null })
    provider.say({ body: groq.answer('', {}, choice) })
    expect((await modelOf().ask(requestOf())).value).toEqual({ index: 0 })
  })

  it('of two choices, or of none, is none', async () => {
    const [one] = groq.answer(TEXT).choices
    for (const choices of [[one, one], []]) {
      expect(await failing({ body: groq.answer('', { choices }) })).toMatchObject({
        failure: 'malformed',
      })
    }
  })

  it.each(['openai/gpt-oss-120b-2025', 'gpt-oss-120b', 'openai/gpt-oss-20b'])(
    'by %s is not of the model asked for',
    async (model) => {
      expect(await failing({ body: groq.answer(TEXT, { model }) })).toMatchObject({
        failure: 'other_model',
        model,
      })
    },
  )
})

describe('an error of Groq', () => {
  it.each([
    ['a key', groq.error(401, 'invalid_api_key', 'Invalid API Key'), 'unauthorised'],
    [
      'an unknown model',
      groq.error(404, 'model_not_found', 'The model `x` does not exist'),
      'bad_request',
    ],
    ['a schema', groq.error(400, 'invalid_request', 'invalid JSON schema'), 'bad_request'],
    [
      'a tool that was called',
      groq.error(400, 'tool_use_failed', 'Tool choice is none, but model called a tool'),
      'tool_call',
    ],
    [
      'an answer of another shape',
      groq.error(400, 'json_validate_failed', 'Failed to generate JSON.'),
      'malformed',
    ],
    [
      'a question too long',
      groq.error(
        400,
        'context_length_exceeded',
        'Please reduce the length of the messages or completion.',
      ),
      'too_long',
    ],
    [
      'a question that the account’s minute does not hold',
      groq.error(
        413,
        'rate_limit_exceeded',
        'Request too large for model on tokens per minute (TPM): Limit 8000, Requested 14810',
        'tokens',
      ),
      'too_long',
    ],
    [
      'the day',
      groq.error(
        429,
        'rate_limit_exceeded',
        'Rate limit reached for model on tokens per day (TPD): Limit 200000, Used 199000',
        'tokens',
      ),
      'quota',
    ],
    ['a bill', groq.error(402, 'payment_required', 'x'), 'quota'],
    [
      'the minute',
      groq.error(
        429,
        'rate_limit_exceeded',
        'Rate limit reached on tokens per minute (TPM)',
        'tokens',
      ),
      'rate_limited',
    ],
    ['capacity', groq.error(498, 'capacity_exceeded', 'flex'), 'unavailable'],
    ['a gateway', { status: 502, body: '<html>502</html>' }, 'unavailable'],
    ['a page with 401', { status: 401, body: '<html>portal</html>' }, 'unreachable'],
  ])('about %s is understood', async (_, said, failure) => {
    expect(await failing(said)).toMatchObject({ failure, usage: { calls: 1, costMicros: 0 } })
  })
})
