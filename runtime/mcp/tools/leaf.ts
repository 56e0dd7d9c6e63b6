/** What a leaf does: pays the one quote that it was made for, and tells what became of that. */
import { z } from 'zod'
import { holdIdSchema, type PaymentId, paymentIdSchema } from '../../core/ids.ts'
import { SHOWN_STATES } from '../../core/records.ts'
import { type PaymentAnswer, paymentBody, reasonSchema } from '../../core/wire.ts'
import { denied } from '../failure.ts'
import { lookAgain, paymentSchema, shownPayment, uriOf } from '../payment.ts'
import { type Outcome, tool } from '../tool.ts'

const answerSchema = z.strictObject({
  paymentId: paymentIdSchema,
  verdict: z.enum(['allow', 'hold']),
  state: z.enum(SHOWN_STATES).optional(),
  railStatus: z.string().optional(),
  approveUrl: z.string().optional(),
  reason: reasonSchema.optional(),
  receipt: z.string().optional(),
  holdId: holdIdSchema.optional(),
  resource: z.string(),
  readAgainSeconds: z.number().int().optional(),
})

/** A resource that a client may wait on. */
const linkOf = (payment: PaymentId) => ({ uri: uriOf(payment), name: payment })

/** A verdict as a result; a denial is an error with its code. */
function outcomeOf(answer: PaymentAnswer): Outcome<z.input<typeof answerSchema>> {
  const { checks: _checks, verdict, ...rest } = answer
  if (verdict === 'deny') return denied(answer.reason?.code ?? 'refused', answer.paymentId)
  const again = lookAgain(answer)
  return {
    found: {
      ...rest,
      verdict,
      resource: uriOf(answer.paymentId),
      ...(again === undefined ? {} : { readAgainSeconds: again }),
    },
    links: [linkOf(answer.paymentId)],
  }
}

const quoteInput = z.strictObject({
  quote: paymentBody.shape.quote.describe(
    'The compact JWS exactly as the shop signed it. Payee, amount and currency are in it and are no arguments.',
  ),
})

const REFUSALS =
  '`capability` and `quote_mismatch` (another quote than the one that this leaf was made for), `quote_expired`, `quote_invalid`, `payee`, `policy` (a rule of the operator), `insufficient`, `per_payment`, `window`, `monitor_objects`, `expired`, `revoked`, `frozen`, `run_closed`'

export const pay = tool({
  name: 'pay',
  title: 'Pay the quote of this leaf',
  kinds: ['leaf'],
  described: {
    effect:
      'Pays the one quote that this leaf was made for: real money moves from the principal’s rail to the quote’s payee.',
    undone:
      'irreversible once `state` is `settled`; only the operator can ask for a refund. It cannot be cancelled on the way: a time-out or a cancelled call changes nothing about the payment.',
    again:
      'safe: the same quote is the same payment, answers with the same `paymentId` and receipt, and moves no money twice. Call again after `unavailable`, after a time-out, and after a person has approved a hold.',
    result:
      '`paymentId`, and `verdict`: `allow` with `state` (`settled` is final and brings `receipt`; `submitted`, `unknown` and `awaiting_payer` are not final), or `hold`: a person must decide, elsewhere. While `readAgainSeconds` is there, read the resource `resource` again after so long; nobody can approve by answering here.',
    refused: `as an error with \`code\` and \`advice\`: ${REFUSALS}. \`unavailable\` is no refusal: the payment may have been made, so call again with the same quote.`,
  },
  input: quoteInput,
  output: answerSchema,
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: true,
  },
  run: async ({ quote }, { calls }) => outcomeOf(await calls.pay(quote)),
})

export const decide = tool({
  name: 'decide',
  title: 'Ask what a payment would be answered',
  kinds: ['leaf'],
  described: {
    effect:
      'Tells what `pay` would be answered for this quote now, by the same checks. No money moves, nothing is reserved, and no person is asked.',
    undone: 'nothing was done, so there is nothing to undo.',
    again: 'safe; it is judged anew each time, and promises nothing about a later `pay`.',
    result:
      '`decision` (always true), `paymentId`, and `verdict`: `allow`, or `hold` with `reason` where a person would have to decide; `state` only if the payment was made already.',
    refused: `as an error with \`code\` and \`advice\`, as of \`pay\`: ${REFUSALS}. \`unavailable\` is no refusal: call again after \`retryAfterSeconds\`.`,
  },
  input: quoteInput,
  output: z.strictObject({
    decision: z.literal(true),
    paymentId: paymentIdSchema,
    verdict: z.enum(['allow', 'hold']),
    state: z.enum(SHOWN_STATES).optional(),
    reason: reasonSchema.optional(),
  }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run: async ({ quote }, { calls }) => {
    const { paymentId, verdict, state, reason, decision } = await calls.decide(quote)
    if (verdict === 'deny') return denied(reason?.code ?? 'refused', paymentId)
    const known = {
      ...(state === undefined ? {} : { state }),
      ...(reason === undefined ? {} : { reason }),
    }
    return { found: { decision, paymentId, verdict, ...known } }
  },
})

export const paymentStatus = tool({
  name: 'payment_status',
  title: 'What became of this leaf’s payment',
  kinds: ['leaf'],
  described: {
    effect: 'Tells what became of this leaf’s payment, as the gateway has it now. It asks no rail.',
    undone: 'nothing changes, so there is nothing to undo.',
    again: 'safe; wait for `payment.readAgainSeconds` in between.',
    result:
      '`payment`, absent while none was tried: `verdict`, `state`, `code` and `advice` of a refusal, `hold` with its `state` and expiry, `receiptId` once settled, `payAgain` once a person has approved (call `pay` with the same quote), `readAgainSeconds` while it is not final.',
    refused:
      '`unauthenticated`, `expired`, `revoked`, `frozen`, `run_closed`; `unavailable` is no refusal: call again after `retryAfterSeconds`.',
  },
  input: z.strictObject({}),
  output: z.strictObject({ payment: paymentSchema.optional() }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run: async (_input, { calls }) => {
    const own = await calls.ownNode()
    const [payment] = own.payments
    if (payment === undefined) return { found: {} }
    return { found: { payment: shownPayment(payment, own) }, links: [linkOf(payment.id)] }
  },
})
