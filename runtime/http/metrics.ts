/**
 * What an operator's Prometheus reads. Every number is asked of its owner at the moment of the scrape, in a registry of
 * this gateway alone. Labels are closed sets: no id, no name of a merchant and no text of a caller enters one.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import { type Clock, nowSeconds } from '../core/time.ts'
import type { ModelCount } from '../funnel/model-counts.ts'
import type { HearingOutcome } from '../gateway/inbox.ts'
import type { MonitorTotals } from '../gateway/monitor-tally.ts'
import type { VerdictCount } from '../gateway/verdict-counts.ts'
import type { PoolStats } from '../tokens/worker-pool.ts'
import { addMonitor } from './monitor-metrics.ts'

export interface MetricsDeps {
  readonly ledger: Ledger
  readonly clock: Clock
  /** Refusals by checks 1 and 2 since the start, by code. */
  readonly refused: () => ReadonlyMap<string, number>
  /** Verdicts on payments since the start. */
  readonly verdicts: () => readonly VerdictCount[]
  /** What the monitor was asked and said since the start; undefined where there is none. */
  readonly monitor?: (() => MonitorTotals | undefined) | undefined
  /** Runs that were halted because an account differs from its log. */
  readonly haltedRuns: () => readonly unknown[]
  /** Messages of the rail since the start, by what became of them; absent at a rail that sends none. */
  readonly heard?: (() => ReadonlyMap<HearingOutcome, number>) | undefined
  readonly models?: (() => readonly ModelCount[]) | undefined
  /** Absent where another engine was composed in. */
  readonly pool?: (() => PoolStats) | undefined
}

export interface Metrics {
  /** One answered request; `route` is a pattern of the table, or undefined where none matched. */
  observe(method: string, route: string | undefined, status: number, seconds: number): void
  /** Prometheus' text format. */
  text(): Promise<string>
}

const PREFIX = 'headgate_'
/** States of payments that somebody still has to end; past one page a count says only that it is at least that. */
const OPEN_STATES = ['reserved', 'submitted', 'unknown'] as const
const METHODS = new Set(['GET', 'POST'])

const POOL_GAUGES = {
  workers: ['token_workers', 'Token workers that are ready.'],
  busy: ['token_workers_busy', 'Token workers with a task.'],
  queued: ['token_queue_tasks', 'Tasks that wait for a token worker.'],
  memoryBytes: ['token_memory_bytes', 'Memory of all token workers.'],
} as const

const POOL_COUNTERS = {
  served: ['token_tasks_total', 'Tasks that token workers answered.'],
  busyRefusals: ['token_queue_full_total', 'Tasks refused because too many waited.'],
  timeouts: ['token_timeouts_total', 'Tasks that met their deadline.'],
  recycled: ['token_recycled_total', 'Token workers replaced because they were worn.'],
  broken: ['token_broken_total', 'Token workers that broke.'],
} as const

export function createMetrics(deps: MetricsDeps): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: PREFIX })
  const requests = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: 'Answered requests by route pattern and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  })
  addPool(registers, deps.pool)
  addRefusals(registers, deps)
  addVerdicts(registers, deps)
  addMonitor(registers, deps.monitor)
  addRailsWord(registers, deps)
  addModels(registers, deps.models)
  addLedger(registers, deps)
  return {
    observe(method, route, status, seconds) {
      const known = METHODS.has(method) ? method : 'other'
      requests.observe({ method: known, route: route ?? 'none', status: String(status) }, seconds)
    },
    text: () => registry.metrics(),
  }
}

type Registers = Registry[]

/** A counter that its owner counts: it is told the sum, and starts from nothing with the process. */
function addPool(registers: Registers, pool: MetricsDeps['pool']): void {
  if (pool === undefined) return
  for (const key of ['workers', 'busy', 'queued', 'memoryBytes'] as const) {
    const [name, help] = POOL_GAUGES[key]
    const collect = () => gauge.set(pool()[key])
    const gauge: Gauge = new Gauge({ name: PREFIX + name, help, registers, collect })
  }
  for (const key of ['served', 'busyRefusals', 'timeouts', 'recycled', 'broken'] as const) {
    const [name, help] = POOL_COUNTERS[key]
    addTotal(registers, { name, help, value: () => pool()[key] })
  }
  const help = 'Time that token workers spent on tasks.'
  addTotal(registers, { name: 'token_busy_seconds_total', help, value: () => pool().busyMs / 1000 })
}

function addTotal(
  registers: Registers,
  { name, help, value }: { name: string; help: string; value: () => number },
): void {
  const collect = () => {
    counter.reset()
    counter.inc(value())
  }
  const counter: Counter = new Counter({ name: PREFIX + name, help, registers, collect })
}

function addRefusals(registers: Registers, { refused }: MetricsDeps): void {
  const collect = () => {
    counter.reset()
    for (const [code, n] of refused()) counter.inc({ code }, n)
  }
  const counter: Counter<'code'> = new Counter({
    name: `${PREFIX}refused_before_identity_total`,
    help: 'Requests that checks 1 and 2 refused, by code.',
    labelNames: ['code'],
    registers,
    collect,
  })
}

