/** What Gemini answers: as it should, and in each way that is no decision. */
import { brokenText, type Reply, type Said } from '../model-stand-in.ts'
import { MODELS, refusal } from './request.ts'

const HELP = {
  '@type': 'type.googleapis.com/google.rpc.Help',
  links: [
    {
      description: 'Learn more about Gemini API quotas',
      url: 'https://ai.google.dev/gemini-api/docs/rate-limits',
    },
  ],
}

function exhausted(model: string, per: 'Day' | 'Minute', seconds: number): Reply {
  const metric = 'generativelanguage.googleapis.com/generate_content_free_tier_requests'
  const quotaValue = per === 'Day' ? '250' : '10'
  const violation = {
    quotaMetric: metric,
    quotaId: `GenerateRequestsPer${per}PerProjectPerModel-FreeTier`,
    quotaDimensions: { location: 'global', model },
    quotaValue,
  }
  const reply = refusal(
    429,
    `You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. \n* Quota exceeded for metric: ${metric}, limit: ${quotaValue}, model: ${model}\nPlease retry in ${seconds}.1s.`,
    [
      { '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [violation] },
      HELP,
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` },
    ],
  )
  return { ...reply, headers: { 'retry-after': String(seconds) } }
}

const RATINGS = [
  'HARM_CATEGORY_DANGEROUS_CONTENT',
  'HARM_CATEGORY_HARASSMENT',
  'HARM_CATEGORY_HATE_SPEECH',
  'HARM_CATEGORY_SEXUALLY_EXPLICIT',
].map((category, i) => ({
  category,
  probability: i === 0 ? 'HIGH' : 'NEGLIGIBLE',
  ...(i === 0 ? { blocked: true } : {}),
}))

const THOUGHT_TOKENS = 64

export function say(said: Said): Reply {
  const { question, fault } = said
  switch (fault) {
    case 'quota429':
      return exhausted(question.model, 'Day', 37)
    case 'rateLimit429':
      return exhausted(question.model, 'Minute', 1)
    case 'overloaded503':
      return refusal(503, 'The model is overloaded. Please try again later.')
    case 'safety':
      return blocked(said)
    default:
      return answered(said)
  }
}

/** Nothing was written. */
function blocked({ id, question, promptTokens }: Said): Reply {
  const body = {
    promptFeedback: { blockReason: 'SAFETY', safetyRatings: RATINGS },
    usageMetadata: { promptTokenCount: promptTokens, totalTokenCount: promptTokens },
    modelVersion: question.model,
    responseId: id,
  }
  return { status: 200, body }
}

interface Candidate {
  readonly parts?: readonly object[]
  readonly finishReason: string
  readonly more?: object
}

const call = (amount: number) => ({ functionCall: { name: 'pay', args: { amount } } })

function candidateOf({ fault, text }: Said): Candidate {
  switch (fault) {
    case 'cut':
      return { parts: [{ text: brokenText(fault, text) }], finishReason: 'MAX_TOKENS' }
    case 'reasoningOnly':
      return { finishReason: 'MAX_TOKENS' }
    case 'safetyAnswer':
      return { finishReason: 'SAFETY', more: { safetyRatings: RATINGS } }
    case 'failedGeneration':
      return {
        finishReason: 'MALFORMED_FUNCTION_CALL',
        more: { finishMessage: 'Malformed function call: print(default_api.pay(' },
      }
    case 'toolCall':
      return { parts: [call(1)], finishReason: 'STOP' }
    case 'twoToolCalls':
      return { parts: [call(1), call(2)], finishReason: 'STOP' }
    case 'refusal':
      return { parts: [{ text: 'I’m sorry, but I can’t help with that.' }], finishReason: 'STOP' }
    default:
      return { parts: [{ text: brokenText(fault, text) }], finishReason: 'STOP' }
  }
}

function answered(said: Said): Reply {
  const { id, question, fault, promptTokens, answerTokens } = said
  const { parts, finishReason, more } = candidateOf(said)
  const other = MODELS.find((model) => model !== question.model)
  const written = parts === undefined ? 0 : answerTokens
  const body = {
    candidates: [
      {
        content: { ...(parts === undefined ? {} : { parts }), role: 'model' },
        finishReason,
        index: 0,
        ...more,
      },
    ],
    usageMetadata: {
      promptTokenCount: promptTokens,
      ...(written === 0 ? {} : { candidatesTokenCount: written }),
      totalTokenCount: promptTokens + written + THOUGHT_TOKENS,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: promptTokens }],
      thoughtsTokenCount: THOUGHT_TOKENS,
    },
    modelVersion: fault === 'otherModel' ? other : question.model,
    responseId: id,
  }
  return { status: 200, body }
}
