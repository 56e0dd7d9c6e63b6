/**
 * The models of a gateway: what plans, looks and chooses, and what watches, by the configuration. It is the only file
 * that knows agents. A key of a provider is taken from the credentials that were resolved for it, and goes nowhere else.
 */
import { createAgents } from '../agents/agents.ts'
import { guarded } from '../agents/guarded.ts'
import { createMonitor } from '../agents/monitor.ts'
import { type EngineDeps, openEngine, openModel } from '../agents/open.ts'
import { exchangesIn, folderForExchanges } from '../agents/recorded.ts'
import { type Named, recording, replaying } from '../agents/recording.ts'
import type { Config } from './config.ts'
import {
  type Agents,
  type Budgets,
  type Model,
  PROVIDER_KEYS,
  type TextGuard,
} from './core/agents.ts'
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
  /** Where what is said with models is written down, or played again from. */
  readonly exchanges?: ModelExchanges | undefined
}

type FunnelModels = Pick<FunnelDeps, 'agents' | 'agent' | 'budgets' | 'fallback'>

const depsOf = ({ credentials, clock }: ModelParts): EngineDeps => ({
  key: (provider) => revealed(credentials, PROVIDER_KEYS[provider]),
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
  const agents = given ?? createAgents(engineOf(parts), guard)
  const agent = agentOf(config)
  if (engine.kind === 'scripted') return { agents, agent, budgets: freeOfCharge(budgets) }
  const scripted = openEngine({ kind: 'scripted' }, depsOf(parts))
  return { agents, agent, budgets, fallback: createAgents(scripted, guard) }
}

const engineOf = (parts: ModelParts): Model => {
  const { engine } = parts.config
  return through(parts, namedOf(engine), () => openEngine(engine, depsOf(parts)))
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
      const named = { engine, modelOf: () => model }
      const opened = through(parts, named, () => openModel(monitor, depsOf(parts)))
      return createMonitor({ model: guarded(opened, parts.guard), expects: { engine, model } })
    }
  }
}

/**
 * How often the monitor may be asked and how it is tried; undefined where it is no model. What is recorded is to be played
 * again, so its canaries are the same ones each time: whoever records gives up that nobody can tell them.
 */
export function watchingOf(
  { monitor }: Config,
  exchanges?: ModelExchanges,
): GatewayDeps['watching'] {
  if (monitor.kind !== 'gemini' && monitor.kind !== 'groq') return undefined
  const { quota, canaries } = monitor
  return { quota, canaries: exchanges === undefined ? canaries : { ...canaries, key: 'recorded' } }
}

/** A way for all that is said with models: into a folder, or out of one. */
export interface ModelExchanges {
  /** The engine that is heard of in a recording. */
  readonly engine?: string
  /** The model as it is recorded, or a recording in its place: then it is not even opened. */
  through(named: Named, open: () => Model): Model
  /** Once nothing is asked any more: what went otherwise than it was recorded, in a sentence. */
  end(): string | undefined
}

/** Throws Fault `config_invalid` for a folder that cannot be used. */
export function recordExchanges(dir: string, guard: TextGuard): ModelExchanges {
  const store = folderForExchanges(dir, guard)
  return {
    through: (named, open) => recording(open(), store, named),
    end: () => undefined,
  }
}

/** Throws Fault `config_invalid` for a folder that is not a whole recording. */
export function replayExchanges(dir: string): ModelExchanges {
  const exchanges = exchangesIn(dir)
  const replay = replaying(exchanges)
  const agents = exchanges.find(({ asked }) => asked.role !== 'monitor')
  return {
    ...(agents === undefined ? {} : { engine: agents.asked.engine }),
    through: (named) => replay.as(named),
    end: replay.end,
  }
}

const through = ({ exchanges }: ModelParts, named: Named, open: () => Model): Model =>
  exchanges === undefined ? open() : exchanges.through(named, open)

const namedOf = (engine: Config['engine']): Named => ({
  engine: engine.kind,
  modelOf: (role) => {
    if (engine.kind === 'scripted') return engine.kind
    return (role === 'monitor' ? undefined : engine.roles?.[role]) ?? engine.model
  },
})
