/**
 * The gateway: every door that money or authority goes through, over the ports it is given. Agents' doors answer with
 * what goes on the wire and never throw; principals' and operators' doors answer with typed results and throw
 * Rejected for input that cannot be accepted and Fault for what broke on our side.
 */
import { Fault, Rejected } from '../core/errors.ts'
import type { NodeId, PaymentId, RunId } from '../core/ids.ts'
import { nowSeconds } from '../core/time.ts'
import type { ErasedRun } from '../ledger/erasing.ts'
import { type Answer, unavailable } from './answers.ts'
import type { RawRequest } from './attempt.ts'
import { decide } from './decide.ts'
import { cancelRun } from './finish.ts'
import { assemble, type Gate, type GatewayDeps } from './gate.ts'
import type { MonitorTotals } from './monitor-tally.ts'
import { closeNode, registerNode } from './nodes.ts'
import {
  type AcknowledgedOutside,
  type AcknowledgeWord,
  acknowledgeOutside,
  type CancelledRun,
  type ClosedNode,
  cancelSigned,
  closeByOperator,
  type DecidedHold,
  decideHold,
  eraseOf,
  type HoldDecision,
  type RegainedPayment,
  type RegainWord,
  type ResolutionWord,
  type ResolvedPayment,
  regainPayment,
  resolvePayment,
  type StandingResult,
  setStanding,
} from './operate.ts'
import { admitPaymentReader, ownNode, type PaymentReader } from './own-node.ts'
import { pay } from './pay.ts'
import { admitReader, type Reader } from './read.ts'
import { type RefundedPayment, type RefundWord, refundPayment } from './refunds.ts'
import { type CreatedRun, createRun } from './runs.ts'
import { product, quote, search } from './search.ts'
import { type Swept, sweep } from './sweep.ts'
import type { VerdictCount } from './verdict-counts.ts'

export interface Gateway {
  /** `POST /payments`, by a leaf. */
  pay(raw: RawRequest): Promise<Answer>
  /** `POST /decisions`, by a leaf: what a payment would be answered. */
  decide(raw: RawRequest): Promise<Answer>
  /** `POST /search`, by a looker. */
  search(raw: RawRequest): Promise<Answer>
  /** `POST /products`, by a looker. */
  product(raw: RawRequest): Promise<Answer>
  /** `POST /quotes`, by a looker. */
  quote(raw: RawRequest): Promise<Answer>
  /** `POST /runs/{run}/nodes`, by an outside planner. */
  registerNode(run: RunId, raw: RawRequest): Promise<Answer>
  /** `POST /runs/{run}/nodes/{node}/close`, by an outside planner. */
  closeNode(run: RunId, node: NodeId, raw: RawRequest): Promise<Answer>
  /** Reads by a planner: which subtree it may see, or what to answer instead. */
  admitReader(raw: RawRequest): Promise<Reader>
  /** `GET /node`, by whatever kind of node. */
  ownNode(raw: RawRequest): Promise<Answer>
  /** Reads of one payment: where the caller stands, or what to answer instead. */
  admitPaymentReader(payment: PaymentId, raw: RawRequest): Promise<PaymentReader>

  /** `POST /runs`: the mandate's signature is the authentication. */
  createRun(mandate: string): Promise<CreatedRun>
  /** Cancels on a principal's `cancel+jwt`. */
  cancelSigned(run: RunId, cancel: string): Promise<CancelledRun>

  cancel(run: RunId, by: string): Promise<CancelledRun>
  /** `gateway` stops everything. The result lists the payments that were on their way. */
  freeze(node: NodeId | 'gateway', by: string): Promise<StandingResult>
  resume(node: NodeId | 'gateway', by: string): Promise<StandingResult>
  revoke(node: NodeId, by: string): Promise<StandingResult>
  close(node: NodeId, by: string): Promise<ClosedNode>
  approve(decision: HoldDecision): Promise<DecidedHold>
  refuse(decision: HoldDecision): Promise<DecidedHold>
  /** One operator’s word on an unknown payment; a second one’s, exactly the same, moves the money. */
  resolve(word: ResolutionWord): Promise<ResolvedPayment>
  /** A person’s word that what came back of a settled payment may be used again. */
  regain(word: RegainWord): Promise<RegainedPayment>
  /** A part of a settled payment back to where it came from; asked again with the same key it is the same refund. */
  refund(word: RefundWord): Promise<RefundedPayment>
  /** A person’s word that money which moved without us is known: ends its alarm. */
  acknowledge(word: AcknowledgeWord): Promise<AcknowledgedOutside>
  /** Erases personal values of a run that is sealed: `run_live` before, `money_waiting` while a payment is. */
  erase(run: RunId, by: string): Promise<ErasedRun>

