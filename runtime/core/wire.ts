/** Shapes on the wire: what the HTTP interface, the command line, the client and the console share. */
import { z } from 'zod'
import { NODE_KINDS } from './block.ts'
import { ADVICE, CHECK_NAMES, CHECK_STATUSES, DENIAL_CODES } from './codes.ts'
import {
  digestSchema,
  holdIdSchema,
  identifierSchema,
  nodeIdSchema,
  paymentIdSchema,
  receiptIdSchema,
  refundIdSchema,
  runIdSchema,
} from './ids.ts'
import { LIMITS } from './limits.ts'
import { currencySchema, minorSchema, positiveMinorSchema } from './money.ts'
import { provenanceSchema } from './provenance.ts'
import { HOLD_STATES, REFUND_STATES, RUN_STATES, SHOWN_STATES, STANDING_STATES } from './records.ts'

const codeSchema = z.enum(DENIAL_CODES)
const at = z.number().int()

export const createRunBody = z.strictObject({ mandate: z.string().min(1).max(LIMITS.bodyBytes) })

export const paymentBody = z.strictObject({ quote: z.string().min(1).max(LIMITS.bodyBytes) })

export const searchBody = z.strictObject({
  text: z.string().min(1).max(LIMITS.titleChars),
  merchants: z.array(identifierSchema).min(1).max(LIMITS.payees).optional(),
  limit: z.number().int().min(1).max(LIMITS.searchItems),
})

export const productBody = z.strictObject({ merchant: identifierSchema, sku: identifierSchema })

export const quoteBody = z.strictObject({
  merchant: identifierSchema,
  lines: z
    .array(
      z.strictObject({
        sku: identifierSchema,
        quantity: z.number().int().min(1).max(LIMITS.quantity),
      }),
    )
    .min(1)
    .max(LIMITS.quoteLines),
})

/** A person's decision names the digest of what the person saw. */
export const decideBody = z.strictObject({ digest: z.string().min(1).max(80) })

export const registerNodeBody = z.strictObject({
  token: z.string().min(1).max(LIMITS.tokenChars),
  /** Of a planner: how many nodes it may make below itself; none if absent. */
  nodes: z.number().int().min(0).max(LIMITS.nodes).optional(),
})

/** A child that now exists. */
export const registeredNodeSchema = z.strictObject({
  node: z.strictObject({ id: nodeIdSchema, kind: z.enum(NODE_KINDS) }),
})

/** A node whose closing has begun: `closing` while a payment below waits for the rail's word. */
export const closedNodeSchema = z.strictObject({
  node: z.strictObject({
    id: nodeIdSchema,
    standing: z.enum(STANDING_STATES),
  }),
})

export const checkResultSchema = z.strictObject({
  n: z.number().int(),
  name: z.enum(CHECK_NAMES),
  status: z.enum(CHECK_STATUSES),
  ms: z.number(),
})

export const adviceSchema = z.enum(ADVICE)

/** What an agent is told of a refusal: `code` is `policy` where a rule of the operator decided. */
export const reasonSchema = z.strictObject({
  check: z.number().int(),
  name: z.string(),
  code: codeSchema,
  message: z.string(),
  advice: adviceSchema,
})

export const paymentAnswerSchema = z.strictObject({
  paymentId: paymentIdSchema,
  verdict: z.enum(['allow', 'hold', 'deny']),
  state: z.enum(SHOWN_STATES).optional(),
  /** The rail's own word for it, beside ours. */
  railStatus: z.string().optional(),
  /** Where the payer agrees, while the state is `awaiting_payer`. */
  approveUrl: z.string().optional(),
  reason: reasonSchema.optional(),
  checks: z.array(checkResultSchema),
  /** Compact JWS `receipt+jwt`, once settled. */
  receipt: z.string().optional(),
  holdId: holdIdSchema.optional(),
})
export type PaymentAnswer = z.infer<typeof paymentAnswerSchema>

/** What a payment would be answered: nothing was reserved, claimed, paid or asked of a person. */
export const decisionAnswerSchema = paymentAnswerSchema
  .omit({ railStatus: true, approveUrl: true, receipt: true, holdId: true })
  .extend({
    decision: z.literal(true),
    /** Only where the payment has been made already, or is on its way. */
    state: z.enum(SHOWN_STATES).optional(),
  })
export type DecisionAnswer = z.infer<typeof decisionAnswerSchema>

export const itemSchema = z.strictObject({
  merchant: identifierSchema,
  sku: identifierSchema,
  title: z.string(),
  description: z.string(),
  category: z.string(),
  unitAmount: minorSchema,
  currency: currencySchema,
  stock: z.number().int(),
})
export const searchAnswerSchema = z.strictObject({ items: z.array(itemSchema) })
/** The description is longer than a search's. */
export const productAnswerSchema = z.strictObject({ item: itemSchema })
export const quoteAnswerSchema = z.strictObject({ quote: z.string() })

