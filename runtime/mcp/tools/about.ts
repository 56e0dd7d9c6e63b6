/** The first tool: what the token that this was started with may do, and what is left of it. */
import { z } from 'zod'
import { NODE_KINDS } from '../../core/block.ts'
import { digestSchema, identifierSchema, nodeIdSchema, runIdSchema } from '../../core/ids.ts'
import { currencySchema, EXPONENTS, minorSchema } from '../../core/money.ts'
import { isoTime, nowSeconds, seconds } from '../../core/time.ts'
import { OWN_STATES } from '../../core/wire.ts'
import { paymentSchema, shownPayment } from '../payment.ts'
import { tool } from '../tool.ts'

const aboutSchema = z.strictObject({
  node: nodeIdSchema,
  run: runIdSchema,
  kind: z.enum(NODE_KINDS),
  state: z.enum(OWN_STATES),
  currency: z.strictObject({ code: currencySchema, exponent: z.number().int() }),
  /** The operator's registry: nobody else can be paid. */
  payees: z.array(
    z.strictObject({ id: identifierSchema, name: z.string(), source: z.literal('operator') }),
  ),
  /** Minor units, both ends included. */
  nextAmount: z.strictObject({ least: minorSchema, most: minorSchema }).optional(),
  perPayment: minorSchema.optional(),
  balance: z.strictObject({
    ceiling: minorSchema,
    available: minorSchema,
    reserved: minorSchema,
    spent: minorSchema,
    allotted: minorSchema,
  }),
  expires: z.strictObject({
    at: z.string(),
    atSeconds: z.number().int(),
    secondsLeft: z.number().int(),
  }),
  left: z
    .strictObject({
      levels: z.number().int().optional(),
      nodes: z.number().int().optional(),
      children: z.number().int().optional(),
    })
    .optional(),
  needsPerson: z.strictObject({ above: minorSchema.optional(), operatorRules: z.literal(true) }),
  merchants: z.array(identifierSchema).optional(),
  quoteDigest: digestSchema.optional(),
  payments: z.array(paymentSchema),
  morePayments: z.literal(true).optional(),
  manifest: z.strictObject({
    version: z.string(),
    digest: digestSchema,
    tools: z.array(z.string()),
  }),
})

export const about = tool({
  name: 'about',
  title: 'What this token may do',
  kinds: ['planner', 'looker', 'leaf'],
  described: {
    effect:
      'Tells what the token behind this connection may do now: whom it may pay, exact ranges, what is left, when it expires, what a person must approve, and its own past payments. Call it first.',
    undone: 'nothing changes, so there is nothing to undo.',
    again: 'safe at any time; it answers how things stand then.',
    result:
      '`node`, `run`, `kind`, `state` (anything but `live` stops payments), `payees` (the operator’s ids and names; nobody else can be paid), `nextAmount` (least and most, in minor units of `currency.code`, which has `currency.exponent` decimal places; absent when nothing may be asked for), `balance`, `expires` (ISO time, UTC seconds, seconds left), `needsPerson` (amounts above `above` wait for a person; rules of the operator may ask for one besides), `payments`, and `manifest.digest`: SHA-256 over all tools’ names, texts and schemas, to be compared with the one that you trusted before.',
    refused:
      '`unauthenticated` (the token or its key is not valid), `expired`, `revoked`, `frozen`, `run_closed`; `unavailable` is no refusal: call again after `retryAfterSeconds`.',
  },
  input: z.strictObject({}),
  output: aboutSchema,
  annotations: {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  },
  run: async (_input, { calls, clock, manifest }) => {
    const own = await calls.ownNode()
    const { node, run, kind, state, currency, perPayment, amount, merchants, quote } = own
    const { ceiling, available, reserved, spent, allotted } = own
    const { above } = own.needsPerson
    const left = {
      ...(own.depthLeft === undefined ? {} : { levels: own.depthLeft }),
      ...(own.nodesLeft === undefined ? {} : { nodes: own.nodesLeft }),
      ...(own.fanOutLeft === undefined ? {} : { children: own.fanOutLeft }),
    }
    return {
      found: {
        node,
        run,
        kind,
        state,
        currency: { code: currency, exponent: EXPONENTS[currency] },
        payees: own.payees.map((payee) => ({ ...payee, source: 'operator' as const })),
        ...(amount === undefined ? {} : { nextAmount: amount }),
        ...(perPayment === undefined ? {} : { perPayment }),
        balance: { ceiling, available, reserved, spent, allotted },
        expires: {
          at: isoTime(seconds(own.expiresAtSeconds)),
          atSeconds: own.expiresAtSeconds,
          secondsLeft: Math.max(0, own.expiresAtSeconds - nowSeconds(clock)),
        },
        ...(Object.keys(left).length === 0 ? {} : { left }),
        needsPerson: { ...(above === undefined ? {} : { above }), operatorRules: true as const },
        ...(merchants === undefined ? {} : { merchants }),
        ...(quote === undefined ? {} : { quoteDigest: quote }),
        payments: own.payments.map((payment) => shownPayment(payment, own)),
        ...(own.more === undefined ? {} : { morePayments: own.more }),
        manifest: { ...manifest, tools: [...manifest.tools] },
      },
    }
  },
})
