/** A model that is told no secret and that none is taken from: whoever adds one asks through this. */
import type { Model, ModelAnswer, ModelRequest, TextGuard } from '../runtime/core/agents.ts'
import { Fault } from '../runtime/core/errors.ts'

/** The same model; throws Fault `secret_withheld`, before anything leaves, or with the answer thrown away. */
export function guarded(model: Model, guard: TextGuard): Model {
  const assertNone = (value: unknown, message: string) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    if (guard.holdsSecret(text)) throw new Fault('secret_withheld', message, { retryable: false })
  }
  return {
    engine: model.engine,
    async ask<T>(request: ModelRequest<T>): Promise<ModelAnswer<T>> {
      const { role, instructions, input } = request
      assertNone(instructions, `what the ${role} would have been told held a secret`)
      assertNone(input, `what the ${role} would have been told held a secret`)
      const answer = await model.ask(request)
      assertNone(answer, `what the ${role} answered held a secret`)
      return answer
    },
  }
}
