/** Which model answers for whom, what is refused at the start, and that the environment decides nothing. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Carried } from '../../agents/carry.ts'
import { type EngineDeps, type EngineOptions, openEngine, openModel } from '../../agents/open.ts'
import { priceOf, usageOf } from '../../agents/prices.ts'
import { engineSchema } from '../../runtime/config-models.ts'
import { Fault } from '../../runtime/core/errors.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import {
  gemini,
  groq,
  KEY,
  type Provider,
  requestOf,
  startProvider,
  turnedTime,
} from './provider.ts'

const { clock, timers } = turnedTime(LIMITS.modelMs)

describe.each([gemini, groq])('an engine of $name', (of) => {
  const engine = (options: Partial<Exclude<EngineOptions, { kind: 'scripted' }>> = {}) =>
    ({ kind: of.name, model: of.model, ...options }) as const
  const deps = (changes: Partial<EngineDeps> = {}): EngineDeps => ({
    key: () => KEY,
    clock,
    timers,
    ...changes,
  })
  const refusal = (options: Parameters<typeof engine>[0], changes?: Partial<EngineDeps>) => {
    try {
      openEngine(engine(options), deps(changes))
    } catch (error) {
      if (error instanceof Fault) return error
    }
    throw new Error('expected a Fault')
  }

  it('is refused without its key, by the name of the credential', () => {
    const asked: string[] = []
    const key = (provider: string) => {
      asked.push(provider)
      return undefined
    }
    const fault = refusal({}, { key })
    expect(fault).toMatchObject({ code: 'config_invalid', retryable: false })
    expect(fault.message).toContain(`${of.name.toUpperCase()}_API_KEY`)
    expect(asked).toEqual([of.name])
  })

  it.each(['', 'two words', 'line\nbreak', 'schlüssel'])('is refused with %j for a key', (key) => {
    expect(refusal({}, { key: () => key }).code).toBe('config_invalid')
  })

  it('is refused with a model whose price nobody knows, for any role', () => {
    expect(refusal({ model: 'of-tomorrow' }).message).toContain(
      '"prices" beside the model, {"of-tomorrow": {"inputMicros": …, "outputMicros": …}}',
    )
    expect(refusal({ roles: { looker: 'of-tomorrow' } }).message).toContain('price')
    const prices = { 'of-tomorrow': { inputMicros: 1, outputMicros: 1 } }
    expect(openEngine(engine({ roles: { looker: 'of-tomorrow' }, prices }), deps()).engine).toBe(
      of.name,
    )
  })

  it('is refused with a name that moves to another model', () => {
    const model = `${of.model}-latest`
    const prices = { [model]: { inputMicros: 1, outputMicros: 1 } }
    expect(refusal({ model, prices }).message).toContain('latest')
  })

  it.each([
    'https://example.com',
    'http://10.0.0.1:80',
    'http://127.0.0.1:80/path',
    'http://u@127.0.0.1:80',
  ])('is refused with the address %s, which is not of this machine', (url) => {
    expect(refusal({ url }).message).toContain('stand-in')
  })

  it('asks the model of the role, and its own where the role has none', async () => {
    const asked: string[] = []
    const prices = Object.fromEntries(
      ['of-planner', 'of-chooser'].map((name) => [name, { inputMicros: 1, outputMicros: 1 }]),
    )
    const model = openEngine(
      engine({ roles: { planner: 'of-planner', chooser: 'of-chooser' }, prices }),
      deps({
        carry: async ({ url, body }): Promise<Carried> => {
          asked.push(url.pathname + body)
          return { kind: 'none', failure: 'cut' }
        },
      }),
    )
    for (const role of ['planner', 'looker', 'chooser', 'monitor'] as const) {
      await expect(model.ask(requestOf({ role }))).rejects.toMatchObject({ failure: 'cut' })
    }
    const named = ['of-planner', of.model, 'of-chooser', of.model]
    expect(asked).toHaveLength(named.length)
    for (const [index, name] of named.entries()) expect(asked[index]).toContain(name)
  })

  it('goes to the provider itself where no stand-in is named, with the key in its header', async () => {
    const seen: string[] = []
    const model = openModel(
      engine(),
      deps({
        carry: async ({ url, headers }): Promise<Carried> => {
          seen.push(url.origin, JSON.stringify(headers))
          return { kind: 'none', failure: 'cut' }
        },
      }),
    )
    await expect(model.ask(requestOf())).rejects.toMatchObject({ failure: 'cut' })
    const hosts = {
      gemini: 'https://generativelanguage.googleapis.com',
      groq: 'https://api.groq.com',
    }
    expect(seen[0]).toBe(hosts[of.name])
    expect(seen[1]).toContain(KEY)
  })

  it('has a price for the model of a configuration that names none', () => {
    const configured = engineSchema.parse({ kind: of.name })
    if (configured.kind === 'scripted') throw new Error('expected a provider')
    expect(priceOf(of.name, configured.model)).toBeDefined()
  })
})

describe('the scripted engine', () => {
  it('needs no key', () => {
    const key = () => {
      throw new Error('nobody asks')
    }
    expect(openEngine({ kind: 'scripted' }, { key, clock }).engine).toBe('scripted')
  })
})

describe('a cost', () => {
  it('is price times tokens, rounded up, exact where floats are not', () => {
    const price = { inputMicros: 1, outputMicros: 2_500_000 }
    expect(usageOf(price, 1, 0).costMicros).toBe(1)
    expect(usageOf(price, 0, 2).costMicros).toBe(5)
    expect(usageOf(price, 1, 2).costMicros).toBe(6)
    expect(usageOf(price, 0, 0).costMicros).toBe(0)
    const dear = { inputMicros: 1_000_000_000_001, outputMicros: 0 }
    expect(usageOf(dear, 999_999_937, 0).costMicros).toBe(999_999_937_001_000)
  })

  it('is by the configured price before ours, and never by a name that only looks like one', () => {
    const own = { inputMicros: 7, outputMicros: 9 }
    expect(priceOf('gemini', gemini.model, { [gemini.model]: own })).toBe(own)
    expect(priceOf('gemini', 'constructor')).toBeUndefined()
    expect(priceOf('groq', gemini.model)).toBeUndefined()
  })
})

/** Whatever the providers' libraries and Node read; each would lead a question elsewhere, or write it out. */
const hostile = (elsewhere: string) => ({
  GOOGLE_API_KEY: 'other-key',
  GEMINI_API_KEY: 'other-key',
  GROQ_API_KEY: 'other-key',
  GOOGLE_GENAI_USE_VERTEXAI: 'true',
  GOOGLE_GENAI_USE_ENTERPRISE: 'true',
  GOOGLE_CLOUD_PROJECT: 'other-project',
  GOOGLE_CLOUD_LOCATION: 'global',
  GOOGLE_GENAI_API_VERSION: 'v1alpha',
  GOOGLE_GEMINI_BASE_URL: elsewhere,
  GOOGLE_VERTEX_BASE_URL: elsewhere,
  GROQ_BASE_URL: elsewhere,
  GROQ_CUSTOM_HEADERS: 'Authorization: Bearer other-key\nX-Other: 1',
  GROQ_LOG: 'debug',
  HTTP_PROXY: elsewhere,
  HTTPS_PROXY: elsewhere,
  http_proxy: elsewhere,
  ALL_PROXY: elsewhere,
  NO_PROXY: '',
  NODE_USE_ENV_PROXY: '1',
})