  /** Closes what expired, was revoked or cancelled; call it every few seconds. */
  sweep(): Promise<Swept>
  /** Writes what checks 1 and 2 refused since the last time; call it every minute and at shutdown. */
  flushCounts(): Promise<void>
  /** Refusals by checks 1 and 2 that were not flushed yet, by code. */
  pendingCounts(): ReadonlyMap<string, number>
  /** Refusals by checks 1 and 2 since the start, by code. */
  refusalTotals(): ReadonlyMap<string, number>
  /** Verdicts on payments since the start. */
  verdictTotals(): readonly VerdictCount[]
  /** What the monitor was asked and said since the start; undefined where there is none. */
  monitorTotals(): MonitorTotals | undefined
  /** Runs that were halted because an account differs from its log, as the last sweep found them. */
  haltedRuns(): readonly RunId[]
}

/** Puts the gateway together. Throws TypeError unless `deps.checks` are nine in their public order. */
export function createGateway(deps: GatewayDeps): Gateway {
  const gate = assemble(deps)
  return {
    pay: (raw) => answering(gate, () => pay(gate, raw)),
    decide: (raw) => answering(gate, () => decide(gate, raw)),
    search: (raw) => answering(gate, () => search(gate, raw)),
    product: (raw) => answering(gate, () => product(gate, raw)),
    quote: (raw) => answering(gate, () => quote(gate, raw)),
    registerNode: (run, raw) => answering(gate, () => registerNode(gate, run, raw)),
    closeNode: (run, node, raw) => answering(gate, () => closeNode(gate, run, node, raw)),
    admitReader: (raw) => admitting(gate, () => admitReader(gate, raw)),
    ownNode: (raw) => answering(gate, () => ownNode(gate, raw)),
    admitPaymentReader: (payment, raw) =>
      admitting(gate, () => admitPaymentReader(gate, payment, raw)),
    createRun: (mandate) => throwing(gate, () => createRun(gate, mandate)),
    cancelSigned: (run, cancel) => throwing(gate, () => cancelSigned(gate, run, cancel)),
    cancel: (run, by) => throwing(gate, () => cancelRun(gate, run, by)),
    freeze: (node, by) => throwing(gate, () => setStanding(gate, node, 'frozen', by)),
    resume: (node, by) => throwing(gate, () => setStanding(gate, node, 'live', by)),
    revoke: (node, by) => throwing(gate, () => setStanding(gate, node, 'revoked', by)),
    close: (node, by) => throwing(gate, () => closeByOperator(gate, node, by)),
    approve: (of) => throwing(gate, () => decideHold(gate, { ...of, decision: 'approved' })),
    refuse: (of) => throwing(gate, () => decideHold(gate, { ...of, decision: 'refused' })),
    resolve: (word) => throwing(gate, () => resolvePayment(gate, word)),
    regain: (word) => throwing(gate, () => regainPayment(gate, word)),
    refund: (word) => throwing(gate, () => refundPayment(gate, word)),
    acknowledge: (word) => throwing(gate, () => acknowledgeOutside(gate, word)),
    erase: (run, by) => throwing(gate, () => eraseOf(gate, run, by)),
    sweep: () => throwing(gate, () => sweep(gate)),
    flushCounts: () => throwing(gate, () => gate.counts.flush(gate.ledger, nowSeconds(gate.clock))),
    pendingCounts: () => new Map(gate.counts.pending),
    refusalTotals: () => new Map(gate.counts.totals),
    verdictTotals: () => gate.verdicts.totals(),
    monitorTotals: () => gate.watch?.totals(),
    haltedRuns: () => gate.halted.runs,
  }
}

/** Whatever was thrown is ours and not the caller's: 503, never a verdict. */
async function answering(gate: Gate, act: () => Promise<Answer>): Promise<Answer> {
  try {
    return await act()
  } catch (error) {
    return unavailable(report(gate, error))
  }
}

async function admitting<T>(
  gate: Gate,
  act: () => Promise<T>,
): Promise<T | { readonly ok: false; readonly answer: Answer }> {
  try {
    return await act()
  } catch (error) {
    return { ok: false, answer: unavailable(report(gate, error)) }
  }
}

async function throwing<T>(gate: Gate, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof Rejected) throw error
    throw report(gate, error)
  }
}

function report(gate: Gate, error: unknown): Fault {
  const fault =
    error instanceof Fault
      ? error
      : new Fault('internal', 'something threw what it should not', { cause: error })
  gate.onFault?.(fault)
  return fault
}
