/**
 * Gemini by Google's own library, as it composes a request; what comes back is read from the bytes of the answer. The library's
 * retries are off, and none of the variables that it reads from the environment is left to decide anything.
 *
 * https://ai.google.dev/api/generate-content
 */
import { z } from 'zod'
import type { Model, ModelFailure } from '../runtime/core/agents.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { isVersionOf } from './ask.ts'
import { type Adapter, type CallOptions, createModel, type Reading, type Refusal } from './calls.ts'

/** Deterministic as far as a model is. */
const SEED = 1

const tokens = z.number().int().min(0).max(1_000_000_000)

/** What is read of an answer; all else that it holds is left alone. */
const answerSchema = z.looseObject({
  candidates: z
    .array(
      z.looseObject({
        content: z
          .looseObject({ parts: z.array(z.record(z.string(), z.unknown())).optional() })
          .optional(),
        finishReason: z.string().optional(),
      }),
    )
    .optional(),
  promptFeedback: z.looseObject({ blockReason: z.string().optional() }).optional(),
  usageMetadata: z.unknown().optional(),
  modelVersion: z.string().optional(),
})
type Answer = z.infer<typeof answerSchema>

const usageSchema = z.looseObject({
  promptTokenCount: tokens,
  candidatesTokenCount: tokens.default(0),
  thoughtsTokenCount: tokens.default(0),
  toolUsePromptTokenCount: tokens.default(0),
  totalTokenCount: tokens.default(0),
})

const errorSchema = z.looseObject({
  error: z.looseObject({
    message: z.string().default(''),
    details: z.array(z.record(z.string(), z.unknown())).default([]),
  }),
})

/** Why it ended, where that is not `STOP`; whatever is not here is not an answer that we know. */
const ENDS: ReadonlyMap<string, ModelFailure> = new Map([
  ['MAX_TOKENS', 'cut'],
  ['CONTINUATION', 'cut'],
  ['FINISH_REASON_UNSPECIFIED', 'cut'],
  ['SAFETY', 'blocked'],
  ['RECITATION', 'blocked'],
  ['LANGUAGE', 'blocked'],
  ['BLOCKLIST', 'blocked'],
  ['PROHIBITED_CONTENT', 'blocked'],
  ['SPII', 'blocked'],
  ['IMAGE_SAFETY', 'blocked'],
  ['IMAGE_PROHIBITED_CONTENT', 'blocked'],
  ['IMAGE_RECITATION', 'blocked'],
  ['MODEL_ARMOR', 'blocked'],
  ['MALFORMED_FUNCTION_CALL', 'tool_call'],
  ['UNEXPECTED_TOOL_CALL', 'tool_call'],
  ['TOO_MANY_TOOL_CALLS', 'tool_call'],
])

/** Parts by which a model does something, or says that something was done. */
const CALLS = new Set([
  ...['functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult'],
  ...['toolCall', 'toolResponse'],
])

const library = () => import('@google/genai')
type Library = Awaited<ReturnType<typeof library>>

/** How far a model thinks and how it picks words: from the third generation on Google fixes the latter. */
function manner(model: string, { ThinkingLevel }: Library) {
  const generation = Number(/^gemini-([0-9]{1,2})/.exec(model)?.[1] ?? 0)
  if (generation >= 3) return { thinkingConfig: { thinkingLevel: ThinkingLevel.LOW } }
  const canThink = model.startsWith('gemini-2.5-')
  const thinkingConfig = { thinkingBudget: LIMITS.modelThoughtTokens }
  return { temperature: 0, ...(canThink ? { thinkingConfig } : {}) }
}