const CHILD = `
const { openModel } = await import('./agents/open.ts')
const { choiceSchema } = await import('./agents/shapes.ts')
const [kind, model, url, key] = process.argv.slice(1)
const clock = { nowMs: () => 0 }
const signal = new AbortController().signal
const request = { role: 'chooser', instructions: 'Choose.', input: {}, schema: choiceSchema, signal }
const answer = await openModel({ kind, model, url }, { key: () => key, clock }).ask(request)
process.stdout.write(JSON.stringify(answer.value))
`

describe('the environment', () => {
  let provider: Provider
  let elsewhere: Provider
  beforeAll(async () => {
    provider = await startProvider()
    elsewhere = await startProvider()
  })
  afterAll(() => Promise.all([provider.close(), elsewhere.close()]))

  it.each([gemini, groq])('of a process changes nothing of a question to $name', async (of) => {
    provider.say({ body: of.answer('{"index":1}') })
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', CHILD]
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...flags, of.name, of.model, provider.url, KEY],
      {
        cwd: join(import.meta.dirname, '../..'),
        env: { PATH: process.env.PATH, ...hostile(elsewhere.url) },
      },
    )
    expect(stdout).toBe('{"index":1}')
    expect(elsewhere.asked).toEqual([])
    expect(provider.asked).toHaveLength(1)
    const [asked] = provider.asked
    const all = JSON.stringify(asked)
    expect(all).toContain(KEY)
    expect(all).not.toMatch(/other-|v1alpha|publishers/)
    expect(Object.keys(asked?.headers ?? {}).filter((name) => name.startsWith('x-'))).toEqual(
      of.name === 'gemini' ? ['x-goog-api-key'] : [],
    )
  })
})
