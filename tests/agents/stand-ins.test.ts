import { GoogleGenAI } from '@google/genai'
import Groq from 'groq-sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { choiceSchema } from '../../agents/shapes.ts'
import { canonicalJson } from '../../runtime/core/json.ts'
import { planSchema } from '../../runtime/core/plan.ts'
import { startGeminiStandIn } from '../support/gemini-stand-in.ts'
import { startGroqStandIn } from '../support/groq-stand-in.ts'
import type { ModelStandIn, ModelStandInFault } from '../support/model-stand-in.ts'
import { inForm } from '../support/models/form.ts'

let gemini: ModelStandIn
let groq: ModelStandIn
beforeAll(async () => {
  gemini = await startGeminiStandIn({ slowMs: 20 })
  groq = await startGroqStandIn({ slowMs: 20 })
})
afterAll(async () => {
  await gemini.close()
  await groq.close()
})

const CHOICE = {
  need: { text: 'lamp', quantity: 1, prefer: [] },
  currency: 'INR',
  ceiling: 5_000,
  candidates: [],
}
const user = canonicalJson({ input: CHOICE, role: 'chooser' })

const closed = (properties: object) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const SCHEMA = closed({
  index: { anyOf: [{ type: 'integer' }, { type: 'string', enum: ['none'] }] },
})

const GEMINI_PATH = '/v1beta/models/gemini-2.5-flash:generateContent'
const geminiBody = (more: object = {}, config: object = {}) => ({
  systemInstruction: { parts: [{ text: 'Choose.' }] },
  contents: [{ role: 'user', parts: [{ text: user }] }],
  generationConfig: {
    responseMimeType: 'application/json',
    responseJsonSchema: SCHEMA,
    temperature: 0,
    ...config,
  },
  ...more,
})
const groqBody = (more: object = {}, schema: object = SCHEMA) => ({
  model: 'openai/gpt-oss-120b',
  messages: [
    { role: 'system', content: 'Choose.' },
    { role: 'user', content: user },
  ],
  response_format: { type: 'json_schema', json_schema: { name: 'chooser', strict: true, schema } },
  ...more,
})

interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: what a provider answers is looked at, not used
  readonly json: any
}

async function post(url: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
  const json = isJson ? JSON.parse(text) : undefined
  return { status: answer.status, text, headers: answer.headers, json }
}
const askGemini = (body: unknown, path = GEMINI_PATH, headers: Record<string, string> = {}) =>
  post(gemini.url + path, body, { 'x-goog-api-key': gemini.key, ...headers })
const askGroq = (body: unknown, headers: Record<string, string> = {}) =>
  post(`${groq.url}/openai/v1/chat/completions`, body, {
    authorization: `Bearer ${groq.key}`,
    ...headers,
  })

