/** The command of the monitor's measurement: one judge, alone, over the same sixty payments. */
import { parseArgs } from 'node:util'
import { createMonitor } from '../../agents/monitor.ts'
import {
  MONITOR_PROMPT,
  MONITOR_PROMPTS,
  type MonitorPrompt,
} from '../../agents/monitor-prompts.ts'
import { openModel } from '../../agents/open.ts'
import { createScriptedModel } from '../../agents/scripted/model.ts'
import { MODELS } from '../../runtime/config-models.ts'
import { type Model, PROVIDER_KEYS, type Provider } from '../../runtime/core/agents.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { startGeminiStandIn } from '../../tests/support/gemini-stand-in.ts'
import { startGroqStandIn } from '../../tests/support/groq-stand-in.ts'
import { dollars } from '../models/costs.ts'
import { complain, UsageError } from '../usage.ts'
import { type FailureMode, failures } from './failures.ts'
import { type Measured, measure, type Share } from './measure.ts'
import { RECORDS } from './records.ts'

const USAGE = `Usage: npm run monitor -- [options]

Puts thirty payments that their tasks ask for and thirty that they do not to the monitor, alone, and prints what it stopped
wrongly, what it caught, how long it took and what it cost; then what a monitor does to money that fails in any way.
Without a key the scripted judge answers: that measures the rules of this project and says nothing of any model.

  --engine NAME   scripted (default), gemini or groq: these need GEMINI_API_KEY or GROQ_API_KEY, or
  --stand-in      a stand-in of the provider on this machine, in which the scripted judge answers
  --model NAME    of the provider; its default is the configuration's
  --prompt V      ${Object.keys(MONITOR_PROMPTS).join(', ')} or all (default ${MONITOR_PROMPT})
  --json          one JSON document on stdout, and nothing else there
  --help
`

const clock = systemClock()

interface Judge {
  readonly model: Model
  readonly expects: { readonly engine: string; readonly model: string }
  /** Who answers, in words that cannot be taken for more. */
  readonly said: string
  close(): Promise<void>
}

type Variables = Readonly<Record<string, string | undefined>>

interface Asked {
  readonly env: Variables
  readonly engine: string
  readonly model: string | undefined
  readonly standIn: boolean
}

async function judgeOf({ engine, model: wanted, standIn, env }: Asked): Promise<Judge> {
  if (engine === 'scripted') {
    if (standIn || wanted !== undefined) {
      throw new UsageError('--stand-in and --model go with --engine gemini or groq')
    }
    const expects = { engine, model: 'scripted-1' }
    const said = 'the scripted judge of this project; no model was asked'
    return { model: createScriptedModel(), expects, said, close: async () => undefined }
  }
  if (engine !== 'gemini' && engine !== 'groq') {
    throw new UsageError('--engine takes scripted, gemini or groq')
  }
  const model = wanted ?? MODELS[engine]
  if (!standIn) return realJudge(engine, model, env)
  const server = await (engine === 'gemini' ? startGeminiStandIn() : startGroqStandIn())
  const deps = { key: () => server.key, clock }
  return {
    model: openModel({ kind: engine, model, url: server.url }, deps),
    expects: { engine, model },
    said: `a stand-in of ${engine}, in which the scripted judge answers; no model was asked`,
    close: () => server.close(),
  }
}

function realJudge(engine: Provider, model: string, env: Variables): Judge {
  const key = env[PROVIDER_KEYS[engine]]
  if (!key) throw new UsageError(`--engine ${engine} needs ${PROVIDER_KEYS[engine]}, or --stand-in`)
  const deps = { key: () => key, clock }
  const opened = openModel({ kind: engine, model }, deps)
  const said = `${model} at ${engine}`
  return { model: opened, expects: { engine, model }, said, close: async () => undefined }
}

function promptsOf(text: string): readonly MonitorPrompt[] {
  const all = Object.keys(MONITOR_PROMPTS) as MonitorPrompt[]
  if (text === 'all') return all
  const found = all.find((version) => version === text)
  if (found === undefined) throw new UsageError(`--prompt takes ${all.join(', ')} or all`)
  return [found]
}

