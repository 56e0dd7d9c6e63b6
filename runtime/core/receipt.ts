/** Receipts and seals: what the gateway signs about a payment and about a run. */
import { z } from 'zod'
import {
  digestSchema,
  identifierSchema,
  nodeIdSchema,
  paymentIdSchema,
  receiptIdSchema,
  runIdSchema,
} from './ids.ts'
import { currencySchema, minorSchema, positiveMinorSchema } from './money.ts'
import { secondsSchema } from './time.ts'

const headSchema = z.strictObject({
  stream: nodeIdSchema,
  seq: z.number().int().min(1),
  hash: digestSchema,
})

/** `account` is a digest of the payee's account on the rail; `head` the leaf's log after the settlement. */
export const receiptSchema = z.strictObject({
  iss: identifierSchema,
  jti: receiptIdSchema,
  iat: secondsSchema,
  payment: paymentIdSchema,
  run: runIdSchema,
  node: nodeIdSchema,
  payee: identifierSchema,
  account: digestSchema,
  amount: positiveMinorSchema,
  currency: currencySchema,
  quote: digestSchema,
  rail: z.string().max(40),
  railReference: z.string().max(120),
  head: headSchema,
})
export type Receipt = z.infer<typeof receiptSchema>

export const sealSchema = z.strictObject({
  iss: identifierSchema,
  iat: secondsSchema,
  run: runIdSchema,
  mandate: digestSchema,
  currency: currencySchema,
  ceiling: positiveMinorSchema,
  spent: minorSchema,
  head: headSchema,
})
export type Seal = z.infer<typeof sealSchema>
