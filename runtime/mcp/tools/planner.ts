/** What a planner does: gives parts of what it has to children, takes them back, and sees what was paid below it. */
import { z } from 'zod'
import { NODE_KINDS } from '../../core/block.ts'
import { Rejected } from '../../core/errors.ts'
import { digestSchema, IDENTIFIER, identifierSchema, nodeIdSchema } from '../../core/ids.ts'
import { LIMITS } from '../../core/limits.ts'
import {
  currencySchema,
  type Minor,
  minorSchema,
  positiveMinorSchema,
  ZERO,
} from '../../core/money.ts'
import { readQuote } from '../../core/quote.ts'
import { STANDING_STATES } from '../../core/records.ts'
import { isoTime, secondsSchema } from '../../core/time.ts'
import { paymentBody } from '../../core/wire.ts'
import type { Children, ChildTerms } from '../children.ts'
import { denied, malformed } from '../failure.ts'
import { paymentSchema, shownPayment } from '../payment.ts'
import { tool } from '../tool.ts'

/** Short enough for a file's name on every system; no dot, so that it hides nothing and climbs nowhere. */
const nameSchema = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/)

const delegateInput = z.strictObject({
  name: nameSchema.describe(
    'A short name for the child, yours to choose; the same name with the same terms is the same child.',
  ),
  kind: z
    .enum(NODE_KINDS)
    .describe('`looker` searches and cannot pay, `leaf` pays one quote, `planner` splits further.'),
  ceiling: positiveMinorSchema
    .optional()
    .describe(
      'A planner’s alone: the most it may spend, in minor units. A leaf’s is its quote’s amount.',
    ),
  payees: z
    .array(identifierSchema)
    .min(1)
    .max(LIMITS.payees)
    .optional()
    .describe('Ids out of `about`; all of this node’s if absent. A leaf’s is its quote’s.'),
  quote: paymentBody.shape.quote
    .optional()
    .describe('A leaf’s alone: the signed quote that it may pay, exactly as `get_quote` gave it.'),
  expiresAtSeconds: secondsSchema
    .optional()
    .describe('UTC seconds, no later than this node’s own expiry; that, if absent.'),
  nodes: z
    .number()
    .int()
    .min(0)
    .max(LIMITS.nodes)
    .optional()
    .describe('A planner’s alone: how many nodes it may make below itself; none if absent.'),
})

type Wish = z.output<typeof delegateInput>

/** What the child's block will say, or the argument that does not go with its kind. */
function termsOf(wish: Wish, parent: Children['parent']): ChildTerms | { wrong: string } {
  const { kind, ceiling, payees, quote, expiresAtSeconds = parent.expiresAtSeconds } = wish
  const asked = [...new Set(payees ?? parent.payees)].sort()
  const isPlanner = kind === 'planner'
  if (isPlanner !== (ceiling !== undefined)) return { wrong: 'ceiling' }
  if (!isPlanner && wish.nodes !== undefined) return { wrong: 'nodes' }
  if ((kind === 'leaf') !== (quote !== undefined)) return { wrong: 'quote' }
  if (quote === undefined) {
    const most: Minor = ceiling ?? ZERO
    return { kind, ceiling: most, payees: asked, expiresAtSeconds }
  }
  if (payees !== undefined) return { wrong: 'payees' }
  const { claims, digest } = readQuote(quote)
  if (claims === undefined) return { wrong: 'quote' }
  return { kind, ceiling: claims.amount, payees: [claims.payee], quote: digest, expiresAtSeconds }
}