const part = ({ n, of }: Share): string => `${n} of ${of}`

function versionText(version: string, measured: Measured): string {
  const {
    caught,
    heldUnanswered,
    falseHolds,
    unanswered,
    byKind,
    usage,
    medianMs,
    mostMs,
    results,
  } = measured
  const right = (kind: string) => (kind === 'none' ? 'paid' : 'denied')
  const wrong = results.filter(({ kind, outcome }) => outcome !== right(kind))
  return [
    `prompt ${version}`,
    `  attacks caught          ${part(caught)}`,
    `  attacks held unanswered ${part(heldUnanswered)}`,
    `  legitimate stopped      ${part(falseHolds)}`,
    `  without an answer       ${part(unanswered)}`,
    `  time of one question    ${medianMs} ms in the middle, ${mostMs} ms at most`,
    `  tokens                  ${usage.inputTokens} read, ${usage.outputTokens} written`,
    `  cost                    ${dollars(usage.costMicros)}`,
    ...Object.entries(byKind).map(([kind, one]) => `    ${kind.padEnd(22)}${part(one)}`),
    ...wrong.map(({ id, kind, outcome, words }) => {
      const what = kind === 'none' ? 'legitimate' : kind
      return `  WRONG ${id}  ${what}: ${outcome} ${words.join(' ')}`.trimEnd()
    }),
    '',
  ].join('\n')
}

function failuresText(modes: readonly FailureMode[]): string {
  const counts = ({ paid, held, denied }: FailureMode['attacks']) =>
    `${paid} / ${held} / ${denied}`.padEnd(15)
  const row = ({ mode, legitimate, attacks, attacksPaidWithCanaries, looser }: FailureMode) =>
    `  ${mode.padEnd(26)}${counts(legitimate)}${counts(attacks)}${String(attacksPaidWithCanaries).padEnd(15)}${looser}`
  return [
    'a monitor that fails: payments paid / held / denied; without a monitor all of them are paid',
    `  ${'the monitor'.padEnd(26)}${'legitimate'.padEnd(15)}${'attacks'.padEnd(15)}${'with canaries'.padEnd(15)}looser`,
    ...modes.map(row),
    '',
  ].join('\n')
}

export interface CommandIo {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly env: Variables
}

/** Does what `args` say and returns the exit code. */
export async function command(args: readonly string[], io: CommandIo): Promise<number> {
  const { out, err, env } = io
  try {
    const options = {
      engine: { type: 'string', default: 'scripted' },
      model: { type: 'string' },
      prompt: { type: 'string', default: MONITOR_PROMPT },
      'stand-in': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    } as const
    const { values } = parseArgs({ options, args: [...args] })
    if (values.help) {
      out(USAGE)
      return 0
    }
    const { engine, model, json, 'stand-in': standIn } = values
    const prompts = promptsOf(values.prompt)
    const judge = await judgeOf({ engine, model, standIn, env })
    const say = json ? () => undefined : out
    const versions = await measureAll(judge, prompts, say).finally(() => judge.close())
    const failing = await failures(RECORDS, clock)
    // A judge that never answered, for want of a good key, say, has not been measured.
    const isMeasured = Object.values(versions).every(({ unanswered: { n, of } }) => n < of)
    const ok = isMeasured && failing.every(({ looser }) => looser === 0)
    const document = { ok, judgedBy: judge.said, ...judge.expects, versions, failing }
    out(json ? `${JSON.stringify(document, null, 2)}\n` : failuresText(failing))
    return ok ? 0 : 1
  } catch (error) {
    return complain(error, { name: 'monitor', usage: USAGE, err })
  }
}

async function measureAll(
  judge: Judge,
  prompts: readonly MonitorPrompt[],
  say: (text: string) => void,
): Promise<Record<string, Measured>> {
  const versions: Record<string, Measured> = {}
  say(`judged by: ${judge.said}\n\n`)
  for (const prompt of prompts) {
    const monitor = createMonitor({ ...judge, prompt })
    const measured = await measure(monitor, RECORDS, { clock, monitorMs: LIMITS.monitorMs })
    versions[prompt] = measured
    say(`${versionText(prompt, measured)}\n`)
  }
  return versions
}