describe('the stand-in for Gemini', () => {
  it('answers its own SDK with what the scripted engine thinks, in the form of the schema, with usage and ids', async () => {
    const client = new GoogleGenAI({
      apiKey: gemini.key,
      apiVersion: 'v1beta',
      httpOptions: { baseUrl: gemini.url },
    })
    const said = await client.models.generateContent({
      model: 'gemini-2.5-flash',
      contents: user,
      config: { responseMimeType: 'application/json', responseJsonSchema: SCHEMA },
    })
    expect(JSON.parse(said.text ?? '')).toEqual({ index: 'none' })
    expect(said.candidates?.[0]?.finishReason).toBe('STOP')
    expect(said).toMatchObject({ modelVersion: 'gemini-2.5-flash' })
    expect(said.responseId).toMatch(/\S{10}/)
    const usage = said.usageMetadata
    expect(usage?.totalTokenCount).toBe(
      (usage?.promptTokenCount ?? 0) +
        (usage?.candidatesTokenCount ?? 0) +
        (usage?.thoughtsTokenCount ?? 0),
    )
    expect(gemini.asked().at(-1)).toMatchObject({
      role: 'chooser',
      model: 'gemini-2.5-flash',
      path: GEMINI_PATH,
      body: { generationConfig: { responseJsonSchema: SCHEMA } },
    })
  })

  it('refuses a wrong key and none, each in Google’s words', async () => {
    const wrong = await askGemini(geminiBody(), GEMINI_PATH, { 'x-goog-api-key': 'AIzaSyOther' })
    expect(wrong.status).toBe(400)
    expect(wrong.json.error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT' })
    expect(wrong.json.error.details[0].reason).toBe('API_KEY_INVALID')
    const none = await post(gemini.url + GEMINI_PATH, geminiBody(), {})
    expect([none.status, none.json.error.status]).toEqual([403, 'PERMISSION_DENIED'])
  })

  it.each([
    [
      'an unknown model',
      '/v1beta/models/gemini-9:generateContent',
      geminiBody(),
      404,
      /gemini-9 is not found for API version v1beta/,
    ],
    ['an unknown path', '/v2/models/gemini-2.5-flash:generateContent', geminiBody(), 404, /404/],
    [
      'streaming',
      '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
      geminiBody(),
      400,
      /expected generateContent/,
    ],
    [
      'an unknown field',
      GEMINI_PATH,
      geminiBody({ model: 'x' }),
      400,
      /Unknown name \\"model\\": Cannot find field/,
    ],
    [
      'an unknown field of the configuration',
      GEMINI_PATH,
      geminiBody({}, { strict: true }),
      400,
      /Unknown name \\"strict\\" at 'generation_config'/,
    ],
    [
      'an unknown field of a part',
      GEMINI_PATH,
      geminiBody({ contents: [{ parts: [{ txt: '' }] }] }),
      400,
      /at 'contents\[0\]\.parts\[0\]'/,
    ],
    ['no contents', GEMINI_PATH, { generationConfig: {} }, 400, /contents is not specified/],
    [
      'a role of another provider',
      GEMINI_PATH,
      geminiBody({ contents: [{ role: 'system', parts: [{ text: user }] }] }),
      400,
      /valid role: user, model/,
    ],
    [
      'a schema without its media type',
      GEMINI_PATH,
      geminiBody({}, { responseMimeType: 'text/plain' }),
      400,
      /response_mime_type/,
    ],
    ['two schemas', GEMINI_PATH, geminiBody({}, { responseSchema: {} }), 400, /Only one of/],
    [
      'two candidates',
      GEMINI_PATH,
      geminiBody({}, { candidateCount: 2 }),
      400,
      /Multiple candidates/,
    ],
    [
      'more tokens than it writes',
      GEMINI_PATH,
      geminiBody({}, { maxOutputTokens: 70_000 }),
      400,
      /maxOutputTokens value of 70000/,
    ],
    [
      'tools beside a schema',
      GEMINI_PATH,
      geminiBody({ tools: [{}] }),
      400,
      /Function calling with a response mime type/,
    ],
    ['what is no JSON', GEMINI_PATH, '{"contents":', 400, /contents is not specified/],
  ] as const)('refuses %s', async (_what, path, body, status, message) => {
    const { status: got, text } = await askGemini(body, path)
    expect([got, text]).toEqual([status, expect.stringMatching(message)])
  })

  it.each([
    ['const', { const: 'none' }],
    ['$schema', { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }],
    ['a pattern below', closed({ a: { type: 'array', items: { type: 'string', pattern: 'x' } } })],
    ['a length in a variant', { anyOf: [{ type: 'string', minLength: 1 }] }],
    ['something beside $ref', closed({ a: { $ref: '#', type: 'string' } })],
    ['an unknown type', { type: 'money' }],
    ['an enum of objects', { enum: [{}] }],
  ])('refuses a schema with %s', async (_what, schema) => {
    const answer = await askGemini(geminiBody({}, { responseJsonSchema: schema }))
    expect([answer.status, answer.json.error.message]).toEqual([
      400,
      expect.stringMatching(/generation_config\.response_json_schema/),
    ])
  })

  it('refuses a prompt that is longer than its window, and cuts what is longer than was allowed', async () => {
    const small = await startGeminiStandIn({ contextTokens: 10 })
    const key = { 'x-goog-api-key': small.key }
    const long = await post(small.url + GEMINI_PATH, geminiBody(), key)
    await small.close()
    expect([long.status, long.json.error.message]).toEqual([
      400,
      expect.stringMatching(/input token count \(\d+\) exceeds the maximum .* \(10\)/),
    ])
    const cut = await askGemini(geminiBody({}, { maxOutputTokens: 1 }))
    expect(cut.json.candidates[0].finishReason).toBe('MAX_TOKENS')
  })

  const said = (path: string, value: unknown) => ({ path, value })
  it.each([
    ['badKey', 400, said('error.details.0.reason', 'API_KEY_INVALID')],
    [
      'quota429',
      429,
      said(
        'error.details.0.violations.0.quotaId',
        'GenerateRequestsPerDayPerProjectPerModel-FreeTier',
      ),
    ],
    ['rateLimit429', 429, said('error.details.2.retryDelay', '1s')],
    ['overloaded503', 503, said('error.status', 'UNAVAILABLE')],
    ['cut', 200, said('candidates.0.finishReason', 'MAX_TOKENS')],
    ['safety', 200, said('promptFeedback.blockReason', 'SAFETY')],
    ['safetyAnswer', 200, said('candidates.0.finishReason', 'SAFETY')],
    [
      'refusal',
      200,
      said('candidates.0.content.parts.0.text', 'I’m sorry, but I can’t help with that.'),
    ],
    ['toolCall', 200, said('candidates.0.content.parts.0.functionCall.name', 'pay')],
    ['twoToolCalls', 200, said('candidates.0.content.parts.1.functionCall.args.amount', 2)],
    ['otherModel', 200, said('modelVersion', 'gemini-2.5-flash-lite')],
    ['failedGeneration', 200, said('candidates.0.finishReason', 'MALFORMED_FUNCTION_CALL')],
    ['tooLong', 400, said('error.status', 'INVALID_ARGUMENT')],
    ['reasoningOnly', 200, said('candidates.0.content', { role: 'model' })],
    ['slow', 200, said('candidates.0.finishReason', 'STOP')],
  ] as const)('says %s as Gemini does, once', async (fault, status, { path, value }) => {
    gemini.script({ role: 'chooser', fault })
    const answer = await askGemini(geminiBody())
    expect([answer.status, at(answer.json, path)]).toEqual([status, value])
    const next = await askGemini(geminiBody())
    expect(next.json.candidates[0].content.parts[0].text).toBe('{"index":"none"}')
  })
})

/** What stands at a path of names. */
const at = (json: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => {
    return Object.entries(value ?? {}).find(([key]) => key === name)?.[1]
  }, json)

describe('the stand-in for Groq', () => {
  it('answers its own SDK with what the scripted engine thinks, in the form of the schema, with usage and ids', async () => {
    const client = new Groq({ apiKey: groq.key, baseURL: groq.url, maxRetries: 0 })
    const said = await client.chat.completions.create({
      model: 'openai/gpt-oss-20b',
      messages: [{ role: 'user', content: user }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'chooser', strict: true, schema: SCHEMA },
      },
    })
    expect(JSON.parse(said.choices[0]?.message.content ?? '')).toEqual({ index: 'none' })
    expect(said).toMatchObject({ object: 'chat.completion', model: 'openai/gpt-oss-20b' })
    expect(said.choices[0]?.finish_reason).toBe('stop')
    const { usage } = said
    expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
    expect([said.id, said.x_groq?.id]).toEqual([
      expect.stringMatching(/^chatcmpl-/),
      expect.stringMatching(/^req_/),
    ])
    expect(groq.asked().at(-1)).toMatchObject({ role: 'chooser', model: 'openai/gpt-oss-20b' })
    expect(said.choices[0]?.message.reasoning).toMatch(/\S/)
    const hidden = await askGroq(groqBody({ include_reasoning: false }))
    expect(hidden.json.choices[0].message).not.toHaveProperty('reasoning')
  })

  it('refuses a wrong key and none', async () => {
    const wrong = await askGroq(groqBody(), { authorization: 'Bearer gsk_other' })
    expect([wrong.status, wrong.json]).toEqual([
      401,
      {
        error: {
          message: 'Invalid API Key',
          type: 'invalid_request_error',
          code: 'invalid_api_key',
        },
      },
    ])
    expect((await askGroq(groqBody(), { authorization: '' })).status).toBe(401)
  })

  const without = (name: string) => {
    const { [name]: _, ...rest } = groqBody() as Record<string, unknown>
    return rest
  }
  it.each([
    [
      'an unknown model',
      groqBody({ model: 'openai/gpt-9' }),
      404,
      /`openai\/gpt-9` does not exist/,
    ],
    ['an unknown field', groqBody({ top_k: 3 }), 400, /property 'top_k' is unsupported/],
    [
      'an unknown field of a message',
      groqBody({ messages: [{ role: 'user', content: user, id: '1' }] }),
      400,
      /property 'id' is unsupported/,
    ],
    ['no messages', without('messages'), 400, /'messages' is missing/],
    ['an empty list of messages', groqBody({ messages: [] }), 400, /minimum number of items is 1/],
    ['streaming', groqBody({ stream: true }), 400, /`stream` to be false/],
    ['two answers', groqBody({ n: 2 }), 400, /'n' : number must be at most 1/],
    [
      'an effort that there is none of',
      groqBody({ reasoning_effort: 'none' }),
      400,
      /must be one of `low`, `medium`, `high`/,
    ],
    [
      'a format of thoughts of another model',
      groqBody({ reasoning_format: 'hidden' }),
      400,
      /reasoning_format is not supported/,
    ],
    [
      'more tokens than it writes',
      groqBody({ max_completion_tokens: 99_999 }),
      400,
      /must be less than or equal to `65536`/,
    ],
    [
      'a schema of a model without',
      groqBody({ model: 'llama-3.3-70b-versatile' }),
      400,
      /does not support response format `json_schema`/,
    ],
    ['tools beside a schema', groqBody({ tools: [{}] }), 400, /cannot be combined with tool/],
    ['what is no JSON', '{"model":', 400, /must be a JSON object/],
  ] as const)('refuses %s', async (_what, body, status, message) => {
    const { status: got, json } = await askGroq(body)
    expect([got, json.error.message]).toEqual([status, expect.stringMatching(message)])
  })

  const open = { type: 'object', properties: {}, required: [] }
  const variant = (kind: object, more: object) => closed({ kind, ...more })
  const text = { type: 'string' }
  it.each([
    ['a root that is no object', { anyOf: [closed({})] }, /must have type "object"/],
    [
      'an open object',
      closed({ a: open }),
      /\/properties\/a: additionalProperties:false must be set/,
    ],
    [
      'a property that may be absent',
      { ...closed({ a: text, b: text }), required: ['a'] },
      /\/required: .*`required`: b/,
    ],
    [
      'no list of required',
      { ...closed({}), required: undefined },
      /`required` is required to be supplied/,
    ],
    ['oneOf', closed({ a: { oneOf: [text] } }), /oneOf is not supported/],
    ['a length', closed({ a: { ...text, minLength: 1 } }), /minLength is not supported/],
    [
      'a count',
      closed({ a: { type: 'array', items: text, maxItems: 4 } }),
      /maxItems is not supported/,
    ],
    ['a bound', closed({ a: { type: 'integer', minimum: 0 } }), /minimum is not supported/],
    ['an array of anything', closed({ a: { type: 'array' } }), /missing items/],
    ['anything', closed({ a: {} }), /must have a 'type' key/],
    [
      'variants with two ways to tell them apart',
      closed({
        a: { anyOf: ['x', 'y'].map((x) => variant({ const: x }, { other: { enum: [x] } })) },
      }),
      /multiple candidate properties kind, other \[discriminator_multiple_candidates\]/,
    ],
    [
      'variants with the same mark',
      closed({ a: { anyOf: [variant({ const: 'x' }, {}), variant({ const: 'x' }, { b: text })] } }),
      /overlapping discriminator value 'x'/,
    ],
    [
      'variants with no way to tell them apart',
      closed({ a: { anyOf: [closed({ b: text }), closed({ b: text, c: text })] } }),
      /required key 'b' from one variant appears in another's properties/,
    ],
  ])('refuses a strict schema with %s', async (_what, schema, message) => {
    const { status, json } = await askGroq(groqBody({}, schema))
    expect([status, json.error.message]).toEqual([400, expect.stringMatching(message)])
    expect(json.error).toMatchObject({ type: 'invalid_request_error', param: 'response_format' })
  })

  it('takes variants that one mark tells apart', async () => {
    const schema = closed({
      a: { anyOf: [variant({ enum: ['x'] }, {}), variant({ enum: ['y'] }, { b: text })] },
    })
    expect((await askGroq(groqBody({}, schema))).status).toBe(200)
  })

  it('refuses a prompt that is longer than its window, and cuts what is longer than was allowed', async () => {
    const small = await startGroqStandIn({ contextTokens: 10 })
    const url = `${small.url}/openai/v1/chat/completions`
    const long = await post(url, groqBody(), { authorization: `Bearer ${small.key}` })
    await small.close()
    expect([long.status, long.json.error.code]).toEqual([400, 'context_length_exceeded'])
    const cut = await askGroq(groqBody({ max_completion_tokens: 1 }))
    expect(cut.json.choices[0].finish_reason).toBe('length')
  })

  const said = (path: string, value: unknown) => ({ path, value })
  const NO = 'I’m sorry, but I can’t help with that.'
  it.each([
    ['badKey', 401, said('error.code', 'invalid_api_key')],
    ['quota429', 429, said('error.message', expect.stringMatching(/tokens per day \(TPD\)/))],
    [
      'rateLimit429',
      429,
      said('error.message', expect.stringMatching(/tokens per minute \(TPM\)/)),
    ],
    ['overloaded503', 503, said('error.type', 'internal_server_error')],
    ['cut', 200, said('choices.0.finish_reason', 'length')],
    ['safety', 200, said('choices.0.message.content', NO)],
    ['safetyAnswer', 200, said('choices.0.message.content', NO)],
    ['refusal', 200, said('choices.0.message.content', NO)],
    ['toolCall', 200, said('choices.0.finish_reason', 'tool_calls')],
    [
      'twoToolCalls',
      200,
      said('choices.0.message.tool_calls.1.function.arguments', '{"amount":2}'),
    ],
    ['otherModel', 200, said('model', 'openai/gpt-oss-20b')],
    ['failedGeneration', 400, said('error.code', 'json_validate_failed')],
    ['tooLong', 400, said('error.code', 'context_length_exceeded')],
    ['reasoningOnly', 200, said('choices.0.message.content', '')],
    ['slow', 200, said('choices.0.finish_reason', 'stop')],
  ] as const)('says %s as Groq does, once', async (fault, status, { path, value }) => {
    groq.script({ role: 'chooser', fault })
    const answer = await askGroq(groqBody())
    expect([answer.status, at(answer.json, path)]).toEqual([status, value])
    const next = await askGroq(groqBody())
    expect(next.json.choices[0].message.content).toBe('{"index":"none"}')
  })
})

