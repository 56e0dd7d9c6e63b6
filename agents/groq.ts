/**
 * Groq by its own library, as it composes a request; what comes back is read from the bytes of the answer. The library's retries
 * are off, its log is off (it would write questions out), and none of its variables decides anything.
 *
 * https://console.groq.com/docs/api-reference, https://console.groq.com/docs/errors
 */
import { z } from 'zod'
import type { Model, ModelFailure } from '../runtime/core/agents.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { type Adapter, type CallOptions, createModel, type Reading, type Refusal } from './calls.ts'

/** Deterministic as far as a model is. */
const SEED = 1

const tokens = z.number().int().min(0).max(1_000_000_000)
const calls = z.array(z.unknown()).nullish()

/** What is read of an answer; all else that it holds is left alone. */
const answerSchema = z.looseObject({
  choices: z.array(
    z.looseObject({
      finish_reason: z.string().nullish(),
      message: z.looseObject({
        content: z.string().nullish(),
        refusal: z.string().nullish(),
        tool_calls: calls,
        executed_tools: calls,
        function_call: z.unknown().optional(),
      }),
    }),
  ),
  usage: z.unknown().optional(),
  model: z.string().optional(),
})
type Answer = z.infer<typeof answerSchema>

const usageSchema = z.looseObject({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens.default(0),
})

const errorSchema = z.looseObject({
  error: z.looseObject({
    message: z.string().default(''),
    code: z.string().nullish(),
    type: z.string().nullish(),
  }),
})

/** Why it ended, where that is not `stop`; whatever is not here is not an answer that we know. */
const ENDS: ReadonlyMap<string, ModelFailure> = new Map([
  ['length', 'cut'],
  ['tool_calls', 'tool_call'],
  ['function_call', 'tool_call'],
  ['content_filter', 'blocked'],
])

/** Errors about what a model wrote, and about how much it was asked. */
const CODES: ReadonlyMap<string, ModelFailure> = new Map([
  ['tool_use_failed', 'tool_call'],
  ['json_validate_failed', 'malformed'],
  ['context_length_exceeded', 'too_long'],
  ['request_too_large', 'too_long'],
])

const library = () => import('groq-sdk')

const quiet = () => undefined
const LOGGER = { error: quiet, warn: quiet, info: quiet, debug: quiet }

const adapter: Adapter = {
  engine: 'groq',
  origin: 'https://api.groq.com',
  mostTokens: LIMITS.modelReservedTokens,
  load: library,
  auth: (key) => ({ authorization: `Bearer ${key}` }),
  async put({ model, key, origin }, { role, prompt, schema }, fetch) {
    const { Groq } = await library()
    const client = new Groq({
      apiKey: key,
      baseURL: origin,
      fetch,
      maxRetries: 0,
      // Ours comes first.
      timeout: LIMITS.modelMs * 2,
      logLevel: 'off',
      logger: LOGGER,
    })
    return await client.chat.completions.create({
      model,
      messages: [
        { role: 'system', content: prompt.system },
        { role: 'user', content: prompt.user },
      ],
      response_format: {
        type: 'json_schema',
        json_schema: { name: role, strict: true, schema: { ...schema } },
      },
      temperature: 0,
      seed: SEED,
      max_completion_tokens: LIMITS.modelReservedTokens,
      ...(model.startsWith('openai/gpt-oss-')
        ? { reasoning_effort: 'low', include_reasoning: false }
        : {}),
    })
  },
  read(body) {
    const read = answerSchema.safeParse(body)
    if (!read.success) return undefined
    return { usage: usageIn(read.data), model: read.data.model, said: said(read.data) }
  },
  refused,
  // Its names are of one model each.
  isSame: (asked, answered) => answered === asked,
}

/** Reasoning is counted within what was written. */
function usageIn({ usage }: Answer): Reading['usage'] {
  const read = usageSchema.safeParse(usage)
  if (!read.success) return undefined
  const { prompt_tokens: inputTokens, completion_tokens: written, total_tokens: total } = read.data
  return { inputTokens, outputTokens: Math.max(written, total - inputTokens) }
}

function said({ choices }: Answer): Reading['said'] {
  const [choice] = choices
  if (choice === undefined || choices.length > 1) return { failure: 'malformed' }
  const { content, refusal, tool_calls, executed_tools, function_call } = choice.message
  const isCall = (tool_calls?.length ?? 0) + (executed_tools?.length ?? 0) > 0
  if (isCall || (function_call !== undefined && function_call !== null)) {
    return { failure: 'tool_call' }
  }
  const end = choice.finish_reason ?? 'length'
  if (end !== 'stop') return { failure: ENDS.get(end) ?? 'malformed' }
  if (typeof refusal === 'string') return { failure: 'refused' }
  return typeof content === 'string' ? { text: content } : { failure: 'malformed' }
}

function refused(status: number, body: unknown): Refusal {
  // 498 and 499: its capacity is used up, and it gave the request up.
  if (status >= 498 || status === 408) return { failure: 'unavailable' }
  if (status === 413) return { failure: 'too_long' }
  const read = errorSchema.safeParse(body)
  if (status === 429) return { failure: isDay(read.data) ? 'quota' : 'rate_limited' }
  if (!read.success || status < 400) return { failure: 'unreachable' }
  if (status === 401 || status === 403) return { failure: 'unauthorised' }
  if (status === 402) return { failure: 'quota' }
  const { code, message } = read.data.error
  if (/reduce the length/i.test(message)) return { failure: 'too_long' }
  return { failure: CODES.get(code ?? '') ?? 'bad_request' }
}

/** Its limits of a minute and of a day have the same code; its text names the one that was met. */
const isDay = (body: z.infer<typeof errorSchema> | undefined): boolean =>
  body !== undefined &&
  (/\bper day\b/i.test(body.error.message) || body.error.code === 'insufficient_quota')

/** A model of Groq behind the `Model` port. */
export const createGroqModel = (options: CallOptions): Model => createModel(adapter, options)
