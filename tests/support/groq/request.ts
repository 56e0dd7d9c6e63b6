/** What Groq's chat completions take, and what it says to everything else (the error object of OpenAI's interface). */
import { z } from 'zod'
import type { Incoming, Question, Reply } from '../model-stand-in.ts'
import { schemaSchema } from '../models/form.ts'
import { strictProblem } from './schema.ts'

/** With `strict: true`. */
export const STRICT_MODELS = ['openai/gpt-oss-120b', 'openai/gpt-oss-20b'] as const
export const MODELS = [...STRICT_MODELS, 'llama-3.3-70b-versatile', 'qwen/qwen3.6-27b'] as const

const PATH = '/openai/v1/chat/completions'
const MOST_OUTPUT = 65_536

interface ErrorObject {
  readonly message: string
  readonly type?: string
  readonly param?: string
  readonly code?: string
  readonly failed_generation?: string
  readonly schema_path?: string
  readonly schema_path_segments?: readonly string[]
  readonly schema_kind?: string
  readonly schema_code?: string
}

export const refusal = (
  status: number,
  { message, type = 'invalid_request_error', ...more }: ErrorObject,
  headers?: Readonly<Record<string, string>>,
): Reply => ({
  status,
  body: { error: { message, type, ...more } },
  ...(headers === undefined ? {} : { headers }),
})

export const badKey = (): Reply =>
  refusal(401, { message: 'Invalid API Key', code: 'invalid_api_key' })

export const modelOf = ({ body }: Incoming): string => {
  const model = schemaSchema.safeParse(body).data?.model
  return typeof model === 'string' ? model : ''
}

/** Of the SDK's own types. */
const FIELDS = new Set([
  'messages',
  'model',
  'citation_options',
  'compound_custom',
  'disable_tool_validation',
  'documents',
  'exclude_domains',
  'frequency_penalty',
  'function_call',
  'functions',
  'include_domains',
  'include_reasoning',
  'logit_bias',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'metadata',
  'n',
  'parallel_tool_calls',
  'presence_penalty',
  'reasoning_effort',
  'reasoning_format',
  'response_format',
  'search_settings',
  'seed',
  'service_tier',
  'stop',
  'store',
  'stream',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
  'user',
])
const MESSAGE_FIELDS = new Set([
  'role',
  'content',
  'name',
  'reasoning',
  'tool_calls',
  'tool_call_id',
])
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool']

const messageSchema = z.looseObject({ role: z.enum(ROLES), content: z.string() })
const bodySchema = z.looseObject({
  model: z.string(),
  messages: z.array(messageSchema).min(1),
  stream: z.boolean().nullish(),
  n: z.number().nullish(),
  max_completion_tokens: z.number().int().min(1).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  reasoning_effort: z.string().nullish(),
  reasoning_format: z.string().nullish(),
  include_reasoning: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z
        .strictObject({
          name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
          description: z.string().optional(),
          strict: z.boolean().nullish(),
          schema: schemaSchema.optional(),
        })
        .optional(),
    })
    .nullish(),
})
type Body = z.infer<typeof bodySchema>

export function read({ method, url, headers, body }: Incoming, key: string): Question | Reply {
  if (method !== 'POST' || url.pathname !== PATH) {
    const message = `Unknown request URL: ${method} ${url.pathname}. Please check the URL for typos, or see the docs at https://console.groq.com/docs/`
    return refusal(404, { message, code: 'unknown_url' })
  }
  if (headers.authorization !== `Bearer ${key}`) return badKey()
  const wrong = unknownField(body)
  if (wrong !== undefined) return refusal(400, { message: wrong })
  const parsed = bodySchema.safeParse(body)
  if (!parsed.success) return refusal(400, { message: wrongBody(body) })
  return problemOf(parsed.data) ?? questionOf(parsed.data)
}

function unknownField(body: unknown): string | undefined {
  const object = schemaSchema.safeParse(body).data
  if (object === undefined) return 'request body must be a JSON object'
  const name = Object.keys(object).find((field) => !FIELDS.has(field))
  if (name !== undefined) return `property '${name}' is unsupported`
  const messages = z.array(schemaSchema).safeParse(object.messages).data ?? []
  for (const [i, message] of messages.entries()) {
    const odd = Object.keys(message).find((field) => !MESSAGE_FIELDS.has(field))
    if (odd === undefined) continue
    const at = `'messages.${i}'`
    return `${at} : for 'role:${String(message.role)}' the following must be satisfied[(${at} : property '${odd}' is unsupported)]`
  }
  return undefined
}

