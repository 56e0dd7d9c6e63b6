/** The monitor's numbers: what it was asked, what it said, what it caught of what is known to be bad, what it cost. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import type { MonitorTotals } from '../gateway/monitor-tally.ts'

const PREFIX = 'headgate_monitor_'

/** Each told by its sum, as of the scrape. Nothing where the gateway has no monitor. */
export function addMonitor(
  registers: Registry[],
  monitor: (() => MonitorTotals | undefined) | undefined,
): void {
  const totals = monitor?.()
  if (monitor === undefined || totals === undefined) return
  const counters = [
    ['calls_total', 'Questions that were put to the monitor, canaries among them.', 'calls'],
    ['allowed_total', 'Payments that the monitor let pass.', 'allowed'],
    ['objections_total', 'Payments that the monitor objected to.', 'objected'],
  ] as const
  for (const [name, help, key] of counters) {
    addTotal(registers, { name, help, value: () => monitor()?.[key] ?? 0 })
  }
  addFailures(registers, monitor)
  addUsage(registers, monitor)
  if (totals.canaries !== undefined) addCanaries(registers, monitor)
}

type Totals = () => MonitorTotals | undefined

function addTotal(
  registers: Registry[],
  { name, help, value }: { name: string; help: string; value: () => number },
): void {
  const collect = () => {
    counter.reset()
    counter.inc(value())
  }
  const counter: Counter = new Counter({ name: PREFIX + name, help, registers, collect })
}

function addFailures(registers: Registry[], monitor: Totals): void {
  const collect = () => {
    counter.reset()
    for (const [why, n] of monitor()?.failures ?? []) counter.inc({ why }, n)
  }
  const counter: Counter<'why'> = new Counter({
    name: `${PREFIX}failures_total`,
    help: 'Questions without an answer, by reason; a person decides instead.',
    labelNames: ['why'],
    registers,
    collect,
  })
}

function addUsage(registers: Registry[], monitor: Totals): void {
  const collect = () => {
    const usage = monitor()?.usage
    tokens.reset()
    tokens.inc({ direction: 'input' }, usage?.inputTokens ?? 0)
    tokens.inc({ direction: 'output' }, usage?.outputTokens ?? 0)
  }
  const tokens: Counter<'direction'> = new Counter({
    name: `${PREFIX}tokens_total`,
    help: 'Tokens that the monitor read and wrote.',
    labelNames: ['direction'],
    registers,
    collect,
  })
  addTotal(registers, {
    name: 'cost_usd_total',
    help: 'What the monitor cost, in US dollars by the configured prices.',
    value: () => (monitor()?.usage.costMicros ?? 0) / 1_000_000,
  })
}

function addCanaries(registers: Registry[], monitor: Totals): void {
  addTotal(registers, {
    name: 'canaries_total',
    help: 'Payments known to be bad that the monitor has answered about.',
    value: () => monitor()?.canaries?.put ?? 0,
  })
  addTotal(registers, {
    name: 'canaries_caught_total',
    help: 'Of these, those that it objected to.',
    value: () => monitor()?.canaries?.caught ?? 0,
  })
  const rate: Gauge = new Gauge({
    name: `${PREFIX}catch_rate`,
    help: 'Share of the last canaries that it caught, 0 to 1; 0 before the first.',
    registers,
    collect: () => rate.set(monitor()?.canaries?.rate ?? 0),
  })
  const believed: Gauge = new Gauge({
    name: `${PREFIX}believed`,
    help: '1 while it catches enough of them; at 0 it counts as down and people decide.',
    registers,
    collect: () => believed.set(monitor()?.canaries?.believed === true ? 1 : 0),
  })
}
