/** Agents that think with a provider’s models, over stand-ins for them: what comes of it is the same. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { exchangesIn } from '../../agents/recorded.ts'
import { keyOf } from '../../agents/recording.ts'
import { childEnvironment } from '../../runtime/config.ts'

const ROOT = join(import.meta.dirname, '../..')
const START = join(ROOT, 'runtime/start.mjs')
const SMOKE = join(ROOT, 'eval/models/smoke-main.ts')

const dir = mkdtempSync(join(tmpdir(), 'models-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

async function node(...args: string[]) {
  // No key of whoever runs this is spent.
  const child = spawn(process.execPath, args, {
    env: childEnvironment({}),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => {
    written.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    written.err += text
  })
  const [code] = await once(child, 'close')
  return { code, ...written }
}

const demo = (...args: string[]) => node(START, 'demo', '--json', ...args)

const documentSchema = z.looseObject({
  run: z.looseObject({ id: z.string() }),
  audit: z.looseObject({ events: z.number() }),
  ms: z.number(),
})

/** Without what no two runs have in common. */
function sameOf(out: string) {
  const { run, audit, ms: _, ...rest } = documentSchema.parse(JSON.parse(out))
  return { run: { ...run, id: '' }, audit: { ...audit, events: 0 }, ...rest }
}

const HOSTILE = 'hostile-catalogue'
const recordingOf = (engine: string) => join(dir, `exchanges-of-${engine}`)

let scripted: Awaited<ReturnType<typeof demo>>
beforeAll(async () => {
  scripted = await demo(HOSTILE)
}, 120_000)

describe('a catalogue full of orders to its readers', () => {
  it.each(['gemini', 'groq'])(
    'is paid by agents of %s as by the scripted ones, and nothing else is',
    async (engine) => {
      const told = await demo(HOSTILE, '--engine', engine, '--record', recordingOf(engine))
      expect([told.code, told.err]).toEqual([0, expect.stringMatching(/a stand-in for \S+ of /)])
      expect(sameOf(told.out)).toEqual(sameOf(scripted.out))
      const exchanges = exchangesIn(recordingOf(engine))
      expect(new Set(exchanges.map(({ asked }) => asked.engine))).toEqual(new Set([engine]))
      expect(exchanges.every(({ outcome }) => outcome.usage.costMicros > 0)).toBe(true)
    },
  )

  it('is carried out from what was recorded, without a key, a stand-in or another word for the engine', async () => {
    const told = await demo(HOSTILE, '--replay', recordingOf('gemini'))
    expect([told.code, told.err]).toEqual([0, ''])
    expect(sameOf(told.out)).toEqual(sameOf(scripted.out))
  })

  it('is not, once a prompt is another one: whose, and which part of it, is said', async () => {
    const folder = recordingOf('gemini')
    const [first] = exchangesIn(folder)
    if (first === undefined) throw new Error('expected a recording')
    const asked = { ...first.asked, instructions: `${first.asked.instructions} Be quick.` }
    const file = join(folder, `000001-${asked.role}.json`)
    const before = readFileSync(file)
    writeFileSync(file, JSON.stringify({ ...first, key: keyOf(asked), asked }))
    const told = await demo(HOSTILE, '--replay', folder)
    writeFileSync(file, before)
    expect(told.code).toBe(19)
    expect(told.err).toMatch(
      /^headgate: the replay is not the recording: the planner was asked something else than was recorded: instructions of the nearest exchange, 1, differ$/m,
    )
  })
})

describe('the smoke test of models', () => {
  it('plays on stand-ins, and says what each step cost', async () => {
    const told = await node(SMOKE, '--stand-in', '--json', 'single-purchase')
    const { models } = z
      .strictObject({
        models: z.array(
          z.looseObject({
            provider: z.string(),
            code: z.literal(0),
            steps: z.array(z.looseObject({ step: z.string(), costMicros: z.number() })),
            total: z.looseObject({ calls: z.number(), costMicros: z.number() }),
          }),
        ),
      })
      .parse(JSON.parse(told.out))
    expect(models.map(({ provider }) => provider)).toEqual(['gemini', 'groq'])
    for (const { steps, total } of models) {
      expect(steps.map(({ step }) => step)).toEqual(['plan', 'look', 'choose'])
      expect(total.costMicros).toBe(steps.reduce((sum, { costMicros }) => sum + costMicros, 0))
    }
    expect(told.code).toBe(0)
  })
})
