/**
 * What the stand-ins for providers of models have in common: a server on this machine that speaks one provider's HTTP,
 * refuses what that provider refuses, thinks with the scripted engine and can be scripted to fail as that provider fails.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Brain, type Prompt, promptIn, think, tokensOf } from './models/brain.ts'
import { inForm, type JsonSchema } from './models/form.ts'

const FAULTS = [
  /** The key that is right is refused. */
  'badKey',
  /** The quota of a day is used up. */
  'quota429',
  /** Too many in a minute. */
  'rateLimit429',
  'overloaded503',
  'html502',
  /** 200 without a byte. */
  'empty200',
  /** In the middle of its JSON, for want of tokens. */
  'cut',
  /** The question is stopped for its content; where a provider stops none, the model says no. */
  'safety',
  /** The answer is. */
  'safetyAnswer',
  'refusal',
  'toolCall',
  'twoToolCalls',
  'otherModel',
  'malformedJson',
  'wrongSchema',
  /** The provider itself finds that what the model wrote is not of the schema. */
  'failedGeneration',
  'hang',
  'reset',
  'tooLong',
  /** It thought until it had no tokens left, and said nothing. */
  'reasoningOnly',
  /** Late, and else as it should be. */
  'slow',
] as const
export type ModelStandInFault = (typeof FAULTS)[number]

export interface ModelRule {
  /** Absent: every one. */
  readonly role?: string
  readonly fault: ModelStandInFault
  /** Once, if absent. */
  readonly times?: number
}

export interface ModelAsked {
  /** Empty where the prompt is none of ours. */
  readonly role: string
  readonly model: string
  readonly path: string
  readonly body: unknown
}

export interface ModelStandIn {
  readonly url: string
  readonly key: string
  /** Every variable that a client of it needs. */
  readonly env: Readonly<Record<string, string>>
  readonly models: readonly string[]
  close(): Promise<void>
  script(rule: ModelRule): void
  /** Whatever was scripted and has not happened yet. */
  clearScript(): void
  /** Everything that came in, oldest first. */
  asked(): readonly ModelAsked[]
  /** In the place of the scripted engine; what it answers is fitted to the schema. Undefined puts that back. */
  answerWith(brain: Brain | undefined): void
}

export interface ModelStandInOptions {
  readonly port?: number
  /** What `slow` waits. */
  readonly slowMs?: number
  /** The longest prompt, in tokens; the provider's own if absent. */
  readonly contextTokens?: number
}

export interface Reply {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Instead of JSON. */
  readonly html?: boolean
}

export interface Incoming {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: unknown
}

/** A request that was not refused. */
export interface Question {
  readonly model: string
  readonly system: string
  readonly user: string
  readonly schema?: JsonSchema
  /** The most that may be written. */
  readonly maxTokens?: number
  readonly showsThoughts?: boolean
}

/** What is to be said, and of how many tokens. */
export interface Said {
  readonly id: string
  readonly question: Question
  readonly text: string
  readonly promptTokens: number
  readonly answerTokens: number
  readonly fault: ModelStandInFault | undefined
}

/** One provider's way to speak. */
export interface Provider {
  readonly variable: string
  readonly key: () => string
  readonly models: readonly string[]
  readonly contextTokens: number
  /** Where a model is named even in what is refused. */
  modelOf(incoming: Incoming): string
  /** The question, or why there is none, in the provider's words. */
  read(incoming: Incoming, key: string): Question | Reply
  tooLong(tokens: number, most: number): Reply
  badKey(): Reply
  say(said: Said): Reply
}

const SLOW_MS = 300
const HTML = '<!DOCTYPE html>\n<html lang=en><title>Error 502 (Server Error)!!1</title>\n'

class Script {
  #rules: { readonly rule: ModelRule; left: number }[] = []

  add(rule: ModelRule): void {
    if (!FAULTS.includes(rule.fault)) {
      throw new TypeError(`expected one fault of ${FAULTS.join(', ')}`)
    }
    this.#rules.push({ rule, left: rule.times ?? 1 })
  }

  clear(): void {
    this.#rules = []
  }

  take(role: string): ModelStandInFault | undefined {
    const entry = this.#rules.find(({ rule }) => rule.role === undefined || rule.role === role)
    if (entry === undefined) return undefined
    entry.left -= 1
    if (entry.left <= 0) this.#rules = this.#rules.filter((other) => other !== entry)
    return entry.rule.fault
  }
}

