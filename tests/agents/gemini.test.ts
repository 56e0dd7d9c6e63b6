/** What Gemini says, field by field, and what it means. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { wireOf } from '../../agents/wire-schema.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import {
  choiceSchema,
  failureOf,
  gemini,
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

const modelOf = (model: string = gemini.model) =>
  gemini.create({ model, key: KEY, url: provider.url, price: PRICE, ...turnedTime(LIMITS.modelMs) })

const failing = async (said: Said) => {
  provider.say(said)
  return await failureOf(modelOf())
}
const sentSchema = z.looseObject({ generationConfig: z.record(z.string(), z.unknown()) })
const parts = (...all: Record<string, unknown>[]) => ({ content: { parts: all, role: 'model' } })

describe('a question to Gemini', () => {
  it('is one request with the system’s words apart, a JSON schema, and nothing that a caller did not ask for', async () => {
    provider.say({ body: gemini.answer(TEXT) })
    await modelOf().ask(requestOf())
    const [asked] = provider.asked
    expect(asked?.path).toBe('/v1beta/models/gemini-3.5-flash-lite:generateContent')
    expect(asked?.headers).toMatchObject({ 'x-goog-api-key': KEY, 'user-agent': 'headgate' })
    expect(
      Object.keys(asked?.headers ?? {}).filter((name) => /goog-api-client|auth/.test(name)),
    ).toEqual([])
    expect(asked?.body).toEqual({
      contents: [
        {
          role: 'user',
          parts: [{ text: '{"input":{"secretive":"words of a stranger"},"role":"chooser"}' }],
        },
      ],
      systemInstruction: {
        role: 'user',
        parts: [{ text: expect.stringMatching(/^Choose one\.\n/) }],
      },
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: wireOf(choiceSchema).schema,
        maxOutputTokens: LIMITS.modelAnswerTokens,
        seed: 1,
        thinkingConfig: { thinkingLevel: 'LOW' },
      },
    })
  })

  it.each([
    ['gemini-2.5-flash', { temperature: 0, thinkingConfig: { thinkingBudget: 2_048 } }],
    ['gemini-2.0-flash', { temperature: 0 }],
    ['gemini-3.8-flash', { thinkingConfig: { thinkingLevel: 'LOW' } }],
  ])('asks %s in the manner that its generation takes', async (model, manner) => {
    provider.say({ body: gemini.answer(TEXT, { modelVersion: model }) })
    await modelOf(model).ask(requestOf())
    const [asked] = provider.asked
    const { temperature, thinkingConfig } = sentSchema.parse(asked?.body).generationConfig
    expect({ temperature, thinkingConfig }).toEqual(manner)
  })
})

describe('an answer of Gemini', () => {
  it('may come in several parts, with thoughts between them that are no part of it', async () => {
    const said = parts(
      { text: 'Hm.', thought: true },
      { text: '{"ind' },
      { text: 'ex":0}', thoughtSignature: 'c2ln' },
    )
    provider.say({ body: gemini.answer('', {}, said) })
    expect((await modelOf().ask(requestOf())).value).toEqual({ index: 0 })
  })

  it.each([
    ['gemini-3.5-flash-lite', true],
    ['gemini-3.5-flash-lite-001', true],
    ['gemini-3.5-flash-lite-1', false],
    ['gemini-3.5-flash-lite-preview-09-2026', false],
    ['gemini-3.5-flash', false],
    ['gemini-3.8-flash', false],
    ['GEMINI-3.5-flash-lite', false],
  ])('by %s is of the model asked for: %s', async (modelVersion, isSame) => {
    provider.say({ body: gemini.answer(TEXT, { modelVersion }) })
    const answered = modelOf().ask(requestOf())
    if (isSame) expect(await answered).toMatchObject({ model: modelVersion })
    else await expect(answered).rejects.toMatchObject({ failure: 'other_model' })
  })

  it('counts as output all that is not the question, thoughts told apart or not', async () => {
    const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 150 }
    provider.say({ body: gemini.answer(TEXT, { usageMetadata }) })
    const { usage } = await modelOf().ask(requestOf())
    expect(usage).toEqual({ inputTokens: 100, outputTokens: 50, costMicros: 155 })
  })

  it.each([
    ['MAX_TOKENS', 'cut'],
    [undefined, 'cut'],
    ['SAFETY', 'blocked'],
    ['RECITATION', 'blocked'],
    ['PROHIBITED_CONTENT', 'blocked'],
    ['SPII', 'blocked'],
    ['MALFORMED_FUNCTION_CALL', 'tool_call'],
    ['UNEXPECTED_TOOL_CALL', 'tool_call'],
    ['OTHER', 'malformed'],
    ['MALFORMED_RESPONSE', 'malformed'],
    ['constructor', 'malformed'],
    ['stop', 'malformed'],
  ])(
    'that ended by %s is %s, however whole it looks, and is paid for',
    async (finishReason, failure) => {
      const fault = await failing({ body: gemini.answer(TEXT, {}, { finishReason }) })
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

  const call = { functionCall: { name: 'pay', args: { amount: 1 } } }
  it.each([
    ['one function call', parts(call), 'tool_call'],
    ['two function calls', parts(call, call), 'tool_call'],
    ['a call behind an answer', parts({ text: TEXT }, call), 'tool_call'],
    ['a call within a thought', parts({ thought: true, ...call }, { text: TEXT }), 'tool_call'],
    ['code that it ran', parts({ executableCode: { code: '1' } }, { text: TEXT }), 'tool_call'],
    ['a picture', parts({ inlineData: { data: '', mimeType: 'image/png' } }), 'malformed'],
    ['thoughts alone', parts({ text: TEXT, thought: true }), 'malformed'],
    ['no part', parts(), 'malformed'],
    ['no content', { content: undefined }, 'malformed'],
  ])('that holds %s is none', async (_, candidate, failure) => {
    expect(await failing({ body: gemini.answer('', {}, candidate) })).toMatchObject({ failure })
  })

  it('of two candidates, or of none, is none', async () => {
    const [one] = gemini.answer(TEXT).candidates
    for (const candidates of [[one, one], [], undefined]) {
      expect(await failing({ body: gemini.answer('', { candidates }) })).toMatchObject({
        failure: 'malformed',
      })
    }
  })

  it('to a question that was blocked is none, even where it comes with a candidate', async () => {
    const promptFeedback = { blockReason: 'PROHIBITED_CONTENT' }
    const bare = {
      promptFeedback,
      usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
      modelVersion: gemini.model,
    }
    const fault = await failing({ body: bare })
    expect(fault).toMatchObject({ failure: 'blocked', model: gemini.model })
    expect(fault.usage).toEqual({ calls: 1, inputTokens: 9, outputTokens: 0, costMicros: 3 })
    expect(await failing({ body: gemini.answer(TEXT, { promptFeedback }) })).toMatchObject({
      failure: 'blocked',
    })
  })
})

describe('an error of Gemini', () => {
  const info = (reason: string) => [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }]
  it.each([
    [
      'API key not valid',
      gemini.error(400, 'INVALID_ARGUMENT', 'API key not valid.', info('API_KEY_INVALID')),
      'unauthorised',
    ],
    ['no permission', gemini.error(403, 'PERMISSION_DENIED', 'no'), 'unauthorised'],
    [
      'a schema it does not take',
      gemini.error(400, 'INVALID_ARGUMENT', 'Unknown name'),
      'bad_request',
    ],
    ['an unknown model', gemini.error(404, 'NOT_FOUND', 'models/x is not found'), 'bad_request'],
    [
      'a question too long',
      gemini.error(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1203934) exceeds the maximum number of tokens allowed (1048576).',
      ),
      'too_long',
    ],
    ['a request too large', { status: 413, body: '<html>413</html>' }, 'too_long'],
    [
      'too little capacity',
      gemini.error(503, 'UNAVAILABLE', 'The model is overloaded.'),
      'unavailable',
    ],
    ['an error of its own', gemini.error(500, 'INTERNAL', 'x'), 'unavailable'],
    ['a page with 403', { status: 403, body: '<html>proxy</html>' }, 'unreachable'],
    ['no content', { status: 204 }, 'unreachable'],
  ])('about %s is understood', async (_, said, failure) => {
    expect(await failing(said)).toMatchObject({ failure, usage: { calls: 1, costMicros: 0 } })
  })

  const quota = (quotaId: string) => ({
    '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
    violations: [{ quotaMetric: 'generate_content_free_tier_requests', quotaId, quotaValue: '20' }],
  })
  const retry = (retryDelay: string) => ({
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay,
  })
  const exhausted = (...details: unknown[]) =>
    gemini.error(
      429,
      'RESOURCE_EXHAUSTED',
      'You exceeded your current quota, please check your plan.',
      details,
    )

  it('about a quota of the day ends at once; about one of the minute it is waited for as it says', async () => {
    const day = exhausted(quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier'), retry('3s'))
    expect(await failing(day)).toMatchObject({ failure: 'quota', retryable: false })
    expect(provider.asked).toHaveLength(1)
    const minute = quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier')
    const time = turnedTime(LIMITS.modelMs)
    provider.say(exhausted(minute, retry('3.25s')), { body: gemini.answer(TEXT) })
    const model = gemini.create({
      model: gemini.model,
      key: KEY,
      url: provider.url,
      price: PRICE,
      ...time,
    })
    await model.ask(requestOf())
    expect(time.pauses).toEqual([3_250])
    expect(await failing(exhausted(minute, retry('34s')))).toMatchObject({
      failure: 'rate_limited',
      retryable: false,
    })
    expect(provider.asked).toHaveLength(1)
  })
})
