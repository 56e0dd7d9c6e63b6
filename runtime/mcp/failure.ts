/**
 * The one place where what went wrong becomes what a model is told: a code of ours, a written sentence and what to do
 * next. No text that somebody threw gets through, because a model obeys what it reads.
 */
import { z } from 'zod'
import { ClientError } from '../client/errors.ts'
import { type Advice, CODES, isDenialCode } from '../core/codes.ts'
import { Rejected } from '../core/errors.ts'
import { type PaymentId, paymentIdSchema } from '../core/ids.ts'
import { adviceSchema } from '../core/wire.ts'

/**
 * What stands in `structuredContent` of a result with `isError`. `denied`: a check or a rule refused, and the same again
 * is refused again unless `advice` says otherwise. `failed`: nothing was decided, or the answer was lost. `malformed`: the
 * arguments are not what the schema says; `field` names the first that is not.
 */
export const failureSchema = z.strictObject({
  error: z.strictObject({
    kind: z.enum(['denied', 'failed', 'malformed']),
    code: z.string(),
    message: z.string(),
    advice: adviceSchema,
    retryAfterSeconds: z.number().int().optional(),
    field: z.string().optional(),
    paymentId: paymentIdSchema.optional(),
  }),
})
export type Failure = z.infer<typeof failureSchema>

interface Said {
  readonly message: string
  readonly advice: Advice
}

/** What the interface refuses beside the checks; codes as in its problem documents. */
const OTHERS = {
  unauthenticated: {
    message: 'the gateway does not know this token, or its proof does not hold',
    advice: 'stop',
  },
  forbidden: { message: 'this token does not open that', advice: 'stop' },
  not_found: { message: 'there is nothing of that name below this node', advice: 'stop' },
  conflict: { message: 'the state has moved on; ask `about` again', advice: 'stop' },
  name_taken: { message: 'another child has this name; choose another', advice: 'stop' },
  too_large: { message: 'the request is larger than the documented limit', advice: 'stop' },
  refused: { message: 'the gateway refuses this', advice: 'stop' },
} as const satisfies Record<string, Said>

/** In seconds, where the gateway names no time. */
const RETRY_AFTER = 5

const isOther = (code: string): code is keyof typeof OTHERS => Object.hasOwn(OTHERS, code)

/** A refusal by its code; what is no code of ours is `refused`. */
export function denied(code: string, paymentId?: PaymentId): Failure {
  const known = isDenialCode(code) || isOther(code) ? code : 'refused'
  const { message, advice } = isDenialCode(known) ? CODES[known] : OTHERS[known]
  const payment = paymentId === undefined ? {} : { paymentId }
  return { error: { kind: 'denied', code: known, message, advice, ...payment } }
}

/** Arguments that are not what was asked for; `field` is a name of ours, never the caller's. */
export const malformed = (field?: string): Failure => ({
  error: {
    kind: 'malformed',
    code: 'malformed',
    message: 'expected exactly the arguments that the input schema of this tool describes',
    advice: 'stop',
    ...(field === undefined ? {} : { field }),
  },
})

/** Nothing usable came back: whether it happened, the same call with the same arguments tells, and does nothing twice. */
export const unavailable = (retryAfterSeconds = RETRY_AFTER): Failure => ({
  error: {
    kind: 'failed',
    code: 'unavailable',
    message:
      'no usable answer came, and what was asked may have happened; call again with the same arguments, which does nothing twice',
    advice: 'retry',
    retryAfterSeconds,
  },
})

/** Of anything that was thrown. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ClientError) {
    const isOurs = error.status === 0 || error.status >= 500 || error.code === 'unreadable'
    if (isOurs || error.status === 429) return unavailable(error.retryAfterSeconds)
    return denied(error.code)
  }
  if (error instanceof Rejected) {
    return isDenialCode(error.code) || isOther(error.code) ? denied(error.code) : malformed()
  }
  return unavailable()
}

/** Whether it is a bug that whoever runs this should hear of: nothing that a gateway answers is. */
export const isUnexpected = (error: unknown): boolean =>
  !(error instanceof ClientError || error instanceof Rejected)
