/**
 * `headgate demo`: a whole world in a temporary folder, one mission from signature to seal, and then the proof that
 * all of it held. It exits with 0 only if it did.
 */
import { writeFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { parseEvent } from '../../core/events.ts'
import { type RunId, sha256 } from '../../core/ids.ts'
import { parseJws } from '../../core/jws.ts'
import { mandateSchema } from '../../core/mandate.ts'
import { formatMoney } from '../../core/money.ts'
import { type Fact, holdViewSchema, type RunDetail } from '../../core/wire.ts'
import { createRunAnswer, loginCodeAnswer } from '../../http/shapes.ts'
import { recordExchanges, replayExchanges } from '../../models.ts'
import { createSecretGuard } from '../../secrets/guard.ts'
import { type Api, createApi } from '../api.ts'
import { EXIT, Failure } from '../failure.ts'
import { type Io, shown, table, tint } from '../io.ts'
import { findOrders, type OrderInListing } from '../listings.ts'
import { liveBlock } from '../live.ts'
import { defaultMission, loadMission, type Mission, missionNames } from '../mission.ts'
import { type ExchangeOptions, withExchanges } from '../model-exchanges.ts'
import { pictureOf } from '../picture.ts'
import { type Proof, prove } from '../proof.ts'
import { storyLine } from '../story.ts'
import { modelsText, treeLines } from '../tree.ts'
import { startWorld, type World } from '../world.ts'
import {
  ENGINE_NAMES,
  type EngineName,
  engineOption,
  startModels,
  withoutModels,
} from '../world-models.ts'
import { RAIL_NAMES, type RailName } from '../world-rails.ts'
import { worstCase } from '../worst-case.ts'
import { command } from './context.ts'
import { holdCard } from './holds.ts'
import { runId, watchRun } from './runs.ts'

interface DemoOptions extends ExchangeOptions {
  json?: boolean
  rail: RailName
  engine?: EngineName
  keep?: boolean
  picture?: string
}

export function demoCommand(io: Io): Command {
  const base = command({
    name: 'demo',
    summary: 'run a mission in a play world, watch it, and prove that everything held',
    examples: [
      'headgate demo',
      ...missionNames().map((name) => `headgate demo ${name}`),
      'headgate demo my-mission.json --json',
      'headgate demo --rail paypal',
      'headgate demo --engine gemini --record exchanges',
      'headgate demo --replay exchanges',
    ],
  })
  return withExchanges(base)
    .argument(
      '[mission]',
      'a mission by name, or a file such as those in eval/missions (default: the office move)',
    )
    .addOption(
      new Option(
        '--rail <name>',
        'what moves the money: of a real rail, a stand-in on this machine',
      )
        .choices(RAIL_NAMES)
        .default('simulated'),
    )
    .addOption(
      engineOption(
        'what the agents think with: a provider where its key is set, else a stand-in for it',
      ),
    )
    .option('--keep', 'leave the world up afterwards, with its console')
    .option('--picture <file>', 'write the tree of the run as a picture (SVG)')
    .action((mission: string | undefined, options: DemoOptions) =>
      demo(io, loadMission(mission ?? defaultMission(options.rail)), options),
    )
}

const RAIL_SAID: Readonly<Record<RailName, string>> = {
  simulated: 'a rail',
  razorpay: 'a stand-in for Razorpay',
  paypal: 'a stand-in for PayPal',
}

async function demo(io: Io, mission: Mission, options: DemoOptions): Promise<void> {
  const startedMs = io.clock.nowMs()
  if (options.picture !== undefined) savePicture(options.picture, '')
  const say = options.json ? () => undefined : (text: string) => io.out(text)
  say(
    `${mission.title}\n${mission.shows}\n\nstarting ${RAIL_SAID[options.rail]}, shops and a gateway…\n`,
  )
  const world = await startWorld({
    clock: io.clock,
    rail: options.rail,
    ...modelsAndExchanges(io, options),
  })
  let failure: unknown
  try {
    io.signal.throwIfAborted()
    if (world.models.said !== undefined) io.err(`${world.models.said}\n`)
    const api = createApi({ url: world.gateway.url, token: world.gateway.operatorToken })
    const played = await play(io, { world, api, mission, say, isQuiet: options.json === true })
    const proof = await prove(api, played, world.rail, mission)
    const ms = io.clock.nowMs() - startedMs
    if (options.json) io.out(`${JSON.stringify(summary(played, proof, ms))}\n`)
    else say(await epilogue(io, { world, played, proof, ms }))
    if (options.picture !== undefined) savePicture(options.picture, pictureOf(played.detail))
    if (options.keep) await keepUp(io, world, api)
    if (proof.wrong.length > 0)
      throw new Failure('no', `not all of it held: ${proof.wrong.join('; ')}`)
  } catch (error) {
    failure = error
  } finally {
    await world.close()
  }
  // Why a replayed run went otherwise counts for more than that it did.
  failure = differenceToldBy(world.gateway) ?? failure
  if (failure !== undefined) throw failure
}

/** What a replay answers nobody else is asked, and needs no key. A wrong folder is known before anything is started. */
function modelsAndExchanges(io: Io, { engine, record, replay }: DemoOptions) {
  if (record !== undefined) recordExchanges(record, createSecretGuard())
  const replayed = replay === undefined ? undefined : replayExchanges(replay)
  const name = engine ?? ENGINE_NAMES.find((each) => each === replayed?.engine) ?? 'scripted'
  return {
    models:
      replayed === undefined
        ? (dir: string) => startModels(name, dir, io.environment.credentials)
        : async () => withoutModels(name),
    args: [
      ...(record === undefined ? [] : ['--record', record]),
      ...(replay === undefined ? [] : ['--replay', replay]),
    ],
  }
}

function differenceToldBy(gateway: World['gateway']): Failure | undefined {
  const { code, complaint } = gateway.ended() ?? { code: EXIT.ok, complaint: '' }
  if (code !== EXIT.replayDiffers) return undefined
  const sentence = complaint.split('\n').at(-1) ?? ''
  return new Failure('replayDiffers', sentence.replace(/^headgate: /, ''))
}

/** Also called before the run, with nothing, so that a wrong path is known before anything was waited for. */
function savePicture(file: string, picture: string): void {
  try {
    writeFileSync(file, picture)
  } catch (cause) {
    throw new Failure('usage', 'expected --picture to be a file that can be written', { cause })
  }
}

interface Stage {
  readonly world: World
  readonly api: Api
  readonly mission: Mission
  readonly say: (text: string) => void
  readonly isQuiet: boolean
}

interface Played {
  readonly detail: RunDetail
  readonly held: number
  readonly denied: number
  readonly mandate: string
}

/** Signs, posts, watches and answers the cards. */
async function play(io: Io, { world, api, mission, say, isQuiet }: Stage): Promise<Played> {
  const mandate = world.sign(mission.mandate)
  say(`${tint(io, 'strong', 'the principal signs:')} ${worstOf(mandate)}\n\n`)
  const made = await api.post('/runs', { mandate }, createRunAnswer)
  const run = runId(made.run.id)
  const live = liveBlock(io)
  const counted = { held: 0, denied: 0 }
  const onFact = async (fact: Fact, detail: RunDetail) => {
    const { type, data } = parseEvent(fact.body)
    const line = io.isTerminal || isQuiet ? undefined : storyLine(io, fact, detail)
    if (line !== undefined) say(`${line}\n`)
    if (type === 'refused') counted.denied += 1
    if (type !== 'held') return
    counted.held += 1
    live.done()
    await decide(io, { api, mission, say, isQuiet }, data.hold)
  }
  const draw = (detail: RunDetail) => live.draw(treeLines(io, detail, io.rows - 2))
  const watching = { after: 0, signal: io.signal, onFact, ...(isQuiet ? {} : { onTree: draw }) }
  const detail = await watchRun(api, run as RunId, watching)
  if (!isQuiet) live.draw(treeLines(io, detail))
  live.done()
  if (!io.isTerminal) say(`\n${treeLines(io, detail).join('\n')}\n`)
  return { detail, mandate, ...counted }
}

const worstOf = (mandate: string): string =>
  worstCase(mandateSchema.parse(parseJws(mandate, 'mandate+jwt')?.claims))

/** How long a person who watches has to read a card. */
const READ_MS = 2_500

async function decide(io: Io, stage: Omit<Stage, 'world'>, id: string): Promise<void> {
  const { api, mission, say, isQuiet } = stage
  const hold = await api.get(`/holds/${id}`, holdViewSchema)
  if (hold.state !== 'open') return
  say(`\n${tint(io, 'held', 'a payment waits for a person:')}\n${holdCard(io, hold)}`)
  if (io.isTerminal && !isQuiet) await pause(READ_MS, io.signal)
  const decided = await api.post(
    `/holds/${id}/${mission.holds}`,
    { digest: hold.digest },
    holdViewSchema,
  )
  say(`the operator of the demonstration ${decided.state} it, once, for exactly this card\n\n`)
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

function summary({ detail, held, denied }: Played, proof: Proof, ms: number) {
  const { run, nodes } = detail
  const count = (kind: string) => nodes.filter((node) => node.kind === kind).length
  const { currency } = run
  return {
    run: { id: run.id, state: run.state },
    tree: {
      nodes: nodes.length,
      depth: Math.max(...nodes.map(({ depth }) => depth)),
      planners: count('planner'),
      lookers: count('looker'),
      leaves: count('leaf'),
    },
    payments: { settled: proof.settled.length, held, denied },
    totals: { currency, ceiling: run.ceiling, ...run.totals },
    rail: { calls: proof.book.calls, total: proof.book.totals[currency] ?? 0 },
    audit: { events: proof.events, verified: proof.verified, seal: proof.seal },
    ms,
  }
}

interface Ending {
  readonly world: World
  readonly played: Played
  readonly proof: Proof
  readonly ms: number
}

async function epilogue(io: Io, { world, played, proof, ms }: Ending): Promise<string> {
  const { run } = played.detail
  const money = (amount: number) => formatMoney(amount, run.currency)
  const byPayee = new Map<string, number[]>()
  for (const { payee, settledAmount = 0 } of proof.settled) {
    byPayee.set(payee, [...(byPayee.get(payee) ?? []), settledAmount])
  }
  const paid = [...byPayee].map(([payee, amounts]) => {
    const total = amounts.reduce((sum, amount) => sum + amount, 0)
    return [
      `  ${payee}`,
      money(total),
      `${amounts.length} ${amounts.length === 1 ? 'payment' : 'payments'}`,
    ]
  })
  const orders = await findOrders(world, played.detail, proof.settled)
  const { spent, available, reserved } = run.totals
  const mark = (holds: boolean) => (holds ? tint(io, 'good', '✓') : tint(io, 'refused', '✗'))
  const total = proof.book.totals[run.currency] ?? 0
  const models = modelsText(run.models)
  return [
    '',
    tint(io, 'strong', 'paid'),
    paid.length === 0 ? '  nothing' : table(paid).trimEnd(),
    ...(run.reason === undefined ? [] : [`left unmet: ${shown(run.reason, 400)}`]),
    '',
    ...tellOrders(io, orders),
    tint(io, 'strong', 'held to account'),
    `${mark(proof.verified)} log     ${proof.events} events, every hash, balance and standing recomputed; seal ${proof.seal ? 'verified' : 'missing'}`,
    `${mark(total === spent)} rail    ${proof.book.calls} ${proof.book.calls === 1 ? 'call' : 'calls'}, ${money(total)} moved by its own book; the ledger says ${money(spent)} spent`,
    `${mark(spent + available + reserved === run.ceiling)} money   ${money(run.ceiling)} signed = ${money(spent)} spent + ${money(available)} home again + ${money(reserved)} reserved`,
    ...(models === undefined ? [] : [`  models  ${models}`]),
    ...proof.wrong.map((sentence) => `${mark(false)} ${sentence}`),
    '',
    `the worst that could have happened: ${worstOf(played.mandate)}`,
    `run ${run.id}, mandate ${sha256(played.mandate)}, ${ms} ms`,
    '',
  ].join('\n')
}

const SHOWN_ORDERS = 3

function tellOrders(io: Io, orders: readonly OrderInListing[]): string[] {
  if (orders.length === 0) return []
  return [
    tint(io, 'strong', 'what strangers told the lookers to do'),
    ...orders
      .slice(0, SHOWN_ORDERS)
      .flatMap(({ merchant, sku, text, bought }) => [
        `  ${merchant} ${sku}: “${shown(text, 150)}”`,
        `    ${bought === 0 ? 'nobody bought it, and nothing else in the tree moved' : `bought ${bought} at its signed price, as the mandate allows, and nothing it asked for`}`,
      ]),
    ...(orders.length > SHOWN_ORDERS
      ? [`  and ${orders.length - SHOWN_ORDERS} more like these`]
      : []),
    '',
  ]
}

async function keepUp(io: Io, world: World, api: Api): Promise<void> {
  const { code } = await api.post('/login-codes', {}, loginCodeAnswer)
  const { port } = new URL(world.gateway.url)
  io.err(`still up: http://headgate.localhost:${port}  login code ${code}  (Ctrl-C ends it)\n`)
  await new Promise<void>((resolve) => {
    io.signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
