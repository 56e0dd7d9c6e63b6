/** Answers of the interface that only operators read: what `core/wire.ts` does not share with agents. */
import { z } from 'zod'
import {
  identifierSchema,
  nodeIdSchema,
  outsideIdSchema,
  paymentIdSchema,
  runIdSchema,
} from '../core/ids.ts'
import { CONCERNS, MONITOR_FAILURES } from '../core/judges.ts'
import { LIMITS } from '../core/limits.ts'
import { anyCurrencySchema, positiveMinorSchema } from '../core/money.ts'
import { DIRECTIONS, OBJECT_TYPES } from '../core/rail.ts'
import { RUN_STATES, STANDING_STATES } from '../core/records.ts'
import {
  holdViewSchema,
  paymentStatusSchema,
  refundViewSchema,
  runViewSchema,
} from '../core/wire.ts'
import { LINE_KINDS } from '../gateway/statement.ts'

/** `token` only where the mandate names an outside holder. */
export const createRunAnswer = z.strictObject({
  run: z.strictObject({
    id: runIdSchema,
    state: z.enum(RUN_STATES),
  }),
  node: nodeIdSchema,
  token: z.string().optional(),
})

export const runsAnswer = z.strictObject({ runs: z.array(runViewSchema) })
export const runAnswer = z.strictObject({ run: runViewSchema })
export const holdsAnswer = z.strictObject({ holds: z.array(holdViewSchema) })

/** `onTheirWay`: payments that were already submitted when the stop was acknowledged. */
export const standingAnswer = z.strictObject({
  node: z.union([nodeIdSchema, z.literal('gateway')]),
  state: z.enum(STANDING_STATES),
  version: z.number().int(),
  onTheirWay: z.array(paymentIdSchema),
})

/** A cancel by the principal is a `cancel+jwt`; an operator sends an empty object. */
export const cancelBody = z.strictObject({
  cancel: z.string().min(1).max(LIMITS.bodyBytes).optional(),
})

export const loginBody = z.strictObject({ code: z.string().min(1).max(40) })
export const loginCodeAnswer = z.strictObject({
  code: z.string(),
  expiresAtSeconds: z.number().int(),
})

/** Who is signed in, and what this gateway can show. */
export const sessionAnswer = z.strictObject({
  operator: z.string(),
  gateway: z.string(),
  frozen: z.boolean(),
  /** Whether `POST /demo` would start something. */
  demo: z.boolean(),
})

export const healthAnswer = z.strictObject({
  state: z.enum(['live', 'ready', 'not_ready']),
  failing: z.array(z.string()).optional(),
  /** What a person must look at while everything else goes on: `halted_runs`. */
  warnings: z.array(z.string()).optional(),
})

/** An operator's word on an unknown payment. Of `released` the amount is the whole; `evidence` refers to what proves it. */
export const resolveBody = z.strictObject({
  outcome: z.enum(['settled', 'released']),
  amount: positiveMinorSchema,
  evidence: z.string().min(1).max(LIMITS.evidenceChars),
})

/** A person's word that all that came back, `reversedAmount` as they saw it, may be used again. */
export const returnBody = z.strictObject({
  reversedAmount: positiveMinorSchema,
  evidence: resolveBody.shape.evidence,
})

/** So much of a settled payment, in its currency; `idempotencyKey` is the caller's own word for this one refund. */
export const refundBody = z.strictObject({
  /** Left out, nothing is refunded, and the answer says what could be. */
  amount: positiveMinorSchema.optional(),
  idempotencyKey: identifierSchema,
  /** Must be the payment's own: money goes back to nobody else. */
  payee: identifierSchema.optional(),
})

/** One payment as operators read it. */
export const paymentView = paymentStatusSchema.extend({
  /** What the monitor said of it last; concerns, or why there was no answer. */
  monitor: z
    .strictObject({
      answer: z.enum(['allow', 'object', 'unavailable']),
      words: z.array(z.enum([...CONCERNS, ...MONITOR_FAILURES])),
    })
    .optional(),
  /** Where payee, amount and the others came from, and the same as lines for a person. */
  provenance: holdViewSchema.shape.provenance,
  trail: holdViewSchema.shape.trail,
  /** What one of them says became of it, and who said the same. */
  resolution: z
    .strictObject({
      ...resolveBody.shape,
      by: z.string(),
      atSeconds: z.number().int(),
      confirmedBy: z.string().optional(),
    })
    .optional(),
})

