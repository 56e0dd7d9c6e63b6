/** What Groq answers: as it should, and in each way that is no decision. */
import { randomBytes } from 'node:crypto'
import { brokenText, type Reply, type Said } from '../model-stand-in.ts'
import { refusal, STRICT_MODELS } from './request.ts'

const ORGANISATION = 'org_01standin0000000000000000'

function limited(said: Said, per: 'day' | 'minute'): Reply {
  const { question, promptTokens } = said
  const [short, limit, seconds, wait] =
    per === 'day' ? ['TPD', 200_000, 1_439, '23m58.56s'] : ['TPM', 8_000, 1, '770ms']
  const message = `Rate limit reached for model \`${question.model}\` in organization \`${ORGANISATION}\` service tier \`on_demand\` on tokens per ${per} (${short}): Limit ${limit}, Used ${limit - 10}, Requested ${promptTokens}. Please try again in ${wait}. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing`
  const headers = {
    'retry-after': String(seconds),
    'x-ratelimit-limit-tokens': String(limit),
    'x-ratelimit-remaining-tokens': '10',
    'x-ratelimit-reset-tokens': String(wait),
  }
  return refusal(429, { message, type: 'tokens', code: 'rate_limit_exceeded' }, headers)
}

const FAILED = {
  message:
    "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
  code: 'json_validate_failed',
}

export function say(said: Said): Reply {
  switch (said.fault) {
    case 'quota429':
      return limited(said, 'day')
    case 'rateLimit429':
      return limited(said, 'minute')
    case 'overloaded503': {
      const message = `${said.question.model} is currently over capacity. Please try again and back off exponentially. Visit https://groqstatus.com to see if there are any active incidents.`
      return refusal(503, { message, type: 'internal_server_error' })
    }
    case 'failedGeneration':
      return refusal(400, { ...FAILED, failed_generation: said.text.slice(0, -1) })
    default:
      return answered(said)
  }
}

const NO = 'I’m sorry, but I can’t help with that.'
const THOUGHT = 'The input lists what is wanted; the answer follows from it.'
const THOUGHT_TOKENS = 24

interface Choice {
  readonly message: object
  readonly finish: 'stop' | 'length' | 'tool_calls'
}

const call = (amount: number) => ({
  id: `call_${randomBytes(9).toString('base64url')}`,
  type: 'function',
  function: { name: 'pay', arguments: JSON.stringify({ amount }) },
})

function choiceOf({ fault, text, question }: Said): Choice {
  const thought = question.showsThoughts === true ? { reasoning: THOUGHT } : {}
  switch (fault) {
    case 'cut':
      return { message: { content: brokenText(fault, text), ...thought }, finish: 'length' }
    case 'reasoningOnly':
      return { message: { content: '', ...thought }, finish: 'length' }
    case 'toolCall':
      return { message: { tool_calls: [call(1)], ...thought }, finish: 'tool_calls' }
    case 'twoToolCalls':
      return { message: { tool_calls: [call(1), call(2)], ...thought }, finish: 'tool_calls' }
    // Groq itself stops nothing for its content; the model says no.
    case 'refusal':
    case 'safety':
    case 'safetyAnswer':
      return { message: { content: NO, ...thought }, finish: 'stop' }
    default:
      return { message: { content: brokenText(fault, text), ...thought }, finish: 'stop' }
  }
}

function answered(said: Said): Reply {
  const { id, question, fault, promptTokens, answerTokens } = said
  const { message, finish } = choiceOf(said)
  const other = STRICT_MODELS.find((model) => model !== question.model)
  const completion = answerTokens + THOUGHT_TOKENS
  const body = {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model: fault === 'otherModel' ? other : question.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...message },
        logprobs: null,
        finish_reason: finish,
      },
    ],
    usage: {
      queue_time: 0.01,
      prompt_tokens: promptTokens,
      prompt_time: 0.001,
      completion_tokens: completion,
      completion_time: 0.002,
      total_tokens: promptTokens + completion,
      total_time: 0.003,
      completion_tokens_details: { reasoning_tokens: THOUGHT_TOKENS },
    },
    usage_breakdown: null,
    system_fingerprint: 'fp_stand_in',
    x_groq: { id: `req_${id}` },
    service_tier: 'on_demand',
  }
  return { status: 200, body, headers: { 'x-request-id': `req_${id}` } }
}
