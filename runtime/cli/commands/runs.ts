/** Commands about runs: begin one, watch it, list them, and stop or resume what is below a node. */
import type { Command } from 'commander'
import { nodeIdSchema, type RunId, runIdSchema } from '../../core/ids.ts'
import { type Fact, type RunDetail, type RunView, runDetailSchema } from '../../core/wire.ts'
import { createRunAnswer, runAnswer, runsAnswer, standingAnswer } from '../../http/shapes.ts'
import type { Api } from '../api.ts'
import { Failure } from '../failure.ts'
import { follow } from '../follow.ts'
import { type Io, oneLine, shown, table } from '../io.ts'
import { liveBlock } from '../live.ts'
import { endedText, storyLine } from '../story.ts'
import { runLine, stateText, treeLines } from '../tree.ts'
import {
  apiOf,
  command,
  confirm,
  emit,
  readInput,
  type ServerOptions,
  withServer,
} from './context.ts'

type Options = ServerOptions & { json?: boolean }

const ENDED = new Set(['completed', 'failed', 'cancelled'])

/** The id as typed by a person; throws Failure for anything else. */
export function runId(text: string): RunId {
  const parsed = runIdSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw new Failure('usage', 'expected a run’s id, which begins with run_')
}

export const readRun = (api: Api, run: RunId): Promise<RunDetail> =>
  api.get(`/runs/${run}`, runDetailSchema)

const PAGE = 50

/** Every run of a gateway, newest first, page by page. */
export async function* runsOf(api: Api): AsyncGenerator<RunView, void> {
  for (let query = ''; ; ) {
    const { runs } = await api.get(`/runs?limit=${PAGE}${query}`, runsAnswer)
    yield* runs
    const last = runs.at(-1)
    if (last === undefined || runs.length < PAGE) return
    query = `&after=${last.id}`
  }
}

export function runCommand(io: Io): Command {
  const base = command({
    name: 'run',
    summary: 'begin a run by posting a signed mandate; posting it again finds the same run',
    examples: [
      'headgate run --mandate mandate.jws --watch',
      'headgate mandate sign ... | headgate run --mandate -',
    ],
  })
    .requiredOption('--mandate <file>', 'the mandate as `mandate sign` printed it (- for stdin)')
    .option('--watch', 'follow it until it ends')
  return withServer(base).action(
    async (options: Options & { mandate: string; watch?: boolean }) => {
      const api = apiOf(io, options)
      const mandate = (await readInput(options.mandate)).trim()
      const made = await api.post('/runs', { mandate }, createRunAnswer)
      if (options.watch) return watch(io, api, runId(made.run.id), options)
      emit(io, options, made, () => `${made.run.id} ${made.run.state}\n`)
    },
  )
}

export function watchCommand(io: Io): Command {
  const base = command({
    name: 'watch',
    summary: 'draw a run’s tree live until the run ends; plain lines where there is no terminal',
    examples: ['headgate watch run_4x…', 'headgate watch run_4x… --json'],
  }).argument('<run>', 'the run’s id')
  return withServer(base).action((run: string, options: Options) =>
    watch(io, apiOf(io, options), runId(run), options),
  )
}

/** Follows a run to its end; throws Failure `no` when it did not complete. */
async function watch(io: Io, api: Api, run: RunId, options: Options): Promise<void> {
  const live = liveBlock(io)
  const isPlain = !io.isTerminal && !options.json
  const end = await watchRun(api, run, {
    signal: io.signal,
    onFact: (fact, detail) => {
      const line = isPlain ? storyLine(io, fact, detail) : undefined
      if (line !== undefined) io.out(`${line}\n`)
    },
    onTree: (detail) => {
      if (!options.json) live.draw(treeLines(io, detail, io.rows - 2))
    },
    after: isPlain ? 0 : (await readRun(api, run)).position,
  })
  if (!options.json) live.draw(treeLines(io, end))
  live.done()
  if (options.json) emit(io, options, end, () => '')
  else if (isPlain) io.out(`${treeLines(io, end).join('\n')}\n`)
  if (end.run.state === 'completed') return
  const reason = end.run.reason === undefined ? '' : `: ${shown(end.run.reason, 300)}`
  throw new Failure('no', `${endedText(end.run.state)}${reason}`)
}

export interface WatchOptions {
  readonly after: number
  readonly signal: AbortSignal
  /** `detail` is at least as new as the fact. */
  readonly onFact?: (fact: Fact, detail: RunDetail) => void | Promise<void>
  readonly onTree?: (detail: RunDetail) => void
}

/** Follows a run until it has ended and everything about it was seen, reading the tree once per burst of facts. */
export async function watchRun(api: Api, run: RunId, options: WatchOptions): Promise<RunDetail> {
  let detail = await readRun(api, run)
  let position = options.after
  options.onTree?.(detail)
  const isSeen = () => ENDED.has(detail.run.state) && position >= detail.position
  for await (const followed of follow(api, run, options)) {
    const isNews = followed.kind === 'beat' || followed.fact.position > detail.position
    if (isNews) {
      detail = await readRun(api, run)
      options.onTree?.(detail)
    }
    if (followed.kind === 'fact') {
      position = followed.fact.position
      await options.onFact?.(followed.fact, detail)
    }
    if (isSeen()) return detail
  }
  throw new Failure('interrupted', 'interrupted')
}

