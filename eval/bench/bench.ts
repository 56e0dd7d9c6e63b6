/**
 * The bench's command line over any suites: which to run, what to print, and how to end. It knows no suite; those are data
 * that `main.ts` hands in, and a test hands in its own.
 */
import { availableParallelism, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { complain, UsageError } from '../usage.ts'
import type { Figure, Suite } from './figure.ts'

export interface Io {
  /** The result, for whoever asked. */
  readonly out: (text: string) => void
  /** Progress and complaints, for people. */
  readonly err: (text: string) => void
}

interface Machine {
  readonly cores: number
  readonly node: string
  /** Processes that wanted a core over the last minute, before anything of ours ran. */
  readonly loadAtStart: number
}

interface Result {
  readonly name: string
  readonly figures: readonly Figure[]
}

const usage = (suites: readonly Suite[]) => `Usage: npm run bench -- [options]

Measures two things side by side in one run and says how one stands to the other. Ends with 1 if a figure is not within
its bound.

  --only a,b      only these suites: ${suites.map(({ name }) => name).join(', ')}
  --quick         shows that everything works in as few rounds as possible; its figures mean nothing, so no bound
                  decides how it ends
  --list          what there is, without measuring anything
  --json          one JSON document on stdout, and nothing else there
  --help
`

const FLAGS = {
  only: { type: 'string' },
  quick: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

function chosen(suites: readonly Suite[], only: string | undefined): readonly Suite[] {
  if (only === undefined) return suites
  const names = only.split(',')
  const unknown = names.filter((name) => !suites.some((suite) => suite.name === name))
  if (unknown.length > 0) throw new UsageError(`there is no suite ${unknown.join(', ')}`)
  return suites.filter(({ name }) => names.includes(name))
}

const isOver = ({ within }: Figure): boolean => within === false

/** Four significant digits at most, and no exponent. */
const shown = (value: number): string =>
  Number.isFinite(value) ? String(Number(value.toPrecision(value >= 1_000 ? 6 : 4))) : 'no number'

function table(results: readonly Result[]): string {
  const all = results.flatMap(({ figures }) => figures)
  const widest = Math.max(0, ...all.map(({ name }) => name.length))
  const row = ({ name, value, unit, bound, sense, within, note }: Figure) => {
    const limit = bound === undefined ? '' : `${sense ?? ''} ${shown(bound)}`
    const word = within === undefined ? '' : within ? 'ok' : 'over'
    const cells = [name.padEnd(widest), `${shown(value).padStart(10)} ${unit.padEnd(12)}`]
    const line = [...cells, limit.padEnd(16), word].join('  ').trimEnd()
    return note === undefined ? `  ${line}\n` : `  ${line}\n      ${note}\n`
  }
  return results.map(({ name, figures }) => `\n${name}\n${figures.map(row).join('')}`).join('')
}

async function measure(
  suites: readonly Suite[],
  { quick, json }: { quick: boolean; json: boolean },
  { out, err }: Io,
): Promise<number> {
  const [load = Number.NaN] = loadavg()
  const machine: Machine = {
    cores: availableParallelism(),
    node: process.version,
    loadAtStart: Number(load.toFixed(2)),
  }
  const results: Result[] = []
  for (const { name, measure: run } of suites) {
    const tell = (text: string) => err(`${name}: ${text}\n`)
    results.push({ name, figures: await run({ quick, tell }) })
  }
  if (json) out(`${JSON.stringify({ machine, suites: results }, null, 2)}\n`)
  else {
    const { cores, node, loadAtStart } = machine
    out(`${cores} cores, Node ${node}, load ${loadAtStart} at the start\n${table(results)}`)
    if (quick) out('\nquick: no figure above means anything\n')
  }
  return !quick && results.some(({ figures }) => figures.some(isOver)) ? 1 : 0
}

/** The exit code: 0, 1 when a figure is over its bound or a measurement failed, 2 for a call that cannot be understood. */
export async function bench(
  args: readonly string[],
  suites: readonly Suite[],
  io: Io,
): Promise<number> {
  try {
    const { values } = parseArgs({ args: [...args], options: FLAGS })
    if (values.help) {
      io.out(usage(suites))
      return 0
    }
    const asked = chosen(suites, values.only)
    if (values.list) {
      const list = asked.map(({ name, about }) => ({ name, about }))
      if (values.json) io.out(`${JSON.stringify({ suites: list }, null, 2)}\n`)
      else for (const { name, about } of list) io.out(`${name.padEnd(10)} ${about}\n`)
      return 0
    }
    return await measure(asked, values, io)
  } catch (error) {
    return complain(error, { name: 'bench', usage: usage(suites), err: io.err })
  }
}
