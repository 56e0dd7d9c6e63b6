/**
 * The models of a gateway: what plans, looks and chooses, and what watches, by the configuration. It is the only file
 * that knows agents. A key of a provider is taken from the credentials that were resolved for it, and goes nowhere else.
 */

import { createAgents } from '../agents/agents.ts'
import { guarded } from '../agents/guarded.ts'
import { createMonitor } from '../agents/monitor.ts'
import { type EngineDeps, openEngine, openModel } from '../agents/open.ts'
import type { Config } from './config.ts'
import type { Agents, Budgets, TextGuard } from './core/agents.ts'
import type { Monitor } from './core/judges.ts'
import type { Agent } from './core/mandate.ts'
import type { FunnelDeps } from './funnel/context.ts'
import type { GatewayDeps } from './gateway/gate.ts'
import { createScriptedMonitor } from './policy/monitors.ts'
import { type Credentials, revealed } from './secrets/resolve.ts'

export interface ModelParts extends Omit<EngineDeps, 'key'> {
  readonly config: Config
  readonly credentials?: Credentials | undefined
  readonly guard: TextGuard
}

type FunnelModels = Pick<FunnelDeps, 'agents' | 'agent' | 'budgets' | 'fallback'>

const KEYS = { gemini: 'GEMINI_API_KEY', groq: 'GROQ_API_KEY' } as const

const depsOf = ({ credentials, clock }: ModelParts): EngineDeps => ({
  key: (provider) => revealed(credentials, KEYS[provider]),
  clock,
})

/** What carries out runs here: a mandate may ask for it by its engine, and by the model that plans. */
export const agentOf = ({ engine }: Config): Agent =>
  engine.kind === 'scripted'
    ? { engine: engine.kind }
    : { engine: engine.kind, model: engine.roles?.planner ?? engine.model }

/** The agents of the configured engine, what plans where they cannot, and what they may use. Throws Fault `config_invalid`. */
export function funnelModels(parts: ModelParts, given?: Agents): FunnelModels {
  const { config, guard } = parts
  const { engine, budgets } = config
  const agents = given ?? createAgents(openEngine(engine, depsOf(parts)), guard)
  const agent = agentOf(config)
  if (engine.kind === 'scripted') return { agents, agent, budgets: freeOfCharge(budgets) }
  const scripted = openEngine({ kind: 'scripted' }, depsOf(parts))
  return { agents, agent, budgets, fallback: createAgents(scripted, guard) }
}

/** An engine that costs nothing is bounded by its calls alone. */
const freeOfCharge = ({ run, node }: Budgets): Budgets => {
  const noEnd = Number.POSITIVE_INFINITY
  const free = (calls: number) => ({ calls, tokens: noEnd, costMicros: noEnd })
  return { run: free(run.calls), node: free(node.calls) }
}

/** The configured monitor; undefined where there is none. Throws Fault `config_invalid`. */
export function monitorOf(parts: ModelParts): Monitor | undefined {
  const { monitor } = parts.config
  switch (monitor.kind) {
    case 'none':
      return undefined
    case 'scripted':
      return createScriptedMonitor({ steps: monitor.steps })
    case 'gemini':
    case 'groq': {
      const { kind: engine, model } = monitor
      const opened = guarded(openModel(monitor, depsOf(parts)), parts.guard)
      return createMonitor({ model: opened, expects: { engine, model } })
    }
  }
}

/** How often the monitor may be asked and how it is tried; undefined where it is no model. */
export const watchingOf = ({ monitor }: Config): GatewayDeps['watching'] =>
  monitor.kind === 'gemini' || monitor.kind === 'groq'
    ? { quota: monitor.quota, canaries: monitor.canaries }
    : undefined