describe.each([
  ['Gemini', () => gemini, () => askGemini(geminiBody())],
  ['Groq', () => groq, () => askGroq(groqBody())],
] as const)('what happens to both, at %s', (_name, standIn, ask) => {
  const textOf = (json: unknown) =>
    String(at(json, 'candidates.0.content.parts.0.text') ?? at(json, 'choices.0.message.content'))

  it('a page of a proxy, nothing at all, words around the JSON, and another shape than asked for', async () => {
    const told: Answer[] = []
    for (const fault of ['html502', 'empty200', 'malformedJson', 'wrongSchema'] as const) {
      standIn().script({ fault })
      told.push(await ask())
    }
    const [page, empty, malformed, wrong] = told
    expect([page?.status, page?.text]).toEqual([502, expect.stringMatching(/^<!DOCTYPE html>/)])
    expect([empty?.status, empty?.text]).toEqual([200, ''])
    expect(() => JSON.parse(textOf(malformed?.json))).toThrow()
    expect(choiceSchema.safeParse(JSON.parse(textOf(wrong?.json))).success).toBe(false)
  })

  it('a connection that is reset, and one on which nothing ever comes', async () => {
    standIn().script({ fault: 'reset' })
    await expect(ask()).rejects.toThrow('fetch failed')
    standIn().script({ fault: 'hang' })
    const before = standIn().asked().length
    const never = ask()
    while (standIn().asked().length === before) await new Promise((done) => setTimeout(done, 5))
    const first = await Promise.race([never, ask().then(() => 'the next was answered')])
    expect(first).toBe('the next was answered')
    never.catch(() => 'ended with the stand-in')
  })

  it('a rule for another role waits for it, and one for several times is used up', async () => {
    const again: ModelStandInFault = 'overloaded503'
    standIn().script({ role: 'planner', fault: again })
    expect((await ask()).status).toBe(200)
    standIn().script({ role: 'chooser', fault: again, times: 2 })
    const statuses = [await ask(), await ask(), await ask()].map(({ status }) => status)
    expect(statuses).toEqual([503, 503, 200])
    expect(() => standIn().script({ fault: 'nonsense' as ModelStandInFault })).toThrow(TypeError)
  })

  it('another brain, until the own one is put back', async () => {
    standIn().answerWith(({ role, input }) => ({ index: role === 'chooser' && input ? 7 : 0 }))
    expect(textOf((await ask()).json)).toBe('{"index":7}')
    standIn().answerWith(undefined)
    expect(textOf((await ask()).json)).toBe('{"index":"none"}')
  })
})