export async function startModelStandIn(
  provider: Provider,
  options: ModelStandInOptions = {},
): Promise<ModelStandIn> {
  const key = provider.key()
  const script = new Script()
  const asked: ModelAsked[] = []
  let brain: Brain = think
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      process.emitWarning(String(error))
      if (!response.headersSent) send(response, { status: 500, body: { error: String(error) } })
    })
  })

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const incoming = await incomingOf(request)
    if (incoming.url.pathname.startsWith('/_control/')) {
      return send(response, control(incoming, { script, asked }))
    }
    const read = provider.read(incoming, key)
    const prompt = 'status' in read ? undefined : promptIn(read.user)
    const { url, body } = incoming
    const role = prompt?.role ?? ''
    asked.push({ role, model: provider.modelOf(incoming), path: url.pathname, body })
    if ('status' in read) return send(response, read)
    await play(read, prompt, { response, fault: script.take(role) })
  }

  const play = async (
    question: Question,
    prompt: Prompt | undefined,
    { response, fault }: { response: ServerResponse; fault: ModelStandInFault | undefined },
  ) => {
    if (fault === 'hang') return
    if (fault === 'reset') return void response.destroy()
    if (fault === 'badKey') return send(response, provider.badKey())
    if (fault === 'html502') return send(response, { status: 502, body: HTML, html: true })
    if (fault === 'empty200') return send(response, { status: 200, body: '', html: true })
    if (fault === 'slow') await sleep(options.slowMs ?? SLOW_MS)
    const { contextTokens: most = provider.contextTokens } = options
    const promptTokens = tokensOf(
      question.system + question.user + JSON.stringify(question.schema ?? ''),
    )
    if (promptTokens > most) return send(response, provider.tooLong(promptTokens, most))
    if (fault === 'tooLong') return send(response, provider.tooLong(most + 1, most))
    const text = await textOf(question, prompt, brain)
    const id = randomBytes(12).toString('base64url')
    const written = tokensOf(text)
    const { maxTokens = written } = question
    const answerTokens = Math.min(written, maxTokens)
    const said = { id, question, text, promptTokens, answerTokens }
    send(response, provider.say({ ...said, fault: written > maxTokens ? 'cut' : fault }))
  }

  await new Promise<void>((resolve) => {
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    key,
    env: { [provider.variable]: key },
    models: provider.models,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
    script: (rule) => script.add(rule),
    clearScript: () => script.clear(),
    asked: () => [...asked],
    answerWith: (other) => {
      brain = other ?? think
    },
  }
}

/** What the model writes: in the schema's form, or in the brain's own where it cannot be put so. */
async function textOf(
  { schema }: Question,
  prompt: Prompt | undefined,
  brain: Brain,
): Promise<string> {
  if (prompt === undefined) return 'What would you like to buy?'
  const value = await brain(prompt)
  return JSON.stringify((schema === undefined ? undefined : inForm(value, schema)) ?? value)
}

function control(
  { url, method, body }: Incoming,
  { script, asked }: { script: Script; asked: readonly ModelAsked[] },
): Reply {
  if (url.pathname === '/_control/asked') return { status: 200, body: asked }
  if (url.pathname !== '/_control/script' || method !== 'POST') return { status: 404, body: {} }
  script.add(body as ModelRule)
  return { status: 200, body: {} }
}

async function incomingOf(request: IncomingMessage): Promise<Incoming> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const url = new URL(request.url ?? '/', 'http://stand-in')
  const headers = request.headers as Incoming['headers']
  return { method: request.method ?? '', url, headers, body: parsed(Buffer.concat(chunks)) }
}

/** Undefined for what is no JSON. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

function send(response: ServerResponse, { status, body, headers = {}, html }: Reply): void {
  const type = html === true ? 'text/html; charset=UTF-8' : 'application/json; charset=UTF-8'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(html === true ? body : JSON.stringify(body))
}

/** What is written, by a fault, in the place of what was thought. */
export const brokenText = (fault: ModelStandInFault | undefined, text: string): string => {
  switch (fault) {
    case 'cut':
      return text.slice(0, Math.ceil(text.length / 2))
    case 'malformedJson':
      return `Here is the JSON:\n${text.slice(0, -1)},`
    case 'wrongSchema':
      return JSON.stringify({ payee: 'acct-of-somebody-else', amount: '999999' })
    default:
      return text
  }
}

const usageOf = (name: string) => `Usage: node tests/support/${name}-stand-in.ts [--port N]

A stand-in for the models of ${name} on 127.0.0.1. Prints one JSON line {"url", "pid", "env", "models"} when it is ready.

  GET /_control/asked    POST /_control/script {role?, fault, times?}
`

/** The stand-in as a program: one line when it is ready, until SIGTERM. */
export async function runModelStandIn(
  name: string,
  start: (options: ModelStandInOptions) => Promise<ModelStandIn>,
): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usageOf(name))
    return
  }
  const standIn = await start({ port: Number(values.port) })
  const stop = () => void standIn.close()
  process.once('SIGTERM', stop).once('SIGINT', stop)
  // Started by a parent with an IPC channel: do not outlive it.
  process.once('disconnect', stop)
  const { url, env, models } = standIn
  process.stdout.write(`${JSON.stringify({ url, pid: process.pid, env, models })}\n`)
}
