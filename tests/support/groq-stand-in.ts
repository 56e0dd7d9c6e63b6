/**
 * A stand-in for Groq: `POST /openai/v1/chat/completions` on this machine, with the scripted engine behind it. Also a
 * program: it prints one JSON line when it is ready, and ends on SIGTERM.
 */
import { randomBytes } from 'node:crypto'
import { say } from './groq/answer.ts'
import { badKey, MODELS, modelOf, read, refusal } from './groq/request.ts'
import {
  type ModelStandIn,
  type ModelStandInOptions,
  type Provider,
  runModelStandIn,
  startModelStandIn,
} from './model-stand-in.ts'

const GROQ: Provider = {
  variable: 'GROQ_API_KEY',
  key: () => `gsk_${randomBytes(39).toString('hex').slice(0, 52)}`,
  models: MODELS,
  contextTokens: 131_072,
  modelOf,
  read,
  badKey,
  tooLong: () =>
    refusal(400, {
      message: 'Please reduce the length of the messages or completion.',
      param: 'messages',
      code: 'context_length_exceeded',
    }),
  say,
}

export const startGroqStandIn = (options: ModelStandInOptions = {}): Promise<ModelStandIn> =>
  startModelStandIn(GROQ, options)

if (import.meta.main) await runModelStandIn('groq', startGroqStandIn)
