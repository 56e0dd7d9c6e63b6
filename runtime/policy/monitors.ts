/**
 * Monitors that need no model. A monitor may tighten a verdict and never loosen one; the gateway puts its own
 * deadline around any of them and takes everything but a clean answer for `unavailable`.
 */
import { z } from 'zod'
import { identifierSchema } from '../core/ids.ts'
import type { Monitor, MonitorAnswer, PaymentFacts } from '../core/judges.ts'
import { minorSchema } from '../core/money.ts'

const stepSchema = z.strictObject({
  /** Every given field must match; none given matches everything. */
  when: z
    .strictObject({
      payee: identifierSchema.optional(),
      merchant: identifierSchema.optional(),
      sku: identifierSchema.optional(),
      amountAbove: minorSchema.optional(),
    })
    .default({}),
  answer: z.enum(['allow', 'object', 'silent', 'late', 'malformed', 'over_quota']),
})

/** A monitor's script; the first step that matches answers, and where none does the monitor is unavailable. */
export const monitorScriptSchema = z.strictObject({ steps: z.array(stepSchema).max(1_000) })

export type MonitorScript = z.infer<typeof monitorScriptSchema>
type Step = MonitorScript['steps'][number]

/** A monitor that answers by its script, misbehaving where the script says so. */
export function createScriptedMonitor(script: MonitorScript): Monitor {
  return {
    judge: async (facts, signal) => {
      const step = script.steps.find(({ when }) => matches(when, facts))
      return step === undefined ? { kind: 'unavailable', why: 'unscripted' } : act(step, signal)
    },
  }
}

function matches(when: Step['when'], facts: PaymentFacts): boolean {
  const { payee, merchant, sku, amountAbove } = when
  return (
    (payee === undefined || payee === facts.payee) &&
    (merchant === undefined || merchant === facts.merchant) &&
    (sku === undefined || facts.lines.some((line) => line.sku === sku)) &&
    (amountAbove === undefined || facts.amount > amountAbove)
  )
}

function act(step: Step, signal: AbortSignal): Promise<MonitorAnswer> | MonitorAnswer {
  switch (step.answer) {
    case 'allow':
      return { kind: 'allow' }
    case 'object':
      return { kind: 'object' }
    case 'silent':
      return new Promise(() => undefined)
    case 'late':
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ kind: 'allow' }), { once: true })
      })
    case 'malformed':
      // Stands for a model's answer that is close to the schema and not of it.
      return { kind: 'allow', confidence: 'high' } as MonitorAnswer
    case 'over_quota':
      return { kind: 'unavailable', why: 'over_quota' }
  }
}
