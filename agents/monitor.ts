/**
 * The monitor: a model that is asked once about one payment, over structured facts alone, and may only hold it back. It
 * keeps nothing and decides nothing: how often it is asked, which answer stands and whether it is believed at all is
 * the gateway's. Whatever is not a clean answer of the configured model is `unavailable` with a closed word.
 */
import { type Model, ModelFault, type Usage } from '../runtime/core/agents.ts'
import { Fault } from '../runtime/core/errors.ts'
import { sha256 } from '../runtime/core/ids.ts'
import type {
  Monitor,
  MonitorAnswer,
  MonitorFacts,
  MonitorFailure,
  MonitorIdentity,
} from '../runtime/core/judges.ts'
import { LIMITS } from '../runtime/core/limits.ts'
import { ask, isVersionOf } from './ask.ts'
import { MONITOR_PROMPT, MONITOR_PROMPTS, type MonitorPrompt } from './monitor-prompts.ts'
import { inOrder, monitorInputOf, monitorVerdictSchema } from './monitor-shapes.ts'
import { promptOf } from './prompt.ts'

export interface MonitorOptions {
  readonly model: Model
  /** Who must have answered; anybody else's answer is none. */
  readonly expects: { readonly engine: string; readonly model: string }
  /** Version of the instructions; the current one if absent. */
  readonly prompt?: MonitorPrompt
}

/** A monitor over one model. `judge` never throws. */
export function createMonitor({
  model,
  expects,
  prompt = MONITOR_PROMPT,
}: MonitorOptions): Monitor & { readonly identity: MonitorIdentity } {
  const instructions = MONITOR_PROMPTS[prompt]
  return {
    identity: { ...expects, prompt, promptDigest: sha256(instructions) },
    told: monitorInputOf,
    async judge(facts: MonitorFacts, signal: AbortSignal): Promise<MonitorAnswer> {
      try {
        const request = {
          role: 'monitor',
          instructions,
          input: monitorInputOf(facts),
          schema: monitorVerdictSchema,
          signal,
        } as const
        // Never shortened: what is left out might be what matters.
        if (promptOf(request).user.length > LIMITS.monitorChars) return unavailable('too_long')
        const { value, usage, model: answered } = await ask(model, request)
        if (model.engine !== expects.engine || !isVersionOf(expects.model, answered))
          return unavailable('other_model', usage)
        return value.verdict === 'allow'
          ? { kind: 'allow', usage }
          : { kind: 'object', concerns: inOrder(value.concerns), usage }
      } catch (error) {
        return failed(error, signal)
      }
    },
  }
}

const unavailable = (why: MonitorFailure, usage?: Usage): MonitorAnswer => ({
  kind: 'unavailable',
  why,
  ...(usage === undefined ? {} : { usage }),
})

function failed(error: unknown, signal: AbortSignal): MonitorAnswer {
  if (error instanceof ModelFault) return unavailable(error.failure, error.usage)
  if (signal.aborted) return unavailable('late')
  if (!(error instanceof Fault)) return unavailable('failed')
  if (error.code === 'secret_withheld') return unavailable('secret_withheld')
  return unavailable(error.code === 'model_failed' ? 'malformed' : 'failed')
}
