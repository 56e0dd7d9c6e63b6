/**
 * The scripted model: the default engine. It needs no key and no network, answers the same request always the
 * same way, and really reads what it is given: tasks in words, listings, offers.
 */
import type { Model, ModelAnswer, ModelRequest } from '../../runtime/core/agents.ts'
import { check } from '../ask.ts'
import { monitorInputSchema } from '../monitor-shapes.ts'
import { chooseInputSchema, lookInputSchema, planInputSchema } from '../shapes.ts'
import { chooseOffer } from './choose.ts'
import { judgePayment } from './judge.ts'
import { nextActions } from './look.ts'
import { planTask } from './plan.ts'

const NAME = 'scripted-1'

/** A `Model` for every role. Throws Fault `model_failed` for an input that is not the role’s. */
export function createScriptedModel(): Model {
  return {
    engine: 'scripted',
    async ask<T>(request: ModelRequest<T>): Promise<ModelAnswer<T>> {
      request.signal.throwIfAborted()
      const value = check(
        request.schema,
        answer(request),
        'the scripted engine answered out of shape',
      )
      const usage = { inputTokens: 0, outputTokens: 0, costMicros: 0 }
      return { value, usage, model: NAME, finish: 'stop' }
    },
  }
}

function answer({ role, input }: ModelRequest<unknown>): unknown {
  switch (role) {
    case 'planner':
      return planTask(check(planInputSchema, input, 'expected a planner’s input'))
    case 'looker':
      return nextActions(check(lookInputSchema, input, 'expected a looker’s input'))
    case 'chooser':
      return chooseOffer(check(chooseInputSchema, input, 'expected a chooser’s input'))
    case 'monitor':
      return judgePayment(check(monitorInputSchema, input, 'expected a monitor’s input'))
  }
}
