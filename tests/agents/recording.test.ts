import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { exchangesIn, folderForExchanges } from '../../agents/recorded.ts'
import { type ModelExchange, type Named, recording, replaying } from '../../agents/recording.ts'
import { type Model, ModelFault, type ModelRequest } from '../../runtime/core/agents.ts'
import { createSecretGuard } from '../../runtime/secrets/guard.ts'
import { Secret } from '../../runtime/secrets/secret.ts'

const root = mkdtempSync(join(tmpdir(), 'exchanges-'))
afterAll(() => rmSync(root, { recursive: true }))

let made = 0
let dir: string
beforeEach(() => {
  made += 1
  dir = join(root, String(made))
})

const named: Named = { engine: 'gemini', modelOf: () => 'gemini-2.5-flash' }
const schema = z.strictObject({ index: z.number() })
const signal = new AbortController().signal

const request = (more: Partial<ModelRequest<{ index: number }>> = {}) => ({
  role: 'chooser' as const,
  instructions: 'Choose.',
  input: { need: 'lamp', ceiling: 5 },
  schema,
  signal,
  ...more,
})

const USAGE = { inputTokens: 10, outputTokens: 2, costMicros: 7 }

/** Answers 0, 1, 2 …, and fails where it is told to. */
function counting(failures: ReadonlyMap<number, Error> = new Map()): Model {
  let calls = 0
  return {
    engine: 'gemini',
    async ask({ schema }) {
      const index = calls
      calls += 1
      const failure = failures.get(index)
      if (failure !== undefined) throw failure
      const value = schema.parse({ index })
      return { value, usage: USAGE, model: 'gemini-2.5-flash', finish: 'stop' }
    },
  }
}

const record = (model: Model) =>
  recording(model, folderForExchanges(dir, createSecretGuard()), named)
const replay = () => replaying(exchangesIn(dir))

const caught = async (asked: Promise<unknown>): Promise<ModelFault> => {
  const error = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof ModelFault) return error
  throw new Error('expected a ModelFault', { cause: error })
}

