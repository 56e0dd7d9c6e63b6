/** The simulation's command line: which seeds to live through, what to print of them, and how to end. */
import { parseArgs } from 'node:util'
import { complain, UsageError, wholeNumber } from '../usage.ts'
import { PLANTED } from './planted.ts'
import { runSeed, type SeedResult } from './seed.ts'
import { COUNTED, type Counted } from './world.ts'

export interface Io {
  /** The result, for whoever asked. */
  readonly out: (text: string) => void
  /** Progress and complaints, for people. */
  readonly err: (text: string) => void
}

const USAGE = `Usage: npm run simulate -- [options]

Runs the real gateway, funnel and reconciler in virtual time, with faults that the seed draws, and compares the ledger
with a reference after each commit. Ends with 0 only if no seed goes wrong.

  --seeds N       how many, 50 unless given
  --from K        the first of them, 1 unless given
  --seed K        this one alone, instead of --seeds and --from; its digest is printed
  --planted NAME  with a fault put into the product, which ought to be found: so it ends with 1
  --trace         what happened in each seed, step by step; without it only of a seed that goes wrong
  --json          one JSON document on stdout, and nothing else there
  --help

What can be planted:
${Object.keys(PLANTED)
  .map((name) => `  ${name}\n`)
  .join('')}`

const FLAGS = {
  seeds: { type: 'string', default: '50' },
  from: { type: 'string', default: '1' },
  seed: { type: 'string' },
  planted: { type: 'string' },
  trace: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

type Values = ReturnType<typeof parseArgs<{ options: typeof FLAGS }>>['values']

/** Seeds between two lines of progress: with few seeds there is none. */
const PROGRESS = 25

function plantedBy(name: string | undefined) {
  if (name === undefined) return undefined
  const planted = Object.hasOwn(PLANTED, name) ? PLANTED[name] : undefined
  if (planted === undefined) throw new UsageError('--planted takes one of the names below')
  return planted
}

function seedText(
  { seed, trace, violation, digest }: SeedResult,
  { planted, ...values }: Values,
): string {
  const lines: string[] = []
  if (values.trace || violation !== undefined) {
    lines.push(...trace, `seed ${seed}: ${violation ?? 'all holds'}; digest ${digest}`)
  } else if (values.seed !== undefined) lines.push(`digest ${digest}`)
  if (violation !== undefined) {
    const fault = planted === undefined ? '' : ` --planted "${planted}"`
    lines.push(`again: npm run simulate -- --seed ${seed} --trace${fault}`)
  }
  return lines.map((line) => `${line}\n`).join('')
}

/** `lostReplies` as people write it. */
const wordsOf = (name: string): string => name.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`)

/** Lives through the seeds that are asked for; whether nothing went wrong. */
async function live(values: Values, { out, err }: Io): Promise<boolean> {
  const planted = plantedBy(values.planted)
  const from = wholeNumber(values.seed ?? values.from, values.seed === undefined ? 'from' : 'seed')
  const seeds = values.seed === undefined ? wholeNumber(values.seeds, 'seeds') : 1
  const sum = Object.fromEntries(COUNTED.map((name) => [name, 0])) as Record<Counted, number>
  const failed: SeedResult[] = []
  const startedMs = performance.now()
  for (let seed = from; seed < from + seeds; seed += 1) {
    const result = await runSeed(seed, planted, values.trace ? 400 : 40)
    const { counts, violation } = result
    for (const name of COUNTED) sum[name] += counts[name]
    if (violation !== undefined) failed.push(result)
    if (!values.json) out(seedText(result, values))
    const done = seed - from + 1
    if (done % PROGRESS === 0 && done < seeds) err(`${done} of ${seeds} seeds\n`)
  }
  const tookMs = performance.now() - startedMs
  const perSecond = Math.round((sum.payments / tookMs) * 1000)
  const first = failed
    .slice(0, 5)
    .map(({ seed, violation, digest }) => ({ seed, violation, digest }))
  if (values.json) {
    out(`${JSON.stringify({ seeds, ...sum, violations: failed.length, perSecond, first })}\n`)
  } else {
    out(`${seeds} seeds, ${perSecond} payments a second: ${failed.length} violations\n`)
    out(`${COUNTED.map((name) => `${wordsOf(name)} ${sum[name]}`).join(', ')}\n`)
  }
  return failed.length === 0
}

/** The exit code: 0, 1 when a seed goes wrong, 2 for a call that cannot be understood. */
export async function simulate(args: readonly string[], io: Io): Promise<number> {
  try {
    const { values } = parseArgs({ args: [...args], options: FLAGS })
    if (values.help) {
      io.out(USAGE)
      return 0
    }
    return (await live(values, io)) ? 0 : 1
  } catch (error) {
    return complain(error, { name: 'simulate', usage: USAGE, err: io.err })
  }
}