function wrongBody(body: unknown): string {
  const { messages, model } = schemaSchema.parse(body)
  if (messages === undefined) return "property 'messages' is missing"
  if (Array.isArray(messages) && messages.length === 0) {
    return "'messages' : minimum number of items is 1"
  }
  return model === undefined ? "property 'model' is missing" : 'request body is not of its schema'
}

function problemOf(body: Body): Reply | undefined {
  const { model, stream, n, tools, reasoning_format, include_reasoning } = body
  if (!MODELS.some((known) => known === model)) {
    const message = `The model \`${model}\` does not exist or you do not have access to it.`
    return refusal(404, { message, code: 'model_not_found' })
  }
  if (stream === true) {
    return refusal(400, {
      message: 'this stand-in streams nothing: expected `stream` to be false',
      param: 'stream',
    })
  }
  if ((n ?? 1) !== 1) return refusal(400, { message: "'n' : number must be at most 1" })
  const most = body.max_completion_tokens ?? body.max_tokens ?? 1
  if (most > MOST_OUTPUT) {
    const name = body.max_completion_tokens == null ? 'max_tokens' : 'max_completion_tokens'
    const message = `\`${name}\` must be less than or equal to \`${MOST_OUTPUT}\`, the maximum value for \`${name}\` is less than the \`context_window\` for this model`
    return refusal(400, { message, param: name })
  }
  if (reasoning_format != null && include_reasoning != null) {
    return refusal(400, {
      message: 'cannot specify both `reasoning_format` and `include_reasoning`',
    })
  }
  return effortProblem(body) ?? formatProblem(body, tools != null && tools.length > 0)
}

const EFFORTS = ['low', 'medium', 'high']

function effortProblem({
  model,
  reasoning_effort: effort,
  reasoning_format,
}: Body): Reply | undefined {
  const isGptOss = model.startsWith('openai/')
  if (isGptOss && reasoning_format != null) {
    const message = 'reasoning_format is not supported with this model'
    return refusal(400, { message, param: 'reasoning_format' })
  }
  if (effort == null) return undefined
  const allowed = isGptOss ? EFFORTS : model.startsWith('qwen/') ? ['none', 'default'] : []
  if (allowed.includes(effort)) return undefined
  const message =
    allowed.length === 0
      ? '`reasoning_effort` is not supported with this model'
      : `\`reasoning_effort\` must be one of ${allowed.map((each) => `\`${each}\``).join(', ')}`
  return refusal(400, { message, param: 'reasoning_effort' })
}

function formatProblem(
  { model, response_format: format }: Body,
  hasTools: boolean,
): Reply | undefined {
  if (format?.type !== 'json_schema') return undefined
  const { json_schema: asked } = format
  if (asked?.schema === undefined) {
    return refusal(400, {
      message: "'response_format' : 'json_schema.schema' is missing",
      param: 'response_format',
    })
  }
  if (!STRICT_MODELS.some((known) => known === model)) {
    const message =
      'This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs#supported-models'
    return refusal(400, { message, param: 'response_format' })
  }
  if (hasTools) {
    return refusal(400, { message: 'json mode cannot be combined with tool/function calling' })
  }
  const problem = asked.strict === true ? strictProblem(asked.schema) : undefined
  if (problem === undefined) return undefined
  const place = problem.path.map((part) => `/${part}`).join('')
  const message = `invalid JSON schema for response_format: '${asked.name}': ${place === '' ? '' : `${place}: `}${problem.message}`
  return refusal(400, {
    message,
    param: 'response_format',
    schema_path: place,
    schema_path_segments: ['$', ...problem.path],
    ...(problem.kind === undefined ? {} : { schema_kind: problem.kind }),
    ...(problem.code === undefined ? {} : { schema_code: problem.code }),
  })
}

function questionOf(body: Body): Question {
  const said = (roles: readonly string[]) =>
    body.messages
      .filter(({ role }) => roles.includes(role))
      .map(({ content }) => content)
      .join('\n')
  const schema = body.response_format?.json_schema?.schema
  const maxTokens = body.max_completion_tokens ?? body.max_tokens
  return {
    model: body.model,
    system: said(['system', 'developer']),
    user: said(['user']),
    ...(schema === undefined ? {} : { schema }),
    ...(maxTokens == null ? {} : { maxTokens }),
    showsThoughts: body.include_reasoning !== false,
  }
}