describe('a value in the form of a schema', () => {
  const nullable = (type: string) => ({ type: [type, 'null'] })

  it('is wrapped where the schema wraps, and says null for what it leaves out', () => {
    const parts = closed({
      kind: { enum: ['parts'] },
      parts: {
        type: 'array',
        items: closed({ label: { type: 'string' }, nodes: nullable('integer') }),
      },
    })
    const no = closed({ kind: { const: 'unreadable' }, reason: { type: 'string' } })
    const schema = {
      ...closed({ answer: { anyOf: [{ $ref: '#/$defs/parts' }, no] } }),
      $defs: { parts },
    }
    expect(inForm({ kind: 'parts', parts: [{ label: 'desks' }] }, schema)).toEqual({
      answer: { kind: 'parts', parts: [{ label: 'desks', nodes: null }] },
    })
    expect(inForm({ kind: 'unreadable', reason: 'why' }, schema)).toEqual({
      answer: { kind: 'unreadable', reason: 'why' },
    })
  })

  it('is none where the schema has no place for it', () => {
    expect(inForm({ a: 1, b: 2 }, closed({ a: { type: 'integer' } }))).toBeUndefined()
    expect(inForm({ a: 1.5 }, closed({ a: { type: 'integer' } }))).toBeUndefined()
    expect(inForm({}, closed({ a: { type: 'integer' }, b: { type: 'integer' } }))).toBeUndefined()
  })

  it('keeps what it says of our own schemas', () => {
    const plan = { kind: 'parts', parts: [{ kind: 'branch', label: 'a', task: 'b', ceiling: 5 }] }
    const schema = z.toJSONSchema(planSchema, { io: 'input', unrepresentable: 'any' })
    expect(planSchema.parse(inForm(plan, { ...schema }))).toEqual(plan)
  })
})
