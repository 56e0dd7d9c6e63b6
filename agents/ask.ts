/** One question to a model, with its answer checked again by us: an adapter is not trusted to have validated. */
import type { z } from 'zod'
import { type Model, ModelFault, type ModelRequest, type Usage } from '../runtime/core/agents.ts'

export interface Asked<T> {
  readonly value: T
  readonly usage: Usage
  readonly model: string
}

/** Throws ModelFault for anything but a clean, valid answer; what one that is not valid cost is in it. */
export async function ask<T>(model: Model, request: ModelRequest<T>): Promise<Asked<T>> {
  request.signal.throwIfAborted()
  const answer = await model.ask(request)
  const usage = { calls: 1, ...answer.usage }
  const read = request.schema.safeParse(answer.value)
  if (read.success) return { value: read.data, usage, model: answer.model }
  const message = `the ${request.role} answered out of shape`
  throw new ModelFault('malformed', message, { usage, model: answer.model })
}

/** Whether the model that answered is the one that was asked: a version of it ends in its number, as in `gemini-2.0-flash-001`. */
export const isVersionOf = (asked: string, answered: string): boolean =>
  answered === asked ||
  (answered.startsWith(asked) && /^-[0-9]{3}$/.test(answered.slice(asked.length)))

/** The value as `schema` reads it, or a Fault with our own message: what was wrong stays out of it. */
export function check<T>(schema: z.ZodType<T>, value: unknown, message: string): T {
  const read = schema.safeParse(value)
  if (!read.success) throw new ModelFault('malformed', message)
  return read.data
}
