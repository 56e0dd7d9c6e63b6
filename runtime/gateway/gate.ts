/** What the gateway is made of: the ports it is given, the operator's facts, and what follows from both. */
import type { GatewaySigner } from '../audit/signer.ts'
import type { HolderKeys, TokenEngine } from '../core/engine.ts'
import type { Fault } from '../core/errors.ts'
import type { MerchantId, OrganisationId, OutsideId, PayeeId, PaymentId } from '../core/ids.ts'
import type { CanaryTerms, Monitor, MonitorQuota, Policy } from '../core/judges.ts'
import type { Ledger } from '../core/ledger.ts'
import { LIMITS } from '../core/limits.ts'
import type { Agent } from '../core/mandate.ts'
import type { Merchants } from '../core/merchants.ts'
import type { Rail } from '../core/rail.ts'
import type { RefundBudget } from '../core/refund.ts'
import type { Signatures } from '../core/signatures.ts'
import type { Clock, Timers } from '../core/time.ts'
import { type Bindings, bindingsOf, type Payee } from './bindings.ts'
import type { Principal, Trust } from './mandates.ts'
import { assertNine, CHECK_LIST, type Check } from './pipeline.ts'
import { type RefusalCounts, refusalCounts } from './refusal-counts.ts'
import { haltedRuns } from './sweep.ts'
import { type VerdictCounts, verdictCounts } from './verdict-counts.ts'
import { createWatch, type Watch } from './watch.ts'

/** The operator's configuration, as far as the gateway needs it. */
export interface GatewayFacts {
  readonly organisation: OrganisationId
  readonly gatewayId: string
  /** Origin under which holders reach this gateway, without a final slash: what a proof's URL begins with. */
  readonly gatewayUrl: string
  readonly principals: readonly Principal[]
  readonly payees: readonly Payee[]
  readonly railName: string
  /** For mandates that name no agent; `scripted` if absent. */
  readonly agent?: Agent
}

/** How long things may take; each falls back to `LIMITS`. Shorter in tests, never longer in operation. */
export interface Timings {
  readonly submitStartMs: number
  readonly railMs: number
  readonly monitorMs: number
  readonly holdSeconds: number
}

export const TIMINGS: Timings = {
  submitStartMs: LIMITS.submitStartMs,
  railMs: LIMITS.railMs,
  monitorMs: LIMITS.monitorMs,
  holdSeconds: LIMITS.holdSeconds,
}

/** Something that a person must look at, and that no answer to an agent may tell. */
export interface PaymentAlarm {
  readonly kind:
    | 'rail_amount'
    | 'rail_currency'
    | 'overdue'
    | 'reversed'
    /** The rail settled what had been released. */
    | 'late_settlement'
    /** The rail's own list, or its word now, does not have what it had settled. */
    | 'missing_at_rail'
  readonly payment: PaymentId
}

/** As `PaymentAlarm`, where no payment of ours is meant. */
export type Alarm =
  | PaymentAlarm
  | { readonly kind: 'outside'; readonly outside: OutsideId }
  | { readonly kind: 'webhook_stuck'; readonly message: string }

/** The id of what an alarm is about. */
export function subjectOf(alarm: Alarm): string {
  if (alarm.kind === 'outside') return alarm.outside
  return alarm.kind === 'webhook_stuck' ? alarm.message : alarm.payment
}

export interface GatewayDeps {
  readonly facts: GatewayFacts
  readonly ledger: Ledger
  readonly engine: TokenEngine
  readonly holderKeys: HolderKeys
  readonly policy: Policy
  /** Absent: check 9 does not apply. */
  readonly monitor?: Monitor | undefined
  /** How often it may be asked, and how it is itself tried; unbounded and untried if absent. */
  readonly watching?: { readonly quota?: MonitorQuota; readonly canaries?: CanaryTerms } | undefined
  readonly rail: Rail
  readonly merchants: Merchants
  readonly clock: Clock
  /** For deadlines; the machine's own if absent. */
  readonly timers?: Timers
  /** The gateway's own key, which signs receipts and seals. */
  readonly signing: Pick<GatewaySigner, 'kid' | 'key' | 'before'>
  /** The algorithms of all that is signed here; `SIGNATURES` if absent. A simulation has quicker ones. */
  readonly signatures?: Signatures
  readonly timings?: Partial<Timings>
  /** The nine checks; `CHECK_LIST` if absent. An evaluation composes one of them with a pass. */
  readonly checks?: readonly Check[]
  /** What happens to the budget once a refund was made; `hold` if absent. */
  readonly refundBudget?: RefundBudget
  /** Told of every fault that becomes a 503. Must not throw. */
  readonly onFault?: (fault: Fault) => void
  /** Told of what a person must look at. Must not throw. */
  readonly onAlarm?: (alarm: Alarm) => void
}

/** The assembled gateway, as its own files see it. */
export interface Gate extends Omit<GatewayDeps, 'timings' | 'checks' | 'monitor' | 'watching'> {
  /** The monitor, if there is one. */
  readonly watch: Watch | undefined
  readonly timings: Timings
  readonly checks: readonly Check[]
  readonly bindings: Bindings
  readonly signer: GatewaySigner
  readonly trust: Trust
  readonly counts: RefusalCounts
  readonly verdicts: VerdictCounts
  readonly halted: ReturnType<typeof haltedRuns>
}

export function assemble(deps: GatewayDeps): Gate {
  const { facts, signatures, checks = CHECK_LIST } = deps
  assertNine(checks)
  const timings = { ...TIMINGS, ...deps.timings }
  return {
    ...deps,
    checks,
    timings,
    watch: createWatch(deps, timings),
    signer: { ...deps.signing, gateway: facts.gatewayId, signatures },
    bindings: bindingsOf(facts.payees, facts.railName),
    trust: { gatewayId: facts.gatewayId, principals: facts.principals, signatures },
    counts: refusalCounts(),
    verdicts: verdictCounts(),
    halted: haltedRuns(),
  }
}

/** A merchant's shop front and its destination of money carry the same id in the operator's registry. */
export const payeeOf = (merchant: MerchantId): PayeeId => merchant
