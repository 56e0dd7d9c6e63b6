import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { folderForExchanges } from '../../agents/recorded.ts'
import { recording } from '../../agents/recording.ts'
import { createScriptedModel } from '../../agents/scripted/model.ts'
import { RECORDS } from '../../eval/monitor/records.ts'
import { needsOfModels } from '../../runtime/cli/credentials.ts'
import { openExchanges } from '../../runtime/cli/model-exchanges.ts'
import { startModels } from '../../runtime/cli/world-models.ts'
import { type ConfigFile, parseConfig } from '../../runtime/config.ts'
import type { MonitorFacts } from '../../runtime/core/judges.ts'
import { createAsker } from '../../runtime/gateway/watch.ts'
import {
  type ModelExchanges,
  recordExchanges,
  replayExchanges,
  watchingOf,
} from '../../runtime/models.ts'
import { createSecretGuard } from '../../runtime/secrets/guard.ts'
import { Secret } from '../../runtime/secrets/secret.ts'
import { run } from './io.ts'

const dir = mkdtempSync(join(tmpdir(), 'engine-'))
afterAll(() => rmSync(dir, { recursive: true }))

const CONFIG = {
  organisation: 'acme',
  gateway: { id: 'headgate.acme', url: 'http://127.0.0.1:9' },
  principals: [],
  payees: [],
  merchants: [],
  rail: { name: 'simulated' as const, url: 'http://127.0.0.1:9' },
  listen: { port: 0 },
}
const LOOPBACK = 'http://127.0.0.1:9'
const M = 'a-model'
const RAIL_KEY = 'the-key-of-a-simulated-rail'

const configured = (more: Pick<ConfigFile, 'engine' | 'monitor'>) =>
  parseConfig(JSON.stringify({ ...CONFIG, ...more }))

describe('what models need', () => {
  const places = (more: Pick<ConfigFile, 'engine' | 'monitor'>) =>
    needsOfModels(configured(more)).map(({ host, environment, names }) => [
      ...names,
      host,
      environment,
    ])

  it('is nothing for the scripted engine and no monitor', () => {
    expect(places({})).toEqual([])
  })

  it('is the key of each provider for its own host, and for this machine where a stand-in is named', () => {
    expect(places({ engine: { kind: 'gemini' }, monitor: { kind: 'groq', model: M } })).toEqual([
      ['GEMINI_API_KEY', 'generativelanguage.googleapis.com', 'live'],
      ['GROQ_API_KEY', 'api.groq.com', 'live'],
    ])
    const monitor = { kind: 'gemini' as const, url: LOOPBACK, model: M }
    expect(places({ monitor })).toEqual([['GEMINI_API_KEY', '127.0.0.1', 'loopback']])
  })

  it('is one key for one place: agents and monitor of a provider are both its own, or both stand-ins', () => {
    const engine = { kind: 'groq' as const, url: LOOPBACK, model: 'openai/gpt-oss-20b' }
    const monitor = { kind: 'groq' as const, url: 'http://127.0.0.1:10', model: M }
    expect(places({ engine, monitor })).toHaveLength(1)
    expect(() => places({ engine, monitor: { kind: 'groq', model: M } })).toThrow(
      /`monitor\.url` is wrong/,
    )
  })
})

const variables = (names: Readonly<Record<string, string>>) => ({
  credentials: Object.fromEntries(
    Object.entries(names).map(([name, value]) => [
      name,
      { from: 'file' as const, value: new Secret(value) },
    ]),
  ),
})

describe('serve --engine', () => {
  const serve = (engine: ConfigFile['engine'], ...options: string[]) =>
    serveWith(engine === undefined ? {} : { engine }, ...options)
  const serveWith = (more: Pick<ConfigFile, 'engine' | 'monitor'>, ...options: string[]) => {
    const file = join(dir, 'headgate.json')
    writeFileSync(file, JSON.stringify({ ...CONFIG, ...more }))
    const args = ['serve', '--data', join(dir, 'data'), '--config', file, ...options]
    return run(args, { environment: variables({ HEADGATE_RAIL_KEY: RAIL_KEY }) })
  }

  it('without a key says which is missing for which host, and starts nothing in its place', async () => {
    const ran = await serve(undefined, '--engine', 'gemini')
    expect([ran.code, ran.out]).toEqual([3, ''])
    expect(ran.err).toMatch(
      /expected GEMINI_API_KEY for generativelanguage\.googleapis\.com \(live\)/,
    )
    expect(existsSync(join(dir, 'data'))).toBe(false)
  })

  it('takes the place of another engine, and leaves one of its kind as it is configured', async () => {
    const groq = { kind: 'groq' as const, url: LOOPBACK }
    expect((await serve(groq, '--engine', 'gemini')).err).toMatch(/GEMINI_API_KEY for generative/)
    expect((await serve(groq, '--engine', 'groq')).err).toMatch(
      /GROQ_API_KEY for 127\.0\.0\.1 \(loopback\)/,
    )
  })

  it('is held to what a configuration is: its model is not the monitor’s', async () => {
    const monitor = { kind: 'groq' as const, model: 'openai/gpt-oss-120b' }
    const ran = await serveWith({ monitor }, '--engine', 'groq')
    expect([ran.code, ran.err]).toEqual([3, expect.stringMatching(/`monitor\.model` is wrong/)])
    const other = await serveWith({ monitor }, '--engine', 'gemini')
    expect(other.err).toMatch(/expected GEMINI_API_KEY/)
  })

  it('needs no key for a replay, and a folder that is a recording', async () => {
    const ran = await serve({ kind: 'gemini' }, '--replay', join(dir, 'nowhere'))
    expect([ran.code, ran.err]).toEqual([3, expect.stringMatching(/recording that can be read/)])
  })

  it('records or replays, not both, and knows its engines', async () => {
    expect((await serve(undefined, '--record', 'a', '--replay', 'b')).code).toBe(2)
    expect((await serve(undefined, '--engine', 'oracle')).code).toBe(2)
  })
})

