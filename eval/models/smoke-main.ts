/**
 * `npm run smoke:models`: the office move once with the models of each provider whose key is set, what each step of it cost
 * in calls, tokens and US dollars, and the total. Without keys it says which variables it would take.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { exchangesIn } from '../../agents/recorded.ts'
import { table } from '../../runtime/cli/io.ts'
import { childEnvironment } from '../../runtime/config.ts'
import { PROVIDER_KEYS, PROVIDERS, type Provider } from '../../runtime/core/agents.ts'
import { complain, UsageError } from '../usage.ts'
import { type Cost, costsOf, dollars, inOneLine, totalOf } from './costs.ts'

const USAGE = `usage: npm run smoke:models [-- --stand-in] [--json] [MISSION]

  --stand-in   on stand-ins of this machine, without any key
  --json       one document
  MISSION      instead of the office move, as \`headgate demo\` takes it
`

const START = join(import.meta.dirname, '../../runtime/start.mjs')

const demoSchema = z.looseObject({
  run: z.looseObject({ state: z.string() }),
  payments: z.looseObject({ settled: z.number() }),
})

interface Smoked {
  readonly provider: Provider
  /** Why nothing was asked. */
  readonly left?: string
  /** Exit code of the demonstration: 0 only if everything held. */
  readonly code?: number
  readonly state?: string
  readonly settled?: number
  readonly steps?: readonly Cost[]
}

type Variables = Readonly<Record<string, string | undefined>>

/** Its key, however it is given; a child is told no other. */
function keyOf(provider: Provider, given: Variables): Readonly<Record<string, string>> | undefined {
  const name = PROVIDER_KEYS[provider]
  const [value, file] = [given[name], given[`${name}_FILE`]]
  if (value) return { [name]: value }
  return file ? { [`${name}_FILE`]: file } : undefined
}

async function smoke(provider: Provider, mission: string, key: Readonly<Record<string, string>>) {
  const dir = mkdtempSync(join(tmpdir(), 'headgate-smoke-'))
  try {
    const record = join(dir, 'exchanges')
    const args = [START, 'demo', mission, '--engine', provider, '--json', '--record', record]
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: childEnvironment(key),
    })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    const [code] = await once(child, 'close')
    if (out === '') return { provider, code: Number(code ?? 1) }
    const { run, payments } = demoSchema.parse(JSON.parse(out))
    const steps = costsOf(exchangesIn(record))
    const { settled } = payments
    return { provider, code: Number(code ?? 1), state: run.state, settled, steps }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function lines({ provider, left, code, state, settled, steps = [] }: Smoked): string {
  if (left !== undefined) return `${provider}\n  – ${left}\n`
  const total = totalOf(steps)
  const cells = ({ calls, inputTokens, outputTokens, costMicros }: typeof total) => [
    String(calls),
    String(inputTokens),
    String(outputTokens),
    dollars(costMicros),
  ]
  const rows = steps.map((cost) => {
    const failed = cost.failed === 0 ? [] : [`${cost.failed} without an answer`]
    return [`  ${cost.step}`, inOneLine(cost.of), ...cells(cost), ...failed]
  })
  const head = ['  step', 'of', 'calls', 'tokens in', 'tokens out', 'cost']
  const models = [...new Set(steps.flatMap((cost) => cost.models))].join(', ')
  const ended =
    state === undefined
      ? `  ✗ the demonstration ended with ${code}`
      : `  ${code === 0 ? '✓' : '✗'} ${state}, ${settled} payments settled`
  const all = steps.length === 0 ? '' : table([head, ...rows, ['  total', '', ...cells(total)]])
  return `${provider} ${models}\n${all}${ended}\n`
}

async function main(args: readonly string[], given: Variables): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'stand-in': { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const [mission = 'office-move', ...more] = positionals
  if (more.length > 0) throw new UsageError('expected one mission')
  const smoked: Smoked[] = []
  for (const provider of PROVIDERS) {
    const key = values['stand-in'] ? {} : keyOf(provider, given)
    const left = `set ${PROVIDER_KEYS[provider]} or ${PROVIDER_KEYS[provider]}_FILE to try its models, which costs money`
    const one: Smoked = key === undefined ? { provider, left } : await smoke(provider, mission, key)
    smoked.push(one)
    if (!values.json) process.stdout.write(lines(one))
  }
  if (values.json) {
    const models = smoked.map((one) => ({ ...one, total: totalOf(one.steps ?? []) }))
    process.stdout.write(`${JSON.stringify({ models })}\n`)
  }
  return smoked.some(({ code = 0 }) => code !== 0) ? 1 : 0
}

try {
  process.exitCode = await main(process.argv.slice(2), process.env)
} catch (error) {
  const err = (text: string) => void process.stderr.write(text)
  process.exitCode = complain(error, { name: 'smoke:models', usage: USAGE, err })
}