const adapter: Adapter = {
  engine: 'gemini',
  origin: 'https://generativelanguage.googleapis.com',
  mostTokens: LIMITS.modelAnswerTokens,
  load: library,
  auth: (key) => ({ 'x-goog-api-key': key }),
  async put({ model, key, origin }, { prompt, schema }, fetch) {
    const loaded = await library()
    // Every one of these has a variable of the environment that would decide it otherwise.
    const pinned = { vertexai: false, apiVersion: 'v1beta', apiKey: key }
    const client = new loaded.GoogleGenAI({ ...pinned, httpOptions: { baseUrl: origin, fetch } })
    return await client.models.generateContent({
      model,
      contents: [{ role: 'user', parts: [{ text: prompt.user }] }],
      config: {
        systemInstruction: prompt.system,
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
        maxOutputTokens: LIMITS.modelAnswerTokens,
        seed: SEED,
        ...manner(model, loaded),
      },
    })
  },
  read(body) {
    const read = answerSchema.safeParse(body)
    if (!read.success) return undefined
    return { usage: usageIn(read.data), model: read.data.modelVersion, said: said(read.data) }
  },
  refused,
  isSame: isVersionOf,
}

/** Thoughts are paid for as output; where they are not counted by themselves the total has them. */
function usageIn({ usageMetadata }: Answer): Reading['usage'] {
  const read = usageSchema.safeParse(usageMetadata)
  if (!read.success) return undefined
  const { promptTokenCount, toolUsePromptTokenCount, totalTokenCount } = read.data
  const inputTokens = promptTokenCount + toolUsePromptTokenCount
  const written = read.data.candidatesTokenCount + read.data.thoughtsTokenCount
  return { inputTokens, outputTokens: Math.max(written, totalTokenCount - inputTokens) }
}

function said({ candidates = [], promptFeedback }: Answer): Reading['said'] {
  if (promptFeedback?.blockReason !== undefined) return { failure: 'blocked' }
  const [candidate] = candidates
  if (candidate === undefined || candidates.length > 1) return { failure: 'malformed' }
  const parts = candidate.content?.parts ?? []
  if (parts.some((part) => Object.keys(part).some((key) => CALLS.has(key)))) {
    return { failure: 'tool_call' }
  }
  const { finishReason = 'FINISH_REASON_UNSPECIFIED' } = candidate
  if (finishReason !== 'STOP') return { failure: ENDS.get(finishReason) ?? 'malformed' }
  const texts = parts.filter((part) => part.thought !== true).map((part) => part.text)
  const isText = texts.length > 0 && texts.every((text) => typeof text === 'string')
  return isText ? { text: texts.join('') } : { failure: 'malformed' }
}

function refused(status: number, body: unknown): Refusal {
  if (status >= 500 || status === 408 || status === 499) return { failure: 'unavailable' }
  if (status === 413) return { failure: 'too_long' }
  const read = errorSchema.safeParse(body)
  if (status === 429) return read.success ? tooMany(read.data) : { failure: 'rate_limited' }
  if (!read.success || status < 400) return { failure: 'unreachable' }
  if (status === 401 || status === 403) return { failure: 'unauthorised' }
  const { message, details } = read.data.error
  if (details.some(({ reason }) => reason === 'API_KEY_INVALID')) return { failure: 'unauthorised' }
  return { failure: isOfLength(message) ? 'too_long' : 'bad_request' }
}

/** By two plain searches: a pattern that tries every start takes half a minute over half a megabyte. */
function isOfLength(message: string): boolean {
  const text = message.toLowerCase()
  const at = text.indexOf('token count')
  return at >= 0 && text.includes('exceeds', at)
}

const quotaSchema = z.looseObject({ violations: z.array(z.looseObject({ quotaId: z.string() })) })
const retrySchema = z.looseObject({
  retryDelay: z.string().regex(/^[0-9]{1,9}(\.[0-9]{1,9})?s$/),
})

/** Its text speaks of a quota also where a minute is meant; only the quota's own name tells. */
function tooMany({ error }: z.infer<typeof errorSchema>): Refusal {
  const quotas = error.details.flatMap(
    (detail) => quotaSchema.safeParse(detail).data?.violations ?? [],
  )
  const isDay = quotas.some(({ quotaId }) => quotaId.includes('PerDay'))
  const [delay] = error.details.flatMap((detail) => retrySchema.safeParse(detail).data ?? [])
  const waitMs = delay && Math.ceil(Number(delay.retryDelay.slice(0, -1)) * 1000)
  return { failure: isDay ? 'quota' : 'rate_limited', waitMs }
}

/** A model of Gemini behind the `Model` port. */
export const createGeminiModel = (options: CallOptions): Model => createModel(adapter, options)
