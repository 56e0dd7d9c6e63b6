/** The attack runner’s command line: what is tried, on which layers, and how it went. */
import { parseArgs } from 'node:util'
import { complain, UsageError, wholeNumber } from '../usage.ts'
import { ABLATED, type Ablation, ablate } from './ablate.ts'
import { CASES } from './cases/all.ts'
import { NOT_APPLICABLE, type NotApplicable } from './cases/not-applicable.ts'
import { type FuzzResult, fuzz, isWell } from './fuzz.ts'
import { type HostileSummary, runHostile } from './hostile/hostile.ts'
import { runSuite } from './suite.ts'
import { type AttackCase, type CaseResult, LAYERS, layerOf } from './types.ts'
import { startScene } from './world/start.ts'

const USAGE = `Usage: npm run attack -- [options]

Starts a gateway with its rail and shops, attacks it over HTTP, and scores each case on the rail's own book, on the
ledger's balances and on the code of the refusal. Ends with 0 only if every case went as it must.

  --layer a,b     only these: ${LAYERS.join(', ')}
  --only id,id    only these cases, such as T25,L02
  --seeds N       of the run over rails that misbehave, which is part of the layer rail; 200 unless given
  --ablate        run the cases of each check without that check, and show what it is worth
  --fuzz N        send N changed tokens and proofs to a gateway, with honest payments among them; ends with 0 only if
                  nothing got through, nothing broke and its main loop never stalled for more than 100 ms
  --seed N        of what --fuzz draws, 1 unless given
  --list          what there is, without running anything
  --json          one JSON document on stdout, and nothing else there
  --help
`

const out = (text: string): void => void process.stdout.write(text)

/** What a run is about: the cases to try, and those of the same layers that there is nothing to try on. */
interface Chosen {
  readonly cases: readonly AttackCase[]
  readonly notApplicable: readonly NotApplicable[]
  /** Payments over rails that misbehave as a seed draws: not where single cases are named. */
  readonly hasHostile: boolean
}

function chosen(layers: string | undefined, only: string | undefined): Chosen {
  const names = layers?.split(',')
  const ids = only?.split(',')
  const unknown = [
    ...(names ?? []).filter((name) => !LAYERS.some((layer) => layer === name)),
    ...(ids ?? []).filter((id) => !CASES.some((attack) => attack.id === id)),
  ]
  if (unknown.length > 0) throw new UsageError(`there is no ${unknown.join(', ')}`)
  const inLayers = ({ id }: { readonly id: string }) => names?.includes(layerOf(id)) ?? true
  const cases = CASES.filter((attack) => inLayers(attack) && (ids?.includes(attack.id) ?? true))
  // Nothing tried is nothing wrong, and would end with 0.
  if (cases.length === 0) throw new UsageError('none of these cases is on these layers')
  const hasHostile = ids === undefined && (names?.includes('rail') ?? true)
  return { cases, notApplicable: NOT_APPLICABLE.filter(inLayers), hasHostile }
}

function list({ cases, notApplicable }: Chosen, json: boolean): void {
  const shown = cases.map(({ id, goal, method, expected }) => {
    return { id, layer: layerOf(id), goal, method, expected }
  })
  if (json) out(`${JSON.stringify({ cases: shown, notApplicable }, null, 2)}\n`)
  for (const { id, layer, goal, method, expected } of json ? [] : shown) {
    const { status, code = '', verdict = '' } = expected
    out(`${id.padEnd(6)} ${layer.padEnd(9)} ${goal}\n${' '.repeat(17)}${method}\n`)
    out(`${' '.repeat(17)}→ ${[status, verdict, code].filter((part) => part !== '').join(' ')}\n`)
  }
}

function resultLine({ id, layer, ms, why, residual }: CaseResult): string {
  const word = why === undefined ? 'stopped' : 'WRONG'
  const lost = residual === undefined ? '' : `  ${residual} lost within the authority`
  const reason = why === undefined ? lost : `  ${why}`
  return `${word.padEnd(8)} ${id.padEnd(12)} ${layer.padEnd(9)} ${String(ms).padStart(5)} ms${reason}\n`
}

