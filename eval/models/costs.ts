/** What the steps of a run cost, by what was recorded of its models: for each role and each thing that it worked on. */
import { z } from 'zod'
import type { ModelExchange } from '../../agents/recording.ts'
import { addUsage, NO_USAGE, type Usage } from '../../runtime/core/agents.ts'

export interface Cost extends Usage {
  readonly step: 'plan' | 'look' | 'choose' | 'judge'
  /** The task or the need, in the words that the model was told. */
  readonly of: string
  /** The models that answered, by the provider’s word. */
  readonly models: readonly string[]
  /** Questions without an answer. */
  readonly failed: number
}

const STEPS = { planner: 'plan', looker: 'look', chooser: 'choose', monitor: 'judge' } as const

const inputSchema = z.looseObject({
  task: z.string().optional(),
  need: z.looseObject({ text: z.string() }).optional(),
})

/** One for each step of each branch, in the order in which they began to be answered. */
export function costsOf(exchanges: readonly ModelExchange[]): readonly Cost[] {
  const costs = new Map<string, Cost>()
  for (const { asked, outcome } of exchanges) {
    const step = STEPS[asked.role]
    const { task, need } = inputSchema.parse(asked.input)
    const of = need?.text ?? task ?? ''
    const key = `${step} ${of}`
    const before = costs.get(key) ?? { step, of, models: [], failed: 0, ...NO_USAGE }
    const isFailure = outcome.kind === 'failure'
    const usage = isFailure ? outcome.usage : { calls: 1, ...outcome.usage }
    const models = outcome.model === undefined ? before.models : [...before.models, outcome.model]
    costs.set(key, {
      ...before,
      ...addUsage(before, usage),
      models: [...new Set(models)],
      failed: before.failed + Number(isFailure),
    })
  }
  return [...costs.values()]
}

export const totalOf = (costs: readonly Usage[]): Usage => costs.reduce(addUsage, NO_USAGE)

/** Millionths of a US dollar, for a person. */
export const dollars = (micros: number): string =>
  `US$ ${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, '0')}`

const LINE_CHARS = 60

/** A task is many lines; a row of a table is one. */
export function inOneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS - 1)}…` : line
}
