/** What the configuration says of models: the agents' engine, what it may use, and the monitor. */
import { z } from 'zod'
import { loopbackUrlSchema } from './core/loopback.ts'
import { monitorScriptSchema } from './policy/monitors.ts'

/** Where a configuration names a provider and no model. */
export const MODELS = { gemini: 'gemini-3.5-flash-lite', groq: 'openai/gpt-oss-120b' } as const

const modelName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$/)
const micros = z.number().int().min(0).max(1_000_000_000_000)

/** A model of a provider. Its key is GEMINI_API_KEY or GROQ_API_KEY. */
const modelOptions = {
  model: modelName,
  /** Of a stand-in on this machine; absent: the provider. */
  url: loopbackUrlSchema.optional(),
  /** By model: millionths of a US dollar for a million tokens, over the prices that we know. */
  prices: z
    .record(modelName, z.strictObject({ inputMicros: micros, outputMicros: micros }))
    .optional(),
}
const engineOptions = {
  ...modelOptions,
  /** A model of its own for a role. */
  roles: z
    .strictObject({
      planner: modelName.optional(),
      looker: modelName.optional(),
      chooser: modelName.optional(),
    })
    .optional(),
}

/** What plans, looks and chooses. */
export const engineSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('scripted') }),
  z.strictObject({
    kind: z.literal('gemini'),
    ...engineOptions,
    model: modelName.default(MODELS.gemini),
  }),
  z.strictObject({
    kind: z.literal('groq'),
    ...engineOptions,
    model: modelName.default(MODELS.groq),
  }),
])

const budgetSchema = (calls: number, tokens: number, costMicros: number) =>
  z
    .strictObject({
      calls: z.number().int().min(0).max(1_000_000).default(calls),
      tokens: z.number().int().min(0).max(10_000_000_000).default(tokens),
      /** Millionths of a US dollar. */
      costMicros: micros.default(costMicros),
    })
    .prefault({})

/** What models may use: calls, tokens read and written, and money. Reached, it ends a branch with a reason. */
export const budgetsSchema = z.strictObject({
  run: budgetSchema(2_000, 5_000_000, 5_000_000),
  node: budgetSchema(200, 1_000_000, 1_000_000),
})

const monitorOptions = {
  ...modelOptions,
  /** The word without which the monitor may not be a model that the agents use: it would share their blind spots. */
  sameAsAgents: z.boolean().default(false),
  canaries: z
    .strictObject({
      /** A payment that is known to be bad is put to it once in so many questions. */
      every: z.number().int().min(1).max(10_000).default(20),
      /** Of the last `window` of them it has to object to so many in a hundred, or it counts as down. */
      window: z.number().int().min(1).max(1_000).default(10),
      floorPercent: z.number().int().min(0).max(100).default(80),
    })
    .prefault({}),
  quota: z
    .strictObject({
      perLeaf: z.number().int().min(1).max(1_000).default(5),
      perRun: z.number().int().min(1).max(1_000_000).default(2_000),
      perHour: z.number().int().min(1).max(1_000_000).default(5_000),
    })
    .prefault({}),
}

export const monitorSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none') }),
  monitorScriptSchema.extend({ kind: z.literal('scripted') }),
  z.strictObject({ kind: z.literal('gemini'), ...monitorOptions }),
  z.strictObject({ kind: z.literal('groq'), ...monitorOptions }),
])

type Models = {
  readonly engine: z.output<typeof engineSchema>
  readonly monitor: z.output<typeof monitorSchema>
}

/** Without the number of its version, as in `gemini-2.0-flash-001`: that is the same model. */
const plainName = (model: string): string => model.replace(/-[0-9]{3}$/, '')

/** What is wrong with the models together, as sentences. */
export function modelProblems({ engine, monitor }: Models): string[] {
  if (engine.kind === 'scripted' || monitor.kind !== engine.kind) return []
  const ofAgents = [engine.model, ...Object.values(engine.roles ?? {})]
  const watcher = plainName(monitor.model)
  const isOfAgents = ofAgents.some((model) => model !== undefined && plainName(model) === watcher)
  if (monitor.sameAsAgents || !isOfAgents) return []
  return [
    '`monitor.model` is wrong: expected another model than those of the agents, whose blind spots it would share, ' +
      'or `"sameAsAgents": true`',
  ]
}
