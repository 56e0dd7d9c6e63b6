/**
 * One seed: a gateway makes a few payments over a rail that misbehaves as the seed draws, messages come twice, late and in
 * another order, the gateway is stopped or killed in between; then time passes, the rail is asked, and both books are
 * compared. Nothing is scored on what the gateway says of itself but its ledger, and that against the stand-in's own sums.
 */
import { verifyExport } from '../../../runtime/audit/verify.ts'
import type { TokenEngine } from '../../../runtime/core/engine.ts'
import type { PaymentRecord } from '../../../runtime/core/records.ts'
import { reversedOf } from '../../../runtime/core/records.ts'
import { exchange, type Transport } from '../../../runtime/rails/exchange.ts'
import { Random } from '../../simulate/scheduler.ts'
import { Wrong } from '../types.ts'
import { Bench, type Held } from '../world/bench.ts'
import { type Deliver, hasDoor } from './deliver.ts'
import { type HostileGateway, startHostileGateway } from './gateway.ts'
import { type Fault, type Plan, planOf, type Step } from './plan.ts'
import { type PlantedFault, remembering } from './planted.ts'
import { type HostileRail, type RailMessage, startHostileRail } from './rails.ts'

export interface SeedResult {
  readonly seed: number
  readonly rail: Plan['rail']
  readonly payments: number
  readonly settled: number
  readonly cameBack: number
  readonly restarts: number
  readonly messages: number
  /** Of those, the ones that the gateway took by its own address for them. */
  readonly byHttp: number
  readonly faults: Readonly<Partial<Record<Fault, number>>>
  /** Absent: everything held. */
  readonly why?: string
}

export interface SeedOptions {
  readonly engine: TokenEngine
  readonly deliver: Deliver
  readonly planted?: PlantedFault
}

/** Longer than anything that the rail or the gateway waits for. */
const ROUNDS = 24

/** How often each key was asked to be paid, by every process of this seed. */
type Asked = Map<string, number>

interface Run {
  readonly plan: Plan
  readonly random: Random
  readonly rail: HostileRail
  readonly gateway: HostileGateway
  readonly bench: Bench
  readonly root: Held
  readonly asked: Asked
  readonly deliver: Deliver
  /** Not taken yet, or to come once more. */
  readonly post: RailMessage[]
  readonly faults: Map<Fault, number>
  delivered: number
  byHttp: number
  restarts: number
}

export async function runSeed(seed: number, options: SeedOptions): Promise<SeedResult> {
  const plan = planOf(seed)
  const rail = await startHostileRail(plan.rail)
  const asked: Asked = new Map()
  const gateway = await startHostileGateway({
    engine: options.engine,
    rail,
    adapter: (clock) => {
      const { transport, last } = remembering(counting(rail, asked))
      const adapter = rail.adapter({ clock, transport })
      return options.planted?.plant(adapter, last) ?? adapter
    },
  })
  try {
    const bench = new Bench(gateway.world)
    const root = await bench.run({ currency: rail.currency, ceiling: 1_000_000 })
    const run: Run = {
      plan,
      random: new Random(seed + 1_000_000),
      rail,
      gateway,
      bench,
      root,
      asked,
      deliver: options.deliver,
      post: [],
      faults: new Map(),
      delivered: 0,
      byHttp: 0,
      restarts: 0,
    }
    const why = await livedThrough(run)
    const payments = await paymentsOf(run)
    return {
      seed,
      rail: plan.rail,
      payments: payments.length,
      settled: payments.filter(({ state }) => state === 'settled').length,
      cameBack: payments.filter((payment) => reversedOf(payment) > 0).length,
      restarts: run.restarts,
      messages: run.delivered,
      byHttp: run.byHttp,
      faults: Object.fromEntries(run.faults),
      ...(why === undefined ? {} : { why }),
    }
  } finally {
    await gateway.close()
    await rail.close()
  }
}

const counting =
  (rail: HostileRail, asked: Asked): Transport =>
  (request) => {
    const key = rail.keyOf(request)
    if (key !== undefined) asked.set(key, (asked.get(key) ?? 0) + 1)
    return exchange(request)
  }

async function livedThrough(run: Run): Promise<string | undefined> {
  try {
    for (const step of run.plan.steps) await take(run, step)
    await comeToRest(run)
    await giveBack(run)
    await hear(run, { isLast: true })
    return (await reasons(run)).join('; ') || undefined
  } catch (error) {
    if (error instanceof Wrong) return error.message
    return `the seed broke: ${error instanceof Error ? (error.stack ?? error.message) : ''}`
  }
}

async function take(run: Run, step: Step): Promise<void> {
  const { rail, gateway, bench, root, faults } = run
  const { fault, amount } = step
  const shop = run.random.pick(gateway.world.shops) ?? bench.shop
  const { quote, leaf } = await bench.purchaseIn(root, { shop, amount, currency: rail.currency })
  const before = { booked: rail.payments(), asked: run.asked.size }
  if (fault !== 'none') rail.script(rail.operation, fault)
  const paying = bench.pay(leaf, quote)
  const isBooked = fault === 'hang' && (await booked(rail, before.booked))
  if (isBooked && step.isHeardEarly) await hear(run)
  if (isBooked && step.restart === 'during') await started(run, () => gateway.kill())
  const { status } = await paying
  const wasKilled = isBooked && step.restart === 'during'
  bench.claim(
    status === 200 || status === 202 || (wasKilled && status !== 403),
    `expected an answer to a payment, got ${status}`,
  )
  if (run.asked.size > before.asked) faults.set(fault, (faults.get(fault) ?? 0) + 1)
  if (step.restart === 'after') await started(run, () => gateway.restart())
  for (let again = 0; again < step.retries; again += 1) await bench.pay(leaf, quote)
  await hear(run)
}

