/**
 * The models of a gateway: what plans, looks and chooses, and what watches, by the configuration. It is the only file
 * that knows agents. A key of a provider is taken from the credentials that were resolved for it, and goes nowhere else.
 */

import { createAgents } from '../agents/agents.ts'
import { type EngineDeps, openEngine } from '../agents/open.ts'
import type { Config } from './config.ts'
import type { Agents, TextGuard } from './core/agents.ts'
import { Fault } from './core/errors.ts'
import type { Monitor } from './core/judges.ts'
import type { Agent } from './core/mandate.ts'
import { createScriptedMonitor } from './policy/monitors.ts'
import { type Credentials, revealed } from './secrets/resolve.ts'

export interface ModelParts extends Omit<EngineDeps, 'key'> {
  readonly config: Config
  readonly credentials?: Credentials | undefined
  readonly guard: TextGuard
}

const KEYS = { gemini: 'GEMINI_API_KEY', groq: 'GROQ_API_KEY' } as const

const depsOf = ({ credentials, clock }: ModelParts): EngineDeps => ({
  key: (provider) => revealed(credentials, KEYS[provider]),
  clock,
})

/** What a run's record says of its agents, where its mandate says nothing. */
export const agentOf = ({ engine }: Config): Agent =>
  engine.kind === 'scripted'
    ? { engine: engine.kind }
    : { engine: engine.kind, model: engine.model }

/** The agents of the configured engine. Throws Fault `config_invalid`. */
export const agentsOf = (parts: ModelParts): Agents =>
  createAgents(openEngine(parts.config.engine, depsOf(parts)), parts.guard)

/** The configured monitor; undefined where there is none. Throws Fault `config_invalid`. */
export function monitorOf({ config: { monitor } }: ModelParts): Monitor | undefined {
  switch (monitor.kind) {
    case 'none':
      return undefined
    case 'scripted':
      return createScriptedMonitor({ steps: monitor.steps })
    case 'gemini':
    case 'groq':
      throw new Fault('config_invalid', `the monitor ${monitor.kind} is not there yet`)
  }
}