function addVerdicts(registers: Registers, { verdicts }: MetricsDeps): void {
  const collect = () => {
    counter.reset()
    for (const { verdict, code, count } of verdicts()) counter.inc({ verdict, code }, count)
  }
  const counter: Counter<'verdict' | 'code'> = new Counter({
    name: `${PREFIX}payment_verdicts_total`,
    help: 'Verdicts on payments, by verdict and code; answers that are told again do not count.',
    labelNames: ['verdict', 'code'],
    registers,
    collect,
  })
}

function addRailsWord(registers: Registers, { heard, ledger }: MetricsDeps): void {
  const limit = LIMITS.pageItems
  if (heard !== undefined) {
    const collect = () => {
      counter.reset()
      for (const [outcome, n] of heard()) counter.inc({ outcome }, n)
    }
    const counter: Counter<'outcome'> = new Counter({
      name: `${PREFIX}webhooks_total`,
      help: 'Messages that came in the name of the rail, by what became of them.',
      labelNames: ['outcome'],
      registers,
      collect,
    })
  }
  const parked: Gauge = new Gauge({
    name: `${PREFIX}webhooks_parked`,
    help: `Messages of the rail whose effect is not written yet; ${limit} means at least so many.`,
    registers,
    collect: async () => parked.set((await ledger.parked(limit)).length),
  })
  const outside: Gauge = new Gauge({
    name: `${PREFIX}outside_open`,
    help: `What moved at the rail without us and nobody has acknowledged; ${limit} means at least so many.`,
    registers,
    collect: async () => outside.set((await ledger.unacknowledged(limit)).length),
  })
}

const MODEL_TOTALS = [
  ['model_calls_total', 'Calls of models by the agents.', (count) => count.usage.calls],
  ['model_input_tokens_total', 'Tokens that models read.', (count) => count.usage.inputTokens],
  ['model_output_tokens_total', 'Tokens that models wrote.', (count) => count.usage.outputTokens],
  [
    'model_cost_dollars_total',
    'What models cost by their price lists, in US dollars.',
    (count) => count.usage.costMicros / 1_000_000,
  ],
] as const satisfies readonly (readonly [string, string, (count: ModelCount) => number])[]

function addModels(registers: Registers, models: MetricsDeps['models']): void {
  if (models === undefined) return
  for (const [name, help, value] of MODEL_TOTALS) {
    const collect = () => {
      counter.reset()
      for (const count of models()) {
        counter.inc({ engine: count.engine, role: count.role }, value(count))
      }
    }
    const counter: Counter<'engine' | 'role'> = new Counter({
      name: PREFIX + name,
      help: `${help} By engine and role.`,
      labelNames: ['engine', 'role'],
      registers,
      collect,
    })
  }
  const collect = () => {
    failures.reset()
    for (const { engine, role, failures: why } of models()) {
      for (const [failure, n] of why) failures.inc({ engine, role, failure }, n)
    }
  }
  const failures: Counter<'engine' | 'role' | 'failure'> = new Counter({
    name: `${PREFIX}model_failures_total`,
    help: 'Questions to models that brought no decision, by why.',
    labelNames: ['engine', 'role', 'failure'],
    registers,
    collect,
  })
}

function addLedger(registers: Registers, { ledger, clock, haltedRuns }: MetricsDeps): void {
  const halted: Gauge = new Gauge({
    name: `${PREFIX}runs_halted`,
    help: 'Runs that were halted because an account differs from its log.',
    registers,
    collect: () => halted.set(haltedRuns().length),
  })
  const limit = LIMITS.pageItems
  const collectPayments = async () => {
    const pages = await Promise.all(
      OPEN_STATES.map((state) => ledger.payments({ states: [state], limit })),
    )
    OPEN_STATES.forEach((state, i) => {
      payments.set({ state }, pages[i]?.length ?? 0)
    })
    const unknown = pages[OPEN_STATES.indexOf('unknown')] ?? []
    // Whoever waits for a payer has heard from the rail.
    const oldest = unknown.find(({ awaits }) => awaits !== 'payer')
    const now = nowSeconds(clock)
    age.set(oldest === undefined ? 0 : Math.max(0, now - oldest.createdAtSeconds))
  }
  const payments: Gauge<'state'> = new Gauge({
    name: `${PREFIX}payments_open`,
    help: `Payments that are not ended, by state; ${limit} means at least so many.`,
    labelNames: ['state'],
    registers,
    collect: collectPayments,
  })
  const age = new Gauge({
    name: `${PREFIX}payments_oldest_unknown_seconds`,
    help: 'Age of the oldest payment whose rail has not said what happened; 0 without one.',
    registers,
  })
  const collectHolds = async () => {
    holds.set((await ledger.holds({ states: ['open'], limit })).length)
  }
  const holds: Gauge = new Gauge({
    name: `${PREFIX}holds_open`,
    help: `Payments that wait for a person; ${limit} means at least so many.`,
    registers,
    collect: collectHolds,
  })
}
