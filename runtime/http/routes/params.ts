/** Parameters in the paths of several routes. */
import { z } from 'zod'
import { nodeIdSchema, paymentIdSchema, runIdSchema } from '../../core/ids.ts'

export const runParams = z.strictObject({ run: runIdSchema })
export const nodeParams = z.strictObject({ run: runIdSchema, node: nodeIdSchema })
export const paymentParams = z.strictObject({ payment: paymentIdSchema })
