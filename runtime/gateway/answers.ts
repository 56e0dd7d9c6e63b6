/**
 * The one place where verdicts and faults become what a caller is told. It says no more than the caller has proved
 * it may know: before the token and the proof hold, one and the same 401 for everything; after, codes and what to
 * do next, and never a rule's id, a limit or how long anything took.
 */
import { CHECKS, type CheckResult, CODES, type Denial, type DenialCode } from '../core/codes.ts'
import type { Fault, FaultCode } from '../core/errors.ts'
import type { HoldId, PaymentId } from '../core/ids.ts'
import { type PaymentRecord, shownState } from '../core/records.ts'
import type { DecisionAnswer, PaymentAnswer, Problem } from '../core/wire.ts'

/** An answer before it is put on a wire. `body` is plain JSON. */
export interface Answer {
  readonly status: number
  readonly type: 'application/json' | 'application/problem+json'
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

type Headers = Answer['headers']

export const json = (status: number, body: unknown, headers: Headers = {}): Answer => ({
  status,
  type: 'application/json',
  headers,
  body,
})

export interface ProblemAnswer extends Answer {
  readonly body: Problem
}

/** A document of RFC 9457; its `type` is a stable URN of the code. */
export function problem(fields: Omit<Problem, 'type'>, headers: Headers = {}): ProblemAnswer {
  const body = { type: `urn:headgate:problem:${fields.code}`, ...fields }
  return { status: fields.status, type: 'application/problem+json', headers, body }
}

/** What the gateway and the interface around it tell in the same words; the same request again helps only where it says so. */
export const COMMON_PROBLEMS = {
  not_found: { status: 404, title: 'there is nothing at this address', advice: 'stop' },
  conflict: { status: 409, title: 'the state has moved on; read it again', advice: 'stop' },
  unavailable: {
    status: 503,
    title: 'the gateway cannot decide this now; try again',
    advice: 'retry',
  },
} as const

/** RFC 9449 section 7.1 names the challenge. The same bytes whatever was wrong. */
export const UNAUTHENTICATED: Answer = problem(
  {
    status: 401,
    code: 'unauthenticated',
    title: 'expected one valid token and a fresh proof by its holder',
  },
  { 'www-authenticate': 'DPoP algs="EdDSA"' },
)

/** A fault of ours is never a denial: the caller may try again, and learns nothing else. */
export function unavailable(fault: Fault): ProblemAnswer {
  return problem(
    { ...COMMON_PROBLEMS.unavailable, code: 'unavailable' },
    { 'retry-after': String(retryAfterSeconds(fault.code)) },
  )
}

/** How soon another try makes sense. */
function retryAfterSeconds(code: FaultCode): number {
  switch (code) {
    case 'engine_busy':
    case 'engine_timeout':
    case 'engine_failed':
    case 'store_locked':
      return 1
    case 'store_unavailable':
    case 'policy_failed':
    case 'merchant_unavailable':
    case 'model_failed':
    case 'internal':
      return 5
    case 'clock_untrusted':
    case 'rail_unconfigured':
    case 'rail_limited':
    case 'config_invalid':
    case 'secret_withheld':
    case 'store_newer':
    case 'ledger_corrupt':
      return 60
  }
}

/** 202 for a hold, 401 for what was refused before the caller was known, 403 for every other denial. */
function statusOf({ verdict, code }: Denial): 202 | 401 | 403 {
  switch (code) {
    case 'malformed':
    case 'too_large':
    case 'ambiguous':
    case 'token_invalid':
    case 'root_unknown':
    case 'grammar':
    case 'signer':
    case 'proof_invalid':
    case 'proof_replayed':
      return 401
    case 'mandate_invalid':
    case 'expired':
    case 'revoked':
    case 'frozen':
    case 'run_closed':
    case 'depth':
    case 'widened':
    case 'not_a_leaf':
    case 'capability':
    case 'quote_invalid':
    case 'quote_expired':
    case 'quote_spent':
    case 'quote_mismatch':
    case 'payee':
    case 'policy':
    case 'approval_required':
    case 'insufficient':
    case 'per_payment':
    case 'window':
    case 'duplicate':
    case 'monitor_objects':
    case 'monitor_unavailable':
    case 'not_expressible':
    case 'payee_from_untrusted':
    case 'amount_from_untrusted':
      return verdict === 'hold' ? 202 : 403
  }
}

function reasonOf(code: DenialCode): PaymentAnswer['reason'] {
  const { check: name, message, advice } = CODES[code]
  const check = CHECKS.find((spec) => spec.name === name)?.n ?? 0
  return { check, name, code, message, advice }
}

/** Durations are the operator's: an agent could time what it may not read. */
const untimed = (checks: readonly CheckResult[]): CheckResult[] =>
  checks.map((check) => ({ ...check, ms: 0 }))

/** A payment that was refused, or that waits for a person. */
export function refusedAnswer(
  payment: PaymentId,
  denial: Denial,
  checks: readonly CheckResult[],
  hold?: HoldId,
): Answer {
  const status = statusOf(denial)
  if (status === 401) return UNAUTHENTICATED
  const body: PaymentAnswer = {
    paymentId: payment,
    verdict: denial.verdict,
    reason: reasonOf(denial.code),
    checks: untimed(checks),
    ...(hold === undefined ? {} : { holdId: hold }),
  }
  return json(status, body)
}

/** What a payment would be answered, with the same words and statuses. */
export function decisionAnswer(
  payment: PaymentId,
  checks: readonly CheckResult[],
  said: { readonly denial?: Denial | undefined; readonly made?: PaymentRecord } = {},
): Answer {
  const { denial, made } = said
  const body: DecisionAnswer = {
    decision: true,
    paymentId: payment,
    verdict: denial?.verdict ?? 'allow',
    ...(made === undefined ? {} : { state: shownState(made) }),
    ...(denial === undefined ? {} : { reason: reasonOf(denial.code) }),
    checks: untimed(checks),
  }
  return json(denial === undefined ? 200 : statusOf(denial), body)
}

/** A leaf has asked for as many decisions as it may; its payment can still be made. */
export const DECISIONS_SPENT: Answer = problem({
  status: 429,
  code: 'rate_limited',
  title: 'this leaf has asked for as many decisions as it may; it can still pay',
  advice: 'stop',
})

/** Of what the rail wrote the holder of the leaf is told its status, and where the payer agrees: nothing else. */
function stateOf(payment: PaymentRecord): Pick<PaymentAnswer, TellsState> {
  const { id, railStatus, approveUrl } = payment
  return {
    paymentId: id,
    state: shownState(payment),
    ...(railStatus === undefined ? {} : { railStatus }),
    ...(approveUrl === undefined ? {} : { approveUrl }),
  }
}

type TellsState = 'paymentId' | 'state' | 'railStatus' | 'approveUrl'

/** A payment that was let through, in whatever state the rail's word has put it; `receipt` once settled. */
export function allowedAnswer(
  payment: PaymentRecord,
  { receipt, replayed = false }: { receipt?: string | undefined; replayed?: boolean } = {},
): Answer {
  const body: PaymentAnswer = {
    ...stateOf(payment),
    verdict: 'allow',
    checks: untimed(payment.checks),
    ...(receipt === undefined ? {} : { receipt }),
  }
  return json(200, body, replayed ? { 'idempotent-replayed': 'true' } : {})
}

/** Another attempt at this payment is on its way; ask again for what came of it. */
export function inFlightAnswer(payment: PaymentRecord): Answer {
  const checks = untimed(payment.checks)
  const body: PaymentAnswer = { ...stateOf(payment), verdict: 'allow', checks }
  return json(409, body, { 'retry-after': '1' })
}

/** A refusal of anything but a payment, to a caller that is known: a code of check 2 is then about what it sent along. */
export function deniedAnswer({ code }: Denial): Answer {
  const { message: title, advice } = CODES[code]
  return problem({ status: 403, code, title, advice })
}

/** What was named in the path is not there, or not the caller's. */
export const NOT_FOUND: Answer = problem({ ...COMMON_PROBLEMS.not_found, code: 'not_found' })

/** Something else stands where the caller wanted to write. */
export const CONFLICT: Answer = problem({ ...COMMON_PROBLEMS.conflict, code: 'conflict' })