async function started(run: Run, act: () => Promise<void>): Promise<void> {
  run.restarts += 1
  await act()
}

/** The rail has it on its books, though nobody was told. */
async function booked(rail: HostileRail, before: number): Promise<boolean> {
  for (let tried = 0; tried < 100; tried += 1) {
    if (rail.payments() > before) return true
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return false
}

/** Fetches the rail's post and delivers some of it: several times, in another order, or not before the end. */
async function hear(run: Run, { isLast = false } = {}): Promise<void> {
  const { plan, random, post, rail } = run
  for (const message of rail.messages()) {
    for (let copy = 0; copy < plan.copies; copy += 1) post.push(message)
  }
  if (plan.isLate && !isLast) return
  const now = isLast ? post.splice(0) : post.splice(0, random.between(0, post.length + 1))
  if (plan.isShuffled) now.sort(() => random.next() - 0.5)
  for (const message of now) {
    run.delivered += 1
    // What the gateway does not take is sent again.
    if (!(await run.deliver(run.gateway, rail, message))) post.push(message)
    else if (hasDoor(run.gateway, rail)) run.byHttp += 1
  }
}

/** Time passes until every payment has ended or the patience is over. */
async function comeToRest(run: Run): Promise<void> {
  const { gateway, rail, plan } = run
  const deaf = [...plan.deaf]
  for (let round = 0; round < ROUNDS; round += 1) {
    gateway.advance(SECONDS_A_ROUND)
    const fault = deaf.shift()
    if (fault !== undefined) {
      rail.script('*', fault)
      run.faults.set(fault, (run.faults.get(fault) ?? 0) + 1)
    }
    await hear(run)
    await ask(run)
    const isOver = (await paymentsOf(run)).every(({ state }) => isEnd(state))
    if (isOver && deaf.length === 0) return
  }
}

/** Beyond the slower rail's visibility delay. */
const SECONDS_A_ROUND = 2 * 3600

const isEnd = (state: PaymentRecord['state']): boolean =>
  state === 'settled' || state === 'released'

/** A round of the reconciler; what it could not do, the next one does. */
async function ask({ gateway }: Run): Promise<void> {
  await gateway.headgate.reconciler.runOnce().catch(() => undefined)
}

/** Some of what had settled comes back, and the gateway hears of it, however often it is told. */
async function giveBack(run: Run): Promise<void> {
  const { plan, rail, gateway } = run
  const settled = (await paymentsOf(run)).filter(({ state }) => state === 'settled')
  const back = new Set<string>()
  for (const [i, payment] of settled.entries()) {
    if (plan.steps[i]?.comesBack !== true) continue
    try {
      rail.comeBack(payment.railKey)
    } catch {
      throw new Wrong(`${payment.railKey} has settled, and the rail knows of no such payment`)
    }
    back.add(payment.id)
  }
  // A few settled payments are asked about in each round, in turn.
  for (let round = 0; round < ROUNDS && back.size > 0; round += 1) {
    await hear(run)
    gateway.advance(SECONDS_A_ROUND)
    await ask(run)
    for (const payment of await paymentsOf(run)) {
      if (reversedOf(payment) > 0) back.delete(payment.id)
    }
  }
}

const paymentsOf = ({ gateway, root }: Run): Promise<readonly PaymentRecord[]> =>
  gateway.headgate.ledger.payments({
    run: root.run,
    states: ['reserved', 'submitted', 'unknown', 'settled', 'released'],
    limit: 100,
  })

/** What does not hold at the end, in sentences. */
async function reasons(run: Run): Promise<string[]> {
  const { rail, asked, bench, root, gateway } = run
  const payments = await paymentsOf(run)
  const open = payments.filter(({ state }) => !isEnd(state))
  const spent = payments.reduce(
    (sum, payment) => sum + (payment.settledAmount ?? 0) - reversedOf(payment),
    0,
  )
  const twice = [...asked].filter(([, times]) => times > 1).length
  const strange = [...asked.keys()].filter((key) => !payments.some((each) => each.railKey === key))
  const settled = payments.filter(({ state }) => state === 'settled').length
  const { nodes } = await bench.detail(root.run)
  const log = await bench.operator('/audit')
  const { ok, broken } = verifyExport(log.text.split('\n').filter((line) => line !== ''))
  const said = [log.text, ...gateway.world.log].join('\n')
  return [
    ...open.map(({ state, railKey }) => `${railKey} is still ${state}`),
    ...(spent === rail.total() ? [] : [`the ledger says ${spent}, the rail ${rail.total()}`]),
    ...(twice === 0 ? [] : [`${twice} keys were sent to be paid more than once`]),
    ...(strange.length === 0 ? [] : [`${strange.length} keys of no payment were sent`]),
    ...(rail.payments() < settled ? ['more has settled than the rail has payments'] : []),
    ...nodes
      .filter(
        (node) => node.ceiling !== node.available + node.reserved + node.spent + node.allotted,
      )
      .map(({ id }) => `the books of ${id} do not add up`),
    ...(ok ? [] : [`the log does not verify: ${broken?.stream} ${broken?.why}`]),
    ...(rail.secrets.some((secret) => said.includes(secret)) ? ['a credential was said'] : []),
  ]
}
