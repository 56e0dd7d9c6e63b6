/** A model whose calls are counted one by one, and of which is known with which instructions it was asked last. */
import { type Meter, type Model, ModelFault, NO_USAGE } from '../runtime/core/agents.ts'
import { type Digest, sha256 } from '../runtime/core/ids.ts'

export interface Watched extends Model {
  /** Empty before it was asked. */
  prompt(): { readonly prompt?: Digest }
}

/** The same model for one question to one role. A call that `meter` does not admit is not made. */
export function watched(model: Model, meter?: Meter): Watched {
  let instructions: string | undefined
  return {
    engine: model.engine,
    prompt: () => (instructions === undefined ? {} : { prompt: sha256(instructions) }),
    ask: async (request) => {
      meter?.before()
      instructions = request.instructions
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
