/** What a smoke test of models says of their cost, and that it asks nobody without a key. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { ModelExchange } from '../../agents/recording.ts'
import { costsOf, dollars, inOneLine, totalOf } from '../../eval/models/costs.ts'
import { childEnvironment } from '../../runtime/config.ts'
import { sha256 } from '../../runtime/core/ids.ts'

const USAGE = { inputTokens: 100, outputTokens: 10, costMicros: 3 }

const exchange = (
  role: ModelExchange['asked']['role'],
  input: ModelExchange['asked']['input'],
  outcome: ModelExchange['outcome'] = { kind: 'answer', value: {}, usage: USAGE, model: 'm-1' },
): ModelExchange => ({
  key: sha256(''),
  asked: { engine: 'groq', model: 'm', role, instructions: '', input, schema: {} },
  outcome,
})

describe('the cost of a run’s models', () => {
  const lamp = { need: { text: 'lamp' } }
  const failure = {
    kind: 'failure' as const,
    failure: 'cut' as const,
    message: '',
    retryable: true,
    usage: { calls: 2, inputTokens: 7, outputTokens: 0, costMicros: 1 },
  }
  const costs = costsOf([
    exchange('planner', { task: 'Light.' }),
    exchange('looker', lamp),
    exchange('looker', lamp, failure),
    exchange('chooser', lamp),
    exchange('looker', { need: { text: 'desk' } }),
  ])

  it('is told by step and by what it was for, calls that failed included', () => {
    expect(costs.map(({ step, of, calls }) => [step, of, calls])).toEqual([
      ['plan', 'Light.', 1],
      ['look', 'lamp', 3],
      ['choose', 'lamp', 1],
      ['look', 'desk', 1],
    ])
    expect(costs[1]).toMatchObject({ inputTokens: 107, costMicros: 4, failed: 1, models: ['m-1'] })
  })

  it('stands in one row of a table, however many lines the task has', () => {
    expect(inOneLine('# Kitchen\n- 2 x "mugs"\n')).toBe('# Kitchen - 2 x "mugs"')
    expect(inOneLine(`a\n${'b'.repeat(58)}`)).toBe(`a ${'b'.repeat(58)}`)
    expect(inOneLine(`a\n${'b'.repeat(59)}`)).toBe(`a ${'b'.repeat(57)}…`)
  })

  it('adds up', () => {
    expect(totalOf(costs)).toEqual({ calls: 6, inputTokens: 407, outputTokens: 40, costMicros: 13 })
  })

  it('is written in dollars to the millionth', () => {
    expect([0, 7, 1_000_000, 12_345_678].map(dollars)).toEqual([
      'US$ 0.000000',
      'US$ 0.000007',
      'US$ 1.000000',
      'US$ 12.345678',
    ])
  })
})

describe('npm run smoke:models', () => {
  const main = join(import.meta.dirname, '../../eval/models/smoke-main.ts')
  const smoke = (...args: string[]) =>
    promisify(execFile)(process.execPath, [main, ...args], { env: childEnvironment({}) })

  it('without keys asks nobody, names the variables, and is no failure', async () => {
    const { stdout } = await smoke()
    expect(stdout).toMatch(/set GEMINI_API_KEY or GEMINI_API_KEY_FILE/)
    expect(stdout).toMatch(/set GROQ_API_KEY or GROQ_API_KEY_FILE/)
  })

  it('refuses what it does not know', async () => {
    await expect(smoke('--everything')).rejects.toMatchObject({ code: 2 })
  })
})
