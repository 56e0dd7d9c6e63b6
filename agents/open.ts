/** The engines: which model answers for which role, by the operator's configuration. */
import type { Model } from '../runtime/core/agents.ts'
import { Fault } from '../runtime/core/errors.ts'
import type { Clock, Timers } from '../runtime/core/time.ts'
import { createScriptedModel } from './scripted/model.ts'

export type Provider = 'gemini' | 'groq'

export interface Price {
  /** Millionths of a US dollar for a million tokens. */
  readonly inputMicros: number
  readonly outputMicros: number
}

/** One model of a provider, as `config.ts` parses it. */
export interface ModelOptions {
  readonly kind: Provider
  readonly model: string
  /** The origin of a stand-in on this machine; absent: the provider. */
  readonly url?: string | undefined
  /** By model, over the prices that we know. */
  readonly prices?: Readonly<Record<string, Price>> | undefined
}

/** As `config.ts` parses it. */
export type EngineOptions =
  | { readonly kind: 'scripted' }
  | (ModelOptions & {
      readonly roles?:
        | { readonly [role in 'planner' | 'looker' | 'chooser']?: string | undefined }
        | undefined
    })

export interface EngineDeps {
  /** Of the provider; undefined is refused where one is needed. */
  readonly key: (provider: Provider) => string | undefined
  readonly clock: Clock
  /** The machine's where absent. */
  readonly timers?: Timers
  /** What carries a request; Node's own where absent. It is given nothing but requests to the provider's host. */
  readonly fetch?: typeof fetch
}

/** One model, whatever the role. Throws Fault `config_invalid` for a missing key and for a model without a price. */
export function openModel({ kind }: ModelOptions, _deps: EngineDeps): Model {
  throw new Fault('config_invalid', `the models of ${kind} are not there yet`)
}

/** One model for all roles. Throws Fault `config_invalid` for a missing key and for a model without a price. */
export function openEngine(engine: EngineOptions, deps: EngineDeps): Model {
  return engine.kind === 'scripted' ? createScriptedModel() : openModel(engine, deps)
}