describe('a recording', () => {
  it('gives back what was answered, with usage and model, to the same question and in order', async () => {
    const model = record(counting())
    const told = [await model.ask(request()), await model.ask(request())]
    const other = await model.ask(request({ input: { need: 'desk', ceiling: 5 } }))
    const played = replay()
    const again = played.as(named)
    expect(await again.ask(request({ input: { ceiling: 5, need: 'desk' } }))).toEqual(other)
    expect([await again.ask(request()), await again.ask(request())]).toEqual(told)
    expect(played.end()).toBeUndefined()
  })

  it('fails again as it failed, with what the failure used up', async () => {
    const usage = { calls: 2, ...USAGE }
    const failure = new ModelFault('blocked', 'the provider stopped it', {
      retryable: false,
      usage,
      model: 'gemini-2.5-flash',
    })
    await caught(record(counting(new Map([[0, failure]]))).ask(request()))
    const again = await caught(replay().as(named).ask(request()))
    const { message, retryable, model } = failure
    expect(again).toMatchObject({ failure: 'blocked', message, retryable, usage, model })
  })

  it('has no call in it that was given up', async () => {
    const model = record(counting(new Map([[0, new DOMException('given up', 'AbortError')]])))
    await expect(model.ask(request())).rejects.toThrow('given up')
    await model.ask(request())
    expect(exchangesIn(dir)).toHaveLength(1)
  })

  it('is one file for each exchange, of its owner alone', async () => {
    const model = record(counting())
    await model.ask(request())
    await model.ask(request({ role: 'monitor' }))
    expect(readdirSync(dir).sort()).toEqual(['000001-chooser.json', '000002-monitor.json'])
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    expect(statSync(join(dir, '000001-chooser.json')).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['question', { input: { need: 'a gsk_lampsecret123 lamp', ceiling: 5 } }],
    ['instructions', { instructions: 'Choose gsk_lampsecret123.' }],
  ])('takes no secret: neither of the %s …', async (_what, more) => {
    const guard = createSecretGuard()
    guard.watch(new Secret('gsk_lampsecret123'))
    const model = recording(counting(), folderForExchanges(dir, guard), named)
    await expect(model.ask(request(more))).rejects.toMatchObject({ code: 'secret_withheld' })
    expect(readdirSync(dir)).toEqual([])
  })

  it('… nor of the answer', async () => {
    const guard = createSecretGuard()
    guard.watch(new Secret('gsk_lampsecret123'))
    const text = z.strictObject({ text: z.string() })
    const leaking: Model = {
      engine: 'gemini',
      ask: async ({ schema }) => ({
        value: schema.parse({ text: 'gsk_lampsecret123' }),
        usage: USAGE,
        model: 'm',
        finish: 'stop',
      }),
    }
    const model = recording(leaking, folderForExchanges(dir, guard), named)
    const asked = model.ask({ ...request(), schema: text })
    await expect(asked).rejects.toMatchObject({ code: 'secret_withheld' })
    expect(readdirSync(dir)).toEqual([])
  })

  it('goes into a folder without one', async () => {
    await record(counting()).ask(request())
    const message = /no exchanges in it yet/
    expect(() => folderForExchanges(dir, createSecretGuard())).toThrow(message)
    writeFileSync(join(root, 'file'), '')
    expect(() => folderForExchanges(join(root, 'file', 'x'), createSecretGuard())).toThrow(
      /can be written/,
    )
  })
})

describe('a replay', () => {
  const differing = async (more: object, as: Named = named) => {
    await record(counting()).ask(request())
    const played = replay()
    const fault = await caught(played.as(as).ask(request(more)))
    expect(fault).toMatchObject({ failure: 'unrecorded', retryable: false })
    expect(played.end()).toBe(fault.message)
    return fault.message
  }
  const start = 'the chooser was asked something else than was recorded: '

  it.each([
    ['instructions', { instructions: 'Choose well.' }, 'instructions of'],
    ['a field of the input', { input: { need: 'lamp', ceiling: 6 } }, 'input (ceiling) of'],
    ['a new field of the input', { input: { need: 'lamp', ceiling: 5, x: 1 } }, 'input (x) of'],
    ['the schema', { schema: z.strictObject({ index: z.string() }) }, 'schema of'],
    [
      'several',
      { instructions: '', schema: z.string(), input: 'lamp' },
      'instructions, schema, input of',
    ],
  ])('names %s that differs', async (_what, more, words) => {
    expect(await differing(more)).toBe(`${start}${words} the nearest exchange, 1, differ`)
  })

  it('is of one engine and one model', async () => {
    const other: Named = { engine: 'groq', modelOf: () => 'gemini-2.5-flash' }
    expect(await differing({}, other)).toBe(`${start}engine of the nearest exchange, 1, differ`)
  })

  it('says of another model that it is another', async () => {
    const other: Named = { engine: 'gemini', modelOf: (role) => `model-of-${role}` }
    expect(await differing({}, other)).toBe(`${start}model of the nearest exchange, 1, differ`)
  })

  it('says whom nothing is recorded of', async () => {
    expect(await differing({ role: 'planner' })).toBe('no question to a planner is recorded')
  })

  it('gives the last answer again to a question that is put more often, and takes one that is put less often', async () => {
    const model = record(counting())
    const [first, last] = [await model.ask(request()), await model.ask(request())]
    const more = replay()
    const again = more.as(named)
    const told = [1, 2, 3, 4].map(() => again.ask(request()))
    expect(await Promise.all(told)).toEqual([first, last, last, last])
    const less = replay()
    await less.as(named).ask(request())
    expect([more.end(), less.end()]).toEqual([undefined, undefined])
  })

  it('compares with what was not played yet, before what was', async () => {
    const model = record(counting())
    await model.ask(request())
    await model.ask(request({ input: { need: 'desk', ceiling: 9 } }))
    const again = replay().as(named)
    await again.ask(request())
    const { message } = await caught(again.ask(request({ input: { need: 'desk', ceiling: 5 } })))
    expect(message).toBe(`${start}input (ceiling) of the nearest exchange, 2, differ`)
  })

  it('says how much of the recording nobody asked for', async () => {
    const model = record(counting())
    for (const ceiling of [5, 6, 7]) await model.ask(request({ input: { need: 'lamp', ceiling } }))
    const played = replay()
    await played.as(named).ask(request())
    expect(played.end()).toBe('2 of 3 recorded exchanges were never asked for')
  })

  it('does not take an answer that its reader would not take', async () => {
    await record(counting()).ask(request())
    change((exchange) => ({ ...exchange, outcome: { ...exchange.outcome, value: { index: 'x' } } }))
    const fault = await caught(replay().as(named).ask(request()))
    expect(fault).toMatchObject({ failure: 'malformed', usage: { calls: 1, ...USAGE } })
  })

  it('refuses a folder that is none, that is empty, that has a gap, and a file that was changed', async () => {
    expect(() => replay()).toThrow(/can be read/)
    mkdirSync(dir)
    expect(() => replay()).toThrow(/from the first one on/)
    rmSync(dir, { recursive: true })
    const model = record(counting())
    await model.ask(request())
    await model.ask(request())
    change((exchange) => ({ ...exchange, asked: { ...exchange.asked, instructions: 'Other.' } }))
    expect(() => replay()).toThrow(/one whole exchange/)
    rmSync(join(dir, '000001-chooser.json'))
    expect(() => replay()).toThrow(/from the first one on/)
  })

  const change = (how: (exchange: ModelExchange) => object) => {
    const file = join(dir, '000001-chooser.json')
    const exchange = JSON.parse(readFileSync(file, 'utf8')) as ModelExchange
    writeFileSync(file, JSON.stringify(how(exchange)))
  }
})