export function runsCommand(io: Io): Command {
  const base = command({
    name: 'runs',
    summary: 'list runs, newest first',
    examples: ['headgate runs', 'headgate runs --json'],
  })
  return withServer(base).action(async (options: Options) => {
    const { runs } = await apiOf(io, options).get('/runs', runsAnswer)
    emit(io, options, { runs }, () =>
      runs.length === 0
        ? 'no runs yet\n'
        : runs.map((run) => `${runLine(io, run)}\n  ${shown(oneLine(run.task), 100)}\n`).join(''),
    )
  })
}

export function cancelCommand(io: Io): Command {
  const base = command({
    name: 'cancel',
    summary: 'cancel a run: nothing below it is paid any more, and what is left comes home',
    examples: ['headgate cancel run_4x…'],
  }).argument('<run>', 'the run’s id')
  return withServer(base).action(async (run: string, options: Options) => {
    const answer = await apiOf(io, options).post(`/runs/${runId(run)}/cancel`, {}, runAnswer)
    emit(io, options, answer, () => `${runLine(io, answer.run)}\n`)
  })
}

export function eraseCommand(io: Io): Command {
  const base = command({
    name: 'erase',
    summary:
      'erase the personal values of runs that have ended: task, labels, accounts, goods, evidence; the log still verifies',
    examples: ['headgate erase run_4x…', 'headgate erase --principal alice --yes'],
  })
    .argument('[run...]', 'the runs’ ids')
    .option('--principal <id>', 'every run of this principal that has ended')
    .option('--yes', 'do not ask')
  return withServer(base).action(async (given: string[], options: EraseOptions) => {
    const api = apiOf(io, options)
    const wanted = await toErase(api, given.map(runId), options)
    const question = `erase for good what is personal in ${wanted.length} runs`
    if (!options.yes) await confirm(io, question, { otherwise: 'nothing was erased' })
    const runs: RunView[] = []
    for (const run of wanted) {
      runs.push((await api.post(`/runs/${run}/erase`, {}, runAnswer)).run)
    }
    emit(io, options, { runs }, () => runs.map((run) => `${run.id} erased\n`).join(''))
  })
}

interface EraseOptions extends Options {
  readonly principal?: string
  readonly yes?: boolean
}

async function toErase(
  api: Api,
  given: readonly RunId[],
  { principal }: EraseOptions,
): Promise<readonly RunId[]> {
  if ((principal === undefined) === (given.length === 0)) {
    throw new Failure('usage', 'expected ids of runs, or --principal')
  }
  const found: RunId[] = [...given]
  if (principal === undefined) return found
  for await (const run of runsOf(api)) {
    const isEnded = run.principal === principal && run.seal !== undefined
    if (isEnded && run.erasedAtSeconds === undefined) found.push(run.id)
  }
  return found
}

const VERBS = {
  freeze: 'stop a node and everything below it, a run, or the whole gateway, at once',
  resume: 'let what was frozen go on',
  revoke: 'stop a node and everything below it for good',
} as const

export function standingCommand(io: Io, verb: keyof typeof VERBS): Command {
  const whole = verb === 'revoke' ? [] : [`headgate ${verb}`]
  const base = command({
    name: verb,
    summary: VERBS[verb],
    examples: [`headgate ${verb} run_4x…`, `headgate ${verb} run_4x… nd_7c…`, ...whole],
  })
    .argument(
      verb === 'revoke' ? '<run>' : '[run]',
      verb === 'revoke' ? 'the run’s id' : 'the run’s id; without it, the whole gateway',
    )
    .argument('[node]', 'the node’s id; without it, the run’s root')
  return withServer(base).action(
    async (run: string | undefined, node: string | undefined, options: Options) => {
      const api = apiOf(io, options)
      const path = await standingPath(api, verb, run, node)
      const answer = await api.post(path, {}, standingAnswer)
      emit(io, options, answer, () =>
        table([
          [answer.node, stateText(io, answer.state)],
          ...answer.onTheirWay.map((payment) => [payment, 'was already on its way']),
        ]),
      )
    },
  )
}

async function standingPath(
  api: Api,
  verb: keyof typeof VERBS,
  run: string | undefined,
  node: string | undefined,
): Promise<string> {
  if (run === undefined) return `/${verb}`
  const id = runId(run)
  if (node === undefined) return `/runs/${id}/nodes/${(await readRun(api, id)).run.root}/${verb}`
  const parsed = nodeIdSchema.safeParse(node)
  if (!parsed.success) throw new Failure('usage', 'expected a node’s id, which begins with nd_')
  return `/runs/${id}/nodes/${parsed.data}/${verb}`
}