const usageSchema = z.strictObject({
  calls: z.number().int(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  /** Millionths of a US dollar, by the price lists of the models. */
  costMicros: z.number().int(),
})

/** What models used, failed calls included. */
export const modelUseSchema = usageSchema.extend({
  /** Questions that no model decided. */
  unanswered: z.number().int(),
  /** Plans by the scripted planner in the model's place, and the code of why the last one was needed. */
  fallbacks: z.number().int(),
  fallback: z.string().optional(),
  byModel: z.record(z.string(), usageSchema),
})
export type ModelUseView = z.infer<typeof modelUseSchema>

export const runViewSchema = z.strictObject({
  id: runIdSchema,
  state: z.enum(RUN_STATES),
  reason: z.string().optional(),
  principal: z.string(),
  task: z.string(),
  currency: currencySchema,
  ceiling: minorSchema,
  root: nodeIdSchema,
  payees: z.array(z.string()),
  createdAtSeconds: at,
  expiresAtSeconds: at,
  finishedAtSeconds: at.optional(),
  seal: z.string().optional(),
  /** From then on `erased` stands where personal values were. */
  erasedAtSeconds: at.optional(),
  /** An account of it differs from its log: nothing of it is paid any more. */
  haltedAtSeconds: at.optional(),
  /** Sums over all nodes. */
  totals: z.strictObject({ available: minorSchema, reserved: minorSchema, spent: minorSchema }),
  heldCount: z.number().int(),
  frozen: z.boolean(),
  /** In the detail that operators read, once a model was asked. */
  models: modelUseSchema.optional(),
})
export type RunView = z.infer<typeof runViewSchema>

export const nodeViewSchema = z.strictObject({
  id: nodeIdSchema,
  parent: nodeIdSchema.optional(),
  kind: z.enum(NODE_KINDS),
  depth: z.number().int(),
  label: z.string(),
  standing: z.enum(STANDING_STATES),
  payees: z.array(z.string()),
  expiresAtSeconds: at,
  /** As in the token. */
  tokenCeiling: minorSchema,
  ceiling: minorSchema,
  available: minorSchema,
  reserved: minorSchema,
  spent: minorSchema,
  allotted: minorSchema,
  seq: z.number().int(),
  payment: z
    .strictObject({
      id: paymentIdSchema,
      payee: z.string(),
      amount: minorSchema,
      state: z.enum(SHOWN_STATES),
      railStatus: z.string().optional(),
      /** The rail has had no word on it for too long. */
      overdue: z.literal(true).optional(),
      /** What came back of it, and counts as spent until a person puts it to use again. */
      reversed: minorSchema.optional(),
    })
    .optional(),
  lastChecks: z.array(checkResultSchema).optional(),
  lastCode: z.string().optional(),
  /** For operators, where models were asked in its name. */
  models: modelUseSchema.optional(),
  /** `chainDigest` of the recorded revocation ids; for operators, who may hold a token against it. */
  chain: digestSchema.optional(),
})
export type NodeView = z.infer<typeof nodeViewSchema>

/** `GET /runs/{id}`: `position` is the feed position that this answer reflects; resume the stream from there. */
export const runDetailSchema = z.strictObject({
  run: runViewSchema,
  nodes: z.array(nodeViewSchema),
  position: z.number().int(),
})
export type RunDetail = z.infer<typeof runDetailSchema>

const linesSchema = z.array(
  z.strictObject({
    sku: z.string(),
    title: z.string(),
    quantity: z.number().int(),
    unitAmount: minorSchema,
  }),
)

/** One refund of a payment. */
export const refundViewSchema = z.strictObject({
  id: refundIdSchema,
  amount: positiveMinorSchema,
  state: z.enum(REFUND_STATES),
  by: z.string(),
  atSeconds: at,
  railReference: z.string().optional(),
  reason: z.string().optional(),
})

/** `GET /payments/{id}`: one payment as its own leaf and the planners above it read it. */
export const paymentStatusSchema = z.strictObject({
  id: paymentIdSchema,
  run: runIdSchema,
  node: nodeIdSchema,
  payee: z.string(),
  merchant: z.string(),
  lines: linesSchema,
  amount: minorSchema,
  currency: currencySchema,
  state: z.enum(SHOWN_STATES),
  /** The rail's own word for it, beside ours. */
  railStatus: z.string().optional(),
  /** Where the payer agrees, while the state is `awaiting_payer`; for operators and the holder of its leaf. */
  approveUrl: z.string().optional(),
  settledAmount: minorSchema.optional(),
  railReference: z.string().optional(),
  reason: z.string().optional(),
  createdAtSeconds: at,
  endedAtSeconds: at.optional(),
  submittedAtSeconds: at.optional(),
  /** When the alarm about a silent rail was raised. */
  overdueAtSeconds: at.optional(),
  /** What came back after it had settled, and how much of that a person has put to use again. */
  reversedAmount: minorSchema.optional(),
  regainedAmount: minorSchema.optional(),
  /** Of what came back, what we asked for; and each time that we did. */
  refundedAmount: minorSchema.optional(),
  refunds: z.array(refundViewSchema).optional(),
  /** Compact JWS `receipt+jwt`, once settled. */
  receipt: z.string().optional(),
})
export type PaymentStatus = z.infer<typeof paymentStatusSchema>

/** One payment as its own leaf and the planners above it read it in `GET /node`. */
export const ownPaymentSchema = z.strictObject({
  id: paymentIdSchema,
  /** The leaf whose payment it is. */
  node: nodeIdSchema,
  payee: z.string(),
  /** Absent of a payment that was refused before anything was set aside for it. */
  amount: minorSchema.optional(),
  /** So far: what is held or denied may be sent again, as `advice` says. */
  verdict: z.enum(['allow', 'hold', 'deny']),
  /** What became of it at the rail, once it was let through. */
  state: z.enum(SHOWN_STATES).optional(),
  railStatus: z.string().optional(),
  code: codeSchema.optional(),
  advice: adviceSchema.optional(),
  /** What a person was asked about it last. `approved`: the same quote, sent again until then, is let through. */
  hold: z
    .strictObject({ id: holdIdSchema, state: z.enum(HOLD_STATES), expiresAtSeconds: at })
    .optional(),
  /** Once settled: where its receipt can be read, by whoever knows this id. */
  receipt: receiptIdSchema.optional(),
  createdAtSeconds: at.optional(),
  endedAtSeconds: at.optional(),
})
export type OwnPayment = z.infer<typeof ownPaymentSchema>

/** Why a node can do nothing now, or `live`: the worst that holds of it, of any node above it, its run or the gateway. */
export const OWN_STATES = [...STANDING_STATES, 'expired', 'halted'] as const

/** `GET /node`: what the caller's own token allows and what is left of it. Amounts are minor units of `currency`. */
export const ownNodeSchema = z.strictObject({
  node: nodeIdSchema,
  run: runIdSchema,
  kind: z.enum(NODE_KINDS),
  state: z.enum(OWN_STATES),
  currency: currencySchema,
  payees: z.array(z.strictObject({ id: identifierSchema, name: z.string() })).max(LIMITS.payees),
  /**
   * What the next request may ask for, both ends included: a leaf's payment, a planner's next child that may spend; 0 to
   * 0 for a looker. Absent: nothing, now or for good, as `state` and `payments` say.
   */
  amount: z.strictObject({ least: minorSchema, most: minorSchema }).optional(),
  /** The mandate's limit for one payment. */
  perPayment: minorSchema.optional(),
  ceiling: minorSchema,
  available: minorSchema,
  reserved: minorSchema,
  spent: minorSchema,
  /** Given to children. */
  allotted: minorSchema,
  /** The earliest expiry among the mandate, this node and those above it. */
  expiresAtSeconds: at,
  /** A planner's: levels, nodes and children of its own that it may still make. */
  depthLeft: z.number().int().optional(),
  nodesLeft: z.number().int().optional(),
  fanOutLeft: z.number().int().optional(),
  /** A person is asked about a payment of more than `above`; rules of the operator may ask for one besides. */
  needsPerson: z.strictObject({ above: minorSchema.optional() }),
  /** A looker's: the shops that it may search. */
  merchants: z.array(identifierSchema).optional(),
  /** A leaf's: SHA-256 of the one quote that it may pay. */
  quote: digestSchema.optional(),
  /** A leaf's own payment, or those below a planner, the latest first. */
  payments: z.array(ownPaymentSchema),
  /** There are more payments below than are listed. */
  more: z.literal(true).optional(),
})
export type OwnNode = z.infer<typeof ownNodeSchema>

export const holdViewSchema = z.strictObject({
  id: holdIdSchema,
  run: runIdSchema,
  node: nodeIdSchema,
  payment: paymentIdSchema,
  digest: z.string(),
  code: codeSchema,
  rule: z.string().optional(),
  payee: z.string(),
  payeeName: z.string(),
  merchant: z.string(),
  amount: minorSchema,
  currency: currencySchema,
  lines: linesSchema,
  /** Where payee, amount and the others came from; and the same as lines for a person. */
  provenance: provenanceSchema.optional(),
  trail: z.array(z.string()).optional(),
  /** Root first: label and id of each node that the money comes down through. */
  path: z.array(z.strictObject({ id: nodeIdSchema, label: z.string() })),
  state: z.enum(HOLD_STATES),
  createdAtSeconds: at,
  expiresAtSeconds: at,
  decidedBy: z.string().optional(),
})
export type HoldView = z.infer<typeof holdViewSchema>

/** One `event: fact` of the stream; its SSE id is `position`. `body` is the exact hashed text. */
export const factSchema = z.strictObject({
  position: z.number().int(),
  stream: z.string(),
  seq: z.number().int(),
  hash: z.string(),
  body: z.string(),
})
export type Fact = z.infer<typeof factSchema>

/** RFC 9457, `application/problem+json`. */
export const problemSchema = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  code: z.string(),
  /** The claim or field that was not accepted; never its value. */
  claim: z.string().optional(),
  /** What an agent should do next, where a check refused. */
  advice: adviceSchema.optional(),
  /** Of a refund that was not made: what of its payment can still be asked back, in minor units and as people read it. */
  left: z
    .strictObject({ amount: minorSchema, currency: currencySchema, text: z.string() })
    .optional(),
})
export type Problem = z.infer<typeof problemSchema>
