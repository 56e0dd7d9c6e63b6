/** What Gemini's generateContent takes, and what it says to everything else (Google's error model, AIP-193). */
import { z } from 'zod'
import type { Incoming, Question, Reply } from '../model-stand-in.ts'
import { schemaSchema } from '../models/form.ts'
import { schemaProblem } from './schema.ts'

export const MODELS = [
  'gemini-2.5-flash',
  'gemini-2.5-flash-lite',
  'gemini-2.5-pro',
  'gemini-3.5-flash-lite',
  'gemini-3.7-flash',
] as const

const MOST_OUTPUT = 65_536

type Code = 400 | 403 | 404 | 429 | 503
const STATUS = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
} as const

export function refusal(code: Code, message: string, details?: readonly object[]): Reply {
  const error = {
    code,
    message,
    status: STATUS[code],
    ...(details === undefined ? {} : { details }),
  }
  return { status: code, body: { error } }
}

export const badKey = (): Reply =>
  refusal(400, 'API key not valid. Please pass a valid API key.', [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
      metadata: { service: 'generativelanguage.googleapis.com' },
    },
    {
      '@type': 'type.googleapis.com/google.rpc.LocalizedMessage',
      locale: 'en-US',
      message: 'API key not valid. Please pass a valid API key.',
    },
  ])

const NO_KEY =
  "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."

const violation = (description: string, field?: string): Reply =>
  refusal(400, description, [
    {
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ ...(field === undefined ? {} : { field }), description }],
    },
  ])

const PATH = /^\/v1beta\/models\/([^/:]+):([A-Za-z]+)$/

export const modelOf = ({ url }: Incoming): string => PATH.exec(url.pathname)?.[1] ?? ''

interface Fields {
  readonly [name: string]: 1 | Fields
}

/** The fields that there are, by their name in JSON; what lies below is looked at where it is an object of its own. */
const CONTENT: Fields = {
  role: 1,
  parts: { text: 1, thought: 1, thoughtSignature: 1, inlineData: 1 },
}
const FIELDS: Fields = {
  contents: CONTENT,
  systemInstruction: CONTENT,
  tools: 1,
  toolConfig: 1,
  safetySettings: { category: 1, threshold: 1 },
  cachedContent: 1,
  labels: 1,
  serviceTier: 1,
  store: 1,
  generationConfig: {
    stopSequences: 1,
    responseMimeType: 1,
    responseSchema: 1,
    responseJsonSchema: 1,
    responseModalities: 1,
    candidateCount: 1,
    maxOutputTokens: 1,
    temperature: 1,
    topP: 1,
    topK: 1,
    seed: 1,
    presencePenalty: 1,
    frequencyPenalty: 1,
    responseLogprobs: 1,
    logprobs: 1,
    enableEnhancedCivicAnswers: 1,
    speechConfig: 1,
    mediaResolution: 1,
    thinkingConfig: { includeThoughts: 1, thinkingBudget: 1, thinkingLevel: 1 },
  },
}

const snake = (name: string) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)

/** The first name that is none, as Google's own parser names its place. */
function unknownName(value: unknown, fields: Fields, place = ''): Reply | undefined {
  if (Array.isArray(value)) {
    return firstOf(value, (item, i) => unknownName(item, fields, `${place}[${i}]`))
  }
  const object = schemaSchema.safeParse(value).data
  if (object === undefined) return undefined
  return firstOf(Object.entries(object), ([name, inner]) => {
    const known = Object.keys(fields).find((field) => field === name || snake(field) === name)
    const below = known === undefined ? undefined : fields[known]
    if (below === undefined) {
      const at = place === '' ? '' : ` at '${place}'`
      return violation(
        `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`,
        place,
      )
    }
    const deeper = place === '' ? snake(name) : `${place}.${snake(name)}`
    return below === 1 ? undefined : unknownName(inner, below, deeper)
  })
}

function firstOf<T, R>(all: readonly T[], act: (each: T, index: number) => R | undefined) {
  for (const [index, each] of all.entries()) {
    const got = act(each, index)
    if (got !== undefined) return got
  }
  return undefined
}

