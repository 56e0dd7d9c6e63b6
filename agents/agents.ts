/**
 * The agents: the untrusted side of the funnel. They turn words into plans, listings into scores and offers into
 * an index, by asking one `Model`; they hold no key, mint nothing, and what they answer is parsed by closed
 * schemas here and judged again by the funnel. They import the core and, for its types, nothing else.
 */
import type { Agents, Model, TextGuard } from '../runtime/core/agents.ts'
import { choose } from './chooser.ts'
import { guarded } from './guarded.ts'
import { look } from './looker.ts'
import { plan } from './planner.ts'
import { watched } from './watched.ts'

/**
 * The three roles over one model. Each call throws Fault `model_failed` when there is no clean answer, and
 * `secret_withheld` where the guard, if there is one, finds a secret in what goes out or comes in.
 */
export function createAgents(given: Model, guard?: TextGuard): Agents {
  const model = guard === undefined ? given : guarded(given, guard)
  return {
    async plan(request, signal) {
      const asked = watched(model)
      const { value, usage, model: answeredBy } = await plan(asked, request, signal)
      return { plan: value, usage, model: answeredBy, ...asked.prompt() }
    },
    async look(request, session, signal) {
      const asked = watched(model, session.meter)
      const { value, usage, model: answeredBy } = await look(asked, request, session, signal)
      return { look: value, usage, model: answeredBy, ...asked.prompt() }
    },
    async choose(request, signal) {
      const asked = watched(model)
      const { value, usage, model: answeredBy } = await choose(asked, request, signal)
      return { choice: value, usage, model: answeredBy, ...asked.prompt() }
    },
  }
}
