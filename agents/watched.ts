/** A model whose calls are counted one by one, and of which is known with which instructions it was asked last. */
import { type Meter, type Model, ModelFault, NO_USAGE } from '../runtime/core/agents.ts'
import type { Digest } from '../runtime/core/ids.ts'
import { PROMPT_VERSION } from './instructions.ts'

export interface Watched extends Model {
  /** Empty before it was asked. */
  prompt(): { readonly prompt?: Digest }
}

/** The same model for one question to one role. A call that `meter` does not admit is not made. */
export function watched(model: Model, meter?: Meter): Watched {
  let prompt: Digest | undefined
  return {
    engine: model.engine,
    prompt: () => (prompt === undefined ? {} : { prompt }),
    ask: async (request) => {
      meter?.before()
      prompt = request.role === 'monitor' ? undefined : PROMPT_VERSION[request.role]
      try {
        const answer = await model.ask(request)
        const { inputTokens, outputTokens, costMicros } = answer.usage
        meter?.after({ calls: 1, inputTokens, outputTokens, costMicros })
        return answer
      } catch (error) {
        meter?.after(error instanceof ModelFault ? error.usage : NO_USAGE)
        throw error
      }
    },
  }
}
