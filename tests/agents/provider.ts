/** A provider that answers what a test tells it to, over real HTTP, and a clock that a test turns. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import { createGeminiModel } from '../../agents/gemini.ts'
import { createGroqModel } from '../../agents/groq.ts'
import { type Model, ModelFault, type ModelRequest } from '../../runtime/core/agents.ts'
import type { Clock, Timers } from '../../runtime/core/time.ts'

export interface Said {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Text goes as it is. */
  readonly body?: unknown
  /** Whatever else a server can do to a connection. */
  readonly act?: (response: ServerResponse) => void
}

export interface Asked {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export interface Provider {
  readonly url: string
  readonly asked: Asked[]
  /** What it says next, in turn; the last is said again and again. */
  say(...answers: Said[]): void
  close(): Promise<void>
}

export async function startProvider(): Promise<Provider> {
  const asked: Asked[] = []
  let turns: Said[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    asked.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(text) })
    const turn = (turns.length > 1 ? turns.shift() : turns[0]) ?? { status: 599 }
    if (turn.act !== undefined) return turn.act(response)
    const isText = typeof turn.body === 'string'
    response.writeHead(turn.status ?? 200, { 'content-type': 'application/json', ...turn.headers })
    response.end(isText ? turn.body : JSON.stringify(turn.body))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    say(...answers) {
      asked.length = 0
      turns = answers
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Waits end at once and are counted as time; a deadline ends nothing until `expire`. */
export function turnedTime(deadlineMs: number) {
  let nowMs = Date.parse('2026-11-30T12:00:00Z')
  const pauses: number[] = []
  let expire = () => {}
  const clock: Clock = { nowMs: () => nowMs }
  const timers: Timers = {
    after(ms, act) {
      if (ms === deadlineMs) {
        expire = act
        return () => {}
      }
      pauses.push(ms)
      nowMs += ms
      act()
      return () => {}
    },
  }
  return { clock, timers, pauses, expire: () => expire() }
}

export const KEY = 'key-of-a-test-0123456789'
export const PRICE = { inputMicros: 300_000, outputMicros: 2_500_000 }

export const choiceSchema = z.strictObject({
  index: z.union([z.number().int().min(0), z.literal('none')]),
})
export type Chosen = z.infer<typeof choiceSchema>

export const requestOf = (changes: Partial<ModelRequest<Chosen>> = {}): ModelRequest<Chosen> => ({
  role: 'chooser',
  instructions: 'Choose one.',
  input: { secretive: 'words of a stranger' },
  schema: choiceSchema,
  signal: new AbortController().signal,
  ...changes,
})

/** The failure that a question ends in; an answer fails the test. */
export async function failureOf(model: Model, request = requestOf()): Promise<ModelFault> {
  const caught = await model.ask(request).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(caught instanceof ModelFault)) throw new Error('expected a ModelFault', { cause: caught })
  return caught
}

const USED = {
  promptTokenCount: 120,
  candidatesTokenCount: 30,
  thoughtsTokenCount: 70,
  totalTokenCount: 220,
}

/** As Gemini writes it. */
export const gemini = {
  name: 'gemini',
  model: 'gemini-3.5-flash-lite',
  other: 'gemini-2.5-flash',
  create: createGeminiModel,
  answer: (
    text: string,
    changes: Record<string, unknown> = {},
    candidate: Record<string, unknown> = {},
  ) => ({
    candidates: [
      {
        content: { parts: [{ text, thoughtSignature: 'c2ln' }], role: 'model' },
        finishReason: 'STOP',
        index: 0,
        avgLogprobs: -0.013,
        ...candidate,
      },
    ],
    usageMetadata: USED,
    modelVersion: 'gemini-3.5-flash-lite',
    responseId: 'tTCwacuEBMvnitYP06qsgQY',
    ...changes,
  }),
  error: (code: number, status: string, message: string, details: unknown[] = []) => ({
    status: code,
    body: { error: { code, message, status, details } },
  }),
} as const

/** As Groq writes it. */
export const groq = {
  name: 'groq',
  model: 'openai/gpt-oss-120b',
  other: 'openai/gpt-oss-20b',
  create: createGroqModel,
  answer: (
    text: string,
    changes: Record<string, unknown> = {},
    choice: Record<string, unknown> = {},
  ) => ({
    id: 'chatcmpl-5b0c3a6e',
    object: 'chat.completion',
    created: 1_796_040_000,
    model: 'openai/gpt-oss-120b',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text },
        logprobs: null,
        finish_reason: 'stop',
        ...choice,
      },
    ],
    usage: {
      queue_time: 0.0173,
      prompt_tokens: 120,
      prompt_time: 0.0041,
      completion_tokens: 100,
      completion_time: 0.21,
      total_tokens: 220,
      total_time: 0.2141,
      completion_tokens_details: { reasoning_tokens: 70 },
    },
    usage_breakdown: null,
    system_fingerprint: 'fp_2f4c1a9b7d',
    x_groq: { id: 'req_01kesv2tbve84sxnd0eks0nejr', seed: 1 },
    service_tier: 'on_demand',
    ...changes,
  }),
  error: (status: number, code: string, message: string, type = 'invalid_request_error') => ({
    status,
    body: { error: { message, type, code } },
  }),
} as const