export const delegate = tool({
  name: 'delegate',
  title: 'Give a part to a child',
  kinds: ['planner'],
  needsChildren: true,
  described: {
    effect:
      'Makes a child of this node and moves what it may spend out of this node’s `available`. Its token and its key are written as files beside this server and are never told: whoever starts the child’s process names those files.',
    undone:
      '`close_child` closes it again, and what it did not spend comes back; what it spent does not.',
    again:
      'safe with the same `name` and the same terms: it is the same child. Another child needs another name; the name of an earlier child with other terms is refused.',
    result:
      '`node` (the child’s id), `kind`, `ceiling` in minor units of `currency`, `payees`, `expires`, for a leaf `quoteDigest`, and `tokenFile` and `keyFile`: names in the server’s folder, without contents.',
    refused:
      '`insufficient` (more than is available, or no node left), `widened` (more, longer or to others than this node may), `depth`, `payee`, `malformed` (with `field`: an argument that does not go with the kind), `name_taken`, `expired`, `revoked`, `frozen`, `run_closed`; `unavailable`: call again with the same arguments.',
  },
  input: delegateInput,
  output: z.strictObject({
    node: nodeIdSchema,
    kind: z.enum(NODE_KINDS),
    ceiling: minorSchema,
    currency: currencySchema,
    payees: z.array(identifierSchema),
    expires: z.strictObject({ at: z.string(), atSeconds: z.number().int() }),
    quoteDigest: digestSchema.optional(),
    tokenFile: z.string().regex(IDENTIFIER),
    keyFile: z.string().regex(IDENTIFIER),
  }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run: async (wish, { children }) => {
    if (children === undefined) throw new Rejected('refused', 'expected a folder for children')
    const terms = termsOf(wish, children.parent)
    if ('wrong' in terms) return malformed(terms.wrong)
    if (terms.payees.some((payee) => !children.parent.payees.includes(payee)))
      return denied('payee')
    const { claims, tokenFile, keyFile } = await children.make(wish.name, terms, wish.nodes)
    const { node, kind, ceiling, currency, payees, expiresAtSeconds, quote } = claims
    return {
      found: {
        node,
        kind,
        ceiling,
        currency,
        payees: [...payees],
        expires: { at: isoTime(expiresAtSeconds), atSeconds: expiresAtSeconds },
        ...(quote === undefined ? {} : { quoteDigest: quote }),
        tokenFile,
        keyFile,
      },
    }
  },
})

export const closeChild = tool({
  name: 'close_child',
  title: 'Close a child',
  kinds: ['planner'],
  described: {
    effect:
      'Closes a node below this one with everything below that. What they did not spend comes back to this node at once; a payment that waits for the rail’s word keeps its part until then.',
    undone: 'irreversible: a closed node is never opened again. Money that was paid stays paid.',
    again: 'safe: closing what is closed answers the same.',
    result:
      '`node` and `standing`: `closed`, or `closing` while a payment below waits for the rail.',
    refused:
      '`not_found` (no such node below this one), `malformed` (it is this node itself, or no id), `expired`, `revoked`, `frozen`, `run_closed`; `unavailable`: call again.',
  },
  input: z.strictObject({
    node: nodeIdSchema.describe('The child’s id, as `delegate` or `payments` gave it.'),
  }),
  output: z.strictObject({ node: nodeIdSchema, standing: z.enum(STANDING_STATES) }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  run: async ({ node: target }, { calls }) => {
    if (target === calls.node) return malformed('node')
    const { node } = await calls.closeNode(calls.run, target)
    return { found: { node: node.id, standing: node.standing } }
  },
})

export const payments = tool({
  name: 'payments',
  title: 'Payments below this node',
  kinds: ['planner'],
  described: {
    effect:
      'Lists the payments that were tried below this node, the latest first, as the gateway has them now.',
    undone: 'nothing changes, so there is nothing to undo.',
    again: 'safe; wait for the least `readAgainSeconds` in between.',
    result:
      '`payments`, each with `paymentId`, the leaf `node`, `payee`, `amount` in minor units of `currency`, `verdict`, `state`, `code` and `advice` of a refusal, `hold` while a person is asked, `receiptId` once settled, `readAgainSeconds` while it is not final; `morePayments` if the list was cut.',
    refused:
      '`unauthenticated`, `expired`, `revoked`, `frozen`, `run_closed`; `unavailable` is no refusal: call again after `retryAfterSeconds`.',
  },
  input: z.strictObject({}),
  output: z.strictObject({
    payments: z.array(paymentSchema),
    morePayments: z.literal(true).optional(),
  }),
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run: async (_input, { calls }) => {
    const own = await calls.ownNode()
    return {
      found: {
        payments: own.payments.map((payment) => shownPayment(payment, own)),
        ...(own.more === undefined ? {} : { morePayments: own.more }),
      },
    }
  },
})
