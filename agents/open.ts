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

/** As `config.ts` parses it. */
export type EngineOptions =
  | { readonly kind: 'scripted' }
  | {
      readonly kind: Provider
      readonly model: string
      readonly roles?:
        | { readonly [role in 'planner' | 'looker' | 'chooser']?: string | undefined }
        | undefined
      readonly url?: string | undefined
      readonly prices?: Readonly<Record<string, Price>> | undefined
    }

export interface EngineDeps {
  /** Of the provider; undefined is refused where one is needed. */
  readonly key: (provider: Provider) => string | undefined
  readonly clock: Clock
  readonly timers?: Timers
}

/** One model for all roles. Throws Fault `config_invalid` for a missing key and for a model without a price. */
export function openEngine(engine: EngineOptions, _deps: EngineDeps): Model {
  if (engine.kind === 'scripted') return createScriptedModel()
  throw new Fault('config_invalid', `the engine ${engine.kind} is not there yet`)
}
