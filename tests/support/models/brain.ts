/** What a stand-in thinks with: the scripted engine, fed with what it reads back out of the prompt. */
import { z } from 'zod'
import { createScriptedModel } from '../../../agents/scripted/model.ts'
import { parseJson } from '../../../runtime/core/json.ts'

const ROLES = ['planner', 'looker', 'chooser', 'monitor'] as const

const promptSchema = z.strictObject({ role: z.enum(ROLES), input: z.unknown() })
export type Prompt = z.infer<typeof promptSchema>

export type Brain = (prompt: Prompt) => unknown

/** What the user's message asks; undefined where it is no question of ours. */
export function promptIn(text: string): Prompt | undefined {
  try {
    return promptSchema.parse(parseJson(text))
  } catch {
    return undefined
  }
}

export const think: Brain = async ({ role, input }) => {
  const { signal } = new AbortController()
  const answer = await createScriptedModel().ask({
    role,
    instructions: '',
    input,
    schema: z.unknown(),
    signal,
  })
  return answer.value
}

/** A model's own count would differ; the order of size is the same. */
export const tokensOf = (text: string): number => Math.ceil(text.length / 4)