const partsSchema = z.array(z.looseObject({ text: z.string() })).min(1)
const contentSchema = z.looseObject({ role: z.string().optional(), parts: partsSchema })
const bodySchema = z.looseObject({
  contents: z.array(contentSchema).min(1),
  systemInstruction: z.looseObject({ parts: partsSchema }).optional(),
  tools: z.array(z.unknown()).optional(),
  generationConfig: z
    .looseObject({
      responseMimeType: z.string().optional(),
      responseSchema: z.unknown().optional(),
      responseJsonSchema: z.unknown().optional(),
      maxOutputTokens: z.number().int().optional(),
      candidateCount: z.number().int().optional(),
    })
    .optional(),
})
type Body = z.infer<typeof bodySchema>

export function read(incoming: Incoming, key: string): Question | Reply {
  const { method, url, headers, body } = incoming
  const [, model = '', verb] = PATH.exec(url.pathname) ?? []
  if (method !== 'POST' || model === '') {
    return {
      status: 404,
      body: '<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>',
      html: true,
    }
  }
  const given = headers['x-goog-api-key'] ?? url.searchParams.get('key')
  if (given === null) return refusal(403, NO_KEY)
  if (given !== key) return badKey()
  if (verb !== 'generateContent' || url.searchParams.get('alt') === 'sse') {
    return refusal(
      400,
      'this stand-in streams nothing and counts nothing: expected generateContent',
    )
  }
  const unknown = unknownName(body, FIELDS)
  if (unknown !== undefined) return unknown
  if (!MODELS.some((known) => known === model)) return noModel(model)
  const parsed = bodySchema.safeParse(body)
  if (!parsed.success) return refusal(400, wrongBody(body))
  return problemOf(parsed.data) ?? questionOf(model, parsed.data)
}

export const noModel = (model: string): Reply =>
  refusal(
    404,
    `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ModelService.ListModels to see the list of available models and their supported methods.`,
  )

const wrongBody = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'contents' in body
    ? 'Request contains an invalid argument.'
    : '* GenerateContentRequest.contents: contents is not specified\n'

function problemOf({ contents, tools, generationConfig = {} }: Body): Reply | undefined {
  const { responseMimeType, responseSchema, responseJsonSchema, maxOutputTokens } = generationConfig
  if (contents.some(({ role = 'user' }) => role !== 'user' && role !== 'model')) {
    return refusal(400, 'Please use a valid role: user, model.')
  }
  if (maxOutputTokens !== undefined && (maxOutputTokens < 1 || maxOutputTokens > MOST_OUTPUT)) {
    const range = `1 (inclusive) to ${MOST_OUTPUT + 1} (exclusive)`
    return refusal(
      400,
      `Unable to submit request because it has a maxOutputTokens value of ${maxOutputTokens} but the supported range is from ${range}. Update the value and try again.`,
    )
  }
  if ((generationConfig.candidateCount ?? 1) !== 1) {
    return refusal(400, 'Multiple candidates is not enabled for this model')
  }
  if (responseJsonSchema === undefined) return undefined
  if (responseSchema !== undefined) {
    return refusal(400, 'Only one of response_schema and response_json_schema may be set.')
  }
  if (responseMimeType !== 'application/json') {
    return refusal(
      400,
      'response_json_schema is only supported with response_mime_type application/json',
    )
  }
  if (tools !== undefined && tools.length > 0) {
    return refusal(
      400,
      "Function calling with a response mime type: 'application/json' is unsupported",
    )
  }
  const problem = schemaProblem(responseJsonSchema)
  return problem === undefined ? undefined : refusal(400, problem)
}

function questionOf(
  model: string,
  { contents, systemInstruction, generationConfig }: Body,
): Question {
  const textOf = (parts: readonly { text: string }[]) => parts.map(({ text }) => text).join('')
  const schema = schemaSchema.safeParse(generationConfig?.responseJsonSchema).data
  const maxTokens = generationConfig?.maxOutputTokens
  return {
    model,
    system: textOf(systemInstruction?.parts ?? []),
    user: contents.map(({ parts }) => textOf(parts)).join('\n'),
    ...(schema === undefined ? {} : { schema }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  }
}