export const refundAnswer = z.strictObject({ refund: refundViewSchema, payment: paymentView })

/** The rail's own list against the ledger; amounts in minor units, what came in is less than nothing. */
export const statementView = z.strictObject({
  fromSeconds: z.number().int(),
  untilSeconds: z.number().int(),
  objects: z.number().int(),
  totals: z.array(
    z.strictObject({
      currency: anyCurrencySchema,
      ours: z.number().int(),
      acknowledged: z.number().int(),
      rail: z.number().int(),
      difference: z.number().int(),
    }),
  ),
  /** What is not equal, the oldest first; `unequal` counts all of it. */
  lines: z.array(
    z.strictObject({
      kind: z.enum(LINE_KINDS),
      currency: anyCurrencySchema,
      ours: z.number().int(),
      rail: z.number().int(),
      atSeconds: z.number().int(),
      object: z.string().optional(),
      payment: paymentIdSchema.optional(),
      outside: outsideIdSchema.optional(),
      acknowledged: z.literal(true).optional(),
    }),
  ),
  unequal: z.number().int(),
  differs: z.boolean(),
})

/** From when the rail's list is compared, UTC seconds; on from the last time if absent. */
export const reconcileQuery = z.strictObject({
  from: z
    .string()
    .regex(/^(0|[1-9]\d{0,11})$/)
    .optional(),
})

/** One round of asking the rail: ids of the payments that it ended, and of those that it has no word on. */
export const reconcileAnswer = z.strictObject({
  settled: z.array(paymentIdSchema),
  released: z.array(paymentIdSchema),
  waiting: z.array(paymentIdSchema),
  /** Of those, the ones whose alarm was raised just now. */
  overdue: z.array(paymentIdSchema),
  /** Settled ones of which the rail says, as never before, that money came back. */
  reversed: z.array(paymentIdSchema),
  rail: z.string(),
  /** Absent at a rail that has no list of its own. */
  statement: statementView.optional(),
})

/** A run that was stopped because an account of it is not what its log says; `stream` is where it showed. */
const haltedRun = z.strictObject({
  run: runIdSchema,
  stream: z.union([nodeIdSchema, z.literal('gateway')]),
  haltedAtSeconds: z.number().int(),
})

/** Money that moved without a payment or refund of ours; `payment` is one that had been released before. */
export const outsideView = z.strictObject({
  id: outsideIdSchema,
  rail: z.string(),
  object: z.string(),
  type: z.enum(OBJECT_TYPES),
  direction: z.enum(DIRECTIONS),
  amount: z.number().int(),
  currency: anyCurrencySchema,
  status: z.string(),
  atSeconds: z.number().int(),
  heardAtSeconds: z.number().int(),
  payment: paymentIdSchema.optional(),
  acknowledged: z
    .strictObject({ by: z.string(), evidence: z.string(), atSeconds: z.number().int() })
    .optional(),
})

/** Whose money it is, or why it moved, in an operator's words. */
export const acknowledgeBody = z.strictObject({ evidence: resolveBody.shape.evidence })

const stuckMessage = z.strictObject({
  rail: z.string(),
  id: z.string(),
  name: z.string(),
  heardAtSeconds: z.number().int(),
  attempts: z.number().int(),
})

/** Payments that the rail has no word on, the oldest first, and runs that were halted. */
export const alarmsAnswer = z.strictObject({
  alarms: z.array(paymentView),
  halted: z.array(haltedRun),
  /** What moved at the rail without us, and what it settled after we had given it up; until a person acknowledges it. */
  outside: z.array(outsideView),
  /** Messages of the rail that nobody could act on for a day. */
  stuck: z.array(stuckMessage),
})

/** A rail reads the status alone. */
export const webhookAnswer = z.strictObject({})

export const demoAnswer = z.strictObject({ run: z.strictObject({ id: runIdSchema }) })
