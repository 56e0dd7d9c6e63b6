/** The engines: which model answers for which role, by the operator's configuration. */
import {
  type Model,
  type ModelAnswer,
  type ModelRequest,
  PROVIDER_KEYS,
  type Provider,
} from '../runtime/core/agents.ts'
import { Fault } from '../runtime/core/errors.ts'
import { loopbackUrlSchema } from '../runtime/core/loopback.ts'
import type { Clock, Timers } from '../runtime/core/time.ts'
import type { Carry } from './carry.ts'
import { createGeminiModel } from './gemini.ts'
import { createGroqModel } from './groq.ts'
import { type Price, priceOf } from './prices.ts'
import { createScriptedModel } from './scripted/model.ts'

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
  /** How a provider is reached: HTTP where absent. It is given nothing but requests to the provider's origin. */
  readonly carry?: Carry
}

const CREATE = { gemini: createGeminiModel, groq: createGroqModel }

/** One model, whatever the role. Throws Fault `config_invalid` for a missing key and for a model without a price. */
export function openModel({ kind, model, url, prices }: ModelOptions, deps: EngineDeps): Model {
  const key = deps.key(kind)
  if (key === undefined) {
    throw invalid(`models of ${kind} need the credential ${PROVIDER_KEYS[kind]}`)
  }
  if (!HEADER_SAFE.test(key))
    throw invalid(`${PROVIDER_KEYS[kind]} is not a key: expected printable characters`)
  if (url !== undefined && !loopbackUrlSchema.safeParse(url).success) {
    throw invalid(`the url of ${kind} must be http://127.0.0.1:PORT of a stand-in`)
  }
  // Another model answers to it tomorrow, and then no answer of it would be taken.
  if (model.endsWith('-latest'))
    throw invalid(`name one model of ${kind}, not whatever is the latest`)
  const price = priceOf(kind, model, prices)
  if (price === undefined) {
    throw invalid(
      `no price is known of the model ${model}: expected it in "prices" beside the model, ` +
        `{"${model}": {"inputMicros": …, "outputMicros": …}}, millionths of a US dollar for a million tokens`,
    )
  }
  const { clock, timers, carry } = deps
  return CREATE[kind]({ model, key, url, price, clock, timers, carry })
}

/** One model for all roles. Throws Fault `config_invalid` for a missing key and for a model without a price. */
export function openEngine(engine: EngineOptions, deps: EngineDeps): Model {
  if (engine.kind === 'scripted') return createScriptedModel()
  const roles = engine.roles ?? {}
  const named = [engine.model, roles.planner, roles.looker, roles.chooser]
  const models = new Map(
    named.flatMap((model) =>
      model === undefined ? [] : [[model, openModel({ ...engine, model }, deps)] as const],
    ),
  )
  return {
    engine: engine.kind,
    async ask<T>(request: ModelRequest<T>): Promise<ModelAnswer<T>> {
      const own = request.role === 'monitor' ? undefined : roles[request.role]
      const model = models.get(own ?? engine.model)
      if (model === undefined) throw new Error('a role has no model')
      return await model.ask(request)
    },
  }
}

/** A key is a header's value: no line break, no space. */
const HEADER_SAFE = /^[!-~]{1,500}$/

const invalid = (message: string) => new Fault('config_invalid', message, { retryable: false })