async function attack(asked: Chosen, seeds: number, json: boolean): Promise<boolean> {
  const { cases, notApplicable, hasHostile } = asked
  // Progress is for people; a reader of the document gets the document alone.
  const tell = (text: string) => (json ? undefined : out(text))
  const results = await runSuite({ cases, onResult: (result) => tell(resultLine(result)) })
  const hostile = hasHostile
    ? await runHostile({
        seeds,
        onResult: ({ seed, rail, why }) =>
          why === undefined ? undefined : tell(`WRONG    seed ${seed}  ${rail}  ${why}\n`),
      })
    : undefined
  if (hostile !== undefined) tell(hostileLines(hostile))
  const { wrong: ofSeeds = [], ...summary } = hostile ?? {}
  const ofCases = results.flatMap(({ id, why }) => (why === undefined ? [] : [{ id, why }]))
  const wrong = [...ofCases, ...ofSeeds]
  const stopped = results.length - ofCases.length
  // What nothing is meant to stop, in minor units: no case’s loss may pass the ceiling that was signed.
  const residuals = results.flatMap(({ id, residual }) =>
    residual === undefined ? [] : [{ id, residual }],
  )
  const met = hostile === undefined ? {} : { hostile: summary }
  const document = { cases: results.length, stopped, wrong, residuals, notApplicable, ...met }
  if (json) out(`${JSON.stringify(document, null, 2)}\n`)
  else out(`\n${results.length} cases, ${stopped} went as they must, ${wrong.length} wrong\n`)
  return wrong.length === 0
}

function hostileLines({ seeds, payments, wrong, faults, ...met }: HostileSummary): string {
  const { settled, cameBack, restarts, messages } = met
  const list = Object.entries(faults).map(([name, times]) => `${name} ${times}`)
  return [
    `\n${seeds} seeds over rails that misbehave: ${payments} payments, ${settled} settled, ${cameBack} came back, `,
    `${messages} messages, ${restarts} restarts, ${wrong.length} wrong\n  ${list.join(', ')}\n`,
  ].join('')
}

function ablationLines({ check, cases, wrong, stoppedAnyway, ok }: Ablation): string {
  const head = `${ok ? 'shown' : 'NOT SHOWN'}  without ${check}: ${wrong.length} of ${cases} cases go wrong\n`
  const lines = wrong.map(
    ({ id, why, moneyMoved }) => `    ${id.padEnd(6)} ${moneyMoved ? 'MONEY MOVED: ' : ''}${why}\n`,
  )
  const instead = stoppedAnyway === undefined ? '' : `    stopped anyway: ${stoppedAnyway}\n`
  return head + lines.join('') + instead
}

async function ablateAll(json: boolean): Promise<boolean> {
  const scene = await startScene()
  try {
    const ablations: Ablation[] = []
    for (const check of ABLATED) {
      const ablation = await ablate(check, scene)
      ablations.push(ablation)
      if (!json) out(ablationLines(ablation))
    }
    if (json) out(`${JSON.stringify({ ablations }, null, 2)}\n`)
    return ablations.every(({ ok }) => ok)
  } finally {
    await scene.close()
  }
}

function fuzzLines({ failures, ...result }: FuzzResult): string {
  const lines = Object.entries(result).map(
    ([name, value]) => `${name.padEnd(16)} ${JSON.stringify(value)}\n`,
  )
  const wrong = failures.map((failure) => `NOT REFUSED  ${JSON.stringify(failure)}\n`)
  return [...lines, ...wrong].join('')
}

async function fuzzAll(requests: number, seed: number, json: boolean): Promise<boolean> {
  const result = await fuzz({
    requests,
    seed,
    onProgress: (done) => (json ? undefined : out(`${done} of ${requests}\n`)),
  })
  out(json ? `${JSON.stringify(result, null, 2)}\n` : fuzzLines(result))
  return isWell(result, { timed: true })
}

const FLAGS = {
  layer: { type: 'string' },
  only: { type: 'string' },
  ablate: { type: 'boolean', default: false },
  fuzz: { type: 'string' },
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '200' },
  list: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

async function main(): Promise<number> {
  try {
    const { values } = parseArgs({ options: FLAGS })
    if (values.help) {
      out(USAGE)
      return 0
    }
    const isNarrowed = values.layer !== undefined || values.only !== undefined
    if (isNarrowed && (values.ablate || values.fuzz !== undefined))
      throw new UsageError('--ablate and --fuzz take neither --layer nor --only')
    if (values.fuzz !== undefined) {
      const [requests, seed] = [wholeNumber(values.fuzz, 'fuzz'), wholeNumber(values.seed, 'seed')]
      return (await fuzzAll(requests, seed, values.json)) ? 0 : 1
    }
    const asked = chosen(values.layer, values.only)
    if (values.list) {
      list(asked, values.json)
      return 0
    }
    const went = values.ablate
      ? await ablateAll(values.json)
      : await attack(asked, wholeNumber(values.seeds, 'seeds'), values.json)
    return went ? 0 : 1
  } catch (error) {
    const err = (text: string) => void process.stderr.write(text)
    return complain(error, { name: 'attack', usage: USAGE, err })
  }
}

// A reader that goes away (`| head`) ends us without a word; what we started ends with us.
process.stdout.on('error', () => process.exit(0))
process.exitCode = await main()
