/**
 * A stand-in for Google's Gemini API: `POST /v1beta/models/{model}:generateContent` on this machine, with the scripted
 * engine behind it. Also a program: it prints one JSON line when it is ready, and ends on SIGTERM.
 */
import { randomBytes } from 'node:crypto'
import { say } from './gemini/answer.ts'
import { badKey, MODELS, modelOf, read, refusal } from './gemini/request.ts'
import {
  type ModelStandIn,
  type ModelStandInOptions,
  type Provider,
  runModelStandIn,
  startModelStandIn,
} from './model-stand-in.ts'

const GEMINI: Provider = {
  variable: 'GEMINI_API_KEY',
  key: () => `AIzaSy${randomBytes(24).toString('base64url')}x`,
  models: MODELS,
  contextTokens: 1_048_576,
  modelOf,
  read,
  badKey,
  tooLong: (tokens, most) =>
    refusal(
      400,
      `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${most}).`,
    ),
  say,
}

export const startGeminiStandIn = (options: ModelStandInOptions = {}): Promise<ModelStandIn> =>
  startModelStandIn(GEMINI, options)

if (import.meta.main) await runModelStandIn('gemini', startGeminiStandIn)