const request = (instructions: string) => ({
  role: 'chooser' as const,
  instructions,
  input: {
    need: { text: 'lamp', quantity: 1, prefer: [] },
    currency: 'INR',
    ceiling: 5,
    candidates: [],
  },
  schema: z.strictObject({ index: z.union([z.number(), z.literal('none')]) }),
  signal: new AbortController().signal,
})

const recorded = async (): Promise<string> => {
  const folder = mkdtempSync(join(dir, 'recorded-'))
  const named = { engine: 'scripted', modelOf: () => 'scripted' }
  const store = folderForExchanges(folder, createSecretGuard())
  await recording(createScriptedModel(), store, named).ask(request('Choose.'))
  return folder
}

describe('exchanges of a gateway', () => {
  const named = { engine: 'scripted', modelOf: () => 'scripted' }
  const never = () => {
    throw new Error('a replay opens no model')
  }

  it('are replayed without opening a model, and end with the exit code of a replay that differs', async () => {
    const replay = await recorded()
    const { exchanges, end } = openExchanges({ replay }, createSecretGuard())
    const model = exchanges?.through(named, never)
    await expect(model?.ask(request('Choose well.'))).rejects.toMatchObject({
      failure: 'unrecorded',
    })
    expect(end).toThrow(
      expect.objectContaining({
        exit: 'replayDiffers',
        message: expect.stringMatching(/the chooser was asked .*: instructions of/),
      }),
    )
  })

  it('have the same canaries when they are recorded and when they are replayed, and others in any other process', async () => {
    const config = configured({ monitor: { kind: 'groq', model: M } })
    const facts = RECORDS[0]?.facts
    if (facts === undefined) throw new Error('no record')
    const toldWith = async (given?: ModelExchanges) => {
      const told: unknown[] = []
      const judge = async (asked: MonitorFacts) => {
        told.push(asked)
        return { kind: 'object' } as const
      }
      const canaries = watchingOf(config, given)?.canaries
      await createAsker({ judge }, { ms: 5_000, canaries }).ask(facts)
      return JSON.stringify(told)
    }
    const folder = mkdtempSync(join(dir, 'canaries-'))
    const record = await toldWith(recordExchanges(folder, createSecretGuard()))
    expect(await toldWith(replayExchanges(await recorded()))).toBe(record)
    expect(await toldWith()).not.toBe(await toldWith())
  })

  it('end well where everything was asked as it was recorded', async () => {
    const { exchanges, end } = openExchanges({ replay: await recorded() }, createSecretGuard())
    expect(exchanges?.engine).toBe('scripted')
    const answer = await exchanges?.through(named, never).ask(request('Choose.'))
    expect(answer?.value).toEqual({ index: 'none' })
    expect(end()).toBeUndefined()
  })
})

describe('models of a play world', () => {
  it('are the provider’s own where its key is given, which a person is told with the model’s name and without the key', async () => {
    const key = 'AIza-a-key-of-somebody'
    const given = variables({ GEMINI_API_KEY: key }).credentials
    const models = await startModels('gemini', dir, given)
    expect(models).toMatchObject({ engine: { kind: 'gemini' }, env: { GEMINI_API_KEY: key } })
    expect(models.engine).not.toHaveProperty('url')
    expect(models.said).toMatch(/gemini-[0-9a-z.-]+ of gemini itself is asked/)
    expect(models.said).not.toContain(key)
    await models.stop()
  })

  it('are a stand-in’s where only another provider’s key is given', async () => {
    const given = variables({ GEMINI_API_KEY: 'AIza-a-key-of-somebody' }).credentials
    const models = await startModels('groq', dir, given)
    try {
      expect(models.engine).toMatchObject({ kind: 'groq', url: expect.stringMatching(/^http:/) })
      expect(Object.keys(models.env)).toEqual(['GROQ_API_KEY'])
      expect(models.said).toMatch(/GROQ_API_KEY is not set: a stand-in for openai\/gpt-oss-120b/)
    } finally {
      await models.stop()
    }
  })

  it('are said to be wrong before anything is started', async () => {
    const full = await recorded()
    const again = await run(['demo', '--record', full])
    expect([again.code, again.err]).toEqual([3, expect.stringMatching(/no exchanges in it yet/)])
    const none = await run(['demo', '--replay', join(dir, 'nowhere')])
    expect([none.code, none.err]).toEqual([3, expect.stringMatching(/recording that can be read/)])
    expect((await run(['demo', '--engine', 'oracle'])).code).toBe(2)
  })
})
